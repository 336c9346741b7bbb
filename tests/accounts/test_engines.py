"""Both engines: rows that only grow, and locks that were not got in time."""

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

from accounts.engines import (
    OnlyGrows,
    database_now,
    naming_refused_changes,
    trigger_names,
    waited_too_long,
)
from accounts.models.accounts import Account
from accounts.models.events import Event
from accounts.services.events import note
from tests.conftest import NOW

APPEND_ONLY = {"accounts.Event", "payouts.Transfer"}
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
def event(account):
    note(account, "test.noted", account, at=NOW)
    return account.events.get(kind="test.noted")


def by_orm_update(event):
    Event.objects.filter(pk=event.pk).update(kind="bent")


def by_save(event):
    event.kind = "bent"
    event.save()


def by_change(event):
    event.change(kind="bent")


def by_delete(event):
    event.delete()


def by_orm_delete(event):
    event.account.events.all().delete()


def by_sql_update(event):
    with connection.cursor() as cursor:
        cursor.execute("UPDATE accounts_event SET kind = 'bent'")


def by_sql_delete(event):
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM accounts_event WHERE id = %s", [event.pk])


WAYS = [
    by_orm_update,
    by_save,
    by_change,
    by_delete,
    by_orm_delete,
    by_sql_update,
    by_sql_delete,
]


@pytest.mark.parametrize("act", WAYS, ids=lambda act: act.__name__)
def test_refuses_to_change_what_only_grows_by_one_name(event, act):
    with pytest.raises(OnlyGrows), naming_refused_changes(), transaction.atomic():
        act(event)

    assert event.account.events.filter(kind="test.noted").count() == 1


def test_names_no_other_failure(account):
    with (
        pytest.raises(IntegrityError),
        naming_refused_changes(),
        transaction.atomic(),
    ):
        Account.objects.create(slug=account.slug, name="again", plan=account.plan)


def test_is_a_database_error_for_those_who_do_not_ask():
    assert issubclass(OnlyGrows, DatabaseError)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.django_db
def test_finds_both_triggers_after_all_migrations(table):
    with connection.cursor() as cursor:
        cursor.execute(TRIGGERS[connection.vendor], [table])
        found = {row[0] for row in cursor.fetchall()}

    assert found == set(trigger_names(table))
    assert sorted(trigger_names(table).values()) == ["DELETE", "UPDATE"]


@pytest.mark.django_db
def test_keeps_counters_out_of_postgresqls_log():
    if connection.vendor != "postgresql":
        pytest.skip("only PostgreSQL has unlogged tables")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relpersistence FROM pg_class WHERE relname = 'accounts_ratewindow'"
        )
        assert cursor.fetchone()[0] == "u"


@contextmanager
def another_connection():
    """A second session on the same database, patient for a moment only."""
    other = connection.copy()
    if connection.vendor == "sqlite":
        other.settings_dict["OPTIONS"] = other.settings_dict["OPTIONS"] | {
            "timeout": 0.02
        }
    try:
        yield other
    finally:
        other.close()


def take_the_lock():
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("UPDATE accounts_plan SET name = name")
        else:
            cursor.execute("LOCK TABLE accounts_plan IN EXCLUSIVE MODE")


def ask_for_the_lock(other):
    with other.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("UPDATE accounts_plan SET name = name")
        else:
            cursor.execute("BEGIN; SET LOCAL lock_timeout = '20ms'")
            try:
                cursor.execute("UPDATE accounts_plan SET name = name")
            finally:
                cursor.execute("ROLLBACK")


def test_knows_a_lock_that_was_not_got_in_time(db):
    take_the_lock()

    with pytest.raises(OperationalError) as refused, another_connection() as other:
        ask_for_the_lock(other)

    assert waited_too_long(refused.value)


def test_does_not_take_a_slow_statement_for_a_lock(db):
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no time limit for statements")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '20ms'")
        with pytest.raises(OperationalError) as refused, transaction.atomic():
            cursor.execute("SELECT count(*) FROM generate_series(1, 1000000000)")

    assert not waited_too_long(refused.value)


@pytest.mark.parametrize(
    "failure",
    [
        OperationalError("no such table: accounts_plan"),
        IntegrityError("database is locked"),
        ValueError("database is locked"),
    ],
    ids=["another fault", "another class", "no database's"],
)
def test_does_not_take_another_failure_for_a_lock(failure):
    assert not waited_too_long(failure)


def test_reads_the_clock_of_the_database_which_goes_on_inside_a_transaction(db):
    earlier, later = database_now(), database_now()

    assert earlier.tzinfo is not None
    assert earlier < later or connection.vendor == "sqlite"
