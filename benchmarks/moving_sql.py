"""What `benchmarks.moving` asks the databases of its services, on both engines."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import Any

import psycopg

from benchmarks.databases import Database

RATE_WINDOWS, IMPORTED = "accounts_ratewindow", "tracking_importedobject"
# Tables that reading alone changes.
VOLATILE = {RATE_WINDOWS, "accounts_apikey", "django_session"}
LIST_TABLES = {
    "postgresql": "SELECT tablename FROM pg_tables WHERE schemaname = 'public'",
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table'"
    " AND sql NOT LIKE 'CREATE VIRTUAL%'",
}


def run_sql(database: Database, sql: str) -> Sequence[tuple[Any, ...]]:
    """Run a statement; return its rows, if it has some."""
    if database.engine == "postgresql":
        with psycopg.connect(database.url, autocommit=True) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []
    path = database.url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path, timeout=30)) as connection, connection:
        return connection.execute(sql).fetchall()


def clear_rate_limits(database: Database) -> None:
    """Forget the counted requests of all keys."""
    with suppress(psycopg.Error, sqlite3.Error):
        run_sql(database, f"DELETE FROM {RATE_WINDOWS}")


def get_last_import(database: Database) -> int:
    """Return about how many objects were imported."""
    return int(run_sql(database, f"SELECT max(id) FROM {IMPORTED}")[0][0] or 0)


def count_rows(database: Database) -> dict[str, int]:
    """Return the number of rows of each table that reading does not change."""
    tables = [name for (name,) in run_sql(database, LIST_TABLES[database.engine])]
    return {
        name: run_sql(database, f'SELECT count(*) FROM "{name}"')[0][0]
        for name in sorted(tables)
        if name not in VOLATILE
    }
