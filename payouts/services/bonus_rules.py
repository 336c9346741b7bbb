"""Bonuses of a program and their periods: create, change, end; `bonuses.py` grants."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction

from accounts.errors import InvalidSetting
from accounts.ids import generate_public_id
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from payouts.errors import BonusGoalFixed, BonusNotFound
from payouts.models.bonuses import Bonus, BonusPeriod, GoalType
from payouts.services.programs import validate_rate, validate_title
from tracking.models.programs import Program
from tracking.money import MAX_INTEGER_DIGITS, round_amount

PeriodKey = tuple[int, str, str, date]  # program, goal type, period, first day

ALL_TIME_START = date(1970, 1, 1)  # `period_start` of `all_time` bonuses
DAYS_PER_WEEK = 7
MONTHS_PER_PERIOD = {BonusPeriod.MONTH: 1, BonusPeriod.QUARTER: 3, BonusPeriod.YEAR: 12}

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


@dataclass(frozen=True)
class PeriodRange:
    """A period that is over, from its first day to the day after it, or all time."""

    start: date
    end: date | None  # None: all time

    def get_filters(self) -> dict[str, datetime]:
        """Return the filters for commissions by the time of their conversion."""
        bounds = {"conversion__created_at__gte": get_midnight(self.start)}
        if self.end:
            bounds["conversion__created_at__lt"] = get_midnight(self.end)
        return bounds


def list_period_ranges(period: str, *, since: datetime, at: datetime) -> Iterator[PeriodRange]:
    """Yield the periods from that of `since` to the last one that is over at `at`."""
    if period == BonusPeriod.ALL_TIME:
        yield PeriodRange(ALL_TIME_START, None)
        return
    start = get_period_start(period, since.astimezone(UTC).date())
    while (end := get_next_period_start(period, start)) <= at.astimezone(UTC).date():
        yield PeriodRange(start, end)
        start = end


def get_last_period(period: str, at: datetime) -> PeriodRange:
    """Return the last period that is over at a time, or all time."""
    if period == BonusPeriod.ALL_TIME:
        return PeriodRange(ALL_TIME_START, None)
    end = get_period_start(period, at.astimezone(UTC).date())
    return PeriodRange(get_period_start(period, end - timedelta(days=1)), end)


def get_period_start(period: str, day: date) -> date:
    """Return the first day of the calendar period of a day; weeks start on Monday."""
    if period == BonusPeriod.WEEK:
        return day - timedelta(days=day.weekday())
    months = MONTHS_PER_PERIOD[BonusPeriod(period)]
    return date(day.year, (day.month - 1) // months * months + 1, 1)


def get_next_period_start(period: str, start: date) -> date:
    """Return the first day of the next period."""
    if period == BonusPeriod.WEEK:
        return start + timedelta(days=DAYS_PER_WEEK)
    months = start.year * 12 + start.month - 1 + MONTHS_PER_PERIOD[BonusPeriod(period)]
    return date(months // 12, months % 12 + 1, 1)


def get_midnight(day: date) -> datetime:
    """Return the first moment of a day in UTC."""
    return datetime.combine(day, time.min, tzinfo=UTC)


@dataclass(frozen=True)
class GoalPeriod:
    """A period that is over, and its bonuses: the highest goal comes first.

    They are of one program, goal type and period, and exclude each other.
    """

    bonuses: tuple[Bonus, ...]
    range: PeriodRange

    @property
    def program(self) -> Program:
        return self.bonuses[0].program

    @property
    def key(self) -> PeriodKey:
        """Identify the period; the bonuses may change before they are locked."""
        bonus = self.bonuses[0]
        return bonus.program_id, bonus.goal_type, bonus.period, self.range.start
