"""What the start refuses: a database that forgets what it acknowledged."""

from types import SimpleNamespace

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection

from affiliate_site import checks

DURABLE = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}


class Server:
    """A PostgreSQL with these settings, as far as the check asks it."""

    vendor = "postgresql"

    def __init__(self, settings):
        self.settings = settings

    def cursor(self):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        return None

    def execute(self, sql, params):
        self.asked = params[0]

    def fetchall(self):
        return [(name, self.settings[name]) for name in self.asked]


def found_on(monkeypatch, **settings):
    server = Server(DURABLE | settings)
    monkeypatch.setattr(checks, "connections", {"default": server})
    return checks.durable(None, databases=["default"])


def test_accepts_a_server_that_keeps_its_word(monkeypatch):
    assert found_on(monkeypatch) == []


@pytest.mark.parametrize("name", DURABLE)
def test_refuses_a_server_that_forgets(monkeypatch, name):
    (error,) = found_on(monkeypatch, **{name: "off"})

    assert error.is_serious()
    assert error.id == "affiliate_site.E001"
    assert name in error.msg
    assert f"{name} = on" in error.hint


def test_names_every_setting_that_is_off(monkeypatch):
    errors = found_on(monkeypatch, fsync="off", synchronous_commit="off")

    assert [error.msg.split()[3] for error in errors] == ["fsync", "synchronous_commit"]


@pytest.mark.parametrize("kept", ["local", "remote_write", "remote_apply"])
def test_accepts_every_commit_that_waits_for_the_disk(monkeypatch, kept):
    assert found_on(monkeypatch, synchronous_commit=kept) == []


def test_asks_only_the_databases_that_are_to_be_checked(monkeypatch):
    monkeypatch.setattr(checks, "connections", {})

    assert checks.durable(None, databases=None) == []
    assert checks.durable(None, databases=[]) == []


@pytest.mark.skipif(connection.vendor != "sqlite", reason="about the embedded database")
def test_refuses_nothing_about_the_embedded_database(db):
    call_command("check", databases=["default"])


@pytest.mark.skipif(connection.vendor != "sqlite", reason="about the embedded database")
def test_keeps_its_word_on_the_embedded_database(db):
    with connection.cursor() as cursor:
        modes = [
            cursor.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "foreign_keys")
        ]

    assert modes == ["wal", 2, 1]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no such word")
def test_stops_the_check_of_a_session_that_does_not_wait_for_the_disk(db):
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
def test_says_a_word_about_the_embedded_database_behind_tls(
    monkeypatch, engine, public_url, ids
):
    settings = SimpleNamespace(
        DATABASES={"default": {"ENGINE": f"django.db.backends.{engine}"}},
        PUBLIC_URL=public_url,
    )
    monkeypatch.setattr(checks, "settings", settings)

    found = checks.fit_for_the_open_network(None)

    assert [message.id for message in found] == ids
    assert not any(message.is_serious() for message in found)
