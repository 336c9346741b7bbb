"""Sales that change after their bonus was granted (docs/api-contract.md, 7.10)."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from payouts.services import bonuses
from payouts.services.bonus_rules import update_bonus
from payouts.services.bonuses import grant_bonuses
from payouts.services.commissions import (
    approve_commission,
    disapprove_commission,
)
from payouts.services.conversion_updates import (
    update_conversion,
)
from tests.ledger_checks import (
    assert_ledger_consistent,
)
from tests.program_scenario import CONVERSION_CREATED_AT
from tracking.services.enrollments import set_approval, update_enrollment

pytestmark = pytest.mark.usefixtures("shared_scenario")

SETTLED = datetime(2026, 4, 3, tzinfo=UTC)  # March is over since more than a day
LATE = datetime(2026, 4, 22, tzinfo=UTC)
MAY = datetime(2026, 5, 3, tzinfo=UTC)


@pytest.fixture
def scenario(scenario):
    scenario.program.update_row(auto_approve_commissions=True)
    yield scenario
    assert_ledger_consistent(scenario.account)


def grant(account, at):
    return [(row.affiliate.slug, row.amount) for row in grant_bonuses(account, at=at)]


def update(account, sale, *, at=LATE, should_recalculate=False, status=None, **changes):
    update_conversion(
        account,
        conversion_id=sale.pk,
        changes=changes,
        should_recalculate=should_recalculate,
        status=status,
        at=at,
    )


def disapprove(account, sale, *, at=LATE):
    commission = account.commissions.get(conversion=sale)
    disapprove_commission(account, commission_id=commission.pk, at=at)


def approve(account, sale, *, at=LATE):
    commission = account.commissions.get(conversion=sale)
    approve_commission(account, commission_id=commission.pk, at=at)


# Periods that were worked through.


def make_weekly_bonus(scenario, *, years=5):
    since = SETTLED - timedelta(days=365 * years)
    return scenario.create_bonus(goal="1", value="50", period="week", at=since)


def test_asks_about_old_periods_once(scenario, account, capture_queries):
    make_weekly_bonus(scenario)
    scenario.create_conversion("200")
    assert grant(account, SETTLED) == [("minakessler", 50)]

    with capture_queries() as captured:
        assert grant(account, SETTLED + timedelta(hours=1)) == []

    assert len(captured) <= 7, [query["sql"] for query in captured]


def test_asks_about_a_changed_period_again(scenario, account, capture_queries):
    make_weekly_bonus(scenario)
    first = scenario.create_conversion("200")
    scenario.create_conversion("200")
    grant_bonuses(account, at=SETTLED)
    disapprove(account, first)

    with capture_queries() as captured:
        assert grant(account, LATE) == []

    # Three for the changed week, six for two weeks that are over since.
    assert len(captured) <= 20, [query["sql"] for query in captured]
    with capture_queries() as captured:
        assert grant(account, LATE) == []
    assert len(captured) <= 7


def test_asks_about_periods_with_findings_only_while_balances_are_locked(
    scenario, account, capture_queries
):
    make_weekly_bonus(scenario)
    scenario.create_conversion("200")

    with capture_queries() as captured:
        grant_bonuses(account, at=SETTLED)

    progress = [query for query in captured if "period_start" in query["sql"]]
    weeks = 5 * 365 // 7 + 1
    assert len(progress) <= weeks + 5


def test_looks_again_until_a_day_after_the_end(scenario, account):
    scenario.create_bonus(goal="1", value="50")
    grant_bonuses(account, at=datetime(2026, 4, 1, tzinfo=UTC))
    scenario.create_conversion("200")  # began before midnight, ended after the run

    assert grant(account, datetime(2026, 4, 2, tzinfo=UTC)) == [("minakessler", 50)]


@pytest.mark.parametrize("period", ["week", "month", "year", "all_time"])
def test_sees_a_late_approval(scenario, account, period):
    scenario.create_bonus(goal="1", value="50", period=period)
    sale = scenario.create_conversion("200")
    late = datetime(2027, 2, 1, tzinfo=UTC)
    disapprove(account, sale, at=CONVERSION_CREATED_AT)
    assert grant(account, late) == []

    approve(account, sale, at=late)

    assert grant(account, late) == [("minakessler", 50)]


@pytest.mark.parametrize("service", [set_approval, update_enrollment])
def test_sees_a_late_approval_of_the_affiliate(scenario, account, service):
    scenario.create_bonus(goal="1", value="50")
    scenario.create_conversion("200")
    scenario.mina.enrollment.update_row(approved=False)
    assert grant(account, SETTLED) == []

    values = (
        {"approved": True}
        if service is set_approval
        else {"changes": {"approved": True}}
    )
    service(
        account,
        program=scenario.program,
        affiliate_id="minakessler",
        at=LATE,
        **values,
    )

    assert grant(account, LATE) == [("minakessler", 50)]


def test_sees_a_goal_that_was_lowered(scenario, account):
    bonus = scenario.create_bonus(goal="2", value="50")
    scenario.create_conversion("200")
    assert grant(account, SETTLED) == []

    update_bonus(account, pk=bonus.pk, changes={"goal": Decimal(1)}, at=LATE)

    assert grant(account, LATE) == [("minakessler", 50)]


def test_sees_a_goal_that_is_lowered_meanwhile(scenario, account, monkeypatch):
    bonus = scenario.create_bonus(goal="2", value="50")
    scenario.create_conversion("200")
    find_periods = bonuses._list_due_periods

    def lower_goal(*args):
        update_bonus(account, pk=bonus.pk, changes={"goal": Decimal(1)}, at=LATE)
        return find_periods(*args)

    monkeypatch.setattr(bonuses, "_list_due_periods", lower_goal)
    assert grant(account, SETTLED) == []
    monkeypatch.undo()

    assert grant(account, LATE) == [("minakessler", 50)]


def test_records_no_change_of_the_same_day(scenario, account):
    sale = scenario.create_conversion("200")

    update(account, sale, amount=Decimal(100), at=CONVERSION_CREATED_AT)
    disapprove(account, sale, at=CONVERSION_CREATED_AT)

    assert not account.late_changes.exists()
