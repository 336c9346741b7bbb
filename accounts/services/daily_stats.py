"""Mark days as stale when a row of the day changes after its statistics were stored.

`payouts.services.stored_days` calculates the statistics again and deletes the marks.
"""

from collections.abc import Iterable
from datetime import date, datetime

from accounts.models.accounts import Account
from accounts.models.daily_stats import DailyCountedRow, StaleDay


def mark_stale(account: Account, rows: Iterable[DailyCountedRow], at: datetime) -> None:
    """Mark the days on which these rows were created as stale."""
    mark_days_stale(account, {row.created_at.date() for row in rows}, at)


def mark_days_stale(account: Account, days: Iterable[date], at: datetime) -> None:
    """Mark these days as stale, except today, whose statistics are not stored yet."""
    past_days = sorted(set(days) - {at.date()})
    if past_days:
        account.stale_days.bulk_create(
            [StaleDay(account=account, day=day) for day in past_days]
        )
