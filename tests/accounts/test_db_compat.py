"""SQLite and PostgreSQL: append-only tables, lock timeouts, the database clock."""

from contextlib import contextmanager

import pytest
from django.apps import apps
from django.db import (
    DatabaseError,
    IntegrityError,
    OperationalError,
    connection,
    transaction,
)

from accounts.db_compat import (
    get_database_time,
    get_trigger_names,
    is_lock_timeout,
    without_statement_timeout,
)
from accounts.models.audit_log import AuditLogEntry
from accounts.services.audit_log import log_event
from tests.conftest import NOW

APPEND_ONLY = {"accounts.AuditLogEntry", "payouts.LedgerDigest", "payouts.Transfer"}
TABLES = [
    model._meta.db_table
    for model in apps.get_models()
    if model._meta.label in APPEND_ONLY
]

TRIGGERS = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s",
    "postgresql": (
        "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled = 'O'"
        " AND tgrelid = %s::regclass"
    ),
}


@pytest.fixture
def audit_log_entry(account):
    log_event(account, "test.logged", account, at=NOW)
    return account.audit_log.get(kind="test.logged")


def update_queryset(entry):
    AuditLogEntry.objects.filter(pk=entry.pk).update(kind="changed")


def save_instance(entry):
    entry.kind = "changed"
    entry.save()


def update_row(entry):
    entry.update_row(kind="changed")


def delete_instance(entry):
    entry.delete()


def delete_queryset(entry):
    entry.account.audit_log.all().delete()


def update_by_sql(entry):
    with connection.cursor() as cursor:
        cursor.execute("UPDATE accounts_auditlogentry SET kind = 'changed'")


def delete_by_sql(entry):
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM accounts_auditlogentry WHERE id = %s", [entry.pk])


WRITE_ATTEMPTS = [
    update_queryset,
    save_instance,
    update_row,
    delete_instance,
    delete_queryset,
    update_by_sql,
    delete_by_sql,
]


@pytest.mark.parametrize("write", WRITE_ATTEMPTS, ids=lambda write: write.__name__)
def test_rejects_changes_of_append_only_rows(audit_log_entry, write):
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        write(audit_log_entry)

    assert audit_log_entry.account.audit_log.filter(kind="test.logged").count() == 1


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.django_db
def test_finds_both_triggers_after_all_migrations(table):
    with connection.cursor() as cursor:
        cursor.execute(TRIGGERS[connection.vendor], [table])
        found = {row[0] for row in cursor.fetchall()}

    assert found == set(get_trigger_names(table))
    assert sorted(get_trigger_names(table).values()) == ["DELETE", "UPDATE"]


@pytest.mark.django_db
def test_rate_windows_are_unlogged_on_postgresql():
    if connection.vendor != "postgresql":
        pytest.skip("only PostgreSQL has unlogged tables")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relpersistence FROM pg_class WHERE relname = 'accounts_ratewindow'"
        )
        assert cursor.fetchone()[0] == "u"


@contextmanager
def another_connection():
    """A second connection to the same database, with a short lock timeout."""
    other = connection.copy()
    if connection.vendor == "sqlite":
        other.settings_dict["OPTIONS"] = other.settings_dict["OPTIONS"] | {
            "timeout": 0.02
        }
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


def test_a_statement_timeout_is_not_a_lock_timeout(db):
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no time limit for statements")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '20ms'")
        with pytest.raises(OperationalError) as error, transaction.atomic():
            cursor.execute("SELECT count(*) FROM generate_series(1, 1000000000)")

    assert not is_lock_timeout(error.value)


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
