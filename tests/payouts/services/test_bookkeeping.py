"""The trial balance, and the closing of a period."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from payouts.services.bookkeeping import get_period_closings, get_trial_balance
from payouts.services.payments import cancel_payment
from payouts.services.refunds import refund_conversion
from tests.payouts.services.histories import OPERATIONS, History
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario")

DAY = CONVERSION_CREATED_AT.date()
A_DAY = timedelta(days=1)


def test_sums_each_kind_of_ledger_account_to_zero(scenario, other_account, capture_queries):
    other = ProgramScenario(other_account, email=None)
    other.create_conversion("990")
    sale = scenario.create_conversion("200")
    scenario.create_conversion("30")
    scenario.create_conversion("50", at=CONVERSION_CREATED_AT + A_DAY)
    scenario.approve(scenario.get_commission(sale))
    scenario.pay("12.50")

    with capture_queries() as captured:
        found = get_trial_balance(scenario.account, end=DAY)

    expected = {"expense": -23, "pending": 3, "payable": Decimal("7.5"), "paid": 12.5}
    assert found == {"EUR": expected}
    assert sum(found["EUR"].values()) == 0
    assert len(captured) == 2
    assert get_trial_balance(scenario.account, end=DAY - A_DAY) == {}


def test_closes_a_period_by_currency(scenario, other_account, capture_queries):
    other = ProgramScenario(other_account, email=None)
    other.create_conversion("990", at=CONVERSION_CREATED_AT + A_DAY)
    dollars = ProgramScenario(
        scenario.account, slug="beacon", prefix="b-", email=None, currency="USD"
    )
    dollars.create_conversion("70")
    sale = scenario.create_conversion("200")
    at = CONVERSION_CREATED_AT + A_DAY
    scenario.approve(scenario.get_commission(sale), at=at)
    scenario.create_conversion("30", at=at)
    refund_conversion(scenario.account, conversion_id=sale.pk, amount=Decimal(40), reason="", at=at)
    payment = scenario.pay("12.50", at=at)
    cancel_payment(scenario.account, payment_id=payment.public_id, at=at)
    scenario.pay("1", at=at + A_DAY)

    with capture_queries() as captured:
        found = get_period_closings(scenario.account, start=DAY + A_DAY, end=DAY + A_DAY)

    assert list(found) == ["EUR", "USD"]
    closing = found["EUR"]
    assert (closing.opening, closing.closing) == ((20, 0), (3, 16))
    assert {name.value: amounts for name, amounts in closing.movements.items()} == {
        "earned": (3, 0),
        "withdrawn": (-4, 0),
        "approved": (-20, 20),
        "reopened": (4, -4),
        "paid": (0, -12.5),
        "payment_canceled": (0, 12.5),
    }
    assert closing.is_explained
    assert (found["USD"].closing, found["USD"].movements) == ((7, 0), {})
    assert len(captured) == 8


def test_tells_corrections_from_what_was_earned(scenario):
    sale = scenario.create_conversion("200")
    commission = scenario.get_commission(sale)
    scenario.disapprove(commission)
    scenario.approve(commission)

    found = get_period_closings(scenario.account, start=DAY, end=DAY)["EUR"]

    assert {name.value: amounts for name, amounts in found.movements.items()} == {
        "earned": (20, 0),
        "increased": (20, 0),
        "withdrawn": (-20, 0),
        "approved": (-20, 20),
    }


@pytest.mark.another_transaction
@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(operations=OPERATIONS, first=st.integers(-1, 20), days=st.integers(0, 20))
def test_opening_balances_and_movements_are_the_stored_balances(db, operations, first, days):
    with transaction.atomic():
        history = History()
        for operation in operations:
            history.perform(*operation)
        affiliates = [each.affiliate for each in history.affiliates]
        start = DAY + first * A_DAY
        end = start + days * A_DAY

        found = get_period_closings(history.account, start=start, end=end)

        opening = history.get_balances(start - A_DAY, affiliates)
        closing = history.get_balances(end, affiliates)
        for period in found.values():
            assert [period.opening.payable, period.opening.pending] == opening
            assert [period.closing.payable, period.closing.pending] == closing
            assert period.is_explained
        assert found or not any(opening + closing)
        transaction.set_rollback(True)
