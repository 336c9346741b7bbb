"""Rate limits: count requests in fixed windows, stored in the database or in Redis.

A window starts with its first request. See docs/api-contract.md, section 1.8. Where
REDIS_URL is set and Redis fails, the database counts: docs/reliability.md, section 7.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any, TypeVar

from django.conf import settings
from django.db import connection
from django.utils.module_loading import import_string

from accounts.circuit_breaker import CircuitBreaker
from accounts.db_compat import get_database_time
from accounts.models.api_keys import RateWindow

LEFT_OUT_SECONDS = 5  # after a failure, in which a process does not ask Redis
Result = TypeVar("Result")
redis = CircuitBreaker("redis_left_out")

TABLE = RateWindow._meta.db_table

COUNT_SQL = f"""
    INSERT INTO {TABLE} AS w (subject, started_at, hits) VALUES {{rows}}
    ON CONFLICT (subject) DO UPDATE SET
        hits = excluded.hits + CASE WHEN w.started_at <= {{expired}} THEN 0
            ELSE w.hits END,
        started_at = CASE
            WHEN w.started_at <= {{expired}} THEN excluded.started_at ELSE w.started_at
        END
    RETURNING started_at, hits
"""  # noqa: S608 - the name is our own
OPEN_WINDOW_SQL = f"""
    INSERT INTO {TABLE} AS w (subject, started_at, hits) VALUES (%s, {{time}}, %s)
    ON CONFLICT (subject)
        DO UPDATE SET hits = excluded.hits, started_at = excluded.started_at
        WHERE w.started_at <= {{expired}}
    RETURNING hits
"""  # noqa: S608
# The clock of the database server: that of one application server may be wrong.
SERVER_CLOCK = {
    "time": "clock_timestamp()",
    "expired": "excluded.started_at - %s::interval",
}
GIVEN_TIME = {"time": "%s", "expired": "%s"}
ADD_HITS_SQL = f"UPDATE {TABLE} SET hits = hits + %s WHERE subject = %s RETURNING hits"  # noqa: S608


class RateLimit:
    """A maximum number of requests per window: `RateLimit(900, minutes=1)`."""

    def __init__(self, max_requests: int, *, minutes: int) -> None:
        self.max_requests = max_requests
        self.window = timedelta(minutes=minutes)


@dataclass(frozen=True)
class RateLimitUsage:
    """The usage of a rate limit in the current window."""

    limit: int
    hits: int
    ends_at: datetime

    @property
    def is_exceeded(self) -> bool:
        return self.hits > self.limit

    @property
    def remaining(self) -> int:
        return max(0, self.limit - self.hits)

    @property
    def reset_timestamp(self) -> int:
        """Return the end of the window in Unix seconds, rounded up."""
        return ceil(self.ends_at.timestamp())


def get_time() -> datetime | None:
    """Return the time to count by; None: PostgreSQL reads its own clock."""
    return None if connection.vendor == "postgresql" else get_database_time()


def count_request(subject: str, limit: RateLimit, *, at: datetime | None = None) -> RateLimitUsage:
    """Count one request of the subject, in one SQL statement or by Redis.

    Call it outside any transaction, so that failed requests count as well. `at` is by
    default the time of the server that counts, which all application servers share.
    """
    ((started_at, hits),) = count_hits({subject: 1}, window=limit.window, at=at)
    ends_at = _ensure_utc(started_at) + limit.window
    return RateLimitUsage(limit=limit.max_requests, hits=hits, ends_at=ends_at)


def count_hits(
    hits: Mapping[str, int], *, window: timedelta, at: datetime | None = None
) -> list[tuple[datetime, int]]:
    """Add hits to the windows of subjects, in one SQL statement or by Redis; return the
    start and the hits of each window."""
    counted: list[tuple[datetime, int]] = _use_counters(
        lambda counters: [
            counters.count(subject, window, first=number, further=number)[:2]
            for subject, number in hits.items()
        ],
        lambda: _count_in_database(hits, window, at),
        at=at,
    )
    return counted


def _count_in_database(hits: Mapping[str, int], window: timedelta, at: datetime | None) -> Any:
    at = at or get_time()
    parts = SERVER_CLOCK if at is None else GIVEN_TIME
    times = [] if at is None else [at]
    values = [each for key, number in hits.items() for each in (key, *times, number)]
    expired = window if at is None else at - window
    rows = ", ".join([f"(%s, {parts['time']}, %s)"] * len(hits))
    sql = COUNT_SQL.format(**parts, rows=rows)
    return _fetch_rows(sql, *values, expired, expired)


def open_window(subject: str, *, hits: int, window: timedelta, at: datetime | None = None) -> bool:
    """Start a window with this many hits; return False if one is already running."""
    return _use_counters(
        lambda counters: bool(counters.count(subject, window, first=hits, further=0)[2]),
        lambda: _open_window_in_database(subject, hits, window, at),
        at=at,
    )


def _open_window_in_database(
    subject: str, hits: int, window: timedelta, at: datetime | None
) -> bool:
    at = at or get_time()
    if at is None:
        sql = OPEN_WINDOW_SQL.format(**SERVER_CLOCK)
        return bool(_fetch_row(sql, subject, hits, window))
    sql = OPEN_WINDOW_SQL.format(**GIVEN_TIME)
    return bool(_fetch_row(sql, subject, at, hits, at - window))


def add_hits(subject: str, *, hits: int) -> int | None:
    """Add hits to the window of the subject; return the sum, or None without window."""
    found: int | None = _use_counters(
        lambda counters: counters.add_hits(subject, hits=hits),
        lambda: next(iter(_fetch_row(ADD_HITS_SQL, hits, subject)), None),
    )
    return found


def _use_counters(
    by_redis: Callable[[Any], Result],
    by_database: Callable[[], Result],
    *,
    at: datetime | None = None,
) -> Result:
    """Count by Redis; count by the database if Redis is not used or fails.

    Redis has its own clock, so that it is not used with a time `at`.
    """
    if not settings.REDIS_URL or at is not None:
        return by_database()
    from accounts import redis_counters  # noqa: PLC0415 - an optional package

    if not redis.is_open:
        try:
            return by_redis(redis_counters)
        except redis_counters.RedisError as error:
            redis.open(type(error).__name__, seconds=LEFT_OUT_SECONDS)
    if settings.RATE_LIMIT_FALLBACK_COUNTER:
        import_string(settings.RATE_LIMIT_FALLBACK_COUNTER)()
    return by_database()


def _fetch_row(sql: str, *values: Any) -> tuple:  # type: ignore[type-arg]
    return next(iter(_fetch_rows(sql, *values)), ())


def _fetch_rows(sql: str, *values: Any) -> list[tuple]:  # type: ignore[type-arg]
    adapt = connection.ops.adapt_datetimefield_value
    with connection.cursor() as cursor:
        cursor.execute(
            sql,
            [adapt(value) if isinstance(value, datetime) else value for value in values],
        )
        return list(cursor.fetchall())


def _ensure_utc(value: datetime) -> datetime:
    """Add the time zone UTC to a time from SQLite, which has none."""
    return value if value.tzinfo else value.replace(tzinfo=UTC)
