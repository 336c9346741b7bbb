"""Differences between SQLite and PostgreSQL that the ORM does not hide."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar

from django.db import InterfaceError, OperationalError, connection
from django.db.models import Subquery

BATCH_SIZE = 1000  # rows of one statement
LARGE_BATCH_SIZE = 5000  # of those that pay many affiliates at once
MAX_VALUES = 65_535  # of one statement of PostgreSQL
TOO_MANY_VALUES = "number of parameters must be"  # libpq, without a SQLSTATE
LOCK_TIMEOUT_SQLSTATE = "55P03"
MISSING_ROW_SQLSTATE = "23503"
TEMPORARY_SQLSTATES = (
    *("08", "57"),  # lost connection; statement timeout, shutdown
    *("40", LOCK_TIMEOUT_SQLSTATE),  # deadlock, serialization failure
)
Row = TypeVar("Row")
DATABASE_TIME_SQL = "SELECT clock_timestamp()"
SNAPSHOT_SQL = {
    "sqlite": ["BEGIN DEFERRED"],
    "postgresql": [
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        "SET LOCAL statement_timeout = 0",
        "SET LOCAL idle_in_transaction_session_timeout = 0",
    ],
}


class LockedSubquery(Subquery):
    """A value of a row that nobody who locks it `FOR UPDATE` can change until the commit.

    It waits for them, and reads what they have committed. SQLite has one writer at a time.
    """

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        return self.as_sql(compiler, connection, template="(%(subquery)s FOR KEY SHARE)")


def is_lock_timeout(error: BaseException) -> bool:
    """Return whether the error says that a lock was not acquired in time."""
    if not isinstance(error, OperationalError):
        return False
    cause = error.__cause__
    state = getattr(cause, "sqlstate", None)
    return state == LOCK_TIMEOUT_SQLSTATE or "database is locked" in str(error)


def is_row_lock_timeout(error: BaseException) -> bool:
    """Return whether a lock timeout concerned a row, or a value that must be unique.

    PostgreSQL adds a context to the error for a row, and none for a table. On SQLite
    the answer is always False, because it locks the whole database.
    """
    diagnostics = getattr(error.__cause__, "diag", None)
    return is_lock_timeout(error) and getattr(diagnostics, "context", None) is not None


def is_temporary(error: BaseException) -> bool:
    """Return whether a later attempt can succeed although nobody repairs anything.

    True after a lock or statement timeout, a deadlock, a serialization failure and a
    lost connection; false if, for example, the disk is full, a column is missing, a
    statement has more than `MAX_VALUES`, or PostgreSQL refuses the connection; the last
    two have no SQLSTATE.
    """
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    if isinstance(error.__cause__, sqlite3.Error):
        return is_lock_timeout(error)
    state = getattr(error.__cause__, "sqlstate", None)
    if state is not None:
        return bool(state.startswith(TEMPORARY_SQLSTATES))
    if TOO_MANY_VALUES in str(error):
        return False
    return "FATAL:" not in str(error) or "database system is" in str(error)


def is_missing_row(error: BaseException) -> bool:
    """Return whether a row that was written names one that does not exist.

    PostgreSQL finds that at the COMMIT. On SQLite no row disappears in a transaction.
    """
    return getattr(error.__cause__, "sqlstate", None) == MISSING_ROW_SQLSTATE


def split_into_batches(rows: Sequence[Row], *, is_large: bool = False) -> list[Sequence[Row]]:
    """Return the rows in batches of one statement each."""
    return _split(rows, LARGE_BATCH_SIZE if is_large else BATCH_SIZE)


def _split(rows: Sequence[Row], size: int) -> list[Sequence[Row]]:
    return [rows[n : n + size] for n in range(0, len(rows), size)]


def split_by_values(rows: Sequence[Row], number: int) -> list[Sequence[Row]]:
    """Return the rows in batches of as many as one statement takes with their values.

    `number` is that of the values of a row.
    """
    limit = MAX_VALUES
    if connection.vendor == "sqlite":
        connection.ensure_connection()
        # Django assumes 999, the limit of versions before 3.32.
        category = sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER
        limit = min(limit, connection.connection.getlimit(category))
    return _split(rows, (limit - 1) // number)


def get_database_time() -> datetime:
    """Return the time of the database server, which all application servers share.

    With SQLite there is one machine, and its own clock is used.
    """
    if connection.vendor == "sqlite":
        return datetime.now(UTC)
    with connection.cursor() as cursor:
        cursor.execute(DATABASE_TIME_SQL)
        now: datetime = cursor.fetchone()[0]
    return now


@contextmanager
def use_snapshot() -> Iterator[None]:
    """Read from one consistent snapshot within the block, without blocking writers.

    Within a transaction that is already open, this does nothing.
    """
    if connection.in_atomic_block:
        yield
        return
    with connection.cursor() as cursor:
        for statement in SNAPSHOT_SQL[connection.vendor]:
            cursor.execute(statement)
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")


@contextmanager
def without_statement_timeout() -> Iterator[None]:
    """Lift PostgreSQL's statement timeout within the block.

    Behind PgBouncer there are no session settings: the timeout of the PostgreSQL role
    holds.
    """
    options = connection.settings_dict["OPTIONS"].get("options", "")
    if "statement_timeout" not in options:
        yield
        return
    database: Any = connection
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
    try:
        with database.limit_answers(None):
            yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET statement_timeout")


def count_non_integer_rows(table: str, column: str) -> int:
    """Count the rows whose value in this column is not an integer, on SQLite."""
    if connection.vendor != "sqlite":
        return 0  # guaranteed by the type of the column
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT COUNT(*) FROM {table}"  # noqa: S608 - names from our own models
            f" WHERE typeof({column}) NOT IN ('integer', 'null')"
        )
        count: int = cursor.fetchone()[0]
    return count
