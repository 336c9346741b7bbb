"""How often: a fixed window that opens with the first hit, counted where all see it."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any

from django.db import connection

from accounts.models.keys import RateWindow

TABLE = RateWindow._meta.db_table

COUNT = f"""
    INSERT INTO {TABLE} AS w (subject, started, hits) VALUES (%s, %s, 1)
    ON CONFLICT (subject) DO UPDATE SET
        hits    = CASE WHEN w.started <= %s THEN 1 ELSE w.hits + 1 END,
        started = CASE WHEN w.started <= %s THEN excluded.started ELSE w.started END
    RETURNING started, hits
"""  # noqa: S608 - the name is our own
BEGIN = f"""
    INSERT INTO {TABLE} AS w (subject, started, hits) VALUES (%s, %s, %s)
    ON CONFLICT (subject) DO UPDATE SET hits = excluded.hits, started = excluded.started
        WHERE w.started <= %s
    RETURNING hits
"""  # noqa: S608
ADD = f"UPDATE {TABLE} SET hits = hits + %s WHERE subject = %s RETURNING hits"  # noqa: S608


class Rate:
    """So many requests in so much time: `Rate(900, minutes=1)`."""

    def __init__(self, limit: int, *, minutes: int) -> None:
        self.limit = limit
        self.window = timedelta(minutes=minutes)


@dataclass(frozen=True)
class Usage:
    """What a window holds after a hit."""

    limit: int
    hits: int
    ends: datetime

    @property
    def exceeded(self) -> bool:
        return self.hits > self.limit

    @property
    def remaining(self) -> int:
        return max(0, self.limit - self.hits)

    @property
    def reset(self) -> int:
        """The end of the window in Unix seconds, rounded up."""
        return ceil(self.ends.timestamp())


def hit(subject: str, rate: Rate, *, at: datetime) -> Usage:
    """Count one request of the subject, by one statement of its own.

    Call it outside any transaction: the count stands though the request fails.
    """
    over = at - rate.window
    started, hits = _ask(COUNT, subject, at, over, over)
    return Usage(limit=rate.limit, hits=hits, ends=_moment(started) + rate.window)


def begin(subject: str, *, hits: int, window: timedelta, at: datetime) -> bool:
    """Open a window with these hits, unless one is open."""
    return bool(_ask(BEGIN, subject, at, hits, at - window))


def add(subject: str, *, hits: int) -> int | None:
    """Count more hits; the sum, or None when no window is there."""
    row = _ask(ADD, hits, subject)
    return row[0] if row else None


def _ask(sentence: str, *values: Any) -> tuple:  # type: ignore[type-arg]
    adapt = connection.ops.adapt_datetimefield_value
    with connection.cursor() as cursor:
        cursor.execute(
            sentence,
            [
                adapt(value) if isinstance(value, datetime) else value
                for value in values
            ],
        )
        return cursor.fetchone() or ()


def _moment(value: datetime) -> datetime:
    """SQLite's times come back without their zone, which is UTC."""
    return value if value.tzinfo else value.replace(tzinfo=UTC)
