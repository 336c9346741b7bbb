"""/healthz: the process answers. /readyz: the database, its migrations, the disk."""

import shutil
from contextlib import nullcontext
from pathlib import Path

import structlog
from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpResponse

from accounts.exact_json import exact_json
from affiliate_site.door import only

log = structlog.get_logger(__name__)

LEAST_FREE_SHARE = 0.05
PATIENCE = "SET LOCAL statement_timeout = '1s'"

_migrated: set[str] = set()


class NotReady(Exception):
    """Why this process should get no requests now; goes to the log."""


@only("GET", "HEAD")
def alive(request):
    """Asks no database."""
    return answer("ok", 200)


@only("GET", "HEAD")
def ready(request):
    """Fit to serve; the reason for a no is in the log."""
    try:
        ask_database()
        ask_migrations()
        ask_disk()
    except (DatabaseError, InterfaceError, NotReady, OSError) as reason:
        log.warning("not_ready", reason=str(reason), traceId=request.trace_id)
        return answer("unavailable", 503)
    return answer("ready", 200)


def answer(status: str, code: int) -> HttpResponse:
    """One property, no details."""
    return HttpResponse(
        exact_json({"status": status}), status=code, content_type="application/json"
    )


def ask_database() -> None:
    """`SELECT 1` within a second; on SQLite without asking for its one writer."""
    whole = transaction.atomic() if connection.vendor == "postgresql" else nullcontext()
    with whole, connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(PATIENCE)
        cursor.execute("SELECT 1")


def ask_migrations() -> None:
    """No migration waits; a yes is remembered for the life of the process."""
    if connection.alias in _migrated:
        return
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise NotReady("migrations wait: run manage.py migrate")
    _migrated.add(connection.alias)


def ask_disk() -> None:
    """On SQLite, more than five per cent of the disk is free."""
    if connection.vendor != "sqlite":
        return
    disk = shutil.disk_usage(Path(str(connection.settings_dict["NAME"])).parent)
    if disk.free < disk.total * LEAST_FREE_SHARE:
        raise NotReady("less than 5 % of the disk is free")
