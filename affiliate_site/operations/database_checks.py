"""Checks of `manage.py doctor`: the database, its replica, its archive, and Redis."""

from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone

from accounts.append_only import list_invalid_triggers, try_forbidden_changes
from accounts.db_compat import get_database_time
from accounts.replica import REPLICA, UnusableReplica, get_lag_bytes
from affiliate_site.operations.checks import check_database_durability
from affiliate_site.operations.findings import FAILURE, OK, WARNING, Finding
from affiliate_site.operations.health import NotReady, check_migrations
from payouts.services.reconciliation import APPEND_ONLY_MODELS
from tracking.services.affiliates import list_other_foldings

MIN_VERSIONS = {"postgresql": (15,), "sqlite": (3, 35)}
MAX_NIGHTLY_AGE = timedelta(hours=36)
MAX_CLOCK_DIFFERENCE = timedelta(seconds=30)  # beyond: failure
TOLERATED_CLOCK_DIFFERENCE = timedelta(seconds=2)
MAX_REPLICA_LAG_BYTES = 16 << 20  # one file of the log
MAX_NAMED = 10  # of the people whom a finding names


def check_database(_at: datetime) -> Finding:
    """The database must answer and be new enough."""
    name = connection.settings_dict["NAME"]
    if connection.vendor == "sqlite" and not Path(str(name)).exists():
        # A connection would create an empty file.
        return Finding(FAILURE, f"there is no {name}", "run manage.py migrate")
    connection.ensure_connection()
    version = ".".join(map(str, connection.get_database_version()))
    if connection.get_database_version() < MIN_VERSIONS[connection.vendor]:
        return Finding(FAILURE, f"{connection.display_name} {version} is too old", "upgrade it")
    return Finding(OK, f"{connection.display_name} {version}")


def check_durability(_at: datetime) -> Finding:
    """A committed transaction must be on disk."""
    if connection.vendor == "postgresql":
        errors = check_database_durability(None, databases=["default"])
        if errors:
            return Finding(
                FAILURE,
                " ".join(error.msg for error in errors),
                " ".join(error.hint for error in errors),
            )
        return Finding(OK, "fsync, full_page_writes, synchronous_commit are on")
    with connection.cursor() as cursor:
        found = [
            str(cursor.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("journal_mode", "synchronous")
        ]
    if found != ["wal", "2"]:
        return Finding(
            FAILURE,
            f"journal mode {found[0]}, synchronous {found[1]}",
            "keep the database on a local disk, which WAL needs",
        )
    return Finding(OK, "journal mode WAL, synchronous FULL")


def check_unapplied_migrations(_at: datetime) -> Finding:
    """The tables must be those of this release."""
    try:
        check_migrations()
    except NotReady as error:
        return Finding(FAILURE, "unapplied migrations", str(error).partition(": ")[2])
    return Finding(OK, "all are applied")


def check_time_limits(_at: datetime) -> Finding:
    """PostgreSQL must have time limits; behind PgBouncer, the role must have them."""
    if connection.vendor != "postgresql":
        return Finding(OK, "SQLite waits for locks for at most 20 s")
    limits = dict(settings.TIME_LIMITS)
    if not settings.PGBOUNCER:
        del limits["statement_timeout"]  # commands have none
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name, setting::bigint FROM pg_settings WHERE name = ANY(%s)",
            [list(limits)],
        )
        milliseconds = dict(cursor.fetchall())
        cursor.execute("SELECT current_user, current_database()")
        role, database = cursor.fetchone()
    missing = {
        name: seconds
        for name, seconds in limits.items()
        if not 0 < milliseconds[name] <= seconds * 1000
    }
    if missing:
        return Finding(
            FAILURE,
            f"no limit, or a longer one: {', '.join(missing)}",
            "as the role itself or as an administrator, run "
            + " ".join(
                f'ALTER ROLE "{role}" IN DATABASE "{database}" SET {name} = \'{n}s\';'
                for name, n in missing.items()
            )
            + " then RECONNECT in PgBouncer's console",
        )
    return Finding(OK, ", ".join(f"{name} {n} s" for name, n in limits.items()))


