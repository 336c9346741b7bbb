"""Statements: each line of a balance, and what they add up to."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.services.accounts import update_settings
from payouts.errors import InvalidPeriod
from payouts.services.bonuses import grant_bonuses
from payouts.services.conversion_updates import update_commission, update_conversion
from payouts.services.payments import cancel_payment
from payouts.services.refunds import refund_conversion
from payouts.services.statements import get_statement
from tests.payouts.services.histories import OPERATIONS, History
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario")

A_DAY = timedelta(days=1)
FIRST = date(2026, 3, 4)  # the day of the first conversion


def day(number):
    return CONVERSION_CREATED_AT + number * A_DAY


def state(scenario, start=FIRST, end=FIRST + 60 * A_DAY):
    """The only currency of Mina's statement."""
    [statement] = get_statement(
        scenario.account, scenario.mina.affiliate, start=start, end=end
    ).currencies
    return statement


def list_lines(statement):
    return [
        (line.at.day, line.kind.value, line.order_id, str(line.amount.normalize()))
        for line in statement.lines
    ]


def set_amount(scenario, commission, amount, at):
    update_commission(
        scenario.account,
        commission_id=commission.pk,
        changes={"amount": Decimal(amount)},
        at=at,
    )


def test_names_each_change_of_the_balance(scenario):
    account = scenario.account
    first = scenario.create_conversion("200", external_id="R-1")
    second = scenario.create_conversion("100", external_id="R-2")
    third = scenario.create_conversion("50", external_id="R-3")
    commission, other, last = map(scenario.get_commission, (first, second, third))
    scenario.approve(commission, at=day(1))
    scenario.approve(other, at=day(1))
    scenario.approve(last, at=day(1))
    set_amount(scenario, commission, "25", day(2))
    set_amount(scenario, commission, "24", day(3))
    refund_conversion(account, conversion_id=second.pk, amount=Decimal(40), reason="", at=day(4))
    payment = scenario.pay("30", at=day(5))
    cancel_payment(account, payment_id=payment.public_id, at=day(6))
    scenario.disapprove(commission, at=day(7))
    refund_conversion(account, conversion_id=second.pk, reason="", at=day(8))
    scenario.delete(third, at=day(9))

    statement = state(scenario)

    assert list_lines(statement) == [
        (5, "commission", "R-1", "2E+1"),
        (5, "commission", "R-2", "1E+1"),
        (5, "commission", "R-3", "5"),
        (6, "correction", "R-1", "5"),
        (7, "correction", "R-1", "-1"),
        (8, "refund", "R-2", "-4"),
        (9, "payment", "", "-3E+1"),
        (10, "payment_canceled", "", "3E+1"),
        (11, "disapproved", "R-1", "-24"),
        (12, "refund", "R-2", "-6"),
        (13, "removed", "R-3", "-5"),
    ]
    assert [line.payment for line in statement.lines if line.payment] == [payment] * 2
    assert (statement.opening, statement.closing) == (0, 0)


def test_remembers_what_was_approved_before_the_period(scenario):
    conversion = scenario.create_conversion("200", external_id="R-1")
    commission = scenario.get_commission(conversion)
    scenario.approve(commission, at=day(1))
    for number, status in ((3, "pending"), (4, "approved")):
        update_conversion(
            scenario.account,
            conversion_id=conversion.pk,
            changes={},
            should_recalculate=False,
            status=status,
            at=day(number),
        )
    set_amount(scenario, commission, "0", day(5))

    statement = state(scenario, start=FIRST + 2 * A_DAY)

    assert list_lines(statement) == [
        (7, "reopened", "R-1", "-2E+1"),
        (8, "commission", "R-1", "2E+1"),
        (9, "correction", "R-1", "-2E+1"),
    ]
    assert (statement.opening, statement.closing) == (20, 0)


