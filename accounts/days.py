"""Days of a time zone, and when one is over for good."""

from datetime import UTC, date, datetime, time, timedelta, tzinfo

A_DAY = timedelta(days=1)
# No request that began on a day still runs this long after its end: none takes half of
# this time.
CLOSING_DELAY = timedelta(hours=1)
WESTERNMOST, EASTERNMOST = timedelta(hours=-12), timedelta(hours=14)


def start_of_day(day: date, zone: tzinfo) -> datetime:
    """Return the first moment of a day of this zone, in UTC.

    A day may have 23 or 25 hours: it ends where the next one starts.
    """
    return datetime.combine(day, time(), zone).astimezone(UTC)


def is_closed(day: date, zone: tzinfo, *, at: datetime) -> bool:
    """Return whether the day is over, for every request that creates rows of it."""
    return at >= start_of_day(day + A_DAY, zone) + CLOSING_DELAY


def list_days_anywhere(at: datetime) -> list[date]:
    """Return the two or three days that a moment is on, in some time zone."""
    at = at.astimezone(UTC)
    first, last = (at + WESTERNMOST).date(), (at + EASTERNMOST).date()
    return [first + A_DAY * n for n in range((last - first).days + 1)]
