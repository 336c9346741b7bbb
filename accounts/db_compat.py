"""Differences between SQLite and PostgreSQL that the ORM does not hide."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from django.db import DatabaseError, OperationalError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import (
    BinaryField,
    CharField,
    Func,
    IntegerField,
    Lookup,
    TextField,
    Value,
)
from django.db.models.sql.compiler import SQLCompiler

BATCH_SIZE = 1000  # rows of one statement: PostgreSQL takes 65,535 values
LOCK_TIMEOUT_SQLSTATE = "55P03"
LAST_CHARACTER = "\U0010ffff"  # of Unicode
DATABASE_TIME_SQL = "SELECT clock_timestamp()"
SNAPSHOT_SQL = {
    "sqlite": ["BEGIN DEFERRED"],
    "postgresql": [
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        "SET LOCAL statement_timeout = 0",
        "SET LOCAL idle_in_transaction_session_timeout = 0",
    ],
}

# Of each trigger of a table: its name, its definition as in CREATE TRIGGER, the body
# of its function (PostgreSQL), and whether it fires (tgenabled O and A).
TRIGGERS_SQL = {
    "sqlite": (
        "SELECT name, replace(sql, '\"', ''), '', 1 FROM sqlite_master"
        " WHERE type = 'trigger' AND tbl_name = %s"
    ),
    "postgresql": (
        "SELECT tgname, pg_get_triggerdef(pg_trigger.oid, true), prosrc,"
        " tgenabled IN ('O', 'A')"
        " FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid"
        " WHERE NOT tgisinternal AND tgrelid = %s::regclass"
    ),
}


def is_lock_timeout(error: BaseException) -> bool:
    """Return whether the error says that a lock was not acquired in time."""
    if not isinstance(error, OperationalError):
        return False
    cause = error.__cause__
    state = getattr(cause, "sqlstate", None)
    return state == LOCK_TIMEOUT_SQLSTATE or "database is locked" in str(error)


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

    Behind PgBouncer there are no session settings, and the role's timeout holds.
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


class TableOperation(Operation, ABC):
    """A migration operation that runs SQL of its own per database on one table."""

    reduces_to_sql = True
    reversible = True

    def __init__(self, model: str) -> None:
        self.model = model

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Leave the state of the models as it is."""

    def get_table_name(self, app_label: str, state: ProjectState) -> str:
        model: Any = state.apps.get_model(app_label, self.model)
        name: str = model._meta.db_table
        return name

    @abstractmethod
    def get_forward_sql(self, table: str, vendor: str) -> list[str]:
        """Return the SQL statements that apply the operation."""

    @abstractmethod
    def get_backward_sql(self, table: str, vendor: str) -> list[str]:
        """Return the SQL statements that reverse the operation."""

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        table = self.get_table_name(app_label, to_state)
        for statement in self.get_forward_sql(table, schema_editor.connection.vendor):
            schema_editor.execute(statement, params=None)

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        table = self.get_table_name(app_label, from_state)
        for statement in self.get_backward_sql(table, schema_editor.connection.vendor):
            schema_editor.execute(statement, params=None)


class MakeAppendOnly(TableOperation):
    """Create triggers that reject UPDATE and DELETE.

    SQLite rebuilds a table when a column changes and silently drops its triggers:
    a migration that alters such a table must end with this operation again.
    """

    def get_forward_sql(self, table: str, vendor: str) -> list[str]:
        statements = self.get_backward_sql(table, vendor)
        if vendor != "sqlite":
            statements.append(
                f"CREATE OR REPLACE FUNCTION {table}_append_only() RETURNS trigger"
                f" LANGUAGE plpgsql AS $${_get_function_body(table)}$$"
            )
        return [*statements, *get_trigger_definitions(table, vendor).values()]

    def get_backward_sql(self, table: str, vendor: str) -> list[str]:
        suffix = "" if vendor == "sqlite" else f" ON {table}"
        return [
            f"DROP TRIGGER IF EXISTS {name}{suffix}"
            for name in get_trigger_names(table)
        ]


def get_trigger_names(table: str) -> dict[str, str]:
    """Map the two triggers of an append-only table to the statement each rejects."""
    return {
        f"{table}_no_update": "UPDATE",
        f"{table}_no_delete": "DELETE",
    }