def test_names_bonuses_and_commissions_from_recruited_affiliates(scenario):
    scenario.create_level(2, "5")
    child = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.add_child(child, scenario.mina)
    scenario.create_bonus(goal=1, value=7)
    scenario.create_conversion("100", affiliate=child, external_id="R-1")
    scenario.create_conversion("100", external_id="R-2")
    commissions = scenario.account.commissions.filter(affiliate=scenario.mina.affiliate)
    for row in commissions.order_by("id"):
        scenario.approve(row, at=day(1))
    grant_bonuses(scenario.account, at=datetime(2026, 4, 1, tzinfo=UTC))
    scenario.approve(commissions.get(kind="bonus"), at=day(40))

    lines = [line[1:] for line in list_lines(state(scenario))]

    assert lines == [
        ("level", "R-1", "5"),
        ("commission", "R-2", "1E+1"),
        ("bonus", "", "7"),
    ]


def test_begins_and_ends_with_days_of_the_account(scenario):
    """09:15 in UTC is 23:15 of the same day there."""
    update_settings(scenario.account, changes={"time_zone": "Pacific/Kiritimati"}, at=day(0))
    for hours in (0, 1, 24, 25):
        at = CONVERSION_CREATED_AT + timedelta(hours=hours)
        commission = scenario.get_commission(scenario.create_conversion("10", at=at))
        scenario.approve(commission, at=at)

    statement = state(scenario, start=FIRST + A_DAY, end=FIRST + A_DAY)

    assert [line.at.hour for line in statement.lines] == [10, 9]
    assert (statement.opening, statement.closing) == (1, 3)


def test_names_what_is_pending_at_the_end_and_does_not_sum_it(scenario):
    scenario.create_conversion("200", at=day(0))
    scenario.create_conversion("70", at=day(2))

    statement = state(scenario, end=FIRST + A_DAY)

    assert (statement.pending, statement.closing, statement.lines) == (20, 0, [])
    assert state(scenario, start=FIRST + A_DAY).pending == 27


def test_has_nothing_of_others(scenario, other_account):
    other = ProgramScenario(other_account, email=None)
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    for each, affiliate in ((other, other.mina), (scenario, odette)):
        conversion = each.create_conversion("10", affiliate=affiliate)
        each.approve(each.get_commission(conversion))

    statements = [
        get_statement(account, mina.affiliate, start=FIRST, end=FIRST).currencies
        for account, mina in (
            (scenario.account, scenario.mina),
            (other_account, scenario.mina),
            (scenario.account, other.mina),
        )
    ]

    assert statements == [[], [], []]


def test_takes_the_same_few_statements_for_any_number_of_lines(scenario, capture_queries):
    for number in range(8):
        sale = scenario.create_conversion("10", external_id=f"R-{number}")
        scenario.approve(scenario.get_commission(sale), at=day(1))
        scenario.pay("1", at=day(1))

    with capture_queries() as captured:
        assert len(state(scenario).lines) == 16

    assert len(captured) == 8


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (FIRST, FIRST - A_DAY),
        (date.min, FIRST),
        (FIRST, date.max),
    ],
)
def test_refuses_periods_that_are_none(scenario, start, end):
    with pytest.raises(InvalidPeriod):
        get_statement(scenario.account, scenario.mina.affiliate, start=start, end=end)


@pytest.mark.another_transaction
@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(operations=OPERATIONS, first=st.integers(-1, 20), days=st.integers(0, 20))
def test_opening_balance_and_movements_are_the_closing_balance(db, operations, first, days):
    with transaction.atomic():
        history = History()
        for operation in operations:
            history.perform(*operation)
        mina = history.scenario.mina.affiliate
        start = FIRST + first * A_DAY
        end = start + days * A_DAY

        found = get_statement(history.account, mina, start=start, end=end).currencies

        opening, _ = history.get_balances(start - A_DAY, [mina])
        closing, pending = history.get_balances(end, [mina])
        for statement in found:
            assert (statement.opening, statement.closing, statement.pending) == (
                opening,
                closing,
                pending,
            )
        assert found or not (opening or closing or pending)
        transaction.set_rollback(True)
