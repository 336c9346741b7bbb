"""Migrations do not block the writers of large tables, and the previous release works
on the new tables."""

import importlib
import pkgutil
import re

import pytest
from django.core.management import CommandError
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ModelState, ProjectState

from accounts.migration_operations import (
    FORMER_MIGRATION,
    AddCheckConcurrently,
    AddIndexConcurrently,
    RefuseFormerDatabase,
)
from accounts.text_parts import IndexTextParts
from tests.command_line import ROOT

APPS = ("accounts", "tracking", "payouts")
CONCURRENT_OPERATIONS = (AddCheckConcurrently, AddIndexConcurrently, IndexTextParts)
REMOVALS = (
    migrations.DeleteModel,
    migrations.RemoveField,
    migrations.RenameField,
    migrations.RenameModel,
    migrations.AlterModelTable,
)


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
        if any(isinstance(operation, CONCURRENT_OPERATIONS) for operation in migration.operations):
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


def is_required(field):
    """Whether an INSERT that does not name the column fails.

    Django removes the default of Python from the column once it is filled.
    """
    return not field.null and not field.has_db_default() and not field.many_to_many


def breaks_previous_release(operation, fields):
    """Whether code that does not know of the operation fails after it; `fields` are
    those of the model before it."""
    if isinstance(operation, REMOVALS):
        return True
    if isinstance(operation, migrations.AddField):
        return is_required(operation.field)
    if isinstance(operation, migrations.AlterField):
        old, new = fields[operation.name], operation.field
        return old.db_column != new.db_column or is_required(new) > is_required(old)
    return False


def list_breaking_operations(migration, state):
    """Return the operations that the previous release does not survive; apply the
    migration to the state."""
    created, breaking = set(), []
    for operation in migration.operations:
        if isinstance(operation, migrations.CreateModel):
            created.add(operation.name_lower)
        model = getattr(operation, "model_name_lower", None)
        found = state.models.get((migration.app_label, model))
        if model not in created and breaks_previous_release(
            operation, found.fields if found else {}
        ):
            breaking.append(operation)
        operation.state_forwards(migration.app_label, state)
    return breaking


def is_announced(migration):
    """Whether the marker names a release that no longer needs what goes."""
    release = getattr(migration, "unused_since", "")
    changelog = (ROOT / "CHANGELOG.md").read_text()
    return bool(release) and bool(
        re.search(rf"(?m)^## {re.escape(release)} - \d{{4}}-\d\d-\d\d$", changelog)
    )


def test_previous_release_works_on_the_new_tables():
    """A migration that removes, renames or tightens says since which release the code
    does not need it: `unused_since = "1.2.0"`."""
    loader, state = MigrationLoader(None), ProjectState()
    found = {}
    for key in loader.graph._generate_plan(loader.graph.leaf_nodes(), at_end=True):
        migration = loader.disk_migrations[key]
        operations = list_breaking_operations(migration, state)
        if key[0] in APPS and not migration.initial and not is_announced(migration):
            found[key] = operations

    assert {key: operations for key, operations in found.items() if operations} == {}


TEXT, OPTIONAL = models.TextField(), models.TextField(null=True)
DEFAULT = models.TextField(default="a", db_default="a")


@pytest.mark.parametrize(
    ("operation", "is_breaking"),
    [
        (migrations.AddField("lamp", "shade", TEXT), True),
        (migrations.AddField("lamp", "shade", models.TextField(default="a")), True),
        (migrations.AddField("lamp", "shade", OPTIONAL), False),
        (migrations.AddField("lamp", "shade", DEFAULT), False),
        (migrations.AlterField("lamp", "name", TEXT), True),
        (migrations.AlterField("lamp", "name", models.CharField(null=True)), False),
        (migrations.AlterField("lamp", "name", DEFAULT), False),
        (
            migrations.AlterField("lamp", "name", models.TextField(null=True, db_column="title")),
            True,
        ),
        (migrations.RemoveField("lamp", "name"), True),
        (migrations.RenameField("lamp", "name", "title"), True),
        (migrations.DeleteModel("lamp"), True),
        (migrations.CreateModel("shelf", [("name", TEXT)]), False),
    ],
    ids=lambda value: getattr(value, "migration_name_fragment", ""),
)
def test_detects_what_breaks_the_previous_release(operation, is_breaking):
    before = ProjectState()
    key = models.AutoField(primary_key=True)
    before.add_model(ModelState("tracking", "Lamp", [("id", key), ("name", OPTIONAL)]))
    migration = migrations.Migration("0099_sample", "tracking")
    migration.operations = [operation]

    found = list_breaking_operations(migration, before)

    assert found == ([operation] if is_breaking else [])


@pytest.mark.parametrize(
    ("release", "expected"), [("", False), ("0.0.1", False), ("99.0.0", False)]
)
def test_announcement_is_a_released_version(release, expected):
    migration = migrations.Migration("0099_sample", "tracking")
    migration.unused_since = release

    assert is_announced(migration) is expected


INDEX = models.Index(fields=["name"], name="lamps_by_name")
CHECK = models.CheckConstraint(condition=~models.Q(name=""), name="lamp_has_name")


@pytest.mark.parametrize(
    "operation",
    [AddIndexConcurrently("lamp", INDEX), AddCheckConcurrently("lamp", CHECK)],
    ids=["index", "check"],
)
def test_changes_a_table_in_use_on_both_databases(committed_db, operation):
    before = ProjectState()
    before.add_model(
        ModelState(
            "tracking",
            "Lamp",
            [("id", models.AutoField(primary_key=True)), ("name", models.TextField())],
        )
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
            found = connection.introspection.get_constraints(cursor, model._meta.db_table)
        (name,) = found.keys() & {INDEX.name, CHECK.name}
        assert found[name]["columns"] == ["name"]
    finally:
        with connection.schema_editor() as editor:
            editor.delete_model(model)


def test_refuses_a_database_with_the_former_migrations(db):
    operation = RefuseFormerDatabase()
    states = ("accounts", connection.schema_editor(), ProjectState(), ProjectState())
    operation.database_forwards(*states)
    MigrationRecorder(connection).record_applied(*FORMER_MIGRATION)

    with pytest.raises(CommandError, match="bring them into a new database"):
        operation.database_forwards(*states)


def test_the_database_is_refused_before_anything_is_changed():
    """Whatever else a former database lacks comes after the migration that refuses it."""
    graph = MigrationLoader(None).graph
    first = next(
        key
        for key in graph._generate_plan(graph.leaf_nodes(), at_end=True)
        if key[0] in APPS and key[1] != "0001_initial"
    )
    assert isinstance(graph.nodes[first].operations[0], RefuseFormerDatabase)
