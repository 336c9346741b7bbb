"""Count the rows of a long list, and find one of its pages, without reading all rows.

For each list and UTC day, `DailyRowCount` has summands whose sum is the number of rows
that were created on this day. A transaction that moves rows into or out of a list
inserts the difference as a summand (`is_change`). Once a day is over, its main summand
is counted and stored: the number of rows minus the changes so far. That difference is
the same at any time, so counting needs no lock, and any of several processes may store
it. The rows of days without a main summand are counted by each reader.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, transaction
from django.db.models import Count, QuerySet, Subquery, Sum, Value
from django.db.models.expressions import Col
from django.db.models.functions import Coalesce, TruncDay
from django.db.models.lookups import Lookup
from django.db.models.sql import Query
from django.db.models.sql.where import AND

from accounts.compiled_queries import CompiledQuery
from accounts.days import A_DAY, CLOSING_DELAY
from accounts.db_compat import BATCH_SIZE, use_snapshot
from accounts.models.accounts import Account, TenantQuerySet
from accounts.models.row_counts import (
    CountedRow,
    DailyRowCount,
    get_day_end,
    get_list_key,
    record_count_changes,
)

MAX_UNSTORED_ROWS = 10_000  # of a list, if the days of more are over
BATCH_DAYS = 31  # days that are counted by one statement
EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC)


class RowCount(NamedTuple):
    """The number of rows of a list, in two parts."""

    stored_until: datetime | None  # end of the last stored day
    stored: int  # rows of stored days
    later: int  # rows created since `stored_until`


@dataclass(frozen=True)
class CountedList:
    """A list: the rows of a model that an account created from `since` to `until`.

    With a `lookup` (one of `counted_by` or `counted_through`), only the rows with this
    `value`. The period begins and ends at midnight UTC.
    """

    account: Account
    model: type[CountedRow]
    lookup: str = ""
    value: int | str = 0
    since: datetime = EARLIEST
    until: datetime = LATEST

    @property
    def key(self) -> str:
        """The value of `DailyRowCount.list` for this list."""
        return get_list_key(self.model, self.lookup, self.value)

    def count(self, at: datetime, *, using: str = DEFAULT_DB_ALIAS) -> RowCount:
        """Count the rows, reading from the database `using`.

        If more than `MAX_UNSTORED_ROWS` had to be counted one by one, the days that are
        over are stored, as counted on the primary.
        """
        # The value of an `isnull` look-up is part of the SQL.
        constant = self.value if isinstance(self.value, bool) else None
        query = get_count_query(self.model, self.lookup, constant)
        ((stored_until, stored, later),) = query.all(
            using,
            account=self.account,
            key=self.key,
            value=self.value,
            since=self.since,
            until=self.until,
        )
        if later > MAX_UNSTORED_ROWS:
            self.store_days(stored_until, at=at)
        return RowCount(stored_until, stored, later)

    def find_day(self, count: RowCount, offset: int) -> tuple[datetime, int]:
        """Find the stored day of the row at `offset` of the list, newest first.

        Returns the end of the day, and the offset of the row within the day.
        """
        summands = self.account.daily_row_counts.filter(
            list=self.key, day_end__gt=self.since, day_end__lte=self.until
        ).filter(day_end__lte=count.stored_until)
        offset -= count.later
        by_day = summands.values_list("day_end").annotate(Sum("n"))
        for day_end, n in by_day.order_by("-day_end"):
            if offset < n:
                return day_end, offset
            offset -= n
        return self.since, 0  # a row was removed meanwhile

    def store_days(self, stored_until: datetime | None, *, at: datetime) -> None:
        """Count and store the days that are over, from `stored_until` on.

        Call it outside any transaction.
        """
        start = stored_until or self._find_start()
        end = get_day_end(at - CLOSING_DELAY) - A_DAY
        while start < end:
            batch_end = min(start + BATCH_DAYS * A_DAY, end)
            self._store_days(start, batch_end)
            start = batch_end

    def _find_start(self) -> datetime:
        """Return the start of the first day that has rows or changes."""
        rows = select_rows(self.model, self.account, self.lookup, self.value)
        first_row = rows.order_by("created_at").values_list("created_at", flat=True)
        changes = self.account.daily_row_counts.filter(list=self.key)
        first_change = changes.order_by("day_end").values_list("day_end", flat=True)
        ends = [*map(get_day_end, first_row[:1]), *first_change[:1]]
        return min(ends, default=LATEST) - A_DAY

    def _store_days(self, start: datetime, end: datetime) -> None:
        rows = select_rows(self.model, self.account, self.lookup, self.value)
        rows = rows.filter(created_at__gte=start, created_at__lt=end)
        changes = self.account.daily_row_counts.filter(
            list=self.key, day_end__gt=start, day_end__lte=end, is_change=True
        )
        by_day = rows.values_list(TruncDay("created_at", tzinfo=UTC))
        counts = Counter({end: 0})  # stored even if 0: it marks `stored_until`
        with use_snapshot():
            for day, n in by_day.annotate(Count("pk")):
                counts[day + A_DAY] += n
            counts.subtract(dict(changes.values_list("day_end").annotate(Sum("n"))))
        self.account.daily_row_counts.bulk_create(
            [
                DailyRowCount(
                    account=self.account,
                    list=self.key,
                    day_end=day_end,
                    n=n,
                    is_change=False,
                )
                for day_end, n in sorted(counts.items())
                if n or day_end == end
            ],
            ignore_conflicts=True,
        )


def store_row_counts(accounts: Iterable[Account], *, at: datetime) -> None:
    """Store the counts of all lists with more than `MAX_UNSTORED_ROWS` rows, so that no
    request has to count past days."""
    models = [model for model in apps.get_models() if issubclass(model, CountedRow)]
    for account in accounts:
        for model in models:
            counted_list = CountedList(account, model)
            count = counted_list.count(at)
            if count.stored + count.later <= MAX_UNSTORED_ROWS:
                continue
            for lookup in (*model.counted_by, *model.counted_through):
                for value in list_values(account, model, lookup):
                    CountedList(account, model, lookup, value).count(at)


def list_values(account: Account, model: type[CountedRow], lookup: str) -> Iterable[int | str]:
    """Return the values of a look-up that rows of the account can have."""
    name, _, kind = lookup.partition("__")
    field: Any = model._meta.get_field(name)
    if lookup in model.counted_through:
        return list_values(account, field.related_model, kind)
    if kind == "isnull":
        return (False, True)
    if field.is_relation:
        related: TenantQuerySet[Any] = TenantQuerySet(field.related_model).of(account)
        return related.values_list("pk", flat=True)
    return [value for value, _ in field.choices]


def merge_count_changes(accounts: Iterable[Account]) -> None:
    """Merge the changes of each list and day into one row, so that sums read few."""
    for account in accounts:
        changes = account.daily_row_counts.filter(is_change=True)
        by_day = changes.values("list", "day_end").annotate(rows=Count("pk"))
        for day in by_day.filter(rows__gt=1).values_list("list", "day_end"):
            with transaction.atomic():
                _merge_day(account, *day)


def _merge_day(account: Account, key: str, day_end: datetime) -> None:
    rows = account.daily_row_counts.filter(list=key, day_end=day_end, is_change=True).order_by("pk")
    locked = list(rows.select_for_update(no_key=True)[:BATCH_SIZE])
    rows.filter(pk__in=[row.pk for row in locked]).delete()
    total = sum(row.n for row in locked)
    record_count_changes(account.pk, Counter({(key, day_end): total}))


def find_counted_list(account: Account, queryset: QuerySet[Any]) -> CountedList | None:
    """Return the `CountedList` with the rows of a queryset; None if there is none.

    There is one if the queryset's conditions are the account, rows that are not
    removed, and optionally one look-up of `counted_by` or `counted_through` and a
    period from midnight to midnight.
    """
    return find_list_of_query(account, queryset.query)


def find_list_of_query(account: Account, query: Query) -> CountedList | None:
    """Return the list of `find_counted_list` for the query of a queryset."""
    model: Any = query.model
    conditions = read_conditions(query)
    if not issubclass(model, CountedRow):
        return None
    required = {("account", "exact"): account.pk}
    if model.removed_by:
        required[model.removed_by, "isnull"] = True
    if any(conditions.pop(key, None) != value for key, value in required.items()):
        return None
    since = conditions.pop(("created_at", "gte"), EARLIEST)
    until = conditions.pop(("created_at", "lt"), LATEST)
    if not is_midnight(since) or not is_midnight(until):
        return None
    if not conditions:
        return CountedList(account, model, since=since, until=until)
    ((field, kind), value), *others = conditions.items()
    lookup = field if kind == "exact" else f"{field}__{kind}"
    if kind == "in" and isinstance(value, Query):
        lookup, value = find_lookup_through(account, model, value)
    if others or lookup not in (*model.counted_by, *model.counted_through):
        return None
    return CountedList(account, model, lookup, value, since, until)


def find_lookup_through(
    account: Account, model: type[CountedRow], query: Query
) -> tuple[str, int | str]:
    """Return the look-up of `counted_through`, with its value, that `pk__in=query` is
    equal to; "" and 0 if there is none."""
    related = find_list_of_query(account, query)
    for lookup in model.counted_through:
        name, _, related_lookup = lookup.partition("__")
        relation: Any = model._meta.get_field(name)
        whole = CountedList(account, relation.related_model, related_lookup)
        if related is None or related != replace(whole, value=related.value):
            continue
        if [*(query.selected or ())] == [relation.field.name]:
            return lookup, related.value
    return "", 0


def read_conditions(query: Query) -> dict[tuple[str, str], Any]:
    """Map (column, kind of look-up) to the value for each condition of a query.

    The result is empty if a condition is no comparison of a column of the model.
    """
    conditions: dict[tuple[str, str], Any] = {
        (lookup.lhs.target.name, lookup.lookup_name or ""): lookup.rhs
        for lookup in query.where.children
        if isinstance(lookup, Lookup)
        and isinstance(lookup.lhs, Col)
        and lookup.lhs.alias == query.get_initial_alias()
    }
    is_complete = len(conditions) == len(query.where.children)
    return conditions if is_complete and query.where.connector == AND else {}


def is_midnight(at: datetime) -> bool:
    """Return whether a time is the midnight between two UTC days."""
    return get_day_end(at) - A_DAY == at


def select_rows(
    model: type[CountedRow], account: Account, lookup: str, value: int | str
) -> QuerySet[Any]:
    """Return the rows with this value of the look-up, or all of the account's rows."""
    rows: QuerySet[Any] = TenantQuerySet(model).of(account)
    if model.removed_by:
        rows = rows.filter(**{model.removed_by: None})
    if lookup in model.counted_through:
        name, _, related_lookup = lookup.partition("__")
        relation: Any = model._meta.get_field(name)
        related = relation.related_model
        matching = select_rows(related, account, related_lookup, value)
        return rows.filter(pk__in=matching.values(relation.field.name))
    return rows.filter(**{lookup: value}) if lookup else rows


