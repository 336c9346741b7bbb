"""Bonuses of periods that are over (docs/api-contract.md, section 7.10)."""

import json
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from payouts.models.commission_types import RateKind
from payouts.services import bonus_rules, bonuses
from payouts.services.bonus_rules import list_period_ranges
from payouts.services.bonuses import grant_bonuses, preview_bonus
from payouts.services.commissions import approve_commission, disapprove_commission
from payouts.services.conversion_updates import (
    add_commissions,
    delete_conversion,
)
from payouts.services.ledger import get_payable_balances_by_slug, open_ledger_session
from tests.factories.accounts import PlanFactory
from tests.ledger_checks import (
    InjectedDatabaseError,
    assert_ledger_consistent,
    fail_at_statement,
    snapshot_account,
)
from tests.program_scenario import (
    CONVERSION_CREATED_AT,
    PROGRAM_CREATED_AT,
    ProgramScenario,
    build_line_items,
)
from tracking.services.affiliates import delete_affiliate

pytestmark = pytest.mark.usefixtures("shared_scenario")

MARCH = date(2026, 3, 1)
APRIL = datetime(2026, 4, 1, tzinfo=UTC)
MAY = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture
def scenario(scenario):
    scenario.program.update_row(auto_approve_commissions=True)
    yield scenario
    assert_ledger_consistent(scenario.account)


def make_bonuses(account, *, at=APRIL):
    """Grant bonuses; return affiliate, title and amount of each in order."""
    return [
        (row.affiliate.slug, row.name, row.amount) for row in grant_bonuses(account, at=at).granted
    ]


MINA_50 = ("minakessler", "Goal", Decimal(50))


# The commission of a bonus.


def test_creates_a_commission_without_conversion(scenario, account):
    bonus = scenario.create_bonus(goal="2", value="5", kind=RateKind.PERCENTAGE, title="Two")
    scenario.create_conversion("200")
    scenario.create_conversion("49.90", at=CONVERSION_CREATED_AT + timedelta(days=1))
    written = account.audit_log.count()

    (made,) = grant_bonuses(account, at=APRIL).granted

    stored = account.commissions.get(kind="bonus")
    assert stored.pk == made.pk
    assert (stored.commission_type, stored.name, stored.conversion) == (
        "bonus",
        "Two",
        None,
    )
    assert (stored.affiliate, stored.currency) == (scenario.mina.affiliate, "EUR")
    assert (stored.sub_amount, stored.amount) == (None, Decimal("12.50"))  # 12.495
    assert (stored.rate_kind, stored.rate) == ("percentage", 5)
    assert (stored.bonus, stored.period_start) == (bonus, MARCH)
    assert (stored.status, stored.created_at, stored.finalized_at) == (
        "approved",
        APRIL,
        None,
    )
    calculation = json.loads(stored.calculation)
    assert calculation["period"] == {"from": "2026-03-01", "to": "2026-04-01"}
    assert calculation["reached"]["conversions"] == 2
    assert Decimal(calculation["reached"]["amount"]) == Decimal("249.90")
    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": Decimal("37.49")}}
    (entry,) = account.audit_log.order_by("id")[written:]
    assert (entry.kind, entry.subject) == (
        "commission.created",
        f"commission:{made.pk}",
    )


def test_creates_a_pending_bonus_without_automatic_approval(scenario, account):
    scenario.create_bonus(goal="1", value="50")
    scenario.create_conversion("200")
    scenario.program.update_row(auto_approve_commissions=False)

    (made,) = grant_bonuses(account, at=APRIL).granted

    assert made.status == "pending"
    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": Decimal(20)}}
    approve_commission(account, commission_id=made.pk, at=APRIL)
    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": Decimal(70)}}


@pytest.mark.parametrize(
    ("funds", "states"),
    [
        pytest.param("139.99", ["approved", "pending"], id="one"),
        pytest.param("140", ["approved", "approved"], id="both"),
    ],
)
def test_keeps_an_unfunded_bonus_pending(scenario, account, funds, states):
    scenario.create_bonus(goal="1", value="50")
    scenario.create_conversion("200")
    scenario.create_conversion(
        "200", affiliate=scenario.create_enrolled_affiliate("Odette", "Varga")
    )
    scenario.enable_payouts(funds)

    made = grant_bonuses(account, at=APRIL).granted

    assert sorted(commission.status for commission in made) == states
    assert {(commission.status, commission.finalized_at) for commission in made} <= {
        ("approved", APRIL),
        ("pending", None),
    }


