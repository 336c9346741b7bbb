"""Which IDs the rows of an import get, in the tables of a running installation."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from django.apps import apps
from django.db import connection, models, transaction
from django.db.models import Max

from affiliate_site.moving.account_files import MAX_ID_SPAN, TableSize


def find_offset(model: type[models.Model], size: TableSize) -> int:
    """Return what is added to the IDs of a table: nothing if all are above the others,
    and not so far above them that the file would use up the numbers.

    An ID never lies below one that a stored digest covers, nor between IDs of other
    accounts: the digests are of all rows in the order of their IDs.
    """
    highest = model._base_manager.aggregate(highest=Max("pk"))["highest"] or 0
    digests: Any = apps.get_model("payouts.LedgerDigest")._base_manager
    if (digest := digests.order_by("-pk").first()) is not None:
        segment = digest.segments.get(model._meta.db_table, {})
        highest = max(highest, segment.get("last_id", 0))
    if size.rows == 0 or highest < size.first_id <= size.last_id < highest + MAX_ID_SPAN:
        return 0
    return max(highest, _get_last_value(model)) - size.first_id + 1


class ReservedIds(NamedTuple):
    """The offset of a table, and its last ID before and after they were reserved."""

    offset: int
    before: int
    after: int


def reserve_ids(model: type[models.Model], size: TableSize) -> ReservedIds:
    """Return the offset of a table, and give its new IDs to nobody else.

    Other accounts go on inserting rows; on PostgreSQL they wait for a moment.
    """
    with _lock_sequence(model):
        offset, before = find_offset(model, size), _get_last_value(model)
        after = max(size.last_id + offset, before) if size.rows else before
        if after != before:
            _set_last_value(model, after)
    return ReservedIds(offset, before, after)


def release_ids(model: type[models.Model], reserved: ReservedIds) -> None:
    """Give IDs back that no row got, unless other rows were inserted since."""
    if reserved.after == reserved.before:
        return
    with _lock_sequence(model):
        if _get_last_value(model) == reserved.after:
            _set_last_value(model, reserved.before)


@contextmanager
def _lock_sequence(model: type[models.Model]) -> Iterator[None]:
    with transaction.atomic():
        if connection.vendor == "postgresql":
            table = connection.ops.quote_name(model._meta.db_table)
            with connection.cursor() as cursor:
                cursor.execute(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE")
        yield


def _set_last_value(model: type[models.Model], value: int) -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT setval(%s, %s)", [_get_sequence(model), value])
            return
        name = model._meta.db_table
        cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [name])
        sql = "INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)"
        cursor.execute(sql, [name, value])


def _get_last_value(model: type[models.Model]) -> int:
    """Return the last ID that was given to a row, of which there may be none now."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f"SELECT last_value FROM {_get_sequence(model)}")  # noqa: S608 - our own name
        else:
            name = model._meta.db_table
            cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [name])
        row = cursor.fetchone()
    return int(row[0]) if row else 0


def _get_sequence(model: type[models.Model]) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_serial_sequence(%s, 'id')", [model._meta.db_table])
        name: str = cursor.fetchone()[0]
    return name
