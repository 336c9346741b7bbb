"""Rate limits: count requests in fixed windows, stored in the database.

A window starts with its first request. See docs/api-contract.md, section 1.8.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any

from django.db import connection

from accounts.models.api_keys import RateWindow

TABLE = RateWindow._meta.db_table

COUNT_SQL = f"""
    INSERT INTO {TABLE} AS w (subject, started_at, hits) VALUES (%s, %s, 1)
    ON CONFLICT (subject) DO UPDATE SET
        hits = CASE WHEN w.started_at <= %s THEN 1 ELSE w.hits + 1 END,
        started_at = CASE
            WHEN w.started_at <= %s THEN excluded.started_at ELSE w.started_at
        END
    RETURNING started_at, hits
"""  # noqa: S608 - the name is our own
OPEN_WINDOW_SQL = f"""
    INSERT INTO {TABLE} AS w (subject, started_at, hits) VALUES (%s, %s, %s)
    ON CONFLICT (subject)
        DO UPDATE SET hits = excluded.hits, started_at = excluded.started_at
        WHERE w.started_at <= %s
    RETURNING hits
"""  # noqa: S608
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


def count_request(subject: str, limit: RateLimit, *, at: datetime) -> RateLimitUsage:
    """Count one request of the subject in one SQL statement.

    Call it outside any transaction, so that failed requests count as well.
    """
    expired_at = at - limit.window
    started_at, hits = _fetch_row(COUNT_SQL, subject, at, expired_at, expired_at)
    ends_at = _ensure_utc(started_at) + limit.window
    return RateLimitUsage(limit=limit.max_requests, hits=hits, ends_at=ends_at)


def open_window(subject: str, *, hits: int, window: timedelta, at: datetime) -> bool:
    """Start a window with this many hits; return False if one is already running."""
    return bool(_fetch_row(OPEN_WINDOW_SQL, subject, at, hits, at - window))


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
