"""Pages that import tables: questions, and what the rows will be."""

import pytest
from django.urls import reverse

from affiliate_site.moving.tables.kinds import KINDS
from tests.affiliate_site.backoffice.table_import_pages import (
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
from tests.ledger_checks import assert_ledger_consistent

__all__ = ["choose", "client", "people", "upload"]

BALANCES = "Partner;Amount;Date\nmina;1.234,50;03/04/2026\nolga;80,00;05/04/2026\n"


def test_asks_whether_affiliates_are_approved(client, account, upload, choose, program):
    found = upload("affiliates", PEOPLE)
    url = url_of(found, "columns")
    response = client.post(url, get_entries(client, url))
    assert list(response.context["form"].errors) == ["default__status"]
    page = choose(found, default__status="approved")
    assert "Status approved" in " ".join(list_row(page))
    store(client, page)
    assert account.enrollments.get().approved is True
    found = upload("affiliates", "E-mail,Status\no@x.example,\n")
    page = choose(found)
    assert "Status pending" in " ".join(list_row(page))


def test_says_who_has_no_payout_method(client, upload, choose):
    found = upload("affiliates", "E-mail,PayPal e-mail\na@x.example,\n")
    page = choose(found, default__payout_method="paypal")
    assert dict(page.context["facts"])["New, without payout method"] == "1"
    assert "paypal" not in " ".join(list_row(page))


def test_shows_totals_and_who_has_which_amount(client, account, people, upload, choose):
    rows = "Partner,Amount\nmina,1000.5\nolga,-20\n"
    page = choose(upload("opening_balances", rows), default__currency="EUR")
    assert "Balance, new rows 980.50 EUR" in read(page)
    text = read(client.get(store(client, page).url))
    assert "Opening balances, total 980.50 EUR" in text
    assert "Mina Kessler (mina) 1,000.50 EUR" in text
    assert "Olga Novak (olga) -20.00 EUR" in text


def test_asks_how_dates_are_written_and_numbers_are_not_in_doubt(client, account, people, upload):
    found = upload("opening_balances", BALANCES)
    url = url_of(found, "columns")
    form = client.get(url).context["form"]
    labels = [label for _, label in form.fields["dates"].choices]
    assert labels == ["3 April 2026 (day/month/year)", "4 March 2026 (month/day/year)"]
    assert form["dates"].value() == ""
    assert "decimal" not in form.fields
    entries = get_entries(client, url) | {"default__currency": "EUR"}
    response = client.post(url, entries)
    assert response.context["form"].errors == {"dates": ["The file does not tell: choose one."]}
    check = url_of(found, "check")
    assert client.get(check).url == url  # not without the answer
    page = client.get(client.post(url, entries | {"dates": "day/month/year"}).url)
    assert "2026-04-03" in read(page)
    store(client, page)
    assert account.transfers.filter(kind="opening_balance").count() == 2
    assert_ledger_consistent(account)


def test_preselects_the_only_answer(client, account, people, upload, choose):
    dates = BALANCES.replace("05/04", "13/04").replace("Date", "Noted")
    found = upload("opening_balances", dates)
    entries = {"default__currency": "EUR", "column__date": "2"}
    page = choose(found, **entries)  # the question comes with the column
    assert "2026-04-13" in read(page)
    field = client.get(url_of(found, "columns")).context["form"]["dates"]
    assert field.field.choices == [("day/month/year", "3 April 2026 (day/month/year)")]
    assert field.value() == "day/month/year"


def test_leaves_out_rows_with_a_word_as_answered(client, upload, choose):
    rows = "E-mail,Status\na@x.example,offen\nb@x.example,ja\nc@x.example,offen\n"
    answers = {f"value:status:{word}": "leave_out" for word in ("offen", "ja")}
    page = choose(upload("affiliates", rows), **answers)
    assert "offen is left out, as you have answered." in read(page)
    summary, by_row = page.context["problem_sections"]
    assert [row[2:] for row in summary.values] == [("2", "2, 4"), ("1", "3")]
    assert [row[2] for row in by_row.values] == ["offen", "ja", "offen"]


def test_shows_the_cells_of_duplicates(client, upload, choose):
    page = choose(upload("affiliates", "E-mail\na@x.example\nA@x.example\n"))
    _, by_row = page.context["problem_sections"]
    assert by_row.values == [
        (
            *("3", "E-mail", "A@x.example"),
            "The same affiliate is in row 2: remove one of the rows.",
        )
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_refuses_the_example_of_a_template(client, account, upload, choose, program, kind):
    data = client.get(reverse("admin:table_template", args=[kind])).content
    text = read(choose(upload(kind, data)))
    assert "This is the example of the template: remove the row." in text
    assert "No row can be imported" in text


def test_asks_how_numbers_are_written(client, people, upload):
    found = upload("opening_balances", BALANCES.replace("1.234,50", "1.234").replace("80,00", "80"))
    field = client.get(url_of(found, "columns")).context["form"].fields["decimal"]
    assert field.choices == [("point", "1.234 (point)"), ("comma", "1234 (comma)")]


def test_asks_how_letters_are_stored(client, account, upload, choose):
    text = PEOPLE.replace("Mina Kessler", "Łucja Żak")
    found = upload("affiliates", text.encode("cp1250"))
    field = client.get(url_of(found, "columns")).context["form"].fields["encoding"]
    assert ("cp1250", "Łucja Żak (Central European)") in field.choices
    store(client, choose(found, encoding="cp1250"))
    assert account.affiliates.get().lastname == "Żak"
