"""CSV exports: filters, order, and no formulas (docs/reliability.md, section 9)."""

import csv
import io
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html

from accounts.models.api_keys import Role
from affiliate_site.backoffice.formatters import EMPTY_VALUE
from affiliate_site.backoffice.lists import exports
from affiliate_site.cells import format_cell, format_csv_line, format_semicolon_line
from payouts.services.payout_limits import set_minimum
from payouts.services.refunds import refund_conversion
from tests.affiliate_site.backoffice.form_samples import create_rows_for_all_pages
from tests.conftest import NOW
from tests.program_scenario import (
    CONVERSION_CREATED_AT,
    ProgramScenario,
)
from tracking.services.hierarchy import create_group
from tracking.services.notes import create_note

MOMENT_PATTERN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def export_csv(client, page, **filters):
    response = client.get(reverse(f"admin:{page}_export"), filters)
    assert response.status_code == 200
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    data = response.getvalue()
    assert data.startswith(b"\xef\xbb\xbf")
    text = data.decode("utf-8-sig")
    return list(csv.reader(io.StringIO(text)))


def test_chunks_of_long_lists_may_come_from_a_replica(scenario, staff_client, monkeypatch):
    conversion = scenario.create_conversion("100")
    aliases = []

    def read(function):
        """As if the replica had failed the first time."""
        for alias in ("default", "default"):
            aliases.append(alias)
            rows = function(alias)
        return rows

    monkeypatch.setattr(exports.replica, "read", read)

    rows = export_csv(staff_client(), "tracking_conversion")

    assert [row[0] for row in rows[1:]] == [str(conversion.pk)]
    assert aliases == ["default", "default"]


FORMULAS = [
    *("=1+1", "+1+1", "-2+3", "@SUM(A1)", " =1", "\t=1", "\r\n@x", "\tx", "\uff1d1"),
    *("\uff0b1", "\u200b=1", "\ufeff=1", "\x01=1", "+49 30 123"),
    *("|calc", " |calc", "\uff5ccalc"),
]
HARMLESS = [
    *("Tom <tom@example.org>", "https://x.example/" + "<a" * 900, "-12.50", "lamp"),
    *("a=b", ""),
]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((text, f"'{text}") for text in FORMULAS),
        *((text, text) for text in HARMLESS),
        (None, ""),
        (Decimal("20.5000"), "20.5"),
        (Decimal(-3), "-3"),
        (7, "7"),
        (datetime(2026, 3, 4, 9, 15, tzinfo=UTC), "2026-03-04T09:15:00Z"),
        (format_html("<a href='/x'>{}</a>", "a<b"), "a<b"),
    ],
    ids=repr,
)
def test_escapes_formulas(value, text):
    assert format_cell(value) == text


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ({"from": "2026-10-01", "to": "2026-10-31"}, "2026-10"),
        ({"from": "2026-02-01", "to": "2026-02-28"}, "2026-02"),
        ({"from": "2026-10-01", "to": "2026-10-30"}, "2026-10-01-to-2026-10-30"),
        ({"from": "2026-10-02", "to": "2026-10-02"}, "2026-10-02"),
        ({"from": "2026-10-02"}, "from-2026-10-02"),
        ({"to": "2026-10-02"}, "to-2026-10-02"),
        ({}, "2026-03-04"),
    ],
)
def test_names_a_file_after_the_list_and_its_days(staff_client, time_machine, query, name):
    time_machine.move_to(NOW)
    client = staff_client()
    for kind, extension in (("export", "csv"), ("export_xlsx", "xlsx")):
        response = client.get(reverse(f"admin:tracking_enrollment_{kind}"), {})
        assert "program-affiliates-" in response["Content-Disposition"]
        response.getvalue()  # read to the end, as a browser does
        response = client.get(reverse(f"admin:payouts_commission_{kind}"), query)
        assert f'"commissions-{name}.{extension}"' in response["Content-Disposition"]
        response.getvalue()


