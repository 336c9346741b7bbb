"""Bonuses: granted once for each period that is over and whose goal was reached.

Each run looks at a period until a day after its end, when every transaction of its days
has ended, and again if there is a `LateChange` in the period. A bonus whose goal is no
longer met is put back to pending: docs/api-contract.md, section 7.10. Those of a source
that is mirrored are left to it until the switch: docs/moving-in.md.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from django.db import transaction
from django.db.models import Count

from accounts.db_compat import split_into_batches
from accounts.models.accounts import Account
from accounts.services.changes import log_event, record_changes
from payouts.calculation import ApprovalContext, RateSource, RateSourceKind, calculate_exact_amount
from payouts.models.bonuses import Bonus, BonusPeriod, GoalType
from payouts.models.commissions import (
    BalanceKey,
    Commission,
    CommissionKind,
    CommissionStatus,
    is_finalized,
)
from payouts.services.bonus_rules import (
    MONTHS_PER_PERIOD,
    GoalPeriod,
    PeriodKey,
    PeriodRange,
    get_last_period,
    get_midnight,
    get_period_start,
    list_period_ranges,
)
from payouts.services.commissions import record_update, update_and_post
from payouts.services.ledger import LedgerSession, open_ledger_session
from tracking.amounts import ExactSum
from tracking.money import ZERO, round_amount
from tracking.services.imports import filter_mirrored

BONUS_COMMISSION_TYPE = "bonus"
SETTLING_TIME = timedelta(days=1)  # after the end of a period; transactions are shorter
MAX_LOCKED_BALANCES = 100  # in one transaction, for which others wait


@dataclass(frozen=True)
class BonusProgress:
    """The number and the total amount of an affiliate's conversions in a period."""

    conversion_count: int
    conversion_amount: Decimal

    def has_reached(self, bonus: Bonus) -> bool:
        """Return whether the progress is at least the goal of the bonus."""
        if bonus.goal_type == GoalType.CONVERSIONS:
            return self.conversion_count >= bonus.goal
        return self.conversion_amount >= bonus.goal


NO_PROGRESS = BonusProgress(0, ZERO)


@dataclass(frozen=True)
class EarnedBonus:
    """A bonus that an affiliate has earned and was not granted yet."""

    bonus: Bonus
    affiliate_id: int
    period: GoalPeriod
    progress: BonusProgress

    @property
    def balance_key(self) -> BalanceKey:
        return self.affiliate_id, self.bonus.program.currency

    @property
    def exact_amount(self) -> Decimal:
        return calculate_exact_amount(
            self.progress.conversion_amount, self.bonus.kind, self.bonus.value
        )


@dataclass(frozen=True)
class ChangedGoal:
    """A bonus that was granted and whose goal is no longer met, or is met again."""

    commission: Commission
    period: GoalPeriod
    progress: BonusProgress

    @property
    def balance_key(self) -> BalanceKey:
        return self.commission.balance_key


class BonusRun(NamedTuple):
    """The commissions of bonuses that a run granted, and put back to pending."""

    granted: list[Commission]
    put_back: list[Commission]


def grant_bonuses(account: Account, *, at: datetime) -> BonusRun:
    """Grant each bonus that was earned in a period that is over, and only once.

    Puts a granted bonus back to pending if its goal is no longer met.
    """
    late_changes = dict(account.late_changes.values_list("pk", "day"))
    bonuses = list(_sort_bonuses(account))
    run = BonusRun([], [])
    granted_until = None  # without the feature: nothing is granted, nothing is done
    if account.plan.bonuses:
        granted_until = (at - SETTLING_TIME).astimezone(UTC).date()
        changed_days = set(late_changes.values())
        periods = list(_list_due_periods(bonuses, changed_days, at))
        found: dict[BalanceKey, set[PeriodKey]] = defaultdict(set)
        for finding in _list_findings(account, periods):
            found[finding.balance_key].add(finding.period.key)
        balance_keys = sorted(found)
        for first in range(0, len(balance_keys), MAX_LOCKED_BALANCES):
            batch = balance_keys[first : first + MAX_LOCKED_BALANCES]
            period_keys = {key: found[key] for key in batch}
            _work_through(account, period_keys, run, at=at)
    _set_granted_until(account, bonuses, granted_until)
    _delete_late_changes(account, sorted(late_changes))
    return run


def _work_through(
    account: Account,
    found: Mapping[BalanceKey, Collection[PeriodKey]],
    run: BonusRun,
    *,
    at: datetime,
) -> None:
    """Lock the balances found, look at their periods again, and grant what is earned.

    The bonuses are locked before the balances: one that is ended meanwhile may be
    deleted. Adds the commissions to those of the run.
    """
    period_keys = set().union(*found.values())
    with (
        transaction.atomic(),
        open_ledger_session(account, found, at=at) as ledger,
    ):
        list(account.bonuses.select_for_update(no_key=True).order_by("id"))
        ledger.lock_balances()
        periods = [
            period
            for period in _list_periods(_sort_bonuses(account), at)
            if period.key in period_keys
        ]
        affiliate_ids = {affiliate_id for affiliate_id, _ in found}
        commissions = []
        for finding in _list_findings(account, periods, affiliate_ids=affiliate_ids):
            if finding.balance_key not in found:
                continue
            if isinstance(finding, ChangedGoal):
                if _record_changed_goal(finding, ledger, at):
                    run.put_back.append(finding.commission)
                continue
            commission = _build_commission(account, finding, ledger, at)
            commission.save(force_insert=True)
            commissions.append(commission)
            ledger.post_commission_created(commission)
        record_changes(account, "commission.created", commissions, at=at)
    run.granted.extend(commissions)