@pytest.mark.parametrize(
    ("kind", "value", "currency", "amount"),
    [
        pytest.param(RateKind.PERCENTAGE, "5", "JPY", "10", id="of-195-JPY"),
        pytest.param(RateKind.FIXED, "7", "JPY", "7", id="fixed-JPY"),
        pytest.param(RateKind.PERCENTAGE, "0.0005", "KWD", "0.001", id="of-195-KWD"),
    ],
)
def test_rounds_in_the_currency_of_the_program(scenario, account, kind, value, currency, amount):
    scenario.program.update_row(currency=currency)
    scenario.create_bonus(goal="1", value=value, kind=kind)
    scenario.create_conversion("195")

    assert make_bonuses(account) == [("minakessler", "Goal", Decimal(amount))]


# Progress towards the goal.


@pytest.mark.parametrize(
    ("goal_type", "goal", "reached"),
    [
        pytest.param("conversions", "2", True, id="two-conversions"),
        pytest.param("conversions", "3", False, id="not-three"),
        pytest.param("conversion_amount", "249.90", True, id="exactly"),
        pytest.param("conversion_amount", "249.91", False, id="a-cent-short"),
        pytest.param("conversion_amount", "0", True, id="zero"),
    ],
)
def test_requires_the_goal(scenario, account, goal_type, goal, reached):
    scenario.create_bonus(goal=goal, goal_type=goal_type, value="50")
    scenario.create_conversion("200")
    scenario.create_conversion("49.90")

    assert make_bonuses(account) == ([MINA_50] if reached else [])


def test_counts_the_present_amount_of_a_conversion_once(scenario, account):
    scenario.create_bonus(goal="250", goal_type="conversion_amount", value="50")
    conversion = scenario.create_conversion("100", "100")
    add_commissions(
        account,
        conversion_id=conversion.pk,
        line_items=build_line_items("100"),
        at=CONVERSION_CREATED_AT,
    )

    assert make_bonuses(account) == []

    scenario.change_amount(conversion, 250, recalculate=False, at=APRIL)
    assert make_bonuses(account) == [MINA_50]


def test_counts_each_affiliate_separately(scenario, account):
    scenario.create_bonus(goal="2", value="50")
    other_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.create_conversion("200")
    scenario.create_conversion("200", affiliate=other_affiliate)
    scenario.create_conversion("200", affiliate=other_affiliate)

    assert make_bonuses(account) == [("odettevarga", "Goal", Decimal(50))]


def test_does_not_count_conversions_of_sub_affiliates(scenario, account):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.add_child(scenario.mina, odette)
    scenario.create_level(2, "3")
    scenario.create_bonus(goal="1", value="50")
    scenario.create_conversion("200")

    assert make_bonuses(account) == [MINA_50]


@pytest.mark.parametrize("take_back", ["delete", "disapprove"])
def test_does_not_count_a_conversion_without_approved_commission(scenario, account, take_back):
    scenario.create_bonus(goal="2", value="50")
    scenario.create_conversion("200")
    conversion = scenario.create_conversion("200")
    if take_back == "delete":
        scenario.delete(conversion)
    else:
        scenario.disapprove(scenario.get_commission(conversion))

    assert make_bonuses(account) == []


def test_does_not_count_conversions_in_other_currencies_or_programs(scenario, account):
    other = ProgramScenario(account, "other-lamps", prefix="o-", email="o@notes.example.org")
    other.program.update_row(auto_approve_commissions=True)
    twice = other.enroll(scenario.mina.affiliate)
    scenario.create_bonus(goal="2", value="50")
    scenario.create_conversion("200")
    scenario.create_conversion("200", currency="USD")
    other.create_conversion("200", affiliate=twice)

    assert make_bonuses(account) == []


