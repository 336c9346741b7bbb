"""Lists say how many rows they show, add up amounts, and number their pages."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.urls import reverse

from affiliate_site.backoffice import base
from affiliate_site.backoffice.formatters import keep_amounts_together
from affiliate_site.backoffice.lists import long_lists
from affiliate_site.backoffice.lists.columns import AMOUNT
from payouts.services.commissions import disapprove_commission
from payouts.services.conversion_updates import delete_conversion
from tests.conftest import NOW
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario")

LIST = "tracking_conversion"


@pytest.fixture
def client(staff_client):
    return staff_client(role="viewer")


@pytest.fixture
def sales(scenario):
    """Five conversions of 10 to 50 EUR."""
    return [
        scenario.create_conversion(
            Decimal(10 * number),
            external_id=f"R-7531{number}",
            at=CONVERSION_CREATED_AT + timedelta(minutes=number),
        )
        for number in range(1, 6)
    ]


@pytest.fixture
def short_pages(monkeypatch):
    """Pages of two rows."""
    monkeypatch.setattr(base.ThemedModelAdmin, "list_per_page", 2, raising=False)
    monkeypatch.setattr("accounts.tenant_admin.TenantAdmin.list_per_page", 2)


def open_list(client, page=LIST, **query):
    return client.get(reverse(f"admin:{page}_changelist"), query)


def get_text(response):
    """The text of the page without line breaks."""
    return " ".join(response.content.decode().split())


def test_keeps_amounts_and_currencies_on_one_line(client, sales):
    """A narrow screen broke a line between them."""
    assert "150.00\u00a0EUR" in open_list(client).content.decode()
    text = "10.00 EUR, 5.00 USD; the oldest since 2026-11-09 10:29 CET"
    assert keep_amounts_together(text) == (
        "10.00\u00a0EUR, 5.00\u00a0USD; the oldest since 2026-11-09 10:29 CET"
    )


def test_counts_and_adds_up_what_is_shown(client, sales, scenario, other_account):
    ProgramScenario(other_account, email=None).create_conversion("1000")

    text = get_text(open_list(client))
    assert "5 conversions · Total: <strong>150.00 EUR" in text
    text = get_text(open_list(client, q="R-75312"))
    assert "1 conversion · Total: <strong>20.00 EUR" in text
    assert "0 conversions</p>" in get_text(open_list(client, currency="USD"))
    assert "<strong>15.00 EUR" in get_text(open_list(client, "payouts_commission"))


def test_adds_up_by_currency(client, sales, account):
    usd = ProgramScenario(account, slug="b", prefix="b-", email=None, currency="USD")
    usd.create_conversion("7")

    assert "150.00 EUR, 7.00 USD" in get_text(open_list(client))


def test_leaves_deleted_rows_out_of_the_sum(client, sales, account):
    delete_conversion(account, conversion_id=sales[4].pk, at=CONVERSION_CREATED_AT)

    text = get_text(open_list(client))
    assert "5 conversions · Total of 4 without removed ones: <strong>100.00 EUR" in text
    for query in (
        {"deleted_at__isnull": "False"},
        {"removed_from": "2026-01-01"},  # a link of the dashboard
    ):
        deleted = open_list(client, **query)
        assert "1 conversion · Total: <strong>50.00 EUR" in get_text(deleted)


def test_leaves_disapproved_commissions_out_of_the_sum(client, sales, account):
    """As the dashboard does, whose figures link to this list."""
    first, second = account.commissions.order_by("id")[:2]
    disapprove_commission(account, commission_id=first.pk, at=CONVERSION_CREATED_AT)
    delete_conversion(account, conversion_id=second.conversion_id, at=NOW)

    text = get_text(open_list(client, "payouts_commission"))
    assert (
        "5 commissions · Total of 3 without removed and disapproved ones: <strong>12.00 EUR"
    ) in text
    query = {"status__exact": "disapproved"}
    text = get_text(open_list(client, "payouts_commission", **query))
    assert "1 commission · Total: <strong>1.00 EUR" in text


def test_numbers_the_pages(client, sales, short_pages):
    text = get_text(open_list(client, currency="EUR"))

    assert "5 conversions" in text
    assert '<a href="?currency=EUR&amp;p=3" aria-label="Page 3">3</a>' in text
    assert 'href="?currency=EUR&amp;p=2" rel="next"' in text
    assert "Previous" not in text

    text = get_text(open_list(client, p="3"))
    assert 'aria-current="page" aria-label="Page 3">3</a>' in text
    assert 'href="?p=2" rel="prev"' in text
    assert 'rel="next"' not in text


def test_does_not_count_long_lists(client, sales, short_pages, monkeypatch):
    monkeypatch.setattr(long_lists, "MAX_COUNTED_ROWS", 2)

    text = get_text(open_list(client, q="R-"))

    assert "more than 2 conversions" in text
    assert "Total" not in text
    assert 'rel="next"' in text
    assert open_list(client, p="3").status_code == 200


def test_counts_long_lists_by_stored_days(client, sales, short_pages, monkeypatch):
    monkeypatch.setattr(long_lists, "MAX_COUNTED_ROWS", 2)

    text = get_text(open_list(client, deleted_at__isnull="True"))

    assert "5 conversions" in text
    assert "more than" not in text


def test_sorts_by_amount(client, sales):
    column = open_list(client).context["cl"].list_display.index(AMOUNT)

    rows = open_list(client, o=str(column)).context["cl"].result_list
    assert [row.amount for row in rows] == [10, 20, 30, 40, 50]
    rows = open_list(client, o=f"-{column}").context["cl"].result_list
    assert [row.amount for row in rows] == [50, 40, 30, 20, 10]


def test_balances_are_listed_by_currency_with_what_is_due_and_overpaid(
    client, sales, account, scenario
):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    mina = scenario.mina.affiliate
    for affiliate, currency, balance in (
        (mina, "EUR", 100),
        (odette.affiliate, "EUR", -20),
        (mina, "USD", 500),
    ):
        key = {"kind": "payable", "affiliate": affiliate, "currency": currency}
        account.ledger_accounts.update_or_create(**key, defaults={"balance": balance})

    response = open_list(client, "payouts_ledgeraccount")

    rows = response.context["cl"].result_list
    assert [(row.currency, row.balance) for row in rows] == [
        ("EUR", 100),
        ("EUR", -20),
        ("USD", 500),
    ]
    assert (
        "<strong>80.00 EUR, 500.00 USD (100.00 EUR, 500.00 USD due,"
        " -20.00 EUR overpaid)</strong>" in get_text(response)
    )
    due = open_list(client, "payouts_ledgeraccount", balance__gt="0")
    assert "<strong>100.00 EUR, 500.00 USD</strong>" in get_text(due)
    dashboard = get_text(client.get("/admin/"))
    assert "Overpaid: 20.00 EUR, not subtracted" in dashboard