def get_trigger_definitions(table: str, vendor: str) -> dict[str, str]:
    """Map the two triggers of an append-only table to their CREATE TRIGGER."""
    action_sql = (
        f" BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        if vendor == "sqlite"
        else f" FOR EACH ROW EXECUTE FUNCTION {table}_append_only()"
    )
    return {
        name: f"CREATE TRIGGER {name} BEFORE {action} ON {table}{action_sql}"
        for name, action in get_trigger_names(table).items()
    }


def _get_function_body(table: str) -> str:
    return f" BEGIN RAISE EXCEPTION '{table} is append-only'; END "


def list_invalid_triggers(table: str) -> dict[str, str]:
    """Map each trigger of an append-only table that does not protect it to the reason.

    A trigger must have the table, the event and the body that `MakeAppendOnly` gives
    it, and fire.
    """
    with connection.cursor() as cursor:
        cursor.execute(TRIGGERS_SQL[connection.vendor], [table])
        found = {name: rest for name, *rest in cursor.fetchall()}
    body = "" if connection.vendor == "sqlite" else _get_function_body(table)
    invalid = {}
    for name, definition in get_trigger_definitions(table, connection.vendor).items():
        if name not in found:
            invalid[name] = "no trigger"
        elif found[name][:2] != [definition, body]:
            invalid[name] = "another trigger"
        elif not found[name][2]:
            invalid[name] = "disabled"
    return invalid


def list_accepted_changes(table: str) -> list[str]:
    """Try to change and to delete the last row of an append-only table, and roll back.

    Returns the statements that the database accepted; an empty table shows nothing.
    """
    last_row = f"WHERE id = (SELECT max(id) FROM {table})"  # noqa: S608 - our own name
    statements = {
        "UPDATE": f"UPDATE {table} SET id = id {last_row}",  # noqa: S608
        "DELETE": f"DELETE FROM {table} {last_row}",  # noqa: S608
    }
    accepted = []
    for action, statement in statements.items():
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(statement)
                if cursor.rowcount > 0:
                    accepted.append(action)
                transaction.set_rollback(True)
        except DatabaseError as error:
            if "append-only" not in str(error):
                raise
    return accepted


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


class MakeUnlogged(TableOperation):
    """Keep a table of counters that may be lost out of PostgreSQL's write-ahead log."""

    def get_forward_sql(self, table: str, vendor: str) -> list[str]:
        if vendor == "sqlite":
            return []
        return [
            f"ALTER TABLE {table} SET UNLOGGED",
            f"ALTER TABLE {table} SET (fillfactor = 50)",
        ]

    def get_backward_sql(self, table: str, vendor: str) -> list[str]:
        if vendor == "sqlite":
            return []
        return [
            f"ALTER TABLE {table} RESET (fillfactor)",
            f"ALTER TABLE {table} SET LOGGED",
        ]


class JsonTextAtKey(Func):
    """The text at one key of a JSON object, for any key.

    Django's own lookups treat a key of digits as an index into a list. SQLite
    compares a key as it is stored in the row, with its escapes.
    """

    output_field = TextField()

    def __init__(self, field: str, key: str) -> None:
        super().__init__(field)
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


class BytesPosition(Func):
    """The position of bytes in a binary column, counted from 1; 0: not found."""

    function = "INSTR"
    output_field = IntegerField()

    def __init__(self, field: str, searched: bytes) -> None:
        super().__init__(field, Value(searched, output_field=BinaryField()))

    def as_postgresql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> tuple[str, list[Any]]:
        column, searched = map(compiler.compile, self.source_expressions)
        return f"POSITION({searched[0]} IN {column[0]})", [*searched[1], *column[1]]


if TYPE_CHECKING:
    StringLookup = Lookup[str]
else:
    StringLookup = Lookup


@CharField.register_lookup
class BeginsWith(StringLookup):
    """`column__begins_with`: case-sensitive, and found by an index on both databases.

    Django's `startswith` is a LIKE, for which SQLite does not use an index. On
    PostgreSQL the index needs `varchar_pattern_ops`, since a collation sorts texts
    in another order than by their characters.
    """

    lookup_name = "begins_with"

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper
    ) -> tuple[str, tuple[str | int, ...]]:
        column, values = self.process_lhs(compiler, connection)
        is_sqlite = connection.vendor == "sqlite"
        first, end = (">=", "<") if is_sqlite else ("~>=~", "~<~")
        sql = f"({column} {first} %s AND {column} {end} %s)"
        return sql, (*values, self.rhs, *values, f"{self.rhs}{LAST_CHARACTER}")
