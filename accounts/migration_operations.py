"""Operations for migrations: indexes on tables in use, and SQL of our own."""

from abc import ABC, abstractmethod
from typing import Any

from django.contrib.postgres.operations import AddConstraintNotValid, ValidateConstraint
from django.core.management import CommandError
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState
from django.db.models import Model
from django.db.utils import NotSupportedError

# One of the migrations that the initial ones have replaced.
FORMER_MIGRATION = ("accounts", "0003_reference_people_by_id")
FORMER_DATABASE = (
    "it was made before the initial migrations of 0.1.0. Its accounts move over the API: let the"
    " release that made it serve them, and bring them into a new database with"
    " `manage.py import_account --from` (docs/upgrading.md, section 5)"
)


class AddIndexConcurrently(migrations.AddIndex):
    """Add an index to an existing table without blocking its writers, on PostgreSQL.

    On SQLite the index is added as usual; Django's operation of the same name supports
    only PostgreSQL. The migration needs `atomic = False`. The lock timeout is disabled
    during the operation, because the index waits for all running transactions, and a
    timeout would leave an invalid index.
    """

    atomic = False

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        if schema_editor.connection.in_atomic_block:
            raise NotSupportedError("AddIndexConcurrently needs `atomic = False`")
        model: type[Model] = to_state.apps.get_model(app_label, self.model_name)
        if not self.allow_migrate_model(schema_editor.connection.alias, model):
            return
        editor: Any = schema_editor  # only PostgreSQL's editor has `concurrently`
        editor.execute("SET lock_timeout = 0")
        try:
            editor.add_index(model, self.index, concurrently=True)
        finally:
            editor.execute("RESET lock_timeout")


class AddCheckConcurrently(AddConstraintNotValid):
    """Add a check constraint to an existing table; the rows that it has are checked
    without blocking its writers, on PostgreSQL.

    On SQLite the constraint is added as usual. The migration needs `atomic = False`.
    """

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        states = (app_label, schema_editor, from_state, to_state)
        if schema_editor.connection.vendor != "postgresql":
            migrations.AddConstraint.database_forwards(self, *states)
            return
        super().database_forwards(*states)
        ValidateConstraint(self.model_name, self.constraint.name).database_forwards(*states)


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


class RefuseFormerDatabase(Operation):
    """Refuse a database that has other migrations, whose tables have the same names."""

    reversible = True

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Leave the state of the models as it is."""

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        if FORMER_MIGRATION in MigrationRecorder(schema_editor.connection).applied_migrations():
            raise CommandError(f"This database cannot be migrated: {FORMER_DATABASE}.")

    def database_backwards(self, *args: Any) -> None:
        """Change nothing."""