def test_quotes_texts_and_leaves_numbers():
    values = [7, Decimal("-20.5000"), 'a "b"', "-12.50", True, None, ""]

    assert format_csv_line(values) == '7,-20.5,"a ""b""","-12.50","True",,\r\n'


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize(
    "text",
    [
        "https://x/;=1+1;y",
        "a\t=1",
        "a|-1",
        "a;@x",
        "a; +1",
        "a\n=1",
        "a\r\n=1",
        'a;"=1+1"',
        'a;""=1',
        'a";"=1',
        "a;;=1",
        "a;\u200b=1",
        "a;\uff1d1",
        "a;|calc",
        'a; "|calc',
        "a;;|=1",
        "a\t||-1",
        "a\n\uff5ccalc",
        "|=1|x",
        "|a;|b",
        "=1;=1",
        *("a,=1", 'a,"=1', "a, ,|calc", "a,;=1", "a,\uff1d1"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("write", [format_csv_line, format_semicolon_line])
def test_no_separator_makes_a_formula_of_a_part_of_a_text(write, text, separator):
    line = write([1, text, text])

    for row in csv.reader(io.StringIO(line, newline=""), delimiter=separator):
        for cell in row:
            assert format_cell(cell) == cell, row


def test_exports_a_referrer_with_separators_as_one_cell(staff_client, scenario):
    scenario.create_click(referrer="https://x.example/;=1+1;y")

    response = staff_client().get(reverse("admin:tracking_click_export"))

    text = response.getvalue().decode()

    assert '"https://x.example/;\'=1+1;y"' in text
    cells = [cell for line in text.splitlines() for cell in line.split(";")]
    assert not any(cell.startswith("=") for cell in cells)


def test_escapes_long_texts_of_separators_in_linear_time():
    assert format_csv_line([";" * 1_000_000]).count(";") == 1_000_000


def test_exports_the_rows_of_the_list(staff_client, scenario):
    conversion = scenario.create_conversion("200", external_id="=1+1")
    scenario.create_conversion("50", external_id="order-2")

    lines = export_csv(staff_client(), "payouts_commission", q="=1+1")

    commission = scenario.get_commission(conversion)
    assert [line[:9] for line in lines] == [
        [
            *("ID", "Affiliate", "Amount", "Amount: currency", "Status", "Kind"),
            *("Name", "Conversion", "Payment"),
        ],
        [
            *(str(commission.pk), "minakessler", "20", "EUR", "pending", "regular"),
            *("Standard", "'=1+1", ""),
        ],
    ]


def test_exports_all_pages_in_the_order_of_the_list(staff_client, scenario, monkeypatch):
    monkeypatch.setattr(exports, "CHUNK_SIZE", 20)
    for number in range(55):
        scenario.create_conversion("10", external_id=f"order-{number}")

    lines = export_csv(staff_client(), "tracking_conversion")

    ids = [line[1] for line in lines[1:]]
    assert ids == [f"order-{number}" for number in reversed(range(55))]


def test_applies_filters(staff_client, scenario, account):
    scenario.create_conversion("10")

    client = staff_client()
    assert len(export_csv(client, "payouts_commission", status__exact="pending")) == 2
    assert len(export_csv(client, "payouts_commission", status__exact="approved")) == 1


def test_exports_nothing_of_another_account(staff_client, scenario, other_account, subtests):
    foreign = ProgramScenario(other_account, prefix="zz-marker-", email=None)
    foreign.create_conversion("10", customer_id="zz-marker", external_id="zz-marker")

    for role in Role.values:
        client = staff_client(role=role)
        for model in admin.site._registry:
            with subtests.test(role=role, model=model._meta.label):
                page = f"{model._meta.app_label}_{model._meta.model_name}"
                assert "zz-marker" not in str(export_csv(client, page))


def test_titles_of_moments_say_the_zone(staff_client, account, api, subtests):
    """The screens are in the zone of the account, exports in UTC."""
    create_rows_for_all_pages(account, api, "harbor")
    client = staff_client()

    for model in admin.site._registry:
        page = f"{model._meta.app_label}_{model._meta.model_name}"
        titles, *rows = export_csv(client, page)
        moments = {
            title
            for row in rows
            for title, cell in zip(titles, row, strict=True)
            if MOMENT_PATTERN.fullmatch(cell)
        }
        with subtests.test(model=model._meta.label):
            assert [title for title in moments if not title.endswith("(UTC)")] == []


def test_names_groups_and_customers_as_the_pages_do(staff_client, scenario):
    group = create_group(scenario.account, title="Creators", at=NOW)
    scenario.mina.affiliate.update_row(group=group)
    scenario.create_conversion("10", customer_id="customer-7")
    client = staff_client()

    affiliates, conversions = (
        [dict(zip(titles, row, strict=True)) for row in rows]
        for titles, *rows in (
            export_csv(client, "tracking_affiliate"),
            export_csv(client, "tracking_conversion"),
        )
    )

    assert "Creators" in {row["Group"] for row in affiliates}
    (conversion,) = conversions
    customer = scenario.account.customers.get()
    assert conversion["Customer ID"] == "customer-7"
    assert conversion["Customer"] == customer.public_id


def test_affiliates_have_a_line_for_each_currency(staff_client, scenario, time_machine):
    """So that no amount is missing, and each column adds up."""
    time_machine.move_to(NOW)
    for amount, currency in (("100", "EUR"), ("30", "EUR"), ("70", "USD")):
        conversion = scenario.create_conversion(amount, currency=currency)
        for commission in conversion.commissions.all():
            scenario.approve(commission, at=NOW)

    titles, *rows = export_csv(staff_client(), "tracking_affiliate")

    lines = [dict(zip(titles, row, strict=True)) for row in rows]
    own = [line for line in lines if line["ID"] == "minakessler"]
    assert [
        [
            line[f"{title}{part}"]
            for title in ("Revenue, 30 days", "Balance due")
            for part in ("", ": currency")
        ]
        for line in own
    ] == [["130", "EUR", "13", "EUR"], ["70", "USD", "7", "USD"]]
    assert [line["Conversions, 30 days"] for line in own] == ["3", ""]
    assert {line["E-mail"] for line in own} == {scenario.mina.affiliate.email}


def test_commissions_have_the_program_and_the_hold_of_the_page(
    staff_client, scenario, time_machine
):
    time_machine.move_to(NOW)
    sales = [scenario.create_conversion(amount) for amount in ("100", "50", "20")]
    held, earlier, disapproved = (sale.commissions.get() for sale in sales)
    for commission, days in ((held, 3), (earlier, -1), (disapproved, 3)):
        commission.update_row(due_at=NOW + timedelta(days=days))
    disapproved.update_row(status="disapproved")

    titles, *rows = export_csv(staff_client(), "payouts_commission")

    lines = [dict(zip(titles, row, strict=True)) for row in rows]
    assert [line["On hold until (UTC)"] for line in lines] == [
        *("", "", "2026-03-07T09:15:27Z")  # the newest first
    ]
    assert {line["Program"] for line in lines} == {scenario.program.slug}


def test_says_the_currency_of_balances_once(staff_client, scenario, commission, time_machine):
    """With its parts, as on the page."""
    time_machine.move_to(NOW)
    scenario.approve(commission, at=NOW)
    held = scenario.create_conversion("50").commissions.get()
    scenario.approve(held, at=NOW)
    held.update_row(due_at=NOW + timedelta(days=3))
    scenario.create_conversion("10")

    lines = export_csv(staff_client(), "payouts_ledgeraccount")

    parts = ["Due now", "On hold", "Pending"]
    assert [line[:7] for line in lines] == [
        ["Affiliate", "Name", "Balance due", "Balance due: currency", *parts],
        ["minakessler", "Mina Kessler", "25", "EUR", "20", "5", "1"],
    ]
    assert "Currency" not in lines[0]


def test_names_authors_of_notes_and_whom_minimums_apply_to(staff_client, account, scenario):
    client = staff_client()
    mina = scenario.mina.affiliate
    create_note(account, affiliate=mina, text="Met at a fair.", at=NOW)
    for affiliate_id in (None, mina.slug):
        set_minimum(
            account,
            amount=Decimal(50),
            currency="EUR",
            affiliate_id=affiliate_id,
            at=NOW,
        )

    notes, minimums = (
        export_csv(client, page) for page in ("tracking_note", "payouts_payoutminimum")
    )

    assert notes[0] == ["Affiliate", "Note", "Written by", "Created at (UTC)"]
    assert notes[1][2] == "The system"
    assert sorted(line[0] for line in minimums[1:]) == ["all affiliates", mina.slug]


def test_leaves_cells_without_a_value_empty(staff_client, scenario):
    """Lists show a hyphen there, which a spreadsheet would take for a formula."""
    conversion = scenario.create_conversion("200")
    assert conversion.customer is None

    titles, row = export_csv(staff_client(), "tracking_conversion")

    assert row[titles.index("Customer ID")] == ""
    assert format_cell(EMPTY_VALUE) == ""


def test_conversions_have_statuses_and_commissions(staff_client, scenario):
    """Without what was disapproved."""
    approved, pending, removed, refused = (
        scenario.create_conversion(amount, amount) for amount in ("100", "50", "30", "20")
    )
    for commission in scenario.account.commissions.all():
        if commission.conversion == approved:
            scenario.approve(commission)
        elif commission.conversion == refused:
            scenario.disapprove(commission)
    refund_conversion(
        scenario.account,
        conversion_id=approved.pk,
        reason="Broken.",
        amount=Decimal(20),
        at=CONVERSION_CREATED_AT,
    )
    scenario.delete(removed)

    titles, *lines = export_csv(staff_client(), "tracking_conversion")

    columns = [titles.index(it) for it in ("ID", "Status", "Commissions")]
    assert titles[columns[2] + 1] == "Commissions: currency"
    assert sorted([line[index] for index in columns] for line in lines) == [
        [str(approved.pk), "approved, partly refunded", "18"],
        [str(pending.pk), "pending", "10"],
        [str(removed.pk), "removed", "0"],
        [str(refused.pk), "disapproved", "0"],
    ]


def test_requires_a_sign_in(client, db):
    response = client.get(reverse("admin:payouts_commission_export"))

    assert response.status_code == 302


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("tracking_customer", "Customer ID"),
        ("tracking_conversion", "Order ID"),
        ("payouts_commission", "Conversion"),
    ],
)
def test_exports_texts_as_they_are(staff_client, scenario, monkeypatch, page, title):
    """Lists escape them, or show them as links; the file is read in chunks."""
    texts = ["=1+1", "<b>1</b> &amp; 2", "a;=1", "12", "-12.5", 'x"y', "Höhe"]
    for text in texts:
        scenario.create_conversion("19.95", external_id=text, customer_id=text)
    monkeypatch.setattr(exports, "CHUNK_SIZE", 3)

    titles, *rows = export_csv(staff_client(), page)

    exported = {row[titles.index(title)] for row in rows}
    assert exported >= {
        cell for text in texts for cell in next(csv.reader([format_csv_line([text])]))
    }


def test_names_the_browser_of_a_click(staff_client, scenario):
    agent = "Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Firefox/131.0"
    scenario.create_click(user_agent=agent)

    titles, row = export_csv(staff_client(), "tracking_click")

    assert row[titles.index("Browser")] == "Firefox 131"
