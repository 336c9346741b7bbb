"""What the start refuses: `manage.py check --database default`, before forking."""

from django.conf import settings
from django.core import checks
from django.db import connections

DURABLE = ("fsync", "full_page_writes", "synchronous_commit")


@checks.register(checks.Tags.database)
def durable(app_configs, databases, **kwargs):
    """A 2xx means on disk: a database that forgets is refused."""
    found = []
    for alias in databases or []:
        connection = connections[alias]
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT name, setting FROM pg_settings WHERE name = ANY(%s)",
                    [list(DURABLE)],
                )
                off = sorted(
                    name for name, value in cursor.fetchall() if value == "off"
                )
            found += [
                checks.Error(
                    f"PostgreSQL runs with {name} off: acknowledged sales may be lost.",
                    hint=f"Set {name} = on in postgresql.conf and restart the server.",
                    id="affiliate_site.E001",
                )
                for name in off
            ]
    return found


@checks.register(checks.Tags.security, deploy=True)
def fit_for_the_open_network(app_configs, **kwargs):
    """SQLite behind TLS is one machine's database: worth a word."""
    engine = settings.DATABASES["default"]["ENGINE"]
    if engine.endswith("sqlite3") and settings.PUBLIC_URL.startswith("https://"):
        return [
            checks.Info(
                "The embedded SQLite serves one machine; use PostgreSQL for more.",
                id="affiliate_site.I001",
            )
        ]
    return []
