"""Bonuses: granted once for each period that is over and whose goal was reached."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from django.db import transaction
from django.db.models import Count

from accounts.models.accounts import Account
from accounts.services.changes import record_changes
from payouts.calculation import ApprovalContext, calculate_exact_amount
from payouts.models.bonuses import Bonus, BonusPeriod, GoalType
from payouts.models.commissions import (
    BalanceKey,
    Commission,
    CommissionKind,
    CommissionStatus,
    is_final,
)
from payouts.services.ledger import LedgerSession, open_ledger_session
from tracking.amounts import ExactSum
from tracking.money import ZERO, round_amount

ALL_TIME_START = date(1970, 1, 1)  # `period_start` of `all_time` bonuses
DAYS_PER_WEEK = 7
MONTHS_PER_PERIOD = {BonusPeriod.MONTH: 1, BonusPeriod.QUARTER: 3, BonusPeriod.YEAR: 12}
BONUS_COMMISSION_TYPE = "bonus"
MAX_LOCKED_BALANCES = 100  # in one transaction, for which others wait


@dataclass(frozen=True)
class PeriodRange:
    """A period that is over, from its first day to the day after it, or all time."""

    start: date
    end: date | None  # None: all time

    def get_filters(self) -> dict[str, datetime]:
        """Return the filters for commissions by the time of their conversion."""
        bounds = {"conversion__created_at__gte": _get_midnight(self.start)}
        if self.end:
            bounds["conversion__created_at__lt"] = _get_midnight(self.end)
        return bounds


@dataclass(frozen=True)
class BonusProgress:
    """The number and the total amount of an affiliate's conversions in a period."""

    conversion_count: int
    conversion_amount: Decimal

    def has_reached(self, bonus: Bonus) -> bool:
        """Is the progress at least the goal of the bonus?"""
        if bonus.goal_type == GoalType.CONVERSIONS:
            return self.conversion_count >= bonus.goal
        return self.conversion_amount >= bonus.goal


@dataclass(frozen=True)
class EarnedBonus:
    """A bonus that an affiliate has earned and was not granted yet."""

    bonus: Bonus
    affiliate_id: int
    period_range: PeriodRange
    progress: BonusProgress

    @property
    def balance_key(self) -> BalanceKey:
        return self.affiliate_id, self.bonus.program.currency

    @property
    def exact_amount(self) -> Decimal:
        return calculate_exact_amount(
            self.progress.conversion_amount, self.bonus.kind, self.bonus.value
        )


def grant_bonuses(account: Account, *, at: datetime) -> list[Commission]:
    """Grant the bonuses of all periods that are over, each once."""
    if not account.plan.bonuses:
        return []
    earned_bonuses = _list_earned_bonuses(account, at)
    balance_keys = sorted({earned.balance_key for earned in earned_bonuses})
    commissions = []
    for first in range(0, len(balance_keys), MAX_LOCKED_BALANCES):
        batch = balance_keys[first : first + MAX_LOCKED_BALANCES]
        commissions += _grant_to_affiliates(account, batch, at=at)
    return commissions


def _grant_to_affiliates(
    account: Account, balance_keys: Sequence[BalanceKey], *, at: datetime
) -> list[Commission]:
    """Lock some balances, then grant what their affiliates have earned now.

    The bonuses are locked before them: one that is ended meanwhile may be deleted.
    """
    with (
        transaction.atomic(),
        open_ledger_session(account, balance_keys, at=at) as ledger,
    ):
        list(account.bonuses.select_for_update(no_key=True).order_by("id"))
        ledger.lock_balances()
        affiliate_ids = {affiliate_id for affiliate_id, _ in balance_keys}
        commissions = []
        for earned in _list_earned_bonuses(account, at, affiliate_ids=affiliate_ids):
            if earned.balance_key in balance_keys:
                commission = _build_commission(account, earned, ledger, at)
                commission.save(force_insert=True)
                commissions.append(commission)
                ledger.post_commission_created(commission)
        record_changes(account, "commission.created", commissions, at=at)
    return commissions


def list_period_ranges(
    period: str, *, since: datetime, at: datetime
) -> Iterator[PeriodRange]:
    """Yield the periods from that of `since` to the last one that is over at `at`."""
    if period == BonusPeriod.ALL_TIME:
        yield PeriodRange(ALL_TIME_START, None)
        return
    start = get_period_start(period, since.astimezone(UTC).date())
    while (end := get_next_period_start(period, start)) <= at.astimezone(UTC).date():
        yield PeriodRange(start, end)
        start = end


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


