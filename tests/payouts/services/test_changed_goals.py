"""Sales that change after their bonus was granted (docs/api-contract.md, 7.10)."""

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from payouts.services import bonuses
from payouts.services.bonus_rules import update_bonus
from payouts.services.bonuses import grant_bonuses
from payouts.services.commissions import (
    approve_commission,
    disapprove_commission,
    reopen_commission,
)
from payouts.services.conversion_creation import ConversionData, create_conversion
from payouts.services.conversion_updates import (
    add_commissions,
    delete_conversion,
    update_commission,
    update_conversion,
)
from payouts.services.corrections import confirm_claim
from payouts.services.erasure import erase_person
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.payments import PaymentOrder, create_payments
from payouts.services.payout_settings import top_up_payout_balance
from tests.factories.accounts import PlanFactory
from tests.ledger_checks import (
    InjectedDatabaseError,
    assert_ledger_consistent,
    fail_at_statement,
)
from tests.program_scenario import CONVERSION_CREATED_AT, build_line_items
from tracking.attribution import TrackingParameters
from tracking.claims import Trust
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
    return [(row.affiliate.slug, row.amount) for row in grant_bonuses(account, at=at).granted]


@pytest.fixture
def granted(scenario, account):
    """A bonus for 300 of revenue, granted for sales of 200 and 100."""
    scenario.create_bonus(goal="300", goal_type="conversion_amount", value="50")
    scenario.create_conversion("200", external_id="first")
    scenario.create_conversion("100", external_id="second")
    (commission,) = grant_bonuses(account, at=SETTLED).granted
    assert commission.status == "approved"
    return commission


@pytest.fixture
def sale(account, granted):
    return account.conversions.get(external_id="second")


@pytest.fixture
def claimed_sale(scenario, account, granted):
    """The second sale, as if a page had reported it."""
    conversion = account.conversions.get(external_id="second")
    conversion.update_row(claim_status="reviewed")
    return conversion


def refund(account, sale):
    delete_conversion(account, conversion_id=sale.pk, at=LATE)


def update(account, sale, *, at=LATE, should_recalculate=False, status=None, **changes):
    update_conversion(
        account,
        conversion_id=sale.pk,
        changes=changes,
        should_recalculate=should_recalculate,
        status=status,
        at=at,
    )


def lower_sub_amount(account, sale):
    commission = account.commissions.get(conversion=sale)
    update_commission(
        account,
        commission_id=commission.pk,
        changes={"sub_amount": Decimal(99)},
        at=LATE,
    )


def disapprove(account, sale, *, at=LATE):
    commission = account.commissions.get(conversion=sale)
    disapprove_commission(account, commission_id=commission.pk, at=at)


def approve(account, sale, *, at=LATE):
    commission = account.commissions.get(conversion=sale)
    approve_commission(account, commission_id=commission.pk, at=at)


