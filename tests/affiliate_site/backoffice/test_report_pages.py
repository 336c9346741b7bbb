"""The pages of statements and of bookkeeping."""

import csv

import pytest
from django.urls import reverse

from affiliate_site import statement_files
from affiliate_site.backoffice.lists import exports
from tests.latin_fonts import use_latin_fonts
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario")

TRIAL_BALANCE = reverse("admin:trial_balance")
CLOSING = reverse("admin:closing")
DOUBLE_ENTRY = reverse("admin:double_entry")
MARCH = {"start": "2026-03-01", "end": "2026-03-31"}


@pytest.fixture
def payment(scenario):
    sale = scenario.create_conversion("200", external_id="=1+1")
    scenario.approve(scenario.get_commission(sale))
    return scenario.pay("12.50")


def get_url(scenario):
    return reverse("admin:affiliate_statement", args=[scenario.mina.affiliate.pk])


def test_shows_a_statement_to_viewers(staff_client, scenario, payment):
    page = staff_client("viewer").get(get_url(scenario), MARCH).content.decode()

    for text in ("Mina Kessler", "=1+1", payment.public_id, "-12.50 EUR", "7.50 EUR"):
        assert text in page
    affiliate = scenario.mina.affiliate
    url = reverse("admin:tracking_affiliate_change", args=[affiliate.pk])
    assert f'<a href="{url}">minakessler</a>' in page


def test_leads_to_the_statement(staff_client, scenario):
    affiliate = scenario.mina.affiliate
    url = reverse("admin:tracking_affiliate_change", args=[affiliate.pk])

    page = staff_client("viewer").get(url).content.decode()

    assert get_url(scenario) in page


def test_begins_with_the_last_month(staff_client, scenario, payment, time_machine):
    client = staff_client()
    time_machine.move_to("2026-04-07T12:00:00+00:00")

    page = client.get(get_url(scenario)).content.decode()

    assert 'value="2026-03-01"' in page
    assert "7.50 EUR" in page


@pytest.mark.parametrize("name", ["csv", "xlsx", "pdf"])
def test_downloads_a_statement(staff_client, scenario, payment, name):
    response = staff_client().get(get_url(scenario), MARCH | {"format": name})

    assert response.headers["Content-Disposition"] == (
        f'attachment; filename="statement-minakessler-2026-03-01-to-2026-03-31.{name}"'
    )
    starts = {"csv": b'\xef\xbb\xbf"Date","What"', "xlsx": b"PK", "pdf": b"%PDF-"}
    assert response.content.startswith(starts[name])


def test_refuses_a_pdf_with_boxes_for_letters(staff_client, scenario, monkeypatch):
    use_latin_fonts(monkeypatch)
    scenario.mina.affiliate.update_row(lastname="李")
    client = staff_client()
    response = client.get(
        get_url(scenario), MARCH | {"format": "pdf"}, headers={"Accept": "text/html"}
    )
    assert (response.status_code, "prints 李. An operator" in response.text) == (
        503,
        True,
    )
    assert client.get(get_url(scenario), MARCH | {"format": "csv"}).status_code == 200


def test_offers_pdf_only_where_it_can_be_made(staff_client, scenario, monkeypatch):
    client = staff_client()
    assert "format=pdf" in client.get(get_url(scenario), MARCH).content.decode()
    monkeypatch.setattr(statement_files, "find_weasyprint", lambda: None)

    for query in (MARCH, MARCH | {"format": "pdf"}):
        page = client.get(get_url(scenario), query).content.decode()
        assert "format=pdf" not in page
        assert "format=xlsx" in page


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"start": "2026-03-02", "end": "2026-03-01"}, "before the first one"),
        ({"start": "0001-01-01", "end": "2026-03-01"}, "out of range"),
        ({"start": "x", "end": ""}, "Enter a valid date"),
    ],
)
def test_names_what_is_wrong_with_the_days(staff_client, scenario, query, text):
    assert text in staff_client().get(get_url(scenario), query).content.decode()


def test_shows_a_trial_balance_to_viewers(staff_client, scenario, payment):
    page = staff_client("viewer").get(TRIAL_BALANCE).content.decode()

    for text in ("-20.00 EUR", "7.50 EUR", "12.50 EUR", "The sum is zero"):
        assert text in page
    ledger = reverse("admin:payouts_transfer_changelist")
    assert TRIAL_BALANCE in staff_client("owner").get(ledger).content.decode()