def test_grants_nothing_of_another_account(scenario, account, other_account):
    theirs = ProgramScenario(other_account, prefix="zz-marker-")
    theirs.program.update_row(auto_approve_commissions=True)
    theirs.create_bonus(goal="1", value="50")
    theirs.create_conversion("200")
    before = snapshot_account(other_account)

    assert make_bonuses(account) == []
    assert snapshot_account(other_account) == before


def test_grants_nothing_without_the_feature(scenario, account):
    scenario.create_bonus(goal="1", value="50")
    scenario.create_conversion("200")
    account.plan = PlanFactory(name="pro")
    account.save()

    assert make_bonuses(account) == []


@pytest.mark.parametrize("approved", [False, None])
def test_grants_nothing_to_affiliates_who_are_not_approved(scenario, account, approved):
    scenario.create_bonus(goal="1", value="50")
    scenario.create_conversion("200")
    scenario.mina.enrollment.update_row(approved=approved)

    assert make_bonuses(account) == []


def test_grants_nothing_after_the_enrollment_was_deleted(scenario, account):
    scenario.create_bonus(goal="1", value="50")
    scenario.create_conversion("200")
    delete_affiliate(account, affiliate_id="minakessler", at=CONVERSION_CREATED_AT)

    assert make_bonuses(account) == []


# The highest goal.


def test_grants_the_highest_bonus_of_a_goal_type_and_period_only(scenario, account):
    scenario.create_bonus(goal="1", value="90", title="One")
    scenario.create_bonus(goal="3", value="50", title="Three")
    scenario.create_bonus(goal="2", value="70", title="Two")
    scenario.create_bonus(goal="1", goal_type="conversion_amount", value="5", title="Amount")
    scenario.create_bonus(goal="1", period="week", value="3", title="Week")
    scenario.create_conversion("200")
    scenario.create_conversion("200")

    assert sorted(make_bonuses(account)) == [
        ("minakessler", "Amount", Decimal(5)),
        ("minakessler", "Two", Decimal(70)),
        ("minakessler", "Week", Decimal(3)),
    ]


# Periods.


@pytest.mark.parametrize(
    ("period", "since", "until", "starts"),
    [
        pytest.param(
            *("week", "2026-03-04T00:00", "2026-03-16T00:00"),
            ["2026-03-02", "2026-03-09"],
            id="weeks-from-Monday",
        ),
        pytest.param(*("week", "2026-03-08T23:59", "2026-03-08T23:59"), [], id="week-not-over"),
        pytest.param(
            *("week", "2025-12-31T12:00", "2026-01-05T00:00"),
            ["2025-12-29"],
            id="week-over-new-year",
        ),
        pytest.param(
            *("month", "2025-12-31T23:59", "2026-02-28T23:59"),
            ["2025-12-01", "2026-01-01"],
            id="months",
        ),
        pytest.param(
            *("quarter", "2026-03-31T00:00", "2026-10-01T00:00"),
            ["2026-01-01", "2026-04-01", "2026-07-01"],
            id="quarters",
        ),
        pytest.param(
            *("year", "2024-02-29T00:00", "2026-12-31T23:59"),
            ["2024-01-01", "2025-01-01"],
            id="years",
        ),
        pytest.param(
            *("all_time", "2026-03-04T00:00", "2026-03-04T00:00"),
            ["1970-01-01"],
            id="all-time",
        ),
    ],
)
def test_lists_the_periods_that_are_over(period, since, until, starts):
    since, until = (datetime.fromisoformat(row).replace(tzinfo=UTC) for row in (since, until))

    found = list_period_ranges(period, since=since, at=until)

    assert [row.start.isoformat() for row in found] == starts


@pytest.mark.parametrize(
    ("sold", "counts"),
    [
        pytest.param(datetime(2026, 3, 8, 23, 59, 59, tzinfo=UTC), False, id="before"),
        pytest.param(datetime(2026, 3, 9, tzinfo=UTC), True, id="first-moment"),
        pytest.param(datetime(2026, 3, 15, 23, 59, 59, 999999, tzinfo=UTC), True, id="last"),
        pytest.param(datetime(2026, 3, 16, tzinfo=UTC), False, id="after"),
    ],
)
def test_counts_from_monday_to_monday(scenario, account, sold, counts):
    scenario.create_bonus(goal="1", value="50", period="week", at=datetime(2026, 3, 10, tzinfo=UTC))
    scenario.create_conversion("200", at=sold)

    made = grant_bonuses(account, at=datetime(2026, 3, 16, tzinfo=UTC)).granted

    assert [commission.period_start for commission in made] == [date(2026, 3, 9)] * counts


