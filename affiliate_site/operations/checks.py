"""System checks that gunicorn runs before it forks."""

from django.conf import settings
from django.core import checks
from django.db import connections
from django.utils.module_loading import import_string

from accounts.replica import REPLICA, UnusableReplica, get_lag_bytes

DURABILITY_SETTINGS = ("fsync", "full_page_writes", "synchronous_commit")


@checks.register(checks.Tags.database)
def check_database_durability(app_configs, databases, **kwargs):
    """Reject a PostgreSQL server that acknowledges commits before they are on disk."""
    errors = []
    for alias in databases or []:
        connection = connections[alias]
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT name, setting FROM pg_settings WHERE name = ANY(%s)",
                    [list(DURABILITY_SETTINGS)],
                )
                off = sorted(name for name, value in cursor.fetchall() if value == "off")
            errors += [
                checks.Error(
                    f"PostgreSQL runs with {name} off: acknowledged sales may be lost.",
                    hint=f"Set {name} = on in postgresql.conf and restart the server.",
                    id="affiliate_site.E001",
                )
                for name in off
            ]
    return errors


@checks.register(checks.Tags.database)
def check_replica(app_configs, databases, **kwargs):
    """Reject a replica that is none, or of another server: it has other rows."""
    if REPLICA not in (databases or []):
        return []
    try:
        get_lag_bytes()
    except UnusableReplica as error:
        return [
            checks.Error(
                f"DATABASE_REPLICA_URL cannot be used: {error}.",
                hint="Correct or unset it.",
                id="affiliate_site.E002",
            )
        ]
    return []


@checks.register
def check_portal_challenge(app_configs, **kwargs):
    """Reject a challenge that cannot be called: no application could be sent."""
    path = settings.PORTAL_CHALLENGE
    if not path:
        return []
    try:
        is_function = callable(import_string(path))
    except ImportError:
        is_function = False
    if is_function:
        return []
    return [
        checks.Error(
            f"PORTAL_CHALLENGE is {path!r}, which is no function that can be imported.",
            hint="Give its dotted path, like package.module.function, or unset it.",
            id="affiliate_site.E003",
        )
    ]


@checks.register(checks.Tags.security, deploy=True)
def check_sqlite_in_production(app_configs, **kwargs):
    """Warn about SQLite behind TLS: it supports a single machine only."""
    engine = settings.DATABASES["default"]["ENGINE"]
    if engine.endswith("sqlite3") and settings.PUBLIC_URL.startswith("https://"):
        return [
            checks.Info(
                "SQLite supports a single machine only; use PostgreSQL for more.",
                id="affiliate_site.I001",
            )
        ]
    return []
