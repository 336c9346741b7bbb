"""Reads from a replica of PostgreSQL that has everything that was committed before.

A read asks the primary how far its log is on disk, and uses the replica only if it has
replayed that much: an acknowledged write of any client is always seen, so nothing
has to be remembered about keys or sessions. Without such a replica, or if it fails, the
primary answers. See docs/scaling.md, section 2.
"""

import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeVar

from django.conf import settings
from django.db import (
    DEFAULT_DB_ALIAS,
    InterfaceError,
    InternalError,
    OperationalError,
    connections,
)
from django.db.models import Model

from accounts.circuit_breaker import CircuitBreaker

REPLICA = "replica"
WAIT_SECONDS = (0, 0.002, 0.005, 0.01, 0.03)  # before each look at the replica
# How long a replica is not asked after it was behind at each look, and after a failure.
BEHIND_SECONDS, FAILED_SECONDS = 1, 5
ANSWER_SECONDS = 0.5  # for one look; a server that is gone must not hold requests

POSITION_SQL = "SELECT pg_current_wal_flush_lsn()::text"
# A server that was promoted is a primary of its own, with other rows.
IS_CURRENT_SQL = "SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= %s::text::pg_lsn"
SYSTEM_SQL = "SELECT system_identifier FROM pg_control_system()"
STATE_SQL = (
    "SELECT pg_is_in_recovery(), system_identifier,"
    " pg_wal_lsn_diff(%s::text::pg_lsn, pg_last_wal_replay_lsn())::bigint"
    " FROM pg_control_system()"
)

# Errors of the replica, not of the request: an OperationalError, for example, if replay
# conflicts with the query, an InternalError if the query writes.
FAILURES = (OperationalError, InternalError, InterfaceError)
MONEY_MODELS = {"LedgerAccount", "Transfer", "Payment", "PaymentAllocation"}

Result = TypeVar("Result")

replica = CircuitBreaker("replica_left_out")
page_alias: ContextVar[str] = ContextVar("page_alias", default=DEFAULT_DB_ALIAS)


class ReplicaRouter:
    """Routes reads inside `read_page` to the database chosen there, except money.

    After a write by Django's ORM, the rest of the page is read from the primary.
    """

    def db_for_read(self, model: type[Model], **hints: Any) -> str:
        """Return the alias of the database to read rows of the model from."""
        if connections[DEFAULT_DB_ALIAS].in_atomic_block or is_money_model(model):
            return DEFAULT_DB_ALIAS
        return page_alias.get()

    def db_for_write(self, model: type[Model], **hints: Any) -> str:
        use_primary()
        return DEFAULT_DB_ALIAS

    def allow_relation(self, first: Model, second: Model, **hints: Any) -> bool:
        """Allow relations between rows of both databases, which have the same rows."""
        return True

    def allow_migrate(self, alias: str, app_label: str, **hints: Any) -> bool:
        """Migrate the primary only."""
        return alias == DEFAULT_DB_ALIAS


def is_money_model(model: type[Model]) -> bool:
    """Return whether rows of the model say what was or will be paid."""
    return model._meta.object_name in MONEY_MODELS


def read_page(build_page: Callable[[], Result]) -> Result:
    """Build a page of the back office whose rows may come from the replica."""

    def build(alias: str) -> Result:
        token = page_alias.set(alias)
        try:
            return build_page()
        finally:
            page_alias.reset(token)

    return read(build)


def use_primary() -> None:
    """Read the rest of a page from the primary, which has what the page stores."""
    page_alias.set(DEFAULT_DB_ALIAS)


def read(function: Callable[[str], Result]) -> Result:
    """Call `function`, which only reads, with the alias of the database to read from.

    If the replica fails, `function` is called again with the alias of the primary.
    """
    if REPLICA not in settings.DATABASES or not can_read_replica():
        return function(DEFAULT_DB_ALIAS)
    try:
        return function(REPLICA)
    except FAILURES as error:
        replica.open(describe(error), seconds=FAILED_SECONDS)
        return function(DEFAULT_DB_ALIAS)


def describe(error: Exception) -> str:
    """Return the kind of an error with its first line; others may quote a statement."""
    first_line, _, _ = str(error).partition("\n")
    return f"{type(error).__name__}: {first_line}"


def can_read_replica() -> bool:
    """Return whether the replica has all that is committed now.

    In a transaction the primary must answer: it alone has what the transaction wrote.
    """
    primary = connections[DEFAULT_DB_ALIAS]
    if primary.in_atomic_block or replica.is_open:
        return False
    with primary.cursor() as cursor:
        cursor.execute(POSITION_SQL)
        position: str = cursor.fetchone()[0]
    database: Any = connections[REPLICA]
    try:
        with database.limit_answers(ANSWER_SECONDS):
            is_current = has_replayed(database, position)
    except FAILURES as error:
        database.close()
        replica.open(describe(error), seconds=FAILED_SECONDS)
        return False
    if not is_current:
        replica.open("behind", seconds=BEHIND_SECONDS)
    return is_current


def has_replayed(database: Any, position: str) -> bool:
    """Return whether the replica reaches a position of the log within a few looks."""
    for seconds in WAIT_SECONDS:
        time.sleep(seconds)
        with database.cursor() as cursor:
            cursor.execute(IS_CURRENT_SQL, [position])
            if cursor.fetchone()[0]:
                return True
    return False


class UnusableReplica(Exception):
    """DATABASE_REPLICA_URL names a server that is no replica; the message says why."""


def get_lag_bytes() -> int:
    """Return how much of the primary's log the replica has not replayed.

    Raises UnusableReplica, and the errors of a database that cannot be reached.
    """
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(SYSTEM_SQL)
        primary_system = cursor.fetchone()[0]
        cursor.execute(POSITION_SQL)
        position = cursor.fetchone()[0]
    with connections[REPLICA].cursor() as cursor:
        cursor.execute(STATE_SQL, [position])
        is_replica, system, lag_bytes = cursor.fetchone()
    if not is_replica:
        raise UnusableReplica("it is a primary, not a replica")
    if system != primary_system:
        raise UnusableReplica("it is a replica of another server")
    return max(0, int(lag_bytes))