def _record_changed_goal(changed: ChangedGoal, ledger: LedgerSession, at: datetime) -> bool:
    """Mark a bonus whose goal is no longer met, and put it back to pending.

    A bonus that is paid or final keeps its status. If the goal is met again, the mark
    is removed and the status stays: staff decide. Returns whether the bonus was put
    back to pending.
    """
    commission = changed.commission
    account, is_missed = commission.account, commission.goal_missed_at is None
    calculation = json.loads(commission.calculation)
    calculation["present"] = _serialize_progress(changed.progress)
    values: dict[str, object] = {
        "goal_missed_at": at if is_missed else None,
        "calculation": json.dumps(calculation, sort_keys=True),
    }
    if is_missed and commission.status == CommissionStatus.APPROVED and not commission.is_settled:
        values["status"] = CommissionStatus.PENDING
    details = update_and_post(commission, ledger=ledger, at=at, **values)
    kind = "commission.goal_missed" if is_missed else "commission.goal_met"
    log_event(account, kind, commission, at=at)
    record_update(commission, details, at=at)
    return "status" in values


def _set_granted_until(
    account: Account, bonuses: Iterable[Bonus], granted_until: date | None
) -> None:
    """Store until when these bonuses are granted, unless their goals have changed."""
    seen = {bonus.pk: _get_goal(bonus) for bonus in bonuses}
    if not seen:
        return
    with transaction.atomic():
        locked = account.bonuses.select_for_update(no_key=True).order_by("id")
        same = [row.pk for row in locked if seen.get(row.pk) == _get_goal(row)]
        outdated = account.bonuses.exclude(granted_until=granted_until)
        outdated.filter(pk__in=same).update(granted_until=granted_until)


def _get_goal(bonus: Bonus) -> tuple[str, Decimal, str]:
    return bonus.goal_type, bonus.goal, bonus.period


def _delete_late_changes(account: Account, pks: Sequence[int]) -> None:
    """Delete the late changes with these ids, which were read before the periods."""
    for batch in split_into_batches(pks):
        account.late_changes.filter(pk__in=batch).delete()


def preview_bonus(bonus: Bonus, *, at: datetime) -> tuple[PeriodRange, list[EarnedBonus]]:
    """Return the last period that is over, and who would have earned the bonus in it.

    For all time, who has earned it by now. Other bonuses are not considered.
    """
    period_range = get_last_period(bonus.period, at)
    earlier = copy(bonus)
    earlier.created_at = get_midnight(period_range.start)
    findings = _list_findings(bonus.account, [GoalPeriod((earlier,), period_range)])
    return period_range, [it for it in findings if isinstance(it, EarnedBonus)]


def _sort_bonuses(account: Account) -> Iterable[Bonus]:
    rows = account.bonuses.select_related("program").order_by("-goal", "id")
    return rows.exclude(pk__in=filter_mirrored(account, "bonus"))


def _list_periods(bonuses: Iterable[Bonus], at: datetime) -> Iterator[GoalPeriod]:
    """Yield the periods of sorted bonuses that are over at a time."""
    groups: dict[tuple[int, str, str], list[Bonus]] = defaultdict(list)
    for row in bonuses:
        groups[row.program_id, row.goal_type, row.period].append(row)
    for (_, _, period), group in groups.items():
        since = min(bonus.created_at for bonus in group)
        for period_range in list_period_ranges(period, since=since, at=at):
            yield GoalPeriod(tuple(group), period_range)


def _list_due_periods(
    bonuses: Iterable[Bonus], changed_days: Collection[date], at: datetime
) -> Iterator[GoalPeriod]:
    """Yield the periods that no run has finished yet, or that have changed since.

    `all_time` is always among them, because it never ends.
    """
    changed_starts = {
        (period, get_period_start(period, day))
        for day in changed_days
        for period in MONTHS_PER_PERIOD.keys() | {BonusPeriod.WEEK}
    }
    for period in _list_periods(bonuses, at):
        start, end = period.range.start, period.range.end
        granted_until = min(
            bonus.granted_until or bonus.created_at.astimezone(UTC).date()
            for bonus in period.bonuses
        )
        if (
            end is None
            or end > granted_until
            or (period.bonuses[0].period, start) in changed_starts
        ):
            yield period


