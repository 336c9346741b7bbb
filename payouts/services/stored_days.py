"""Days whose statistics are stored, one row per program, affiliate and currency, and
counted again when a change made them stale, or the account has another time zone.

Counting holds no lock, and the transaction that stores the result is short. A process
that counts first marks the days as stale itself (`StaleDay`), then reads all their
marks, then counts. It stores only if its own mark still exists, and deletes the marks
that it has read. So a change that the count does not include leaves a mark behind, and
a count never replaces a later one, which has deleted the mark of the earlier one.

A stored day is replaced whatever its time zone was, and a change marks its days in all
time zones. So a stored day without a mark is exact in its own time zone, and a change
of the account's zone needs no lock and writes nothing here.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from typing import NamedTuple

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import TruncDate

from accounts import replica
from accounts.compiled_writes import insert_many_rows
from accounts.days import is_closed
from accounts.db_compat import BATCH_SIZE, split_into_batches
from accounts.models.accounts import Account, TenantQuerySet
from accounts.models.row_counts import StaleDay
from payouts.services.day_counts import CountedDay, count_days

# What is counted together, and stored in one transaction: about a second of work.
BATCH_DAYS, BATCH_ROWS = 10, 5_000


def find_stored_days(account: Account, days: Sequence[date]) -> dict[date, int]:
    """Those of these days that are stored and not stale, in one statement; with the
    primary key of their first row, which is another one for each count."""
    if not days:
        return {}
    stored = account.daily_stats.filter(
        ~Exists(_list_marks_that_count(account).filter(day=OuterRef("day"))),
        time_zone=account.time_zone,
        sold__isnull=False,
        day__range=(min(days), max(days)),
        program=None,
        affiliate=None,
        currency="",
    )
    return dict(stored.values_list("day", "pk"))


class StoredBatch(NamedTuple):
    """A step of `store_days`."""

    days_left: int
    # Those that could not be stored: their sums do not fit into the columns, or another
    # process was faster.
    not_stored: list[CountedDay]


def store_days(account: Account, days: Sequence[date]) -> Iterator[StoredBatch]:
    """Count and store those of these days that are not stored, or stale, in batches.

    Yields after each, so that callers may stop: what is stored stays stored.
    """
    done, size = 0, 1
    while done < len(days):
        counted, not_stored = _store_batch(account, days[done : done + size])
        done += size
        yield StoredBatch(max(len(days) - done, 0), not_stored)
        rows = sum(len(it.stats) for it in counted)
        size = min(max(BATCH_ROWS * len(counted) // (rows or 1), 1), BATCH_DAYS)


def refresh_stale_days(accounts: Iterable[Account], *, at: datetime, dry_run: bool) -> int:
    """Count stored days again that are stale, and delete the marks of all others; how
    many changes they had. Without readers they would only accumulate."""
    number = sum(_list_marks_that_count(account).count() for account in accounts)
    if dry_run:
        return number
    for account in accounts:
        _delete_unused_marks(account)
        stale = account.stale_days.order_by("day").values_list("day", flat=True)
        days = [day for day in stale.distinct() if is_closed(day, account.zone, at=at)]
        for _ in store_days(account, days):
            pass
    return number


def _list_marks_that_count(account: Account) -> TenantQuerySet[StaleDay]:
    """Return the marks for the account's time zone.

    Those of other zones name a neighbor of the day that changed.
    """
    day = TruncDate("quarter", tzinfo=account.zone)
    return account.stale_days.filter(Q(quarter=None) | Q(day=day))


def _store_batch(
    account: Account, days: Sequence[date]
) -> tuple[list[CountedDay], list[CountedDay]]:
    """Count and store these days in one transaction; return those that it counted, and
    those of them that could not be stored."""
    replica.use_primary()
    stored = find_stored_days(account, days)
    own_marks = account.stale_days.bulk_create(
        [StaleDay(account=account, day=day) for day in days if day not in stored]
    )
    if not own_marks:
        return [], []
    missing = [mark.day for mark in own_marks]
    marks = dict(account.stale_days.filter(day__in=missing).values_list("pk", "day"))
    counted = count_days(account, missing)
    with transaction.atomic():
        locked = _lock_stale_days(account, marks)
        current = {mark.day for mark in own_marks if mark.pk in locked}
        storable = [row for row in counted if row.day in current and row.is_storable]
        for batch in split_into_batches(sorted(pk for pk in locked if marks[pk] in current)):
            account.stale_days.filter(pk__in=batch).delete()
        account.daily_stats.filter(day__in=current).delete()
        account.daily_landing_page_clicks.filter(day__in=current).delete()
        insert_many_rows([stats for row in storable for stats in row.stats])
        insert_many_rows([clicks for row in storable for clicks in row.landing_page_clicks])
    return counted, [row for row in counted if row not in storable]


def _delete_unused_marks(account: Account) -> None:
    """Delete the marks of days that are not stored, or not stale.

    A process that counts may store such a day meanwhile, so this is asked again under
    the lock. A process whose mark is deleted does not store.
    """
    stored = account.daily_stats.filter(day=OuterRef("day"))
    in_zone = stored.filter(time_zone=account.time_zone)
    stale = _list_marks_that_count(account).filter(day=OuterRef("day"))
    unused = account.stale_days.filter(~Exists(stored) | (Exists(in_zone) & ~Exists(stale)))
    while batch := list(unused.values_list("pk", flat=True)[:BATCH_SIZE]):
        with transaction.atomic():
            unused.filter(pk__in=_lock_stale_days(account, batch)).delete()


def _lock_stale_days(account: Account, marks: Iterable[int]) -> set[int]:
    """Lock these marks, in order, and return those that still exist.

    Only processes that count and `prune` wait for them: changes only insert marks.
    """
    rows = account.stale_days.select_for_update(no_key=True).order_by("pk")
    return {
        pk
        for batch in split_into_batches(sorted(marks))
        for pk in rows.filter(pk__in=batch).values_list("pk", flat=True)
    }