def _list_earned_bonuses(
    account: Account, at: datetime, *, affiliate_ids: Collection[int] | None = None
) -> Iterator[EarnedBonus]:
    """Yield the highest bonus that each affiliate reached and was not granted yet.

    Bonuses of one program, goal type and period exclude each other.
    """
    groups: dict[tuple[int, str, str], list[Bonus]] = defaultdict(list)
    for row in account.bonuses.select_related("program").order_by("-goal", "id"):
        groups[row.program_id, row.goal_type, row.period].append(row)
    for (program_id, _, period), bonuses in groups.items():
        approved = account.enrollments.not_deleted().filter(
            program=program_id, approved=True
        )
        if affiliate_ids is not None:
            approved = approved.filter(affiliate__in=affiliate_ids)
        approved_ids = set(approved.values_list("affiliate", flat=True))
        since = min(bonus.created_at for bonus in bonuses)
        for period_range in list_period_ranges(period, since=since, at=at):
            granted_goals = _get_granted_goals(account, bonuses, period_range)
            progress_by_affiliate = _calculate_progress(
                account, bonuses[0], period_range, affiliate_ids
            )
            for affiliate_id, progress in progress_by_affiliate.items():
                bonus = _find_highest_bonus(bonuses, progress, period_range)
                if bonus is None or affiliate_id not in approved_ids:
                    continue
                # `all_time` never ends: a higher goal may be reached after a grant.
                min_goal = bonus.goal if period_range.end is None else ZERO
                if not any(goal >= min_goal for goal in granted_goals[affiliate_id]):
                    yield EarnedBonus(bonus, affiliate_id, period_range, progress)


def _find_highest_bonus(
    bonuses: Iterable[Bonus], progress: BonusProgress, period_range: PeriodRange
) -> Bonus | None:
    """Find the highest goal that was reached, of bonuses that existed at the end."""
    for bonus in bonuses:
        end = _get_midnight(period_range.end) if period_range.end else None
        was_created = end is None or bonus.created_at < end
        had_ended = bonus.ended_at and (end is None or bonus.ended_at < end)
        if was_created and not had_ended and progress.has_reached(bonus):
            return bonus
    return None


def _get_granted_goals(
    account: Account, bonuses: Sequence[Bonus], period_range: PeriodRange
) -> dict[int, set[Decimal]]:
    """Return the goals of bonuses granted for the period, by affiliate."""
    rows = account.commissions.filter(
        bonus__in=bonuses, period_start=period_range.start
    )
    granted: dict[int, set[Decimal]] = defaultdict(set)
    for affiliate_id, goal in rows.values_list("affiliate", "bonus__goal"):
        granted[affiliate_id].add(goal)
    return granted


def _calculate_progress(
    account: Account,
    bonus: Bonus,
    period_range: PeriodRange,
    affiliate_ids: Collection[int] | None,
) -> dict[int, BonusProgress]:
    """Return the progress of affiliates without pending commissions in the period."""
    program = bonus.program
    rows = account.commissions.not_deleted().filter(
        kind=CommissionKind.REGULAR,
        conversion__program=program,
        conversion__currency=program.currency,
        **period_range.get_filters(),
    )
    if affiliate_ids is not None:
        rows = rows.filter(affiliate__in=affiliate_ids)
    pending_ids = set(
        rows.filter(status=CommissionStatus.PENDING).values_list("affiliate", flat=True)
    )
    approved = rows.filter(status=CommissionStatus.APPROVED)
    totals = (
        account.conversions.not_deleted()
        .filter(pk__in=approved.values("conversion"))
        .values_list("affiliate")
        .annotate(Count("id"), ExactSum("amount"))
    )
    return {
        affiliate_id: BonusProgress(count, amount)
        for affiliate_id, count, amount in totals
        if affiliate_id not in pending_ids
    }


def _build_commission(
    account: Account, earned: EarnedBonus, ledger: LedgerSession, at: datetime
) -> Commission:
    bonus, (affiliate_id, currency) = earned.bonus, earned.balance_key
    amount = round_amount(earned.exact_amount, currency)
    is_auto_approved = bonus.program.auto_approve_commissions
    has_funds = (
        not is_auto_approved
        or not account.uses_payouts
        or ledger.has_funds(earned.balance_key, amount, reserved=())
    )
    status, reason = ApprovalContext(
        is_auto_approved=is_auto_approved, has_funds=has_funds
    ).initial_status()
    return Commission(
        account=account,
        affiliate_id=affiliate_id,
        kind=CommissionKind.BONUS,
        commission_type=BONUS_COMMISSION_TYPE,
        name=bonus.title,
        currency=currency,
        amount=amount,
        rate_kind=bonus.kind,
        rate=bonus.value,
        calculation=json.dumps(
            _serialize_calculation(earned, amount, status, reason), sort_keys=True
        ),
        status=status,
        created_at=at,
        finalized_at=at if is_final(status, account) else None,
        bonus=bonus,
        period_start=earned.period_range.start,
    )


def _serialize_calculation(
    earned: EarnedBonus, amount: Decimal, status: str, reason: str
) -> dict[str, object]:
    bonus, end = earned.bonus, earned.period_range.end
    return {
        "goal": {"type": bonus.goal_type, "value": str(bonus.goal)},
        "period": {
            "from": earned.period_range.start.isoformat(),
            "to": end.isoformat() if end else None,
        },
        "reached": {
            "conversions": earned.progress.conversion_count,
            "amount": str(earned.progress.conversion_amount),
        },
        "rate": {"kind": bonus.kind, "value": str(bonus.value), "from": "bonus"},
        "exact_amount": str(earned.exact_amount),
        "amount": str(amount),
        "status": status,
        "reason": reason,
    }


def _get_midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, tzinfo=UTC)
