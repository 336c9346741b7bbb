"""Search by any part of a text of three characters or more, in any case.

PostgreSQL finds it by an index of trigrams, SQLite by a table of them (FTS5), which
triggers maintain: a write takes no statement of ours.
"""

import sys
from contextlib import nullcontext
from typing import Any

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import ProjectState
from django.db.models import CharField
from django.db.models.sql.compiler import SQLCompiler

from accounts.database_functions import StringLookup
from accounts.migration_operations import TableOperation

MIN_PART_LENGTH = 3  # characters
# Trigrams, and indexes of them that begin with the account.
EXTENSIONS = ("pg_trgm", "btree_gin")
NO_INDEX_MESSAGE = (
    "This role may not create the extensions pg_trgm and btree_gin of PostgreSQL."
    " Searches by parts of {table}.{column} work without them, but slowly. An"
    " administrator of the database can add an index at any time:\n{sql}\n"
)


@CharField.register_lookup
class HasPart(StringLookup):
    """`column__has_part`: the text contains another one, in any case.

    The migrations give the column its `IndexTextParts`. SQLite does not find texts with
    an `@`: they are e-mail addresses, and their parts could not be erased at once.
    """

    lookup_name = "has_part"

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper
    ) -> tuple[str, list[str]]:
        column: Any = self.lhs
        model = column.target.model
        parts = get_parts_name(model._meta.db_table, column.target.column)
        key, _ = compiler.compile(model._meta.pk.get_col(column.alias))
        quoted = self.rhs.replace('"', '""')
        sql = f"{key} IN (SELECT rowid FROM {parts} WHERE {parts} MATCH %s)"  # noqa: S608
        return sql, [f'"{quoted}"']

    def as_postgresql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper
    ) -> tuple[str, list[Any]]:
        column, values = self.process_lhs(compiler, connection)
        escaped = connection.ops.prep_for_like_query(self.rhs)
        return f"{column} ILIKE %s", [*values, f"%{escaped}%"]


class IndexTextParts(TableOperation):
    """Index the parts of a column's texts without blocking writers.

    The migration needs `atomic = False`. On PostgreSQL a role that may not create the
    extensions gets no index, and is told how to add it. SQLite rebuilds a table when a
    column changes and silently drops its triggers: a migration that alters such a table
    must end with this operation again.
    """

    def __init__(self, model: str, column: str) -> None:
        super().__init__(model)
        self.column = column

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        connection = schema_editor.connection
        if connection.vendor == "postgresql" and not may_use_trigrams(connection):
            table = self.get_table_name(app_label, to_state)
            sql = ";\n".join(self.get_forward_sql(table, connection.vendor))
            sys.stderr.write(
                NO_INDEX_MESSAGE.format(table=table, column=self.column, sql=f"{sql};")
            )
            return
        # On SQLite a concurrent writer waits: its row would not be in the new table.
        is_atomic = connection.vendor == "sqlite"
        with transaction.atomic(connection.alias) if is_atomic else nullcontext():
            super().database_forwards(app_label, schema_editor, from_state, to_state)

    def get_forward_sql(self, table: str, vendor: str) -> list[str]:
        name = get_parts_name(table, self.column)
        if vendor != "sqlite":
            return [
                *(f"CREATE EXTENSION IF NOT EXISTS {each}" for each in EXTENSIONS),
                "SET lock_timeout = 0",  # else a timeout leaves an invalid index
                f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON {table}"
                f" USING gin (account_id, {self.column} gin_trgm_ops)",
                "RESET lock_timeout",
            ]
        old, new = (
            f"{row}.{self.column} IS NOT NULL AND instr({row}.{self.column}, '@') = 0"
            for row in ("OLD", "NEW")
        )
        add, remove = (
            f"INSERT INTO {name} (rowid, {self.column})"
            f" SELECT NEW.id, NEW.{self.column} WHERE {new};",
            f"INSERT INTO {name} ({name}, rowid, {self.column})"
            f" SELECT 'delete', OLD.id, OLD.{self.column} WHERE {old};",
        )
        triggers = (
            ("insert", "INSERT", add),
            ("update", f"UPDATE OF {self.column}", remove + add),
            ("delete", "DELETE", remove),
        )
        return [
            *self._get_trigger_drops(name),
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {name} USING fts5({self.column},"
            " content='', columnsize=0, tokenize='trigram')",
            f"INSERT INTO {name} ({name}) VALUES ('delete-all')",  # noqa: S608
            f"INSERT INTO {name} (rowid, {self.column}) SELECT id, {self.column}"  # noqa: S608
            f" FROM {table} WHERE instr({self.column}, '@') = 0",
            *(
                f"CREATE TRIGGER {name}_{suffix} AFTER {event} ON {table} BEGIN {statements} END"
                for suffix, event, statements in triggers
            ),
        ]

    def get_backward_sql(self, table: str, vendor: str) -> list[str]:
        name = get_parts_name(table, self.column)
        if vendor != "sqlite":
            return [f"DROP INDEX IF EXISTS {name}"]
        return [*self._get_trigger_drops(name), f"DROP TABLE IF EXISTS {name}"]

    def _get_trigger_drops(self, name: str) -> list[str]:
        suffixes = ("insert", "update", "delete")
        return [f"DROP TRIGGER IF EXISTS {name}_{suffix}" for suffix in suffixes]


def get_parts_name(table: str, column: str) -> str:
    """The name of the index, or of SQLite's table, of a column's parts."""
    return f"{table}_{column}_parts"


def may_use_trigrams(connection: BaseDatabaseWrapper) -> bool:
    """Return whether PostgreSQL has the extensions, or this role may create them.

    They are trusted ones: the owner of the database may, too.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_available_extensions WHERE name = ANY(%s)"
            " AND (installed_version IS NOT NULL"
            " OR has_database_privilege(current_database(), 'CREATE'))",
            [list(EXTENSIONS)],
        )
        row = cursor.fetchone()
    return bool(row and row[0] == len(EXTENSIONS))
