"""Which IDs the rows of an import get, in the tables of a running installation."""

from typing import Any

from django.apps import apps
from django.db import connection, models, transaction
from django.db.models import Max

from affiliate_site.moving.account_files import TableSize


def find_offset(model: type[models.Model], size: TableSize) -> int:
    """Return what is added to the IDs of a table: nothing if all are above the others.

    An ID never lies below one that a stored digest covers, nor between IDs of other
    accounts: the digests are of all rows in the order of their IDs.
    """
    highest = model._base_manager.aggregate(highest=Max("pk"))["highest"] or 0
    digests: Any = apps.get_model("payouts.LedgerDigest")._base_manager
    if (digest := digests.order_by("-pk").first()) is not None:
        segment = digest.segments.get(model._meta.db_table, {})
        highest = max(highest, segment.get("last_id", 0))
    if size.rows == 0 or size.first_id > highest:
        return 0
    return max(highest, _get_last_value(model)) - size.first_id + 1


def reserve_ids(model: type[models.Model], size: TableSize) -> int:
    """Return the offset of a table, and give its new IDs to nobody else.

    Other accounts go on inserting rows; on PostgreSQL they wait for a moment.
    """
    if size.rows == 0:
        return 0
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            table = connection.ops.quote_name(model._meta.db_table)
            cursor.execute(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE")
        offset = find_offset(model, size)
        last_id = max(size.last_id + offset, _get_last_value(model))
        if connection.vendor == "postgresql":
            cursor.execute("SELECT setval(%s, %s)", [_get_sequence(model), last_id])
        else:
            name = model._meta.db_table
            cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [name])
            cursor.execute(
                "INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)",
                [name, last_id],
            )
    return offset


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
        cursor.execute(
            "SELECT pg_get_serial_sequence(%s, 'id')", [model._meta.db_table]
        )
        name: str = cursor.fetchone()[0]
    return name
