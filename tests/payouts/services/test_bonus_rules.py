"""Create, change and end bonuses."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from accounts.errors import InvalidSetting
from payouts.errors import BonusGoalFixed, BonusNotFound
from payouts.services.bonus_rules import (
    BonusRule,
    create_bonus,
    end_bonus,
    update_bonus,
)
from payouts.services.bonuses import grant_bonuses
from payouts.services.commissions import approve_commission, reopen_commission
from tests.conftest import NOW

pytestmark = pytest.mark.usefixtures("shared_scenario")

MAY = datetime(2026, 5, 4, 12, tzinfo=UTC)
JUNE = datetime(2026, 6, 1, 3, tzinfo=UTC)
JULY = datetime(2026, 7, 1, 3, tzinfo=UTC)


def make_rule(**values):
    defaults = {
        "title": "First sale of the month",
        "goal_type": "conversions",
        "goal": Decimal(1),
        "period": "month",
        "kind": "fixed",
        "value": Decimal(25),
    }
    return BonusRule(**(defaults | values))


def add_bonus(scenario, at=MAY, **values):
    return create_bonus(scenario.account, program=scenario.program, rule=make_rule(**values), at=at)


@pytest.fixture
def approving_scenario(scenario):
    scenario.program.update_row(auto_approve_commissions=True)
    return scenario


def test_a_bonus_is_granted_for_its_goal(approving_scenario):
    account = approving_scenario.account
    add_bonus(approving_scenario)
    approving_scenario.create_conversion(at=MAY)

    assert [row.amount for row in grant_bonuses(account, at=JUNE).granted] == [Decimal(25)]


def test_an_ended_bonus_is_not_granted_for_the_present_period(approving_scenario):
    account = approving_scenario.account
    bonus = add_bonus(approving_scenario)
    approving_scenario.create_conversion(at=MAY)
    grant_bonuses(account, at=JUNE)
    approving_scenario.create_conversion(at=JUNE)

    end_bonus(account, pk=bonus.pk, at=JUNE)

    assert grant_bonuses(account, at=JULY).granted == []
    assert account.bonuses.get().ended_at == JUNE
    assert not account.bonuses.not_ended().exists()
    with pytest.raises(BonusNotFound):
        end_bonus(account, pk=bonus.pk, at=JULY)


def test_a_bonus_that_ended_later_is_granted_for_earlier_periods(approving_scenario):
    account = approving_scenario.account
    bonus = add_bonus(approving_scenario)
    approving_scenario.create_conversion(at=MAY)
    grant_bonuses(account, at=JUNE)
    approving_scenario.create_conversion(at=JUNE)

    end_bonus(account, pk=bonus.pk, at=JULY)

    assert len(grant_bonuses(account, at=JULY).granted) == 1


@pytest.mark.parametrize("waits_for_decision", [False, True])
def test_what_was_earned_before_a_bonus_ended_is_granted(approving_scenario, waits_for_decision):
    """The night's grants come after the end, or a commission was pending till then."""
    account = approving_scenario.account
    bonus = add_bonus(approving_scenario)
    conversion = approving_scenario.create_conversion(at=MAY)
    commission = approving_scenario.get_commission(conversion)
    if waits_for_decision:
        reopen_commission(account, commission_id=commission.pk, at=MAY)
        assert grant_bonuses(account, at=JUNE).granted == []

    end_bonus(account, pk=bonus.pk, at=JUNE)

    if waits_for_decision:
        approve_commission(account, commission_id=commission.pk, at=JUNE)
    assert [row.amount for row in grant_bonuses(account, at=JUNE).granted] == [Decimal(25)]


def test_a_bonus_of_all_time_is_not_granted_after_its_end(approving_scenario):
    account = approving_scenario.account
    bonus = add_bonus(approving_scenario, period="all_time")
    approving_scenario.create_conversion(at=MAY)

    end_bonus(account, pk=bonus.pk, at=JULY)

    assert grant_bonuses(account, at=JULY).granted == []


def test_a_bonus_never_granted_is_deleted(scenario, account):
    bonus = add_bonus(scenario)

    end_bonus(account, pk=bonus.pk, at=NOW)

    assert not account.bonuses.exists()
    assert account.audit_log.filter(kind="bonus.ended").exists()


def test_the_goal_stays_once_granted(approving_scenario):
    account = approving_scenario.account
    bonus = add_bonus(approving_scenario)
    update_bonus(account, pk=bonus.pk, changes={"goal": Decimal(2)}, at=MAY)
    update_bonus(account, pk=bonus.pk, changes={"goal": Decimal(1)}, at=MAY)
    approving_scenario.create_conversion(at=MAY)
    grant_bonuses(account, at=JUNE)

    with pytest.raises(BonusGoalFixed):
        update_bonus(account, pk=bonus.pk, changes={"goal": Decimal(2)}, at=JUNE)
    update_bonus(account, pk=bonus.pk, changes={"value": Decimal(30)}, at=JUNE)

    assert account.bonuses.get().value == 30


@pytest.mark.parametrize(
    "values",
    [
        {"title": ""},
        {"goal": Decimal(0)},
        {"goal": Decimal("1.5")},
        {"goal_type": "conversion_amount", "goal": Decimal("0.001")},
        {"goal": Decimal(10) ** 13},
        {"value": Decimal(-1)},
        {"kind": "percentage", "value": Decimal(101)},
    ],
)
def test_refuses_an_invalid_rule(scenario, account, values):
    with pytest.raises(InvalidSetting):
        add_bonus(scenario, **values)

    assert not account.bonuses.exists()