WAYS = {
    "deleted": refund,
    "amount": lambda account, sale: update(account, sale, amount=Decimal(99)),
    "amount-and-commissions": lambda account, sale: update(
        account, sale, amount=Decimal(0), should_recalculate=True
    ),
    "sub-amount": lower_sub_amount,
    "disapproved": disapprove,
    "status-and-sale": lambda account, sale: update(account, sale, status="disapproved"),
    "reopened": lambda account, sale: reopen_commission(
        account, commission_id=account.commissions.get(conversion=sale).pk, at=LATE
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_puts_a_bonus_back_whose_goal_is_no_longer_met(account, granted, sale, way):
    WAYS[way](account, sale)

    assert grant(account, MAY) == []

    granted.refresh_from_db()
    assert (granted.status, granted.goal_missed_at) == ("pending", MAY)
    assert granted.amount == 50
    reached = json.loads(granted.calculation)
    assert Decimal(reached["reached"]["amount"]) == 300
    assert Decimal(reached["present"]["amount"]) < 300
    assert account.late_changes.count() == 0


def test_puts_a_bonus_back_if_a_fact_names_another_affiliate(
    scenario, account, granted, claimed_sale
):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    data = ConversionData(
        parameters=TrackingParameters(coupon=odette.coupon),
        line_items=build_line_items("100"),
        external_id="second",
    )
    create_conversion(account, data=data, at=LATE)

    assert grant(account, MAY) == []

    granted.refresh_from_db()
    assert (granted.status, granted.goal_missed_at) == ("pending", MAY)


def test_puts_a_bonus_back_if_a_person_confirms_another_claim(
    scenario, account, granted, claimed_sale
):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    data = ConversionData(
        parameters=TrackingParameters(coupon=odette.coupon),
        line_items=build_line_items("100"),
        external_id="second",
        trust=Trust.CLAIM,
    )
    create_conversion(account, data=data, at=LATE)
    claim = account.conversion_claims.get(affiliate=odette.affiliate)
    confirm_claim(account, claim_id=claim.pk, at=LATE)

    assert grant(account, MAY) == []

    granted.refresh_from_db()
    assert (granted.status, granted.goal_missed_at) == ("pending", MAY)


def test_logs_and_publishes_what_happened(account, granted, sale):
    refund(account, sale)
    grant_bonuses(account, at=MAY)

    entries = account.audit_log.filter(subject=f"commission:{granted.pk}", created_at=MAY).order_by(
        "id"
    )
    assert [(entry.kind, entry.details) for entry in entries] == [
        ("commission.goal_missed", {}),
        ("commission.updated", {"status": ["approved", "pending"]}),
    ]
    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": Decimal(20)}}


def test_keeps_a_bonus_whose_goal_is_still_met(account, granted, sale):
    update(account, sale, amount=Decimal(100), external_id="renamed")
    add_commissions(account, conversion_id=sale.pk, line_items=build_line_items("10"), at=LATE)
    erase_person(account, identifier="mina@notes.example.org", at=LATE)

    assert grant(account, MAY) == []

    granted.refresh_from_db()
    assert (granted.status, granted.goal_missed_at) == ("approved", None)


def test_only_marks_a_bonus_that_is_paid(account, granted, sale):
    order = PaymentOrder("minakessler", Decimal(80), "EUR")
    create_payments(account, orders=[order], at=LATE)
    refund(account, sale)

    grant_bonuses(account, at=MAY)

    paid = account.commissions.get(pk=granted.pk)
    assert (paid.status, paid.goal_missed_at) == ("approved", MAY)
    assert paid.payment is not None


def test_only_marks_a_bonus_that_is_final(scenario, account):
    scenario.create_bonus(goal="300", goal_type="conversion_amount", value="50")
    sale = scenario.create_conversion("300")
    account.uses_payouts = True
    account.save()
    top_up_payout_balance(account, amount=Decimal(1000), currency="EUR", at=CONVERSION_CREATED_AT)
    (granted,) = grant_bonuses(account, at=SETTLED).granted
    update(account, sale, amount=Decimal(10))

    grant_bonuses(account, at=MAY)

    granted.refresh_from_db()
    assert (granted.status, granted.goal_missed_at) == ("approved", MAY)


@pytest.mark.parametrize("decide", [disapprove_commission, reopen_commission])
def test_only_marks_a_bonus_that_is_not_approved(account, granted, sale, decide):
    decide(account, commission_id=granted.pk, at=SETTLED)
    status = account.commissions.get(pk=granted.pk).status
    refund(account, sale)

    grant_bonuses(account, at=MAY)

    granted.refresh_from_db()
    assert (granted.status, granted.goal_missed_at) == (status, MAY)


def test_keeps_what_staff_have_approved_nevertheless(account, granted, sale):
    disapprove(account, sale)
    grant_bonuses(account, at=LATE)
    approve_commission(account, commission_id=granted.pk, at=LATE)
    update(account, sale, amount=Decimal(90))

    assert grant(account, MAY) == []

    granted.refresh_from_db()
    assert (granted.status, granted.goal_missed_at) == ("approved", LATE)


def test_leaves_a_bonus_to_staff_whose_goal_is_met_again(account, granted, sale):
    disapprove(account, sale)
    grant_bonuses(account, at=LATE)
    approve(account, sale, at=LATE)

    assert grant(account, MAY) == []

    granted.refresh_from_db()
    assert (granted.status, granted.goal_missed_at) == ("pending", None)
    assert Decimal(json.loads(granted.calculation)["present"]["amount"]) == 300
    assert account.audit_log.filter(kind="commission.goal_met").count() == 1
    assert account.commissions.filter(kind="bonus").count() == 1


def test_grants_no_lower_bonus_instead(scenario, account):
    scenario.create_bonus(goal="1", value="50", title="One")
    scenario.create_bonus(goal="2", value="90", title="Two")
    scenario.create_conversion("200")
    sale = scenario.create_conversion("200")
    (granted,) = grant_bonuses(account, at=SETTLED).granted
    refund(account, sale)

    assert grant(account, MAY) == []

    granted.refresh_from_db()
    assert (granted.name, granted.status) == ("Two", "pending")


@pytest.mark.parametrize("period", ["week", "quarter", "all_time"])
def test_puts_bonuses_of_all_periods_back(scenario, account, period):
    scenario.create_bonus(goal="1", value="50", period=period)
    sale = scenario.create_conversion("200")
    (granted,) = grant_bonuses(account, at=MAY + timedelta(days=90)).granted

    delete_conversion(account, conversion_id=sale.pk, at=MAY + timedelta(days=91))
    grant_bonuses(account, at=MAY + timedelta(days=92))

    granted.refresh_from_db()
    assert granted.status == "pending"


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


def test_sees_a_late_amount_and_commission(scenario, account):
    scenario.create_bonus(goal="300", goal_type="conversion_amount", value="50")
    first = scenario.create_conversion("200")
    second = scenario.create_conversion("200")
    disapprove(account, second, at=CONVERSION_CREATED_AT)
    assert grant(account, SETTLED) == []

    add_commissions(account, conversion_id=second.pk, line_items=build_line_items("1"), at=LATE)
    assert grant(account, LATE) == [("minakessler", 50)]

    update(account, first, amount=Decimal(1), at=LATE)
    assert grant(account, MAY) == []
    assert account.commissions.get(kind="bonus").status == "pending"


@pytest.mark.parametrize("service", [set_approval, update_enrollment])
def test_sees_a_late_approval_of_the_affiliate(scenario, account, service):
    scenario.create_bonus(goal="1", value="50")
    scenario.create_conversion("200")
    scenario.mina.enrollment.update_row(approved=False)
    assert grant(account, SETTLED) == []

    values = {"approved": True} if service is set_approval else {"changes": {"approved": True}}
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


def test_keeps_a_late_change_that_is_made_meanwhile(scenario, account, granted, sale, monkeypatch):
    set_granted_until = bonuses._set_granted_until

    def refund_before(*args):
        refund(account, sale)
        set_granted_until(*args)

    monkeypatch.setattr(bonuses, "_set_granted_until", refund_before)
    grant_bonuses(account, at=LATE)
    monkeypatch.undo()
    assert account.late_changes.exists()

    grant_bonuses(account, at=MAY)

    granted.refresh_from_db()
    assert granted.status == "pending"


def test_works_through_everything_once_the_account_has_the_feature_again(
    scenario, account, granted, sale
):
    plan = account.plan
    account.plan = PlanFactory(name="pro")
    account.save()
    refund(account, sale)
    grant_bonuses(account, at=LATE)
    granted.refresh_from_db()
    assert granted.status == "approved"
    assert not account.late_changes.exists()
    account.plan = plan
    account.save()

    grant_bonuses(account, at=MAY)

    granted.refresh_from_db()
    assert granted.status == "pending"


def test_works_through_a_period_again_after_a_failure(scenario, account, granted, sale):
    refund(account, sale)

    for number in range(100):
        with fail_at_statement(number) as queries, suppress(InjectedDatabaseError):
            grant_bonuses(account, at=LATE)
        if len(queries) == number:
            break

    assert number > 10
    granted.refresh_from_db()
    assert granted.status == "pending"
    assert account.audit_log.filter(kind="commission.goal_missed").count() == 1
    assert not account.late_changes.exists()


def test_records_no_change_of_the_same_day(scenario, account):
    sale = scenario.create_conversion("200")

    update(account, sale, amount=Decimal(100), at=CONVERSION_CREATED_AT)
    disapprove(account, sale, at=CONVERSION_CREATED_AT)

    assert not account.late_changes.exists()
