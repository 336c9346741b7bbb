"""Operations for migrations that change large tables while they are in use."""

from typing import Any

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import ProjectState
from django.db.models import Model
from django.db.utils import NotSupportedError


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