def _list_findings(
    account: Account,
    periods: Iterable[GoalPeriod],
    *,
    affiliate_ids: Collection[int] | None = None,
) -> Iterator[EarnedBonus | ChangedGoal]:
    """Yield the bonuses to grant in these periods, and those whose goals changed."""
    approved_ids: dict[int, set[int]] = {}
    for period in periods:
        program_id = period.program.pk
        if program_id not in approved_ids:
            approved = account.enrollments.not_deleted().filter(program=program_id, approved=True)
            if affiliate_ids is not None:
                approved = approved.filter(affiliate__in=affiliate_ids)
            approved_ids[program_id] = set(approved.values_list("affiliate", flat=True))
        granted = _list_granted(account, period, affiliate_ids)
        progress, pending_ids = _calculate_progress(account, period, affiliate_ids)
        yield from _find_changed_goals(period, granted, progress)
        granted_goals = _get_granted_goals(period, granted)
        candidates = progress.keys() & approved_ids[program_id] - pending_ids
        for affiliate_id in sorted(candidates):
            earned = _find_highest_bonus(period, progress[affiliate_id])
            # `all_time` never ends: a higher goal may be reached after a grant.
            min_goal = earned.goal if earned and period.range.end is None else ZERO
            goals = granted_goals[affiliate_id]
            if earned and not any(goal >= min_goal for goal in goals):
                yield EarnedBonus(earned, affiliate_id, period, progress[affiliate_id])


def _find_changed_goals(
    period: GoalPeriod,
    granted: Iterable[Commission],
    progress: Mapping[int, BonusProgress],
) -> Iterator[ChangedGoal]:
    """Yield granted bonuses whose goal is no longer met, or is met again."""
    bonuses = {bonus.pk: bonus for bonus in period.bonuses}
    for commission in granted:
        present = progress.get(commission.affiliate_id, NO_PROGRESS)
        is_met = present.has_reached(bonuses[commission.bonus_id or 0])
        if is_met != (commission.goal_missed_at is None):
            yield ChangedGoal(commission, period, present)


def _find_highest_bonus(period: GoalPeriod, progress: BonusProgress) -> Bonus | None:
    """Find the highest goal that was reached, of bonuses that existed at the end."""
    end = get_midnight(period.range.end) if period.range.end else None
    for bonus in period.bonuses:
        was_created = end is None or bonus.created_at < end
        had_ended = bonus.ended_at and (end is None or bonus.ended_at < end)
        if was_created and not had_ended and progress.has_reached(bonus):
            return bonus
    return None


def _get_granted_goals(
    period: GoalPeriod, granted: Iterable[Commission]
) -> dict[int, set[Decimal]]:
    goals = {bonus.pk: bonus.goal for bonus in period.bonuses}
    granted_goals: dict[int, set[Decimal]] = defaultdict(set)
    for commission in granted:
        granted_goals[commission.affiliate_id].add(goals[commission.bonus_id or 0])
    return granted_goals


def _list_granted(
    account: Account, period: GoalPeriod, affiliate_ids: Collection[int] | None
) -> Iterable[Commission]:
    """List the commissions of bonuses that were granted for the period."""
    rows = account.commissions.filter(bonus__in=period.bonuses, period_start=period.range.start)
    if affiliate_ids is not None:
        rows = rows.filter(affiliate__in=affiliate_ids)
    return rows.order_by("id")


def _calculate_progress(
    account: Account, period: GoalPeriod, affiliate_ids: Collection[int] | None
) -> tuple[dict[int, BonusProgress], set[int]]:
    """Return the progress by affiliate, and the affiliates with pending commissions."""
    rows = account.commissions.not_deleted().filter(
        kind=CommissionKind.REGULAR,
        conversion__program=period.program,
        conversion__currency=period.program.currency,
        **period.range.get_filters(),
    )
    if affiliate_ids is not None:
        rows = rows.filter(affiliate__in=affiliate_ids)
    pending = rows.filter(status=CommissionStatus.PENDING)
    approved = rows.filter(status=CommissionStatus.APPROVED)
    totals = (
        account.conversions.not_deleted()
        .filter(pk__in=approved.values("conversion"))
        .values_list("affiliate")
        .annotate(Count("id"), ExactSum("amount"))
    )
    progress = {
        affiliate_id: BonusProgress(count, amount) for affiliate_id, count, amount in totals
    }
    return progress, set(pending.values_list("affiliate", flat=True))


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
        finalized_at=at if is_finalized(status, account) else None,
        due_at=at,
        bonus=bonus,
        period_start=earned.period.range.start,
    )


def _serialize_calculation(
    earned: EarnedBonus, amount: Decimal, status: str, reason: str
) -> dict[str, object]:
    bonus, period_range = earned.bonus, earned.period.range
    end = period_range.end
    return {
        "goal": {"type": bonus.goal_type, "value": str(bonus.goal)},
        "period": {
            "from": period_range.start.isoformat(),
            "to": end.isoformat() if end else None,
        },
        "reached": _serialize_progress(earned.progress),
        "rate": {
            "kind": bonus.kind,
            "value": str(bonus.value),
            "source": RateSource(RateSourceKind.BONUS).serialize(),
        },
        "exact_amount": str(earned.exact_amount),
        "amount": str(amount),
        "status": status,
        "reason": reason,
    }


def _serialize_progress(progress: BonusProgress) -> dict[str, object]:
    return {
        "conversions": progress.conversion_count,
        "amount": str(progress.conversion_amount),
    }
