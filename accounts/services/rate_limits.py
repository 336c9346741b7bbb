"""Rate limits: count requests in fixed windows, stored in the database.

A window starts with its first request. See docs/api-contract.md, section 1.8.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any

from django.db import connection

from accounts.db_compat import get_database_time
from accounts.models.api_keys import RateWindow

TABLE = RateWindow._meta.db_table

COUNT_SQL = f"""
    INSERT INTO {TABLE} AS w (subject, started_at, hits) VALUES (%s, {{time}}, 1)
    ON CONFLICT (subject) DO UPDATE SET
        hits = CASE WHEN w.started_at <= {{expired}} THEN 1 ELSE w.hits + 1 END,
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


def count_request(
    subject: str, limit: RateLimit, *, at: datetime | None = None
) -> RateLimitUsage:
    """Count one request of the subject in one SQL statement.

    Call it outside any transaction, so that failed requests count as well. `at` is by
    default the time of the database server, which all application servers share.
    """
    at = at or get_time()
    if at is None:
        sql = COUNT_SQL.format(**SERVER_CLOCK)
        row = _fetch_row(sql, subject, limit.window, limit.window)
    else:
        expired_at = at - limit.window
        sql = COUNT_SQL.format(**GIVEN_TIME)
        row = _fetch_row(sql, subject, at, expired_at, expired_at)
    started_at, hits = row
    ends_at = _ensure_utc(started_at) + limit.window
    return RateLimitUsage(limit=limit.max_requests, hits=hits, ends_at=ends_at)


def open_window(
    subject: str, *, hits: int, window: timedelta, at: datetime | None = None
) -> bool:
    """Start a window with this many hits; return False if one is already running."""
    at = at or get_time()
    if at is None:
        sql = OPEN_WINDOW_SQL.format(**SERVER_CLOCK)
        return bool(_fetch_row(sql, subject, hits, window))
    sql = OPEN_WINDOW_SQL.format(**GIVEN_TIME)
    return bool(_fetch_row(sql, subject, at, hits, at - window))


def add_hits(subject: str, *, hits: int) -> int | None:
    """Add hits to the window of the subject; return the sum, or None without window."""
    row = _fetch_row(ADD_HITS_SQL, hits, subject)
    return row[0] if row else None


def _fetch_row(sql: str, *values: Any) -> tuple:  # type: ignore[type-arg]
    adapt = connection.ops.adapt_datetimefield_value
    with connection.cursor() as cursor:
        cursor.execute(
            sql,
            [
                adapt(value) if isinstance(value, datetime) else value
                for value in values
            ],
        )
        return cursor.fetchone() or ()


def _ensure_utc(value: datetime) -> datetime:
    """Add the time zone UTC to a time from SQLite, which has none."""
    return value if value.tzinfo else value.replace(tzinfo=UTC)
