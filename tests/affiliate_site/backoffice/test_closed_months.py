"""Closing a month in the back office."""

import hashlib
from html import unescape

import pytest
from django.urls import reverse

from affiliate_site import closing_files
from tests.closed_months import CLOSED_AT, close
from tests.latin_fonts import use_latin_fonts
from tests.program_scenario import CONVERSION_CREATED_AT as SOLD_AT

pytestmark = pytest.mark.usefixtures("shared_scenario")

CLOSING = reverse("admin:closing")
ADD = reverse("admin:payouts_closedmonth_add")
MARCH = {"start": "2026-03-01", "end": "2026-03-31"}
CLOSE_MARCH = f'href="{ADD}?month=2026-03-01"'


@pytest.fixture(autouse=True)
def _now(time_machine):
    time_machine.move_to(CLOSED_AT, tick=False)


@pytest.fixture
def client(staff_client):
    return staff_client("finance")


def get_url(name, row, *args):
    return reverse(f"admin:{name}", args=[row.pk, *args])


def read(client, url, query=None):
    return unescape(client.get(url, query or {}).content.decode())


def post(client, url, **values):
    response = client.post(url, values, follow=True)
    return unescape(response.content.decode())


def test_finance_closes_the_month_from_its_report(client, scenario):
    scenario.create_conversion("200")
    report = read(client, CLOSING, MARCH)
    assert "The month has ended, and is not closed." in report
    assert CLOSE_MARCH in report

    confirmation = read(client, ADD, {"month": "2026-03-01"})
    for text in ("March 2026 is closed with these figures", "until 2026-03-31", "20.00 EUR"):
        assert text in confirmation
    assert "All months before it are closed with it" in confirmation
    assert 'name="month" value="2026-03-01"' in confirmation
    page = post(client, ADD, month="2026-03-01")

    assert "March 2026 is closed." in page
    [row] = scenario.account.closed_months.all()
    email = f"finance@{scenario.account.slug}.example.org"
    for text in (row.digest, "20.00 EUR", email, "2026-04-02 09:00 UTC"):
        assert text in page
    report = read(client, CLOSING, MARCH)
    assert f"Closed by {email} on 2026-04-02 09:00 UTC" in report
    assert get_url("payouts_closedmonth_change", row) in report
    assert CLOSE_MARCH not in report
    assert "Reopen month" not in report
    logged = read(client, reverse("admin:accounts_auditlogentry_changelist"))
    assert f"{email} closed March 2026" in logged


def test_keeps_the_files(client, scenario):
    scenario.create_conversion("200")
    post(client, ADD, month="2026-03-01")
    [row] = scenario.account.closed_months.all()
    csv, pdf = (client.get(get_url("closed_month_file", row, it)) for it in ("csv", "pdf"))
    scenario.mina.affiliate.update_row(firstname="Other")
    scenario.account.name = "Another name"
    scenario.account.save()

    assert csv.headers["Content-Disposition"] == 'attachment; filename="closing-2026-03.csv"'
    assert hashlib.sha256(csv.content).hexdigest() == row.digest
    assert csv.content.decode("utf-8-sig").splitlines() == [
        '"What","Pending","Balance due","Together","Amounts: currency"',
        '"Open at the start",0,0,0,"EUR"',
        '"Earned",20,0,20,"EUR"',
        '"Open at the end",20,0,20,"EUR"',
    ]
    assert pdf.content.startswith(b"%PDF-")
    assert client.get(get_url("closed_month_file", row, "pdf")).content == pdf.content
    assert client.get(get_url("closed_month_file", row, "reason")).status_code == 404


def test_closes_without_a_pdf_where_none_can_be_made(client, scenario, monkeypatch):
    scenario.create_conversion("200")
    monkeypatch.setattr(closing_files, "find_weasyprint", lambda: None)
    post(client, ADD, month="2026-02-01")
    monkeypatch.undo()
    use_latin_fonts(monkeypatch)
    scenario.account.name = "李"
    scenario.account.save()
    post(client, ADD, month="2026-03-01")

    for row in scenario.account.closed_months.all():
        page = read(client, get_url("payouts_closedmonth_change", row))
        assert ">CSV</a>" in page
        assert ">PDF</a>" not in page
        assert client.get(get_url("closed_month_file", row, "pdf")).status_code == 404


