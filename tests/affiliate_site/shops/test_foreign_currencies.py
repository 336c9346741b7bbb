"""Refunds and disputes in another currency than their sale."""

from itertools import permutations

import pytest

from affiliate_site.shops.paddle import read_adjustment
from affiliate_site.shops.shopify import read_refunds
from payouts.services.shop_refunds import end_dispute
from payouts.shop_amounts import list_unclear
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT as AT
from tests.shop_inbox import deliver, list_sales
from tests.stripe_events import (
    SECRET,
    build_charge,
    build_checkout,
    build_dispute,
    build_refund,
)
from tracking.models.shops import ConnectionMode, ShopEventState
from tracking.services.connections import create_connection

pytestmark = pytest.mark.usefixtures("shared_scenario")


@pytest.fixture
def connection(scenario):
    yield create_connection(
        scenario.account,
        kind="stripe",
        program=scenario.program,
        secret=SECRET,
        mode=ConnectionMode.LIVE,
        at=AT,
    )
    assert_ledger_consistent(scenario.account)


@pytest.fixture
def sale(scenario):
    """A checkout of 10,000 JPY without tax."""
    return build_checkout(
        currency="jpy",
        amount_total=10000,
        total_details={},
        client_reference_id=str(scenario.create_click().public_id),
    )


def get_amounts(connection):
    return [amount for _, amount, _ in list_sales(connection.account)]


def test_a_lost_dispute_in_another_currency_waits_for_staff(connection, sale):
    deliver(connection, sale)
    event = deliver(connection, build_dispute("lost", 1, amount=7000, currency="usd"))
    event.refresh_from_db()
    assert (event.state, event.due_at) == (ShopEventState.FAILED, None)
    assert event.result[-1].startswith("70 USD went back (du_1), but the sale is in JPY")
    assert get_amounts(connection) == ["10000"]
    conversion = connection.account.conversions.get()
    assert conversion.disputed_at is not None  # nothing is approved meanwhile
    end_dispute(connection.account, conversion_id=conversion.pk, at=AT)
    conversion.refresh_from_db()
    assert conversion.disputed_at is None


def test_another_event_of_the_order_is_applied_as_usual(connection, sale):
    deliver(connection, sale)
    deliver(connection, build_refund("re_2", 7000, 1, currency="usd", charge="ch_2"))
    event = deliver(connection, build_refund("re_1", 1000, 2, currency="jpy"))
    event.refresh_from_db()
    assert event.state == ShopEventState.DONE
    assert get_amounts(connection) == ["9000"]


def test_a_foreign_refund_before_its_sale_is_processed_again(connection, sale):
    refund = deliver(connection, build_refund("re_1", 7000, 1, currency="usd"))
    deliver(connection, sale)
    refund.refresh_from_db()
    assert (refund.state, refund.due_at) == (ShopEventState.WAITING, AT)
    assert get_amounts(connection) == ["10000"]


def test_a_full_refund_in_another_currency_goes_by_its_state(connection, sale):
    deliver(connection, sale)
    charge = build_charge(7000, 1, currency="usd")
    charge["data"]["object"]["refunded"] = True
    deliver(connection, charge)
    assert get_amounts(connection) == []
    # It failed later, so it is no longer all.
    failed = build_refund("re_1", 7000, 2, currency="usd", status="failed")
    event = deliver(connection, failed)
    assert get_amounts(connection) == ["10000"]
    event.refresh_from_db()
    assert event.state == ShopEventState.DONE  # the event itself takes nothing


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_refund_that_names_its_payment_only_counts_once(connection, sale, order):
    events = [
        sale,
        build_charge(4000, 1, currency="jpy"),
        build_refund("re_1", 4000, 1, currency="jpy", charge=None),
    ]
    for number in order:
        deliver(connection, events[number])
    assert get_amounts(connection) == ["6000"]
    refunds = connection.account.refunds.filter(amount__gt=0)
    assert [row.amount for row in refunds] == [4000]


SALE = {"at": "", "order_id": "1", "currency": "JPY", "lines": [], "is_canceled": False}


@pytest.mark.parametrize(("kind", "unclear"), [("full", []), ("partial", ["70 USD"])])
@pytest.mark.parametrize("action", ["refund", "chargeback"])
def test_paddle_says_whether_an_adjustment_is_full(kind, unclear, action):
    adjustment = {
        "id": "adj_1",
        "transaction_id": "txn_1",
        "action": action,
        "type": kind,
        "status": "approved",
        "currency_code": "USD",
        "created_at": "2026-03-04T10:00:00Z",
        "totals": {"total": "7000"},
    }
    body = {"occurred_at": "2026-03-04T10:00:00Z", "data": adjustment}
    facts = read_adjustment(body, None).order
    assert list(list_unclear({"sale": SALE, **facts}).values()) == unclear


@pytest.mark.parametrize(
    ("status", "unclear"), [("refunded", {}), ("partially_refunded", {"5": "70 USD"})]
)
def test_shopify_money_in_a_third_currency(status, unclear):
    money = {"kind": "refund", "status": "success", "amount": "70", "currency": "USD"}
    prices = {
        "shop_money": {"amount": "10000", "currency_code": "JPY"},
        "presentment_money": {"amount": "60", "currency_code": "EUR"},
    }
    order = {
        "currency": "JPY",
        "financial_status": status,
        "total_price_set": prices,
        "refunds": [{"id": 5, "created_at": "", "transactions": [money]}],
    }
    facts = {"sale": SALE, "refunds": read_refunds(order, "", None)}
    assert list_unclear(facts) == unclear
