"""What differs between the two databases, and is not the ORM's to hide."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from django.db import DatabaseError, IntegrityError, OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import F, Func, TextField
from django.db.models.sql.compiler import SQLCompiler

LOCK_TIMEOUT = "55P03"
READ_COMMITTED_CLOCK = "SELECT clock_timestamp()"
SNAPSHOT = {
    "sqlite": ["BEGIN DEFERRED"],
    "postgresql": [
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        "SET LOCAL statement_timeout = 0",
        "SET LOCAL idle_in_transaction_session_timeout = 0",
    ],
}


# Each trigger, and what it does. On PostgreSQL the ones that fire: O and A, not D or R.
REFUSING_TRIGGERS = {
    "sqlite": "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'",
    "postgresql": (
        "SELECT tgname, prosrc FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid"
        " WHERE tgenabled IN ('O', 'A')"
    ),
}
REFUSAL = "is append-only'"


class OnlyGrows(DatabaseError):
    """A row of an append-only table was to be changed or deleted."""


@contextmanager
def naming_refused_changes() -> Iterator[None]:
    """Give a refusing trigger one name: each engine has an exception of its own."""
    try:
        yield
    except (IntegrityError, DatabaseError) as error:
        if "append-only" in str(error):
            raise OnlyGrows(str(error)) from error
        raise


def waited_too_long(error: BaseException) -> bool:
    """Was a lock not got in time?"""
    if not isinstance(error, OperationalError):
        return False
    cause = error.__cause__
    state = getattr(cause, "sqlstate", None)
    return state == LOCK_TIMEOUT or "database is locked" in str(error)


def database_now() -> datetime:
    """The database's clock: one for all machines (on SQLite there is one machine)."""
    if connection.vendor == "sqlite":
        return datetime.now(UTC)
    with connection.cursor() as cursor:
        cursor.execute(READ_COMMITTED_CLOCK)
        moment: datetime = cursor.fetchone()[0]
    return moment


@contextmanager
def one_snapshot() -> Iterator[None]:
    """Read everything as it stood at one moment, without holding writers up."""
    if connection.in_atomic_block:
        yield  # somebody's transaction already
        return
    with connection.cursor() as cursor:
        for sentence in SNAPSHOT[connection.vendor]:
            cursor.execute(sentence)
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")


class TableOperation(Operation, ABC):
    """A migration's step that speaks to one table, in each engine's own words."""

    reduces_to_sql = True
    reversible = True

    def __init__(self, model: str) -> None:
        self.model = model

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Nothing of the models changes."""

    def table(self, app_label: str, state: ProjectState) -> str:
        model: Any = state.apps.get_model(app_label, self.model)
        name: str = model._meta.db_table
        return name

    @abstractmethod
    def words(self, table: str, vendor: str) -> list[str]:
        """What is said to the database, in this engine's words."""

    @abstractmethod
    def words_back(self, table: str, vendor: str) -> list[str]:
        """What takes it back."""

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        table = self.table(app_label, to_state)
        for sentence in self.words(table, schema_editor.connection.vendor):
            schema_editor.execute(sentence, params=None)

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        table = self.table(app_label, from_state)
        for sentence in self.words_back(table, schema_editor.connection.vendor):
            schema_editor.execute(sentence, params=None)


class AppendOnly(TableOperation):
    """Triggers that refuse UPDATE and DELETE.

    SQLite rebuilds a table when a column changes, and loses its triggers without
    a word: a migration that alters such a table ends with this operation again.
    """

    def words(self, table: str, vendor: str) -> list[str]:
        sentences = self.words_back(table, vendor)
        if vendor == "sqlite":
            return sentences + [
                f"CREATE TRIGGER {name} BEFORE {act} ON {table}"
                f" BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
                for name, act in trigger_names(table).items()
            ]
        return [
            *sentences,
            f"CREATE OR REPLACE FUNCTION {table}_only_grows() RETURNS trigger"
            " LANGUAGE plpgsql AS $$ BEGIN"
            f" RAISE EXCEPTION '{table} is append-only'; END $$",
            *(
                f"CREATE TRIGGER {name} BEFORE {act} ON {table}"
                f" FOR EACH ROW EXECUTE FUNCTION {table}_only_grows()"
                for name, act in trigger_names(table).items()
            ),
        ]

    def words_back(self, table: str, vendor: str) -> list[str]:
        ending = "" if vendor == "sqlite" else f" ON {table}"
        return [
            f"DROP TRIGGER IF EXISTS {name}{ending}" for name in trigger_names(table)
        ]


def trigger_names(table: str) -> dict[str, str]:
    """The two triggers of an append-only table, and what each refuses."""
    return {
        f"{table}_refuses_update": "UPDATE",
        f"{table}_refuses_delete": "DELETE",
    }


def missing_triggers(table: str) -> list[str]:
    """The triggers of an append-only table that are not there, or do not refuse."""
    with connection.cursor() as cursor:
        cursor.execute(REFUSING_TRIGGERS[connection.vendor])
        there = {name for name, says in cursor.fetchall() if REFUSAL in says}
    return [name for name in trigger_names(table) if name not in there]


def rows_not_whole(table: str, column: str) -> int:
    """On SQLite: how many rows hold something else than an integer in this column."""
    if connection.vendor != "sqlite":
        return 0  # the column's type sees to it
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT COUNT(*) FROM {table}"  # noqa: S608 - names from our own models
            f" WHERE typeof({column}) NOT IN ('integer', 'null')"
        )
        count: int = cursor.fetchone()[0]
    return count


class Unlogged(TableOperation):
    """Counters that may be lost: PostgreSQL keeps them out of its log."""

    def words(self, table: str, vendor: str) -> list[str]:
        if vendor == "sqlite":
            return []
        return [
            f"ALTER TABLE {table} SET UNLOGGED",
            f"ALTER TABLE {table} SET (fillfactor = 50)",
        ]

    def words_back(self, table: str, vendor: str) -> list[str]:
        if vendor == "sqlite":
            return []
        return [
            f"ALTER TABLE {table} RESET (fillfactor)",
            f"ALTER TABLE {table} SET LOGGED",
        ]


class ValueAtKey(Func):
    """The text at one key of a JSON object, whatever the key looks like.

    Django's own look-ups take a key of digits for an index into a list. SQLite
    compares a key as it is written in the row, with its escapes.
    """

    output_field = TextField()

    def __init__(self, field: str, key: str) -> None:
        super().__init__(F(field))
        self.key = key

    def as_sqlite(  # type: ignore[override]
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> tuple[str, list[Any]]:
        column, values = compiler.compile(self.source_expressions[0])
        return f"JSON_EXTRACT({column}, %s)", [*values, f"$.{json.dumps(self.key)}"]

    def as_postgresql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> tuple[str, list[Any]]:
        column, values = compiler.compile(self.source_expressions[0])
        return f"({column} ->> %s::text)", [*values, self.key]
