"""Bonuses: what a period earned that is over, granted once."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from django.db import transaction
from django.db.models import Count

from accounts.models.accounts import Account
from accounts.services.events import note_each
from payouts.models.bonuses import Bonus, GoalType, Period
from payouts.models.commissions import Commission, Kind, Purse, Status
from payouts.reckoning import Circumstances, exact_amount
from payouts.services.ledger import Books, hold
from tracking.amounts import ExactSum
from tracking.money import NOUGHT, round_to

BEGINNING = date(1970, 1, 1)  # where `all_time` began, for its one grant per bonus
DAYS_OF_A_WEEK = 7
MONTHS = {Period.MONTH: 1, Period.QUARTER: 3, Period.YEAR: 12}
TYPE = "bonus"
AT_ONCE = 100  # purses held together: others wait for their money so long


@dataclass(frozen=True)
class Span:
    """A period that is over, or all time so far: from its first moment to its end."""

    starts: date
    ends: date | None  # None: all time

    def moments(self) -> dict[str, datetime]:
        """As conditions on `created_at`."""
        bounds = {"conversion__created_at__gte": _midnight(self.starts)}
        if self.ends:
            bounds["conversion__created_at__lt"] = _midnight(self.ends)
        return bounds


@dataclass(frozen=True)
class Reach:
    """What one affiliate sold in a span: how many sales, and what they came to."""

    number: int
    amount: Decimal

    def reaches(self, bonus: Bonus) -> bool:
        """Is this at least the goal?"""
        by_number = bonus.goal_type == GoalType.CONVERSIONS
        return (self.number if by_number else self.amount) >= bonus.goal


@dataclass(frozen=True)
class Grant:
    """A bonus that somebody has earned."""

    bonus: Bonus
    affiliate: int
    span: Span
    reach: Reach

    @property
    def purse(self) -> Purse:
        return self.affiliate, self.bonus.program.currency

    @property
    def exact(self) -> Decimal:
        return exact_amount(self.reach.amount, self.bonus.kind, self.bonus.value)


def grant_bonuses(account: Account, *, at: datetime) -> list[Commission]:
    """Grant what the periods earned that are over; what was granted is not again."""
    if not account.plan.bonuses:
        return []
    purses = sorted({grant.purse for grant in _earned(account, at)})
    made = []
    for first in range(0, len(purses), AT_ONCE):
        made += _grant(account, purses[first : first + AT_ONCE], at=at)
    return made


def _grant(
    account: Account, purses: Sequence[Purse], *, at: datetime
) -> list[Commission]:
    """Grant what a few affiliates earned, seen again now that nobody moves it."""
    with transaction.atomic(), hold(account, purses, at=at) as books:
        books.open()
        among = {affiliate for affiliate, _ in purses}
        made = []
        for grant in _earned(account, at, among=among):
            if grant.purse in purses:
                commission = _commission(account, grant, books, at)
                commission.save(force_insert=True)
                made.append(commission)
                books.earn(commission)
        note_each(account, "commission.created", made, at=at)
    return made


def spans(period: str, *, since: datetime, at: datetime) -> Iterator[Span]:
    """The periods from the one that `since` lies in to the last that is over."""
    if period == Period.ALL_TIME:
        yield Span(BEGINNING, None)
        return
    starts = first_day(period, since.astimezone(UTC).date())
    while (ends := next_first_day(period, starts)) <= at.astimezone(UTC).date():
        yield Span(starts, ends)
        starts = ends


def first_day(period: str, day: date) -> date:
    """The first day of the calendar period that a day lies in; weeks from Monday."""
    if period == Period.WEEK:
        return day - timedelta(days=day.weekday())
    months = MONTHS[Period(period)]
    return date(day.year, (day.month - 1) // months * months + 1, 1)


def next_first_day(period: str, starts: date) -> date:
    """The first day of the period after the one that begins here."""
    if period == Period.WEEK:
        return starts + timedelta(days=DAYS_OF_A_WEEK)
    months = starts.year * 12 + starts.month - 1 + MONTHS[Period(period)]
    return date(months // 12, months % 12 + 1, 1)


def _earned(
    account: Account, at: datetime, *, among: Collection[int] | None = None
) -> Iterator[Grant]:
    """For each affiliate, or these alone, each span and kind of goal: the highest
    bonus that was reached, unless one was granted."""
    rivals: dict[tuple[int, str, str], list[Bonus]] = defaultdict(list)
    for bonus in account.bonuses.select_related("program").order_by("-goal", "id"):
        rivals[bonus.program_id, bonus.goal_type, bonus.period].append(bonus)
    for (program, _, period), bonuses in rivals.items():
        approved = account.enrolments.present().filter(program=program, approved=True)
        if among is not None:
            approved = approved.filter(affiliate__in=among)
        members = set(approved.values_list("affiliate", flat=True))
        since = min(bonus.created_at for bonus in bonuses)
        for span in spans(period, since=since, at=at):
            granted = _granted(account, bonuses, span)
            for affiliate, reach in _reached(account, bonuses[0], span, among).items():
                best = _highest(bonuses, reach, span)
                if best is None or affiliate not in members:
                    continue
                # All time never ends: there a higher goal may still be reached.
                settled = best.goal if span.ends is None else NOUGHT
                if not any(goal >= settled for goal in granted[affiliate]):
                    yield Grant(best, affiliate, span, reach)


def _highest(bonuses: Iterable[Bonus], reach: Reach, span: Span) -> Bonus | None:
    """The bonus with the highest goal among those that there were by then."""
    for bonus in bonuses:
        there = span.ends is None or bonus.created_at < _midnight(span.ends)
        if there and reach.reaches(bonus):
            return bonus
    return None


def _granted(
    account: Account, bonuses: Sequence[Bonus], span: Span
) -> dict[int, set[Decimal]]:
    """The goals that somebody was granted one of these bonuses for, in the span."""
    rows = account.commissions.filter(bonus__in=bonuses, period_start=span.starts)
    granted: dict[int, set[Decimal]] = defaultdict(set)
    for affiliate, goal in rows.values_list("affiliate", "bonus__goal"):
        granted[affiliate].add(goal)
    return granted


def _reached(
    account: Account, bonus: Bonus, span: Span, among: Collection[int] | None
) -> dict[int, Reach]:
    """What each affiliate sold, but for those of whom a commission still waits."""
    program = bonus.program
    rows = account.commissions.present().filter(
        kind=Kind.REGULAR,
        conversion__program=program,
        conversion__currency=program.currency,
        **span.moments(),
    )
    if among is not None:
        rows = rows.filter(affiliate__in=among)
    waiting = set(
        rows.filter(status=Status.PENDING).values_list("affiliate", flat=True)
    )
    approved = rows.filter(status=Status.APPROVED)
    sales = (
        account.conversions.present()
        .filter(pk__in=approved.values("conversion"))
        .values_list("affiliate")
        .annotate(Count("id"), ExactSum("amount"))
    )
    return {
        affiliate: Reach(number, amount)
        for affiliate, number, amount in sales
        if affiliate not in waiting
    }


def _commission(
    account: Account, grant: Grant, books: Books, at: datetime
) -> Commission:
    bonus, (affiliate, currency) = grant.bonus, grant.purse
    amount = round_to(currency, grant.exact)
    approves = bonus.program.auto_approve_commissions
    covered = (
        not approves
        or not account.uses_payouts
        or books.covers(grant.purse, amount, besides=())
    )
    status, reason = Circumstances(approves=approves, covered=covered).birth()
    final = at if account.uses_payouts and status == Status.APPROVED else None
    return Commission(
        account=account,
        affiliate_id=affiliate,
        kind=Kind.BONUS,
        commission_type=TYPE,
        name=bonus.title,
        currency=currency,
        amount=amount,
        rate_kind=bonus.kind,
        rate=bonus.value,
        working=json.dumps(_working(grant, amount, status, reason), sort_keys=True),
        status=status,
        created_at=at,
        finalized_at=final,
        bonus=bonus,
        period_start=grant.span.starts,
    )


def _working(
    grant: Grant, amount: Decimal, status: str, reason: str
) -> dict[str, object]:
    bonus, ends = grant.bonus, grant.span.ends
    return {
        "goal": {"type": bonus.goal_type, "value": str(bonus.goal)},
        "period": {
            "from": grant.span.starts.isoformat(),
            "to": ends.isoformat() if ends else None,
        },
        "reached": {
            "conversions": grant.reach.number,
            "amount": str(grant.reach.amount),
        },
        "rate": {"kind": bonus.kind, "value": str(bonus.value), "from": "bonus"},
        "exact": str(grant.exact),
        "amount": str(amount),
        "status": status,
        "reason": reason,
    }


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, tzinfo=UTC)
