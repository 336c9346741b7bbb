"""Operations, 4: alive and ready, for any caller, without details."""

import sqlite3
from collections import namedtuple

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder

from affiliate_site import health

Disk = namedtuple("Disk", "total used free")
DETAIL = "the password of the database"


@pytest.fixture(autouse=True)
def forgetful(monkeypatch):
    """Nothing is remembered from another test."""
    monkeypatch.setattr(health, "_migrated", set())


def refuse(*args, **kwargs):
    raise OperationalError(DETAIL)


@pytest.mark.parametrize(("path", "status"), [("/healthz", "ok"), ("/readyz", "ready")])
@pytest.mark.parametrize("host", ["testserver", "10.1.2.3:8000", "evil.example", "a b"])
def test_answers_for_any_host_without_a_key(client, db, path, status, host):
    response = client.get(path, headers={"Host": host})

    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert response.json() == {"status": status}


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_takes_any_number_of_parameters(client, db, path):
    query = "&".join(f"p{n}=1" for n in range(1001))

    response = client.get(f"{path}?{query}")

    assert response.status_code == 200


@pytest.mark.parametrize("path", ["/healthz/", "/readyz/", "/1.6/healthz", "/health"])
def test_has_one_address_each(client, path):
    response = client.get(path)

    assert response.status_code == 404


def test_is_alive_without_a_database(client, monkeypatch):
    monkeypatch.setattr(connection, "cursor", refuse)

    response = client.get("/healthz")

    assert response.status_code == 200
    assert response.json() == {"status": "ok"}


def test_asks_no_database_whether_it_is_alive(client, db, statements):
    with statements() as asked:
        client.get("/healthz")

    assert len(asked) == 0


@pytest.mark.parametrize(
    "failure", [OperationalError(DETAIL), InterfaceError(DETAIL)], ids=repr
)
def test_is_not_ready_without_a_database(client, db, monkeypatch, log_lines, failure):
    def fail():
        raise failure

    monkeypatch.setattr(health, "ask_database", fail)
    client.raise_request_exception = False

    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json() == {"status": "unavailable"}
    assert DETAIL in "".join(record.get("reason", "") for record in log_lines())


def test_is_not_ready_while_a_migration_waits(client, db, log_lines):
    applied = MigrationRecorder.Migration.objects.filter(app="accounts")
    applied.order_by("id").last().delete()

    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json() == {"status": "unavailable"}
    assert [record["event"] for record in log_lines()] == ["not_ready"]
    assert log_lines()[0]["traceId"] == response["X-Trace-Id"]


def test_remembers_that_no_migration_waits(client, db, statements):
    client.get("/readyz")

    with statements() as asked:
        response = client.get("/readyz")

    assert response.status_code == 200
    assert not any("django_migrations" in query["sql"] for query in asked)


@pytest.mark.parametrize(
    ("free", "status"), [(49, 503), (51, 200)], ids=["below 5 %", "above 5 %"]
)
@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL keeps its disk")
def test_wants_room_on_the_disk_of_the_embedded_database(
    client, db, monkeypatch, free, status
):
    disk = Disk(total=1000, used=1000 - free, free=free)
    monkeypatch.setattr("shutil.disk_usage", lambda path: disk)

    response = client.get("/readyz")

    assert response.status_code == status


@pytest.mark.skipif(connection.vendor != "sqlite", reason="others have many writers")
def test_is_ready_while_another_process_writes(client, committed):
    connection.ensure_connection()
    connection.connection.execute("PRAGMA busy_timeout = 50")
    writer = sqlite3.connect(connection.settings_dict["NAME"])
    writer.execute("BEGIN IMMEDIATE")

    try:
        response = client.get("/readyz")
    finally:
        writer.rollback()
        writer.close()

    assert response.status_code == 200
    assert response.json() == {"status": "ready"}
