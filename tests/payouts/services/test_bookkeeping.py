"""The trial balance."""

from datetime import timedelta
from decimal import Decimal

import pytest

from payouts.services.bookkeeping import get_trial_balance
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario")

DAY = CONVERSION_CREATED_AT.date()


def test_sums_each_kind_of_ledger_account_to_zero(
    scenario, other_account, capture_queries
):
    other = ProgramScenario(other_account, email=None)
    other.create_conversion("990")
    sale = scenario.create_conversion("200")
    scenario.create_conversion("30")
    scenario.create_conversion("50", at=CONVERSION_CREATED_AT + timedelta(days=1))
    scenario.approve(scenario.get_commission(sale))
    scenario.pay("12.50")

    with capture_queries() as captured:
        found = get_trial_balance(scenario.account, end=DAY)

    expected = {"expense": -23, "pending": 3, "payable": Decimal("7.5"), "paid": 12.5}
    assert found == {"EUR": expected}
    assert sum(found["EUR"].values()) == 0
    assert len(captured) == 2
    assert get_trial_balance(scenario.account, end=DAY - timedelta(days=1)) == {}
