"""An event with several sales locks all of their balances before it changes one."""

from decimal import Decimal

import pytest

from payouts.services.opening_balances import post_opening_balance
from tests.lock_order import record_locks
from tests.program_scenario import CONVERSION_CREATED_AT as AT
from tests.shop_inbox import deliver, list_sales
from tests.stripe_events import SECRET, build_checkout
from tracking.models.shops import ConnectionMode
from tracking.services.connections import create_connection

pytestmark = pytest.mark.usefixtures("shared_scenario")


def build_sale(number, currency, **values):
    return build_checkout(
        id=f"cs_{number}",
        payment_intent=f"pi_{number}",
        currency=currency,
        customer="cus_1",
        **values,
    )


def test_locks_the_balances_of_further_orders_with_its_own(scenario):
    account = scenario.account
    connection = create_connection(
        account,
        kind="stripe",
        secret=SECRET,
        mode=ConnectionMode.LIVE,
        program=scenario.program,
        at=AT,
    )
    values = {"affiliate_id": "minakessler", "currency": "USD", "amount": Decimal(1)}
    post_opening_balance(account, **values, at=AT)  # so that USD comes before EUR
    for number, currency in enumerate(("usd", "chf")):
        deliver(connection, build_sale(number, currency), key=f"evt_{number}")
    assert list_sales(account) == []

    with record_locks() as order:
        referral = build_sale(9, "eur", metadata={"ref": scenario.mina.code})
        deliver(connection, referral, key="evt_9")

    assert [row[0] for row in list_sales(account)] == ["pi_0", "pi_1", "pi_9"]
    assert order.violations == []
