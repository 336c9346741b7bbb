"""Imports whose answers or rows have to be corrected: what the pages say to do."""

import pytest
from django.urls import reverse

from tests.affiliate_site.backoffice.table_import_pages import (
    ADD,
    PEOPLE,
    choose,
    client,
    get_entries,
    list_row,
    people,
    read,
    store,
    upload,
    url_of,
)

__all__ = ["choose", "client", "people", "upload"]

SALES = """userid;rstatus;payoutstatus;totalcost;commission;orderid;dateinserted;\
dateapproved
mina;A;P;142,67;28,53;PO-1;2026-03-01 00:00:00;2026-03-01 00:00:00
mina;A;U;492,07;98,41;PO-3;2026-03-05 02:26:00;2026-03-05 00:00:00
mina;P;U;317,54;63,51;PO-4;2026-03-07 03:39:00;
mina;D;U;168,68;33,74;PO-5;2026-03-08 04:52:00;2026-03-09 00:00:00
"""
IGNORED = "column:dateapproved"


@pytest.fixture
def sales(people, program, upload):
    return upload("conversions", SALES, system="post-affiliate-pro")


def test_offers_columns_of_days_for_days_alone(client, sales):
    form = client.get(url_of(sales, "columns")).context["form"]
    offered = [name for name, _ in form.fields[IGNORED].choices]
    assert offered == ["paid_at", "ignore"]
    assert form[IGNORED].value() == "ignore"


def test_suggests_the_same_when_a_question_comes_back(client, sales, choose):
    choose(sales, column__paid_at="7")
    url = url_of(sales, "columns")
    entries = get_entries(client, url)
    assert IGNORED not in entries
    form = client.post(url, entries | {"column__paid_at": ""}).context["form"]
    assert form.errors[IGNORED] == ["Look whether this is right."]
    assert form[IGNORED].value() == "ignore"


def test_a_value_for_empty_cells_contradicts_no_other_column(sales, choose):
    page = choose(sales, default__approved="pending")
    assert page.context["report"].problems == []
    facts = dict(page.context["facts"])
    assert facts["Commission, paid"] == "28.53 EUR"
    assert facts["Commission, owed"] == "98.41 EUR"
    assert facts["Commission, refused"] == "33.74 EUR"
    assert "Status paid" in list_row(page)
    assert "Approved pending" not in list_row(page)


def test_names_both_rows_and_the_affiliate_with_an_address(client, upload, choose):
    rows = PEOPLE + "olga,mina@x.example,Olga Novak,2026-03-05\n"
    page = choose(upload("affiliates", rows))
    text = "Row 2 has the same address, but not the same ID: correct one of the rows."
    assert text in read(page)
    stored = store(client, page, "_only_good")
    text = read(client.get(stored.url))
    assert "Mina Kessler (mina)" in text
    assert ": correct them, and import them before customers and sales." in text
    page = choose(upload("affiliates", rows.replace("mina,", "otto,")))
    assert "The affiliate mina has this address: correct the address" in read(page)


def test_names_new_affiliates_as_the_file_does(program, upload, choose):
    rows = "Order,Partner,Amount,Created\n1,zoe@x.example,9,2026-03-04\n"
    page = choose(upload("conversions", rows), affiliates="create")
    assert "Affiliates who are created: zoe@x.example." in read(page)


def test_leads_to_the_program_that_is_missing(client, account, upload):
    text = read(client.get(reverse(ADD)))
    assert "Create a program first: affiliates and sales belong to one." in text
    found = upload("customers", "Customer,Partner\nc-1,mina\n")
    url = url_of(found, "columns")
    form = client.post(url, get_entries(client, url)).context["form"]
    assert "There is no program yet: create one" in str(form.errors["column__program"])


def test_asks_no_account_with_a_program_to_create_one(client, program):
    assert "Create a program first" not in read(client.get(reverse(ADD)))


def test_passes_by_files_that_were_imported(client, people, upload):
    found = upload("affiliates", PEOPLE)
    assert client.get(url_of(found)).context["neighbors"] == []


def test_shows_balances_with_the_names_of_the_file(client, people, upload, choose):
    rows = "E-mail,Amount,Date\n"
    rows += "mina@x.example,3,1.2.2026\nMINA@x.example,4,2026-04-03\n"
    found = upload("opening_balances", rows)
    page = choose(found, default__currency="EUR", twice="add_up")
    assert "Affiliate mina@x.example" in list_row(page)
    assert "Added up: mina@x.example (7 EUR, rows 2, 3)." in read(page)
    text = read(client.get(store(client, page).url))
    assert "row 2 Entry" in text
    assert text.count("Dates ") == 1


def test_has_one_title_for_new_and_known_rows(client, people, upload, choose):
    page = choose(upload("affiliates", PEOPLE))
    assert "All rows are known already" in read(page)
    assert page.context["rows"].title == "Rows without a problem"


def test_asks_about_letters_in_one_place(client, upload):
    found = upload("affiliates", PEOPLE.replace("Mina", "Björn").encode("cp1252"))
    page = client.get(url_of(found, "columns"))
    assert "Which is right?" in read(page)
    assert page.context["notes"] == []
