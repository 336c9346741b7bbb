"""Locks that another connection holds, and how long this one waits for them."""

from contextlib import contextmanager

from django.db import connection


@contextmanager
def set_lock_timeout(*, milliseconds):
    """Set the lock timeout of this connection."""
    statements = {
        "sqlite": ("PRAGMA busy_timeout={}", 20_000),
        "postgresql": ("SET lock_timeout={}", 3_000),
    }
    statement, default = statements[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(statement.format(milliseconds))
        try:
            yield
        finally:
            cursor.execute(statement.format(default))


@contextmanager
def lock_elsewhere(statement, parameters=()):
    """Run a statement in a transaction of another connection; then roll it back."""
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("BEGIN IMMEDIATE" if other.vendor == "sqlite" else "BEGIN")
        cursor.execute(statement, parameters)
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")
    other.close()