def check_replica(_at: datetime) -> Finding:
    """The replica, if there is one, must be one of this database and keep up."""
    if REPLICA not in settings.DATABASES:
        return Finding(OK, "none is used")
    try:
        lag_bytes = get_lag_bytes()
    except UnusableReplica as error:
        return Finding(FAILURE, str(error), "correct or unset DATABASE_REPLICA_URL")
    except (DatabaseError, InterfaceError) as error:
        return Finding(
            FAILURE,
            f"{type(error).__name__}: {error}",
            "lists are read from the primary; check DATABASE_REPLICA_URL and the log of"
            " the replica",
        )
    detail = f"{lag_bytes} bytes behind the primary"
    if lag_bytes > MAX_REPLICA_LAG_BYTES:
        return Finding(WARNING, detail, "lists are read from the primary until it catches up")
    return Finding(OK, detail)


def check_redis(_at: datetime) -> Finding:
    """Redis, if it is used, must answer, and must not drop counters."""
    if not settings.REDIS_URL:
        return Finding(OK, "none is used")
    from accounts import redis_counters  # noqa: PLC0415 - optional

    try:
        state = redis_counters.get_state()
    except redis_counters.RedisError as error:
        return Finding(
            FAILURE,
            f"{type(error).__name__}: {error}",
            "limits are counted in the database; check REDIS_URL and the log of Redis",
        )
    if state.can_evict:
        return Finding(
            WARNING,
            f"Redis {state.version} may drop counters when its memory is full",
            "set maxmemory-policy noeviction",
        )
    return Finding(OK, f"Redis {state.version} counts for rate limits")


def check_triggers(_at: datetime) -> Finding:
    """The append-only tables must refuse changes: they are tried and rolled back."""
    problems = []
    for model in APPEND_ONLY_MODELS:
        table = model._meta.db_table
        invalid = list_invalid_triggers(table)
        problems += [f"{name}: {problem}" for name, problem in invalid.items()]
        problems += [f"{table} accepts {name}" for name in try_forbidden_changes(table)]
    if problems:
        return Finding(
            FAILURE,
            "; ".join(problems),
            "find out who removed the triggers, run check_ledger, and create them again"
            " (accounts/append_only.py, as the migrations do)",
        )
    return Finding(OK, f"{len(APPEND_ONLY_MODELS)} tables refuse UPDATE and DELETE")


def check_clock(_at: datetime) -> Finding:
    """The clock of this machine must agree with that of the database server."""
    before = timezone.now()
    database_time = get_database_time()
    ahead = before + (timezone.now() - before) / 2 - database_time
    detail = f"{ahead.total_seconds():+.1f} s against the database"
    if abs(ahead) <= TOLERATED_CLOCK_DIFFERENCE:
        return Finding(OK, detail)
    return Finding(
        WARNING if abs(ahead) <= MAX_CLOCK_DIFFERENCE else FAILURE,
        detail,
        "synchronize the clocks of both machines (NTP)",
    )


def check_archive(at: datetime) -> Finding:
    """PostgreSQL is backed up on its own server: whether its log is archived there."""
    mode, archived_at, failed_at = read_archiver()
    if mode == "off":
        return Finding(
            WARNING,
            "PostgreSQL archives no log (archive_mode is off); backups of its own"
            " server are not checked",
            "see docs/operations.md, section 4",
        )
    if failed_at and (archived_at is None or failed_at > archived_at):
        return Finding(
            FAILURE,
            f"the log could not be archived at {failed_at:%Y-%m-%d %H:%M} UTC",
            "read the log of PostgreSQL: its disk fills up",
        )
    if archived_at is None or at - archived_at > MAX_NIGHTLY_AGE:
        last = f" since {archived_at:%Y-%m-%d %H:%M} UTC" if archived_at else ""
        return Finding(WARNING, f"no log was archived{last}", "set archive_timeout")
    return Finding(
        OK,
        f"the log was archived at {archived_at:%Y-%m-%d %H:%M} UTC; base backups are not checked",
    )


def read_archiver() -> tuple[str, datetime | None, datetime | None]:
    """Return the mode of PostgreSQL's archive, its last success and last failure."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('archive_mode'), last_archived_time,"
            " last_failed_time FROM pg_stat_archiver"
        )
        return cursor.fetchone()


def check_addresses(_at: datetime) -> Finding:
    """Addresses must be stored as they are compared, else two share one."""
    found = list(islice(list_other_foldings(), MAX_NAMED + 1))
    if not found:
        return Finding(OK, "stored as they are compared")
    names = [f"{account}: {person}" for account, person in found[:MAX_NAMED]]
    further = ["and others"] if len(found) > MAX_NAMED else []
    return Finding(
        WARNING,
        "the mailbox is that of another one, too: " + "; ".join(names + further),
        "ask the account: change the address of one of both, or remove it",
    )
