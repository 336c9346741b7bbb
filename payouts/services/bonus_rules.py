"""Bonuses of a program: create, change and end them; `bonuses.py` grants them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction

from accounts.errors import InvalidSetting
from accounts.ids import generate_public_id
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from payouts.errors import BonusGoalFixed, BonusNotFound
from payouts.models.bonuses import Bonus, GoalType
from payouts.services.bonuses import list_period_ranges
from payouts.services.programs import validate_rate, validate_title
from tracking.models.programs import Program
from tracking.money import MAX_INTEGER_DIGITS, round_amount

GOAL_COLUMNS = {"goal_type", "goal", "period"}


@dataclass(frozen=True)
class BonusRule:
    """What a bonus asks for and pays.

    `goal` is a number of conversions or their total in the program's currency; `value`
    a percentage of that total, or an amount.
    """

    title: str
    goal_type: str
    goal: Decimal
    period: str
    kind: str
    value: Decimal


BONUS_COLUMNS = tuple(field.name for field in fields(BonusRule))


def create_bonus(account: Account, *, program: Program, rule: BonusRule, at: datetime) -> Bonus:
    """Create a bonus, which counts from the period of its creation."""
    validate_bonus_rule(rule, program.currency)
    with transaction.atomic():
        bonus: Bonus = account.bonuses.create(  # type: ignore[misc]
            program=program,
            public_id=generate_public_id("bo"),
            created_at=at,
            **asdict(rule),
        )
        logged = {name: str(value) for name, value in asdict(rule).items()}
        log_event(account, "bonus.created", bonus, at=at, **logged)
    return bonus


def update_bonus(account: Account, *, pk: int, changes: Mapping[str, Any], at: datetime) -> Bonus:
    """Set the columns in `changes`; a goal stays once the bonus was granted."""
    with transaction.atomic():
        bonus = get_bonus(account, pk)
        present = {name: getattr(bonus, name) for name in BONUS_COLUMNS}
        values = {name: value for name, value in changes.items() if value != present[name]}
        validate_bonus_rule(BonusRule(**(present | values)), bonus.program.currency)
        if GOAL_COLUMNS & set(values) and was_granted(account, bonus):
            raise BonusGoalFixed(path=min(GOAL_COLUMNS & set(values)))
        if values:
            logged = {name: [str(present[name]), str(values[name])] for name in values}
            if GOAL_COLUMNS & set(values):
                values["granted_until"] = None  # earlier periods may reach it now
            bonus.update_row(**values)
            log_event(account, "bonus.updated", bonus, at=at, **logged)
    return bonus


def end_bonus(account: Account, *, pk: int, at: datetime) -> None:
    """End a bonus: it is not granted for the present period, nor for later ones.

    One that can be granted for no earlier period either is deleted.
    """
    with transaction.atomic():
        bonus = get_bonus(account, pk)
        log_event(account, "bonus.ended", bonus, at=at)
        if was_granted(account, bonus) or has_ended_period(bonus, at=at):
            bonus.update_row(expected={"ended_at": None}, ended_at=at)
        else:
            account.bonuses.filter(pk=bonus.pk).delete()


def get_bonus(account: Account, pk: int) -> Bonus:
    """Get and lock a bonus that has not ended; raise `BonusNotFound`."""
    return get_or_raise(account.bonuses.not_ended(), BonusNotFound, lock=True, pk=pk)


def was_granted(account: Account, bonus: Bonus) -> bool:
    """Whether a commission was ever created for this bonus."""
    return account.commissions.filter(bonus=bonus).exists()


def has_ended_period(bonus: Bonus, *, at: datetime) -> bool:
    """Whether a period of the bonus is over, which may be granted still."""
    ranges = list_period_ranges(bonus.period, since=bonus.created_at, at=at)
    return any(period_range.end is not None for period_range in ranges)


def validate_bonus_rule(rule: BonusRule, currency: str) -> None:
    """Raise `InvalidSetting` for the first invalid value."""
    validate_title(rule.title)
    is_count = rule.goal_type == GoalType.CONVERSIONS
    exact = rule.goal.to_integral_value() if is_count else None
    if (
        rule.goal <= 0
        or rule.goal.adjusted() >= MAX_INTEGER_DIGITS
        or rule.goal != (exact if is_count else round_amount(rule.goal, currency))
    ):
        text = "a whole number above 0" if is_count else f"an amount in {currency}"
        raise InvalidSetting(setting="The goal", rule=text, path="goal")
    validate_rate(rule.kind, rule.value, currency)