@cache
def get_count_query(
    model: type[CountedRow],
    lookup: str,
    constant: bool | None,  # noqa: FBT001 - the value of `isnull`
) -> CompiledQuery[Any]:
    """Return the compiled query of `CountedList.count`, whose row is a `RowCount`."""

    def select_counts(account: Any, key: Any, value: Any, since: Any, until: Any) -> Any:
        summands = DailyRowCount.objects.of(account).filter(list=key)
        stored = summands.filter(is_change=False).order_by("-day_end")
        stored_until = Subquery(stored.values("day_end")[:1])
        of_stored_days = summands.filter(day_end__gt=since, day_end__lte=until).filter(
            day_end__lte=stored_until
        )
        rows = select_rows(model, account, lookup, value if constant is None else constant)
        # The later bound comes first: SQLite searches an index by the first one only.
        later = rows.filter(created_at__gte=Coalesce(stored_until, Value(EARLIEST))).filter(
            created_at__gte=since, created_at__lt=until
        )
        return Account.objects.filter(pk=account).values_list(
            stored_until,
            Coalesce(
                Subquery(of_stored_days.values("list").annotate(total=Sum("n")).values("total")),
                0,
            ),
            Coalesce(
                Subquery(later.values("account").annotate(total=Count("pk")).values("total")),
                0,
            ),
        )

    return CompiledQuery(select_counts)
