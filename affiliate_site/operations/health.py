"""Health checks: `/healthz` (liveness) and `/readyz` (database, migrations, disk).

To a signed probe of `manage.py doctor`, `/healthz` shows what the service sees of a
request: whether the proxies in front pass scheme, host and address of a client on.
"""

import shutil
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import structlog
from django.core import signing
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpResponse

from accounts.exact_json import serialize_exact_json
from affiliate_site.http_errors import allow_methods
from affiliate_site.throttling import get_client_ip

log = structlog.get_logger(__name__)

MIN_FREE_DISK_SHARE = 0.05
ANSWER_SECONDS = 1.5  # per answer of PostgreSQL; 2 for a new connection
PROBE_HEADER = "X-Doctor"
PROBE_SALT = "affiliate_site.operations.probe"
PROBE_SECONDS = 60

_migrated: set[str] = set()  # aliases of databases without unapplied migrations


class NotReady(Exception):
    """The process cannot serve requests; the message is logged."""


@allow_methods("GET", "HEAD")
def check_liveness(request):
    """Respond without a database query."""
    return health_response("ok", 200)


@allow_methods("GET", "HEAD")
def check_readiness(request):
    """Check database, migrations and disk; a failure is 503 and is logged."""
    try:
        with limit_answers():
            check_database()
            check_migrations()
        check_disk_space()
    except (DatabaseError, InterfaceError, NotReady, OSError) as reason:
        log.warning("not_ready", reason=str(reason), traceId=request.trace_id)
        return health_response("unavailable", 503)
    return health_response("ready", 200)


def health_response(status: str, code: int) -> HttpResponse:
    """Return `{"status": …}` without details."""
    return HttpResponse(
        serialize_exact_json({"status": status}),
        status=code,
        content_type="application/json",
    )


def limit_answers() -> AbstractContextManager[None]:
    """Wait at most `ANSWER_SECONDS` for each answer of PostgreSQL within the block."""
    database: Any = connection
    if connection.vendor == "sqlite":
        return nullcontext()
    limited: AbstractContextManager[None] = database.limit_answers(ANSWER_SECONDS)
    return limited


def check_database() -> None:
    """Run `SELECT 1`."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def check_migrations() -> None:
    """Raise NotReady on unapplied migrations; success is cached in the process."""
    if connection.alias in _migrated:
        return
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise NotReady("unapplied migrations: run manage.py migrate")
    _migrated.add(connection.alias)


def check_disk_space() -> None:
    """Raise NotReady if SQLite's disk has less than five per cent of free space."""
    if connection.vendor != "sqlite":
        return
    disk = shutil.disk_usage(Path(str(connection.settings_dict["NAME"])).parent)
    if disk.free < disk.total * MIN_FREE_DISK_SHARE:
        raise NotReady("less than 5 % of the disk is free")


def sign_probe() -> str:
    """Return a value of the header, which is valid for a minute."""
    return signing.dumps("probe", salt=PROBE_SALT)


def is_probe(request) -> bool:
    """Return whether the request was signed with the secret key of this service."""
    try:
        signing.loads(request.headers.get(PROBE_HEADER, ""), salt=PROBE_SALT, max_age=PROBE_SECONDS)
    except signing.BadSignature:
        return False
    return True


def describe_request(request) -> HttpResponse:
    """Return scheme, host and address as the service evaluates them."""
    request_seen = {
        "scheme": request.scheme,
        "host": request.META.get("HTTP_HOST", ""),
        "address": get_client_ip(request),
    }
    return HttpResponse(
        serialize_exact_json({"status": "ok", "request": request_seen}),
        content_type="application/json",
    )