def test_waits_until_the_period_is_over(scenario, account):
    scenario.create_bonus(goal="1", value="50")
    scenario.create_conversion("200")

    assert make_bonuses(account, at=APRIL - timedelta(seconds=1)) == []
    assert make_bonuses(account, at=APRIL) == [MINA_50]


def test_counts_a_period_from_before_the_bonus_was_defined_in_it(scenario, account):
    scenario.create_bonus(goal="1", value="50", at=APRIL - timedelta(seconds=1))
    scenario.create_conversion("200")

    assert make_bonuses(account) == [MINA_50]


def test_grants_nothing_for_periods_before_the_bonus(scenario, account):
    scenario.create_bonus(goal="1", value="50", at=APRIL)
    scenario.create_bonus(goal="2", value="90", at=PROGRAM_CREATED_AT)
    scenario.create_conversion("200")

    assert make_bonuses(account, at=MAY) == []


def test_catches_up_on_every_period_that_was_missed(scenario, account):
    scenario.create_bonus(goal="1", value="50")
    scenario.create_conversion("200")
    scenario.create_conversion("200", at=APRIL)

    made = grant_bonuses(account, at=MAY).granted

    assert sorted(commission.period_start for commission in made) == [
        MARCH,
        APRIL.date(),
    ]


def test_waits_while_a_commission_of_the_period_is_pending(scenario, account):
    scenario.create_bonus(goal="1", value="50")
    scenario.create_conversion("200")
    scenario.program.update_row(auto_approve_commissions=False)
    waiting = scenario.get_commission(scenario.create_conversion("200"))
    scenario.program.update_row(auto_approve_commissions=True)
    scenario.create_conversion("200", at=APRIL)

    assert make_bonuses(account) == []
    disapprove_commission(account, commission_id=waiting.pk, at=APRIL)
    assert make_bonuses(account) == [MINA_50]


# Granted once.


@pytest.mark.parametrize("period", ["week", "month", "all_time"])
def test_grants_nothing_twice(scenario, account, period):
    scenario.create_bonus(goal="1", value="50", period=period)
    scenario.create_conversion("200")
    assert make_bonuses(account) == [MINA_50]
    before = snapshot_account(account)

    assert make_bonuses(account) == []
    assert make_bonuses(account, at=APRIL + timedelta(hours=1)) == []
    assert snapshot_account(account) == before


def test_grants_nothing_again_if_a_higher_goal_is_reached_later(scenario, account):
    scenario.create_bonus(goal="1", value="50")
    scenario.create_bonus(goal="2", value="90")
    scenario.create_conversion("200")
    late = scenario.get_commission(scenario.create_conversion("200"))
    disapprove_commission(account, commission_id=late.pk, at=CONVERSION_CREATED_AT)
    assert make_bonuses(account) == [MINA_50]

    approve_commission(account, commission_id=late.pk, at=APRIL)

    assert make_bonuses(account) == []


def test_grants_nothing_again_though_the_bonus_was_disapproved(scenario, account):
    scenario.create_bonus(goal="1", value="50")
    scenario.create_conversion("200")
    (made,) = grant_bonuses(account, at=APRIL).granted

    disapprove_commission(account, commission_id=made.pk, at=APRIL)

    assert make_bonuses(account) == []


def test_grants_each_bonus_of_all_time_once(scenario, account):
    scenario.create_bonus(goal="1", value="50", period="all_time", title="One")
    scenario.create_bonus(goal="2", value="90", period="all_time", title="Two")
    scenario.create_conversion("200")
    assert make_bonuses(account, at=CONVERSION_CREATED_AT) == [("minakessler", "One", Decimal(50))]

    scenario.create_conversion("200", at=APRIL)

    assert make_bonuses(account, at=APRIL) == [("minakessler", "Two", Decimal(90))]
    assert make_bonuses(account, at=MAY) == []


