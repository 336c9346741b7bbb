"""LateChange: something that goals count has changed after its day."""

from collections.abc import Iterable
from datetime import UTC, datetime

from django.db import models

from accounts.models.accounts import Account, TenantModel


class LateChange(TenantModel):
    """A day whose sales count otherwise than before, although it was over.

    A sale, the status of its commission, or the approval of its affiliate has changed.
    Each change inserts a row, even if the day has one already, so that writers never
    wait for each other. `payouts.services.bonuses` looks at the periods of the day
    again and deletes the rows that it has read before.
    """

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="late_changes", db_index=False
    )
    day = models.DateField()

    class Meta:
        indexes = [models.Index(fields=["account", "day"], name="late_changes_by_day")]

    def __str__(self) -> str:
        return f"{self.day}"


def record_late_change(account: Account, sold: Iterable[datetime], *, at: datetime) -> None:
    """Record a change at `at` of sales of these times, unless they are of that day."""
    days = {moment.astimezone(UTC).date() for moment in sold}
    past_days = sorted(days - {at.astimezone(UTC).date()})
    if past_days:
        account.late_changes.bulk_create(
            [LateChange(account=account, day=day) for day in past_days]
        )
