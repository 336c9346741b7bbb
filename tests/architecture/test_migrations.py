"""Migrations do not block the writers of large tables."""

import importlib
import pkgutil

from django.db import connection, migrations, models
from django.db.migrations.state import ModelState, ProjectState

from accounts.migration_operations import AddIndexConcurrently

APPS = ("accounts", "tracking", "payouts")


def own_migrations():
    """Yield the name and the class of each migration of the apps."""
    for app in APPS:
        package = importlib.import_module(f"{app}.migrations")
        for module in pkgutil.iter_modules(package.__path__):
            found = importlib.import_module(f"{package.__name__}.{module.name}")
            yield module.name, found.Migration


def blocking_indexes(migration):
    """Return the operations that add an index to a table that existed before."""
    created, blocking = set(), []
    for operation in migration.operations:
        if isinstance(operation, migrations.CreateModel):
            created.add(operation.name_lower)
        elif (
            isinstance(operation, migrations.AddIndex)
            and not isinstance(operation, AddIndexConcurrently)
            and operation.model_name_lower not in created
        ):
            blocking.append(operation)
    return blocking


def test_adds_indexes_to_existing_tables_concurrently():
    blocking = {
        name: blocking_indexes(migration)
        for name, migration in own_migrations()
        if not migration.initial
    }

    assert {name: found for name, found in blocking.items() if found} == {}


def test_does_not_run_concurrent_operations_in_a_transaction():
    for name, migration in own_migrations():
        if any(
            isinstance(operation, AddIndexConcurrently)
            for operation in migration.operations
        ):
            assert migration.atomic is False, name


def test_detects_a_blocking_index():
    index = models.Index(fields=["name"], name="by_name")
    create = migrations.CreateModel("Shelf", [("id", models.AutoField())])

    class Sample(migrations.Migration):
        operations = [
            create,
            migrations.AddIndex("shelf", index),
            migrations.AddIndex("lamp", index),
            AddIndexConcurrently("lamp", index),
        ]

    assert blocking_indexes(Sample) == [Sample.operations[2]]


def test_adds_an_index_on_both_databases(committed_db):
    before = ProjectState()
    before.add_model(
        ModelState(
            "tracking",
            "Lamp",
            [("id", models.AutoField(primary_key=True)), ("name", models.TextField())],
        )
    )
    operation = AddIndexConcurrently(
        "lamp", models.Index(fields=["name"], name="lamps_by_name")
    )
    after = before.clone()
    operation.state_forwards("tracking", after)
    model = before.apps.get_model("tracking", "Lamp")
    with connection.schema_editor() as editor:
        editor.create_model(model)
    try:
        with connection.schema_editor(atomic=False) as editor:
            operation.database_forwards("tracking", editor, before, after)

        with connection.cursor() as cursor:
            found = connection.introspection.get_constraints(
                cursor, model._meta.db_table
            )
        assert found["lamps_by_name"]["columns"] == ["name"]
    finally:
        with connection.schema_editor() as editor:
            editor.delete_model(model)
