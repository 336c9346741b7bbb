"""System checks at startup: a database must not lose acknowledged commits."""

from types import SimpleNamespace

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection

from accounts.replica import UnusableReplica
from affiliate_site.operations import checks

DURABLE = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}


class FakeConnection:
    """A PostgreSQL connection that returns these settings to the check."""

    vendor = "postgresql"

    def __init__(self, settings):
        self.settings = settings

    def cursor(self):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        return None

    def execute(self, sql, params):
        self.names = params[0]

    def fetchall(self):
        return [(name, self.settings[name]) for name in self.names]


def run_check(monkeypatch, **settings):
    connection = FakeConnection(DURABLE | settings)
    monkeypatch.setattr(checks, "connections", {"default": connection})
    return checks.check_database_durability(None, databases=["default"])


def test_accepts_durable_settings(monkeypatch):
    assert run_check(monkeypatch) == []


@pytest.mark.parametrize("name", DURABLE)
def test_rejects_settings_that_lose_commits(monkeypatch, name):
    (error,) = run_check(monkeypatch, **{name: "off"})

    assert error.is_serious()
    assert error.id == "affiliate_site.E001"
    assert name in error.msg
    assert f"{name} = on" in error.hint


def test_names_every_setting_that_is_off(monkeypatch):
    errors = run_check(monkeypatch, fsync="off", synchronous_commit="off")

    assert [error.msg.split()[3] for error in errors] == ["fsync", "synchronous_commit"]


@pytest.mark.parametrize("value", ["local", "remote_write", "remote_apply"])
def test_accepts_every_synchronous_commit_value_except_off(monkeypatch, value):
    assert run_check(monkeypatch, synchronous_commit=value) == []


def test_checks_only_the_given_databases(monkeypatch):
    monkeypatch.setattr(checks, "connections", {})

    assert checks.check_database_durability(None, databases=None) == []
    assert checks.check_database_durability(None, databases=[]) == []


@pytest.mark.skipif(connection.vendor != "sqlite", reason="needs SQLite")
def test_accepts_sqlite(db):
    call_command("check", databases=["default"])


@pytest.mark.skipif(connection.vendor != "sqlite", reason="needs SQLite")
def test_configures_durable_sqlite_commits(db):
    with connection.cursor() as cursor:
        modes = [
            cursor.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "foreign_keys")
        ]

    assert modes == ["wal", 2, 1]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="needs PostgreSQL")
def test_check_command_fails_for_asynchronous_commits(db):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")

    with pytest.raises(SystemCheckError, match="synchronous_commit off"):
        call_command("check", databases=["default"])


@pytest.mark.parametrize(
    ("engine", "public_url", "ids"),
    [
        ("sqlite3", "https://aff.example.net", ["affiliate_site.I001"]),
        ("sqlite3", "http://127.0.0.1:8000", []),
        ("postgresql", "https://aff.example.net", []),
    ],
)
def test_warns_about_sqlite_behind_tls(monkeypatch, engine, public_url, ids):
    settings = SimpleNamespace(
        DATABASES={"default": {"ENGINE": f"django.db.backends.{engine}"}},
        PUBLIC_URL=public_url,
    )
    monkeypatch.setattr(checks, "settings", settings)

    messages = checks.check_sqlite_in_production(None)

    assert [message.id for message in messages] == ids
    assert not any(message.is_serious() for message in messages)


@pytest.mark.parametrize(
    ("error", "expected"),
    [(None, []), (UnusableReplica("it is a primary"), ["affiliate_site.E002"])],
)
def test_rejects_a_replica_that_is_none(monkeypatch, error, expected):
    def get_lag_bytes():
        if error:
            raise error

    monkeypatch.setattr(checks, "get_lag_bytes", get_lag_bytes)

    found = checks.check_replica(None, databases=["default", "replica"])

    assert [problem.id for problem in found] == expected
    assert checks.check_replica(None, databases=["default"]) == []
