"""SQLite and PostgreSQL: unlogged tables, lock timeouts, the database clock."""

import sqlite3
from contextlib import contextmanager

import pytest
from django.db import (
    DatabaseError,
    IntegrityError,
    OperationalError,
    connection,
    transaction,
)
from psycopg import OperationalError as PsycopgError
from psycopg import errors

from accounts.db_compat import (
    get_database_time,
    is_lock_timeout,
    is_row_lock_timeout,
    is_temporary,
    without_statement_timeout,
)


@pytest.mark.django_db
def test_rate_windows_are_unlogged_on_postgresql():
    if connection.vendor != "postgresql":
        pytest.skip("only PostgreSQL has unlogged tables")
    with connection.cursor() as cursor:
        cursor.execute("SELECT relpersistence FROM pg_class WHERE relname = 'accounts_ratewindow'")
        assert cursor.fetchone()[0] == "u"


@contextmanager
def another_connection():
    """A second connection to the same database, with a short lock timeout."""
    other = connection.copy()
    if connection.vendor == "sqlite":
        other.settings_dict["OPTIONS"] = other.settings_dict["OPTIONS"] | {"timeout": 0.02}
    try:
        yield other
    finally:
        other.close()


def acquire_lock():
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("UPDATE accounts_plan SET name = name")
        else:
            cursor.execute("LOCK TABLE accounts_plan IN EXCLUSIVE MODE")


def request_lock(other):
    with other.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("UPDATE accounts_plan SET name = name")
        else:
            cursor.execute("BEGIN; SET LOCAL lock_timeout = '20ms'")
            try:
                cursor.execute("UPDATE accounts_plan SET name = name")
            finally:
                cursor.execute("ROLLBACK")


def test_recognizes_a_lock_timeout(db):
    acquire_lock()

    with pytest.raises(OperationalError) as error, another_connection() as other:
        request_lock(other)

    assert is_lock_timeout(error.value)
    assert is_temporary(error.value)
    assert not is_row_lock_timeout(error.value)  # it was the whole table


def test_a_statement_timeout_is_not_a_lock_timeout(db):
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no time limit for statements")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '20ms'")
        with pytest.raises(OperationalError) as error, transaction.atomic():
            cursor.execute("SELECT count(*) FROM generate_series(1, 1000000000)")

    assert not is_lock_timeout(error.value)
    assert is_temporary(error.value)


def test_a_missing_column_is_not_temporary(db):
    with pytest.raises(DatabaseError) as error, transaction.atomic():
        connection.cursor().execute("SELECT missing FROM accounts_plan")

    assert not is_temporary(error.value)


def test_a_statement_with_too_many_values_is_not_temporary(db):
    values = range(300_000)  # more than either database takes
    places = ", ".join(["%s"] * len(values))
    with pytest.raises(OperationalError) as error, transaction.atomic():
        connection.cursor().execute(f"SELECT 1 WHERE 1 IN ({places})", values)

    assert not is_temporary(error.value)


@pytest.mark.parametrize(
    ("setting", "expected"),
    [({"NAME": "nowhere"}, False), ({"PORT": 1}, True)],
    ids=["refused", "away"],
)
def test_only_a_refused_connection_needs_a_repair(setting, expected):
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no server")
    other = connection.copy()
    other.settings_dict |= setting
    with pytest.raises(OperationalError) as error:
        other.connect()

    assert is_temporary(error.value) == expected


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (errors.SerializationFailure(), True),
        (errors.DeadlockDetected(), True),
        (errors.AdminShutdown(), True),
        (errors.DiskFull(), False),
        (errors.TooManyConnections(), False),
        (PsycopgError("FATAL:  sorry, too many clients already"), False),
        (PsycopgError("FATAL:  the database system is starting up"), True),
        (PsycopgError("server closed the connection unexpectedly"), True),
        (sqlite3.OperationalError("database or disk is full"), False),
        (sqlite3.InterfaceError("bad parameter or other API misuse"), False),
    ],
    ids=repr,
)
def test_tells_temporary_errors_from_those_that_need_a_repair(cause, expected):
    error = OperationalError(*cause.args)
    error.__cause__ = cause

    assert is_temporary(error) == expected


def test_lifts_the_statement_timeout_for_a_block(db, monkeypatch):
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no time limit for statements")
    options = connection.settings_dict["OPTIONS"]
    monkeypatch.setitem(options, "options", "-c statement_timeout=10s")

    def get_timeout():
        with connection.cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            return cursor.fetchone()[0]

    before = get_timeout()
    with without_statement_timeout():
        assert get_timeout() == "0"
    assert get_timeout() == before


@pytest.mark.parametrize(
    "error",
    [
        OperationalError("no such table: accounts_plan"),
        IntegrityError("database is locked"),
        ValueError("database is locked"),
    ],
    ids=["another message", "another class", "not a database error"],
)
def test_other_errors_are_not_lock_timeouts(error):
    assert not is_lock_timeout(error)


def test_database_time_advances_within_a_transaction(db):
    earlier, later = get_database_time(), get_database_time()

    assert earlier.tzinfo is not None
    assert earlier < later or connection.vendor == "sqlite"
