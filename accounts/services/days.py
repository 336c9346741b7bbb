"""Days: figures of days that are over, counted once and again when a row changed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import orjson
from django.db import models, transaction

from accounts.models.accounts import Account
from accounts.models.days import ChangedDay, CountedDay

# No request that began on a day is still at work so long after its end.
CLOSES_AFTER = timedelta(hours=1)
AT_ONCE = 5  # days that are counted in one transaction

Figures = Mapping[str, Any]  # plain JSON
Count = Callable[[date], Figures]
Since = Callable[[], date | None]


def start_of(day: date) -> datetime:
    """The first moment of a day, in UTC."""
    return datetime.combine(day, time(), UTC)


def is_closed(day: date, *, at: datetime) -> bool:
    """Is this day over, for every request that made a row of it?"""
    return at >= start_of(day) + timedelta(days=1) + CLOSES_AFTER


def mark_changed(
    account: Account, rows: Iterable[models.Model], *, at: datetime
) -> None:
    """Have the earlier days of these rows counted again, once this change is kept."""
    mark_days(account, {row.created_at.date() for row in rows}, at=at)  # type: ignore[attr-defined]


def mark_days(account: Account, days: Iterable[date], *, at: datetime) -> None:
    """Have these days counted again, but for the running one, which is not kept."""
    earlier = sorted(set(days) - {at.date()})
    if earlier:
        lines = [ChangedDay(account=account, day=day) for day in earlier]
        account.changed_days.bulk_create(lines)


def forget_changed(accounts: Iterable[Account], *, dry_run: bool) -> int:
    """Forget what was counted of changed days, and that they changed; how many lines
    there were. Where nobody looks at the figures such lines would only gather."""
    if dry_run:
        return sum(account.changed_days.count() for account in accounts)
    forgotten = 0
    for account in accounts:
        with transaction.atomic():
            if not _one_at_a_time(account):
                continue  # some other night
            days = set(account.changed_days.values_list("day", flat=True))
            for day in sorted(days):
                forgotten += account.changed_days.filter(day=day).delete()[0]
                account.counted_days.filter(day=day).delete()
    return forgotten


def counted(
    account: Account, days: Sequence[date], count: Count, *, since: Since
) -> dict[date, Figures]:
    """The figures of closed days: what is known of them, and what `count` finds of
    those that nobody asked for yet or that changed meanwhile.

    Days before the account's first row, which `since` tells, are left out.
    """
    figures = _known(account, days)
    missing = [day for day in days if day not in figures]
    if missing:
        first = since()
        missing = [day for day in missing if first is not None and day >= first]
    for start in range(0, len(missing), AT_ONCE):
        figures |= _count_again(account, missing[start : start + AT_ONCE], count)
    return figures


def _known(account: Account, days: Sequence[date]) -> dict[date, Figures]:
    """What is kept of these days and holds; changes are asked for first, since whoever
    counts a day takes its line away last."""
    if not days:
        return {}
    span = (min(days), max(days))
    changed = account.changed_days.filter(day__range=span).distinct()
    stale = set(changed.values_list("day", flat=True))
    kept = account.counted_days.filter(day__range=span)
    return {
        day: orjson.loads(text)
        for day, text in kept.values_list("day", "figures")
        if day not in stale
    }


def _count_again(
    account: Account, days: Sequence[date], count: Count
) -> dict[date, Figures]:
    """One counter at a time; who comes second does not wait, and keeps nothing.

    A change is either seen by the count, or its line comes after those that are taken
    away first, and the day is counted once more.
    """
    with transaction.atomic():
        if not _one_at_a_time(account):
            return {day: count(day) for day in days}
        known = _known(account, days)
        missing = [day for day in days if day not in known]
        account.changed_days.filter(day__in=missing).delete()
        figures = {day: count(day) for day in missing}
        account.counted_days.bulk_create(
            [
                CountedDay(account=account, day=day, figures=orjson.dumps(it).decode())
                for day, it in figures.items()
            ],
            update_conflicts=True,
            unique_fields=["account", "day"],
            update_fields=["figures"],
        )
    return known | figures


def _one_at_a_time(account: Account) -> bool:
    """Is nobody else counting? Whoever writes rows of the account is not held up."""
    rows = Account.objects.select_for_update(no_key=True, skip_locked=True)
    return bool(rows.filter(pk=account.pk).values_list("pk", flat=True))
