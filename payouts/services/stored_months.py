"""Sums of the stored days of whole months, by which reports read long periods.

A day is replaced as a whole, and the primary key of its first row grows each time. So
the sum of these keys says which counts of its days a month is the sum of: one statement
reads both (`_sum_days`), and neither a change nor a count of a day has to do anything
here. A reader uses a month if all of its days are stored and not stale, and their keys
add up to its `days_key`.

The reader gets the rows of the month by a later statement. They may be replaced before,
but only by those of later counts: who replaces a month deletes its first row if
that has a smaller key, then inserts its own, which the unique constraint refuses if
there still is one, and only then the other rows.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Count, Sum

from accounts import replica
from accounts.compiled_writes import insert_many_rows
from accounts.days import A_DAY
from accounts.models.accounts import Account
from payouts.models.daily_stats import MonthlyStats
from payouts.services.day_counts import ALL_AMOUNTS, COUNTS, MAX_AMOUNT
from tracking.amounts import ExactSum

MAX_COUNT = 2**31 - 1  # of a column
FIRST_ROW = {"program": None, "affiliate": None, "currency": ""}


def list_months(days: Iterable[date]) -> dict[date, list[date]]:
    """Return the whole calendar months among these days: their days by the first one."""
    months = defaultdict(list)
    for day in days:
        months[day.replace(day=1)].append(day)
    return {
        first: of_month
        for first, of_month in months.items()
        if len(of_month) == ((first + 31 * A_DAY).replace(day=1) - first).days
    }


def find_stored_months(
    account: Account, stored_days: Mapping[date, int], months: Mapping[date, Sequence[date]]
) -> set[date]:
    """Those of these months whose sums are those of the `stored_days`, which
    `find_stored_days` returned, in one statement."""
    keys = {
        first: sum(stored_days[day] for day in days)
        for first, days in months.items()
        if stored_days.keys() >= {*days}
    }
    if not keys:
        return set()
    found = account.monthly_stats.filter(day__in=keys, **FIRST_ROW).values_list("day", "days_key")
    return {first for first, key in found if keys[first] == key}


def store_months(account: Account, stored_days: Mapping[date, int]) -> Iterator[None]:
    """Add up the whole months among the `stored_days`, which `find_stored_days` returned,
    the last one first; yields after each."""
    months = list_months(stored_days)
    for first in sorted(months.keys() - find_stored_months(account, stored_days, months))[::-1]:
        _store_month(account, first, months[first])
        yield


def _store_month(account: Account, first: date, days: Sequence[date]) -> None:
    """Store the sums of a month, unless a day is missing, a sum does not fit into its
    column, or others have stored it meanwhile."""
    replica.use_primary()
    rows = _sum_days(account, first, days)
    if not rows:
        return
    first_row, *others = rows
    of_month = account.monthly_stats.filter(day=first)
    try:
        with transaction.atomic():
            of_month.filter(**FIRST_ROW, days_key__lt=first_row.days_key).delete()
            first_row.save(force_insert=True)
            of_month.exclude(pk=first_row.pk).delete()
            insert_many_rows(others)
    except IntegrityError:
        return


def _sum_days(account: Account, first: date, days: Sequence[date]) -> list[MonthlyStats]:
    """Return the unsaved rows of a month, its first row first; none if they cannot be
    stored."""
    sums = {
        **{name: Sum(name) for name in COUNTS},
        **{name: ExactSum(name) for name in ALL_AMOUNTS},
    }
    groups = account.daily_stats.filter(day__in=days).order_by().values_list(*FIRST_ROW)
    rows = []
    for program, affiliate, currency, number, key, *found in groups.annotate(
        Count("pk"), Sum("pk"), **{f"sum_{name}": it for name, it in sums.items()}
    ):
        values: dict[str, Any] = dict(zip(sums, found, strict=True))
        is_first = (program, affiliate, currency) == (None, None, "")
        is_too_large = any(values[name] > MAX_COUNT for name in COUNTS) or any(
            (values[name] or 0) > MAX_AMOUNT for name in ALL_AMOUNTS
        )
        if is_too_large or (is_first and number < len(days)):
            return []
        row = MonthlyStats(
            account=account,
            day=first,
            program_id=program,
            affiliate_id=affiliate,
            currency=currency,
            days_key=key if is_first else 0,
            **values,
        )
        rows.append(row)
    return sorted(rows, key=lambda row: -row.days_key)
