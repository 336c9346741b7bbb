"""Refunds of Shopify that are not through yet: each counts at once, unless it fails."""

from itertools import count

import pytest

from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT
from tests.shop_inbox import deliver, list_sales
from tests.shopify_events import (
    HOUR,
    SECRET,
    build_line,
    build_order,
    build_refund,
)
from tracking.models.shops import ConnectionMode
from tracking.services.connections import create_connection

pytestmark = pytest.mark.usefixtures("shared_scenario")
numbers = count()
# Two lines of 119 EUR together; the second one, of 47.60, goes back.
LINES = [build_line(1, "60.00", "11.40"), build_line(2, "40.00", "7.60")]
BACK = [(2, "40.00", "7.60")]


@pytest.fixture
def connection(scenario):
    scenario.program.update_row(auto_approve_commissions=True)
    yield create_connection(
        scenario.account,
        kind="shopify",
        program=scenario.program,
        secret=SECRET,
        mode=ConnectionMode.LIVE,
        at=CONVERSION_CREATED_AT,
    )
    assert_ledger_consistent(scenario.account)


@pytest.fixture
def send(scenario, connection):
    """Deliver a refund of an order by itself, or the order with refunds."""
    attributes = [{"name": "click_id", "value": str(scenario.create_click().public_id)}]

    def send(*refunds, hours=0, is_alone=False, **values):
        kind = "refunds/create" if is_alone else "orders/updated"
        order = build_order(
            hours,
            note_attributes=attributes,
            line_items=LINES,
            refunds=list(refunds),
            **values,
        )
        key, at = f"event {next(numbers)}", CONVERSION_CREATED_AT + hours * HOUR
        body = refunds[0] if is_alone else order
        deliver(connection, body, key=key, kind=kind, at=at)
        ((_, amount, _),) = list_sales(connection.account)
        return amount

    return send


def pay_back(*payments, lines=BACK, less="", currency="EUR", rate=1, hours=1):
    """A refund with payments of an amount and status, and what it lists as missing."""
    transactions = [
        {"amount": money, "currency": currency, "kind": "refund", "status": status}
        for money, status in payments
    ]
    shown = {"currency_code": currency, "amount": str(float(less or 0) * rate)}
    missing = {
        "amount": less,
        "tax_amount": "0.00",
        "reason": "Pending refund discrepancy",
        "amount_set": {"presentment_money": shown},
    }
    return build_refund(
        51,
        hours=hours,
        lines=lines,
        transactions=transactions,
        order_adjustments=[missing] if less else [],
    )


@pytest.mark.parametrize("is_alone", [True, False])
def test_a_pending_refund_takes_its_lines_until_it_fails(is_alone, send):
    assert send() == "100"
    pending = pay_back(("47.60", "pending"), less="47.60")
    assert send(pending, hours=1, is_alone=is_alone) == "60"
    assert send(pay_back(("47.60", "success")), hours=2) == "60"
    failed = pay_back(("47.60", "failure"), less="47.60")
    assert send(failed, hours=3) == "100"


@pytest.mark.parametrize(
    ("payments", "less", "left"),
    [
        # Half is through, the other half is pending.
        ([("23.80", "success"), ("23.80", "pending")], "23.80", "60"),
        # Half will never be paid: 40 * 23.80 / 47.60.
        ([("23.80", "pending")], "47.60", "80"),
        # More than is missing.
        ([("50.00", "pending")], "47.60", "60"),
        # A return without money.
        ([], "47.60", "100"),
    ],
)
def test_only_what_nobody_pays_back_is_left_out(payments, less, left, send):
    send()
    assert send(pay_back(*payments, less=less), hours=1) == left


def test_a_payment_in_the_currency_of_the_customer_is_compared_in_it(send):
    prices = {
        "shop_money": {"amount": "124.95", "currency_code": "EUR"},
        "presentment_money": {"amount": "156.19", "currency_code": "USD"},
    }
    send(total_price_set=prices)
    refund = pay_back(("59.50", "pending"), less="47.60", currency="USD", rate=1.25)
    assert send(refund, hours=1, total_price_set=prices) == "60"


def test_a_pending_amount_without_lines_is_a_part_of_what_was_paid(send):
    send()
    amount = pay_back(("12.50", "pending"), lines=())
    assert send(amount, hours=1) == "90"  # 12.50 of 124.95 is a tenth