def test_grants_no_lower_all_time_bonus_when_a_conversion_is_deleted(scenario, account):
    scenario.create_bonus(goal="1", value="50", period="all_time", title="One")
    scenario.create_bonus(goal="2", value="90", period="all_time", title="Two")
    scenario.create_conversion("200")
    conversion = scenario.create_conversion("200")
    assert make_bonuses(account) == [("minakessler", "Two", Decimal(90))]

    delete_conversion(account, conversion_id=conversion.pk, at=APRIL)

    assert make_bonuses(account, at=MAY) == []


@pytest.mark.another_transaction
def test_reads_earned_bonuses_again_after_locking(scenario, account, monkeypatch):
    scenario.create_bonus(goal="1", value="50", title="One")
    scenario.create_bonus(goal="2", value="90", title="Two")
    scenario.create_conversion("200")
    late = scenario.get_commission(scenario.create_conversion("200"))
    disapprove_commission(account, commission_id=late.pk, at=CONVERSION_CREATED_AT)

    def hold_late(*args, **kwargs):
        """Approve a commission between the first read and the lock."""
        approve_commission(account, commission_id=late.pk, at=APRIL)
        return open_ledger_session(*args, **kwargs)

    monkeypatch.setattr(bonuses, "open_ledger_session", hold_late)

    assert make_bonuses(account) == [("minakessler", "Two", Decimal(90))]


def test_locks_a_limited_number_of_balances_at_a_time(scenario, account, monkeypatch):
    monkeypatch.setattr(bonuses, "MAX_LOCKED_BALANCES", 2)
    scenario.create_bonus(goal="1", value="50")
    for name in "abcde":
        scenario.create_conversion(
            "200",
            affiliate=scenario.create_enrolled_affiliate("Odette", f"Varga{name}"),
        )

    made = make_bonuses(account)

    assert [slug for slug, *_ in made] == [f"odettevarga{name}" for name in "abcde"]
    assert make_bonuses(account) == []


def test_counts_all_time_from_before_the_bonus(scenario, account):
    scenario.create_conversion("200")
    scenario.create_bonus(goal="1", value="50", period="all_time", at=APRIL)

    assert make_bonuses(account, at=APRIL) == [MINA_50]


def test_stores_nothing_when_any_statement_fails(scenario, account):
    scenario.create_bonus(goal="1", value="50")
    scenario.create_conversion("200")
    scenario.create_conversion(
        "200", affiliate=scenario.create_enrolled_affiliate("Odette", "Varga")
    )
    scenario.enable_payouts(100)
    before = snapshot_account(account)

    for number in range(100):
        with fail_at_statement(number) as queries, suppress(InjectedDatabaseError):
            grant_bonuses(account, at=APRIL)
        if account.commissions.filter(kind="bonus").exists():
            break  # later statements only store that this is done
        assert snapshot_account(account) == before, f"{number}: {queries[number]}"

    assert number > 10
    assert account.commissions.filter(kind="bonus").count() == 2


# Whom a bonus would have paid.


@pytest.mark.parametrize(
    ("period", "at", "expected"),
    [
        ("month", APRIL, (MARCH, date(2026, 4, 1))),
        ("month", APRIL - timedelta(seconds=1), (date(2026, 2, 1), MARCH)),
        ("quarter", MAY, (date(2026, 1, 1), date(2026, 4, 1))),
        ("week", APRIL, (date(2026, 3, 23), date(2026, 3, 30))),
        ("all_time", MAY, (bonus_rules.ALL_TIME_START, None)),
    ],
)
def test_previews_the_last_period_that_is_over(scenario, period, at, expected):
    bonus = scenario.create_bonus(goal="1", value="50", period=period)
    bonus.update_row(created_at=MAY)
    scenario.create_conversion("200")

    period_range, earned = preview_bonus(bonus, at=at)

    assert (period_range.start, period_range.end) == expected
    is_in_period = expected[0] <= CONVERSION_CREATED_AT.date() and (
        expected[1] is None or CONVERSION_CREATED_AT.date() < expected[1]
    )
    assert [it.exact_amount for it in earned] == [50] * is_in_period
    assert bonus.created_at == MAY