def test_shows_a_closing_to_viewers(staff_client, scenario, payment):
    page = staff_client("viewer").get(CLOSING, MARCH).content.decode()

    for text in ("Earned", "20.00 EUR", "-12.50 EUR", "7.50 EUR", "Equal to the led"):
        assert text in page
    assert "Corrected upwards" not in page
    ledger = reverse("admin:payouts_transfer_changelist")
    assert CLOSING in staff_client("owner").get(ledger).content.decode()


def test_reports_lead_to_each_other_and_have_a_place_in_the_sidebar(staff_client, account):
    client = staff_client("viewer")
    for url in (TRIAL_BALANCE, CLOSING, DOUBLE_ENTRY):
        response = client.get(url)
        sidebar = [
            item["title"]
            for group in response.context["sidebar_navigation"]
            for item in group["items"]
            if item["active"] and item["has_permission"]
        ]
        assert sidebar == ["Bookkeeping"]
        page = response.content.decode()
        links = page.partition('aria-label="Reports">')[2].partition("</nav>")[0]
        assert [
            links.count(f'href="{each}"') for each in (TRIAL_BALANCE, CLOSING, DOUBLE_ENTRY)
        ] == [1, 1, 1]
        assert f'href="{url}" aria-current="page"' in links
    ledger = client.get(reverse("admin:payouts_transfer_changelist"))
    assert "Ledger" in [
        item["title"]
        for group in ledger.context["sidebar_navigation"]
        for item in group["items"]
        if item["active"]
    ]


def export_entries(client, *columns):
    response = client.get(DOUBLE_ENTRY, MARCH | {"columns": columns})
    text = b"".join(response.streaming_content).decode("utf-8-sig")
    return list(csv.reader(text.splitlines())), response


def test_exports_one_line_per_side(staff_client, scenario, payment):
    lines, response = export_entries(
        staff_client("viewer"),
        *("date", "ledger_account", "affiliate", "name", "debit", "credit"),
        *("currency", "order_id", "payment"),
    )

    day, mina = f"{CONVERSION_CREATED_AT:%Y-%m-%d}", ["minakessler", "Mina Kessler"]
    order, paid = ["EUR", "'=1+1", ""], ["EUR", "", payment.public_id]
    assert lines == [
        [
            *("Date", "Ledger account", "Affiliate", "Name", "Debit", "Credit"),
            *("Currency", "Order ID", "Payment"),
        ],
        [day, "Not earned", "", "", "20", "", *order],
        [day, "Pending", *mina, "", "20", *order],
        [day, "Pending", *mina, "20", "", *order],
        [day, "Balance due", *mina, "", "20", *order],
        [day, "Balance due", *mina, "12.5", "", *paid],
        [day, "Paid out", "", "", "", "12.5", *paid],
    ]
    assert response.headers["Content-Disposition"] == (
        'attachment; filename="double-entry-2026-03-01-to-2026-03-31.csv"'
    )


def test_exports_as_many_statements_as_chunks(
    staff_client, scenario, payment, capture_queries, monkeypatch
):
    client = staff_client()
    monkeypatch.setattr(exports, "CHUNK_SIZE", 2)
    response = client.get(DOUBLE_ENTRY, MARCH | {"columns": ["entry"]})

    with capture_queries() as captured:
        text = b"".join(response.streaming_content).decode()

    assert len(text.splitlines()) == 7
    assert len([sql for sql in captured if "payouts_transfer" in str(sql)]) == 3


def test_asks_for_days_and_columns_of_an_export(staff_client, scenario):
    client = staff_client("viewer")

    assert "Order ID" in client.get(DOUBLE_ENTRY).content.decode()
    page = client.get(DOUBLE_ENTRY, MARCH).content.decode()
    assert "Choose at least one column." in page
    ledger = reverse("admin:payouts_transfer_changelist")
    assert DOUBLE_ENTRY in client.get(ledger).content.decode()


def test_shows_nothing_of_another_account(staff_client, scenario, other_account):
    other = ProgramScenario(other_account, email=None)
    other.create_conversion("990")
    client = staff_client()

    assert client.get(get_url(other), MARCH).status_code == 404
    assert "99.00" not in client.get(TRIAL_BALANCE).content.decode()
    assert "99.00" not in client.get(CLOSING, MARCH).content.decode()
    assert len(export_entries(client, "entry")[0]) == 1
