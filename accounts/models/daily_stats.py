"""DailyCountedRow: rows that daily statistics count; StaleDay: a day to recalculate."""

from django.db import models

from accounts.models.accounts import Account, TenantModel, TenantQuerySet
from accounts.models.row_counts import CountedRow


class DailyCountedRow(CountedRow):
    """A row that is counted in the daily statistics of the day it was created."""

    class Meta:
        abstract = True


class StaleDay(TenantModel):
    """A day whose stored statistics are out of date because one of its rows changed.

    Each change inserts a row, even if the day has one already, so that writers never
    wait for each other or for the calculation of the day, which deletes the rows. A
    calculation inserts a row of its own before it counts, and stores its result only
    if the row still exists: `payouts.services.stored_days`.
    """

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="stale_days", db_index=False
    )
    day = models.DateField()

    objects = TenantQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["account", "day"], name="stale_days_by_day")]

    def __str__(self) -> str:
        return f"{self.day}"
