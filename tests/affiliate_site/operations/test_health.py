"""Health checks: liveness and readiness, without key and without details."""

import sqlite3
from collections import namedtuple

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder

from affiliate_site.operations import health

Disk = namedtuple("Disk", "total used free")
DETAIL = "the password of the database"


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch):
    """Reset the cache of the migration check."""
    monkeypatch.setattr(health, "_migrated", set())


def raise_operational_error(*args, **kwargs):
    raise OperationalError(DETAIL)


@pytest.mark.parametrize(("path", "status"), [("/healthz", "ok"), ("/readyz", "ready")])
@pytest.mark.parametrize("host", ["testserver", "10.1.2.3:8000", "evil.example", "a b"])
def test_accepts_any_host_without_key(client, db, path, status, host):
    response = client.get(path, headers={"Host": host})

    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert response.json() == {"status": status}


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_accepts_any_number_of_parameters(client, db, path):
    query = "&".join(f"p{n}=1" for n in range(1001))

    response = client.get(f"{path}?{query}")

    assert response.status_code == 200


@pytest.mark.parametrize("path", ["/healthz/", "/readyz/", "/1.6/healthz", "/health"])
def test_has_no_other_paths(client, path):
    response = client.get(path)

    assert response.status_code == 404


def test_liveness_succeeds_without_database(client, monkeypatch):
    monkeypatch.setattr(connection, "cursor", raise_operational_error)

    response = client.get("/healthz")

    assert response.status_code == 200
    assert response.json() == {"status": "ok"}


def test_liveness_performs_no_query(client, db, capture_queries):
    with capture_queries() as queries:
        client.get("/healthz")

    assert len(queries) == 0


@pytest.mark.parametrize("failure", [OperationalError(DETAIL), InterfaceError(DETAIL)], ids=repr)
def test_readiness_fails_without_database(client, db, monkeypatch, captured_log_records, failure):
    def fail():
        raise failure

    monkeypatch.setattr(health, "check_database", fail)
    client.raise_request_exception = False

    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json() == {"status": "unavailable"}
    assert DETAIL in "".join(record.get("reason", "") for record in captured_log_records())


def test_readiness_fails_with_unapplied_migration(client, db, captured_log_records):
    applied = MigrationRecorder.Migration.objects.filter(app="accounts")
    applied.order_by("id").last().delete()

    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json() == {"status": "unavailable"}
    assert [record["event"] for record in captured_log_records()] == ["not_ready"]
    assert captured_log_records()[0]["traceId"] == response["X-Trace-Id"]


def test_readiness_caches_migration_check(client, db, capture_queries):
    client.get("/readyz")

    with capture_queries() as queries:
        response = client.get("/readyz")

    assert response.status_code == 200
    assert not any("django_migrations" in query["sql"] for query in queries)


@pytest.mark.parametrize(("free", "status"), [(49, 503), (51, 200)], ids=["below 5 %", "above 5 %"])
@pytest.mark.skipif(connection.vendor != "sqlite", reason="needs SQLite")
def test_readiness_requires_free_disk_space_on_sqlite(client, db, monkeypatch, free, status):
    disk = Disk(total=1000, used=1000 - free, free=free)
    monkeypatch.setattr("shutil.disk_usage", lambda path: disk)

    response = client.get("/readyz")

    assert response.status_code == status


@pytest.mark.skipif(connection.vendor != "sqlite", reason="needs SQLite")
def test_readiness_succeeds_while_another_process_writes(client, committed_db):
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
