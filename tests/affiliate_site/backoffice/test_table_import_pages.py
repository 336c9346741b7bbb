"""Pages that import tables: upload, columns, check, import, undo."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from accounts.models.api_keys import Role
from affiliate_site.backoffice.imports import upload_page
from affiliate_site.backoffice.imports.check_page import CheckPage
from affiliate_site.moving.tables.files import read_table
from affiliate_site.moving.tables.kinds import KINDS
from affiliate_site.moving.tables.mappings import guess_mapping
from affiliate_site.moving.tables.storing import STORES
from tests.affiliate_site.backoffice.table_import_pages import (
    ADD,
    PEOPLE,
    choose,
    client,
    list_cells,
    people,
    read,
    store,
    upload,
    url_of,
)
from tests.affiliate_site.moving.tables.test_notes import BILLED, MARCH, PAYMENTS
from tests.document_scenario import bill
from tracking.models.imports import TableImport
from tracking.services.imports import ImportProblem

__all__ = ["choose", "client", "people", "upload"]

LIST = "admin:tracking_tableimport_changelist"
NOT_ONE_FOR_EACH = (
    "The row has {} cells, not one for each column: look for missing or stray"
    " separators and quotation marks."
)
MANY_ROWS = "\n".join(["ID", *map(str, range(upload_page.MAX_PAGE_ROWS + 1))])


def test_imports_a_table(client, account, upload, choose):
    found = upload("affiliates", PEOPLE)
    page = choose(found)
    assert "Import all 1 row" in read(page)
    response = store(client, page)
    stored = TableImport.objects.get()
    assert response.url == url_of(stored)
    assert account.affiliates.get().email == "mina@x.example"
    text = read(client.get(response.url))
    assert "The rows were imported: 1 new." in text
    assert "owner@" in text
    found = found.reload()
    assert (found.content, found.table_import) == ("", stored)
    assert "table.csv" in read(client.get(reverse(LIST)))


def test_shows_the_columns_with_their_first_values(client, upload):
    found = upload("affiliates", PEOPLE + "olga,olga@x.example,Olga Novak,2026-03-05\n")
    page = client.get(url_of(found, "columns"))
    entries = {it.column.name: it for it in page.context["shown"]}
    assert entries["email"].select.value() == "1"
    assert entries["email"].examples == ["mina@x.example", "olga@x.example"]
    assert entries["code"].examples == []
    assert "payout_iban" in {it.column.name for it in page.context["folded"]}


def test_needs_the_columns_that_identify_a_row(client, upload):
    found = upload("affiliates", "Name\nMina\n")
    response = client.post(url_of(found, "columns"), {"column__name": "0"})
    assert list(response.context["form"].errors) == ["column__email"]
    found = upload("customers", "Customer\nc-1\n")
    response = client.post(url_of(found, "columns"), {"column__customer_id": "0"})
    assert set(response.context["form"].errors) == {
        *("column__program", "column__affiliate"),
    }


def test_says_what_is_wrong_and_imports_the_good_rows(client, account, upload, choose):
    page = choose(upload("affiliates", PEOPLE + "olga,nobody,Olga,2026-02-30\n"))
    text = read(page)
    assert "nobody is not an e-mail address." in text
    assert "2026-02-30 is no date" in text
    assert "Import all" not in text
    assert "Import the 1 good row, leave out 1" in text
    assert store(client, page).status_code == 200  # not all
    assert account.affiliates.count() == 0
    bad = client.get(f"{page.request['PATH_INFO']}?problems").content
    table = read_table(bad, "bad.csv")
    assert table.header[:3] == ["Row in the file", "What is wrong", "ID"]
    assert [row.cells[2:4] for row in table.rows] == [["olga", "nobody"]]
    store(client, page, "_only_good")
    assert account.table_imports.get().not_stored == 1
    again = bad.replace(b"nobody", b"o@x.example").replace(b"02-30", b"02-28")
    page = choose(upload("affiliates", again))
    assert "Import all 1 row" in read(page)


def test_keeps_the_rows_that_were_left_out(client, staff_client, account, upload, choose):
    found = upload("affiliates", PEOPLE + "olga,nobody,Olga,2026-03-05\n")
    page = choose(found)
    bad = client.get(f"{page.request['PATH_INFO']}?problems").content
    text = read(client.get(store(client, page, "_only_good").url))
    assert "Download the rows left out (1)" in text
    url = f"{url_of(account.table_imports.get())}?left_out"
    assert client.get(url).content == bad
    assert staff_client(Role.MANAGER).get(url).status_code == 403
    found.delete()  # after a day
    assert client.get(url).status_code == 404
    assert "left out (" not in read(client.get(url.removesuffix("?left_out")))


def test_downloads_the_cells_of_broken_rows(client, upload, choose):
    page = choose(upload("affiliates", PEOPLE + "olga,o@x.example\na,b,c,d,e\n"))
    bad = client.get(f"{page.request['PATH_INFO']}?problems").content
    assert list_cells(bad) == [
        ["Row in the file", "What is wrong", "ID", "E-mail", "Name", "Joined"],
        ["3", NOT_ONE_FOR_EACH.format(2), "olga", "o@x.example"],
        ["4", NOT_ONE_FOR_EACH.format(5), "a", "b", "c", "d", "e"],
    ]
    page = choose(upload("affiliates", bad))  # as it is
    assert page.context["counts"]["not_stored"] == 2
    again = client.get(f"{page.request['PATH_INFO']}?problems").content
    assert [row[2:] for row in list_cells(again)] == [row[2:] for row in list_cells(bad)]


def test_has_nothing_to_do_with_rows_that_are_known(client, people, upload, choose):
    page = choose(upload("affiliates", PEOPLE))
    assert "All rows are known already" in read(page)
    assert "_save" not in page.content.decode()
    assert store(client, page).status_code == 200
    assert TableImport.objects.count() == 1


def test_says_what_is_added_to_a_month_with_a_document(client, account, scenario, upload, choose):
    bill(scenario.pay("1"), *MARCH)
    payment = PAYMENTS.replace("2026-04-01", "2026-03-31")
    assert "Documents were issued" not in read(choose(upload("payments", PAYMENTS)))
    assert BILLED in read(choose(upload("payments", payment, name="march.csv")))


def test_imports_once(client, account, upload, choose):
    found = upload("affiliates", PEOPLE)
    page = choose(found)
    for _ in range(2):
        assert store(client, page).url == url_of(TableImport.objects.get())
    assert "was imported already" in read(client.get(url_of(found, "check"), follow=True))


def test_a_second_click_meanwhile_shows_the_import(client, account, upload, choose, monkeypatch):
    """The page was opened by both before one of them stored the rows."""
    page = choose(upload("affiliates", PEOPLE))
    store(client, page)
    answers = iter([True, False])
    monkeypatch.setattr(CheckPage, "is_offered", lambda page, row: next(answers))
    response = client.post(page.request["PATH_INFO"], {"outcome": "x"})
    assert (response.status_code, response.url) == (
        302,
        url_of(TableImport.objects.get()),
    )


def test_stores_nothing_if_the_rows_have_changed(client, account, upload, choose):
    first, second = (choose(upload("affiliates", PEOPLE)) for _ in range(2))
    store(client, first)
    response = store(client, second)
    text = read(response)
    assert text.index("Something has changed") < text.index("Step 3 of 3")
    assert account.table_imports.count() == 1
    assert account.table_uploads.filter(table_import=None).count() == 1


@pytest.mark.parametrize("button", ["_save", "_only_good"])
def test_names_rows_that_the_database_refuses(client, account, upload, choose, monkeypatch, button):
    def store_or_refuse(imports, row, ledger, store=STORES["affiliates"]):
        if row.number == 3:
            raise ImportProblem("not_storable", "id", "too odd")
        store(imports, row, ledger)

    page = choose(upload("affiliates", PEOPLE + "olga,olga@x.example,Olga,2026-03-05\n"))
    monkeypatch.setitem(STORES, "affiliates", store_or_refuse)
    response = store(client, page, button)
    refused = "row 3: The row cannot be stored: too odd"
    if button == "_save":
        assert refused in read(response)
        assert account.affiliates.count() == 0
    else:
        assert refused in read(client.get(response.url))
        assert account.affiliates.count() == 1


def test_pages_through_the_rows(client, upload, choose):
    rows = "".join(f"id-{n},{n}@x.example\n" for n in range(30))
    page = choose(upload("affiliates", f"ID,E-mail\n{rows}"))
    assert "id-24" in read(page)
    assert "id-25" not in read(page)
    second = client.get(page.request["PATH_INFO"], {"page": 2})
    assert "id-25" in read(second)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ("", "empty"),
        ("ID\n", "has a header, but no rows"),
        (b"\xd0\xcf\x11\xe0", "old or encrypted Excel file"),
        ("x" * (upload_page.MAX_BYTES + 1), "too large. Split it"),
        (MANY_ROWS, "too many rows. Split it"),
    ],
)
def test_refuses_other_files(client, account, data, error):
    content = data if isinstance(data, bytes) else data.encode()
    file = SimpleUploadedFile("table.csv", content)
    response = client.post(reverse(ADD), {"kind": "affiliates", "file": file})
    assert error in str(response.context["form"].errors["file"])
    assert not account.table_uploads.exists()


def test_names_the_columns_of_another_system(client, account, upload, choose):
    rows = "email,first_name,paypal_email,state\na@x.example,A,,active\n"
    rows += "b@x.example,B,b@pay.example,1\n"
    found = upload("affiliates", rows, system="rewardful")
    assert found.settings["mapping"]["payout_email"] == "paypal_email"
    assert found.settings["defaults"] == {"payout_method": "paypal"}
    store(client, choose(found))
    method = account.payout_methods.get()
    assert (method.kind, method.affiliate.email) == ("paypal", "b@x.example")


def test_undoes_an_import(client, account, people):
    stored = account.table_imports.get()
    page = client.get(url_of(stored, "undo"))
    assert "What is removed Affiliates 2" in read(page)
    response = client.post(url_of(stored, "undo"), follow=True)
    assert "The import was undone." in read(response)
    assert account.affiliates.count() == 0
    assert stored.reload().undone_at
    assert client.get(url_of(stored, "undo")).status_code == 302


def test_names_what_keeps_an_import(client, account, people, upload, choose):
    rows = "Partner,Amount\nmina,5\n"
    store(client, choose(upload("opening_balances", rows), default__currency="EUR"))
    stored = account.table_imports.earliest("pk")
    response = client.post(url_of(stored, "undo"))
    text = read(response)
    assert "cannot be undone any more, because of what came after: " in text
    assert text.count("mina") == 1
    assert "What is removed" not in text
    assert "_save" not in response.content.decode()
    assert account.affiliates.count() == 2


@pytest.mark.parametrize("kind", KINDS)
def test_offers_templates_that_can_be_read_back(client, kind):
    response = client.get(reverse("admin:table_template", args=[kind]))
    header = read_table(response.content, "template.csv").header
    mapping = guess_mapping(KINDS[kind], header)
    assert set(mapping) == set(KINDS[kind].by_name)


def test_has_no_template_of_other_rows(client):
    assert client.get(reverse("admin:table_template", args=["x"])).status_code == 404


@pytest.mark.parametrize("role", [Role.VIEWER, Role.MANAGER, Role.FINANCE])
def test_is_for_owners(staff_client, people, upload, role):
    upload("affiliates", PEOPLE)
    stored = TableImport.objects.get()
    client = staff_client(role)
    assert "table.csv" in read(client.get(reverse(LIST)))
    assert "Import the next table" not in read(client.get(url_of(stored)))
    template = reverse("admin:table_template", args=["affiliates"])
    assert client.get(template).status_code == 403


def test_lists_files_that_wait(client, account, upload, choose):
    found = upload("affiliates", PEOPLE)
    url = reverse("admin:tracking_tableupload_changelist")
    assert "table.csv" in read(client.get(url))
    assert "a day after the upload" in read(client.get(url_of(found)))
    store(client, choose(found))
    assert "table.csv" not in read(client.get(url))


def test_deletes_a_file(client, account, upload, choose):
    found, other = upload("affiliates", PEOPLE), upload("affiliates", PEOPLE)
    text = read(client.post(url_of(found, "delete_file"), follow=True))
    assert "The file was deleted." in text
    assert list(account.table_uploads.all()) == [other]
    store(client, choose(other))
    assert client.post(url_of(other, "delete_file")).status_code == 302
    assert account.table_uploads.count() == 1