def test_says_what_the_state_of_a_month_is(client, scenario):
    account = scenario.account
    close(account, 2, at=CLOSED_AT)
    april = {"start": "2026-04-01", "end": "2026-04-30"}
    assert "can be closed an hour after its last day" in read(client, CLOSING, april)
    january = {"start": "2026-01-01", "end": "2026-01-31"}
    assert "January 2026 is closed." in read(client, CLOSING, january)
    for query in (april, january):
        assert f'href="{ADD}?' not in read(client, CLOSING, query)
    assert "March 2026" not in read(client, CLOSING, MARCH | {"end": "2026-03-30"})
    assert CLOSE_MARCH in read(client, CLOSING, MARCH)


def test_says_why_a_month_cannot_be_closed(client, scenario):
    close(scenario.account, 2, at=CLOSED_AT)
    for month, text in (
        ("2026-04-01", "April 2026 is open: it can be closed an hour after its last day."),
        ("2026-02-01", "February 2026 is closed."),
        ("x\x00", "Enter a valid date."),
        ("0001-01-01", "The day is out of range."),
        ("2999-12-31", "December 2999 is open"),
        ("", "This field is required."),
    ):
        assert text in post(client, ADD, month=month)
        if "\x00" not in month:
            assert client.get(ADD, {"month": month}).status_code == 200
    assert scenario.account.closed_months.count() == 1
    assert 'value="2026-03-01"' in read(client, ADD)  # the next one


def test_only_finance_and_owners_close(staff_client, scenario):
    for role in ("viewer", "manager"):
        client = staff_client(role)
        assert CLOSE_MARCH not in read(client, CLOSING, MARCH)
        assert client.get(ADD).status_code == 403
        assert client.post(ADD, {"month": "2026-03-01"}).status_code == 403
    assert "March 2026 is closed." in post(staff_client("owner"), ADD, month="2026-03-01")


def test_only_owners_reopen_with_a_reason(staff_client, scenario):
    account = scenario.account
    row = close(account)
    url = get_url("payouts_closedmonth_reopen", row)
    for role in ("viewer", "manager", "finance"):
        client = staff_client(role)
        assert client.get(url).status_code == client.post(url).status_code == 403
        assert read(client, get_url("payouts_closedmonth_change", row))
    owner = staff_client("owner")
    assert f'href="{url}"' in read(owner, CLOSING, MARCH)
    assert "can be added and imported again" in read(owner, url)
    assert "This field is required." in post(owner, url, reason="")
    assert "control characters" in post(owner, url, reason="a\x00b")
    page = post(owner, url, reason="An import was missing")

    assert "March 2026 is open again." in page
    for text in ("An import was missing", "Reopened by", row.digest):
        assert text in page
    assert CLOSE_MARCH in read(owner, CLOSING, MARCH)
    assert "not possible in this state" in post(owner, url, reason="Again")
    logged = read(owner, reverse("admin:accounts_auditlogentry_changelist"))
    assert f"owner@{account.slug}.example.org reopened March 2026" in logged


def test_reopens_from_the_last_month_back(staff_client, scenario):
    february, _ = close(scenario.account, 2), close(scenario.account, 3)
    url = get_url("payouts_closedmonth_reopen", february)

    assert "Reopen March 2026 before it." in post(staff_client("owner"), url, reason="x")


def test_shows_what_has_changed_since(client, scenario):
    sale = scenario.create_conversion("200")
    row = close(scenario.account)
    url = get_url("payouts_closedmonth_change", row)
    assert "Corrected downwards" not in read(client, url)
    scenario.delete(sale, at=CLOSED_AT)

    page = read(client, url)

    assert "Later entries about sales of this month" in page
    after = page.partition("Corrected downwards, refunded, removed or disapproved")[2]
    assert "20.00 EUR" in after


def test_a_sale_with_a_day_in_a_closed_month_is_refused(staff_client, scenario):
    close(scenario.account)
    url = reverse("admin:tracking_conversion_add")
    values = {"amount": "20", "coupon": scenario.mina.coupon, "created_at": f"{SOLD_AT:%Y-%m-%d}"}

    page = post(staff_client("manager"), url, **values)

    assert "March 2026 is closed: choose a day from 2026-04-01 on, or an owner can" in page
    assert not scenario.account.conversions.exists()


def test_files_belong_to_the_account(client, other_account):
    row = close(other_account)
    for url in (
        get_url("closed_month_file", row, "csv"),
        get_url("payouts_closedmonth_change", row),
    ):
        assert client.get(url).status_code in (302, 404)
