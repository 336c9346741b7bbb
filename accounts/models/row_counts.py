"""CountedRow: a row of a long list; DailyRowCount: the rows of a list per day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, time, timedelta
from typing import Any, ClassVar

from django.db import models, transaction

from accounts.compiled_writes import insert_rows
from accounts.models.accounts import Account, TenantModel

CountKey = tuple[str, datetime]  # a list, and the end of a UTC day


class CountedRow(TenantModel):
    """A row of a list that grows without bound, newest first.

    Rows of an earlier day are counted by `record_past_rows`. `update_row` is the only way to
    remove one from its list, or to change what lists are filtered by.
    """

    counted_by: ClassVar[tuple[str, ...]]  # look-ups that lists are filtered by
    # Look-ups in related rows: a row is in the list if one of them matches. Services of
    # the related rows record the changes.
    counted_through: ClassVar[tuple[str, ...]] = ()
    removed_by: ClassVar[str | None] = None  # column that is set on removal

    created_at: models.DateTimeField[datetime, datetime]

    class Meta:
        abstract = True

    def update_row(
        self,
        *,
        expected: dict[str, Any] | None = None,
        at: datetime | None = None,
        **values: Any,
    ) -> bool:
        """Update the row as `TenantModel.update_row` does, and its counts.

        Pass `at`, the time of the change, if a day that is not over at this time needs
        no change of its count, because nobody has counted it yet.
        """
        if values.keys().isdisjoint(self.list_counted_columns()):
            return super().update_row(expected=expected, **values)
        with transaction.atomic(savepoint=False), keep_counts([self], at=at):
            return super().update_row(expected=expected, **values)

    @classmethod
    def list_counted_columns(cls) -> Iterator[str]:
        """Yield the columns that decide in which lists a row is, and on which day."""
        yield "created_at"
        if cls.removed_by:
            yield cls.removed_by
        for lookup in cls.counted_by:
            yield lookup.partition("__")[0]

    def list_count_keys(self) -> Iterator[CountKey]:
        """Yield the keys of the counts that include the row."""
        if self.removed_by and getattr(self, self.removed_by) is not None:
            return
        day_end = get_day_end(self.created_at)
        yield get_list_key(type(self)), day_end
        for lookup in self.counted_by:
            name, _, kind = lookup.partition("__")
            field: Any = self._meta.get_field(name)
            value = getattr(self, field.attname)
            if kind == "isnull":
                yield get_list_key(type(self), lookup, value is None), day_end
            elif value:
                yield get_list_key(type(self), lookup, value), day_end


class DailyRowCount(TenantModel):
    """A summand of the number of rows of a list that were created on one UTC day.

    One summand is counted when the day is over, each other one (`is_change`) records a
    later change. See `accounts.services.row_counts`.
    """

    not_exported = "counts of other rows; made again when somebody looks"

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="daily_row_counts", db_index=False
    )
    list = models.CharField(max_length=64)
    day_end = models.DateTimeField()
    n = models.BigIntegerField()
    is_change = models.BooleanField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "list", "day_end"],
                condition=models.Q(is_change=False),
                name="one_row_count_per_day",
            )
        ]
        indexes = [
            models.Index(fields=["account", "list", "day_end", "n"], name="row_counts_by_day")
        ]

    def __str__(self) -> str:
        return f"{self.list} {self.day_end} {self.n}"


def get_list_key(model: type[CountedRow], lookup: str = "", value: int | str = 0) -> str:
    """Return the key of a model's list, or of its rows with one value of a look-up."""
    name = str(model._meta.model_name)
    return f"{name}:{lookup}={value}" if lookup else name


def get_day_end(at: datetime) -> datetime:
    """Return the midnight after a time, in UTC."""
    next_day = at.astimezone(UTC).date() + timedelta(days=1)
    return datetime.combine(next_day, time(), UTC)


@contextmanager
def keep_counts(rows: Sequence[CountedRow], *, at: datetime | None = None) -> Iterator[None]:
    """Record the changes of counts by the block.

    The block updates these rows, all of one account, in the database and in memory,
    within a transaction. `at` is that of `CountedRow.update_row`.
    """
    before = Counter(key for row in rows for key in row.list_count_keys())
    yield
    changes = Counter(key for row in rows for key in row.list_count_keys())
    changes.subtract(before)
    for key in list(changes):
        if at is not None and at < key[1]:
            del changes[key]
    if rows:
        record_count_changes(rows[0].account_id, changes)


def record_past_rows(account_id: int, rows: Sequence[CountedRow], at: datetime) -> None:
    """Count new rows of days that were over at this time."""
    keys = Counter(key for row in rows for key in row.list_count_keys() if key[1] <= at)
    record_count_changes(account_id, keys)


def record_count_changes(account_id: int, changes: Counter[CountKey]) -> None:
    """Add changes of the number of rows, in the transaction that changes the rows."""
    insert_rows(
        [
            DailyRowCount(account_id=account_id, list=key, day_end=day_end, n=n, is_change=True)
            for (key, day_end), n in sorted(changes.items())
            if n
        ]
    )


class DailyCountedRow(CountedRow):
    """A row that is counted in the daily statistics of the day it was created."""

    class Meta:
        abstract = True


class StaleDay(TenantModel):
    """A day whose stored statistics are out of date because one of its rows changed.

    Each change inserts a row, even if the day has one already, so that writers never
    wait for each other or for the calculation of the day, which deletes the rows. A
    calculation inserts a row of its own before it counts, and stores its result only
    if the row still exists: `payouts.services.stored_days`.

    A moment is on different days in different time zones, and the account may change
    its zone at the same time. So each day that the moment is on somewhere is marked,
    and who reads the marks knows the zone of the stored day.
    """

    not_exported = "counts of other rows; made again when somebody looks"

    account = models.ForeignKey(Account, models.PROTECT, related_name="stale_days", db_index=False)
    day = models.DateField()
    # The quarter of an hour in which the changed row was created; null for a mark that
    # counts in every time zone. Days begin with one everywhere.
    quarter = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["account", "day"], name="stale_days_by_day")]

    def __str__(self) -> str:
        return f"{self.day}"
