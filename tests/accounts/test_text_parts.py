"""Parts of texts are indexed where the role of the database may create extensions."""

import pytest
from django.db import connection
from django.db.migrations.state import ModelState, ProjectState
from django.db.models import AutoField, BigIntegerField, CharField

from accounts import text_parts
from accounts.text_parts import IndexTextParts, get_parts_name, may_use_trigrams

NAME = get_parts_name("tracking_lamp", "name")
OPERATION = IndexTextParts("lamp", "name")


@pytest.fixture
def state(committed_db):
    """The state of the models with a table that has rows."""
    state = ProjectState()
    state.add_model(
        ModelState(
            "tracking",
            "Lamp",
            [
                ("id", AutoField(primary_key=True)),
                ("account_id", BigIntegerField(default=1)),
                ("name", CharField(max_length=20, null=True)),
            ],
        )
    )
    model = state.apps.get_model("tracking", "Lamp")
    with connection.schema_editor() as editor:
        editor.create_model(model)
    model.objects.bulk_create(model(name=name) for name in ("Harbor", None, "h@rbor"))
    yield state
    with connection.schema_editor(atomic=False) as editor:
        OPERATION.database_backwards("tracking", editor, state, state)
    with connection.schema_editor() as editor:
        editor.delete_model(model)


def add_index(state):
    with connection.schema_editor(atomic=False) as editor:
        OPERATION.database_forwards("tracking", editor, state, state)


def find(state, part):
    rows = state.apps.get_model("tracking", "Lamp").objects
    return list(rows.filter(name__has_part=part).values_list("name", flat=True))


def list_indexes():
    with connection.cursor() as cursor:
        return connection.introspection.get_constraints(cursor, "tracking_lamp")


def test_finds_parts_of_rows_that_were_there_and_of_new_ones(state):
    add_index(state)
    add_index(state)  # a migration that was interrupted runs again
    model = state.apps.get_model("tracking", "Lamp")
    model.objects.create(name="Old harbor")
    model.objects.filter(name="Harbor").update(name="Pier")
    model.objects.create(name="harbors").delete()

    assert find(state, "HARB") == ["Old harbor"]
    assert find(state, "pie") == ["Pier"]


@pytest.mark.skipif(connection.vendor == "sqlite", reason="of PostgreSQL")
def test_a_plain_role_searches_without_an_index(state, monkeypatch, capsys):
    assert may_use_trigrams(connection)
    monkeypatch.setattr(text_parts, "EXTENSIONS", ("pg_trgm", "no_such_extension"))

    add_index(state)

    assert NAME not in list_indexes()
    told = capsys.readouterr().err
    assert "An administrator of the database can add an index" in told
    assert f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {NAME}" in told
    assert find(state, "HARB") == ["Harbor"]


@pytest.mark.skipif(connection.vendor == "sqlite", reason="of PostgreSQL")
def test_the_index_begins_with_the_account(state):
    add_index(state)

    assert list_indexes()[NAME]["columns"] == ["account_id", "name"]
