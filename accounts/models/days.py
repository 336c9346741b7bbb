"""Days: what was counted of a day that is over, and which of them changed since."""

from django.db import models

from accounts.models.accounts import Account, Owned, OwnedQuerySet


class CountedDay(Owned):
    """The figures of one UTC day, counted from its rows when first asked for."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="counted_days", db_index=False
    )
    day = models.DateField()
    figures = models.TextField()  # JSON, which is read whole

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "day"], name="one_count_per_day")
        ]

    def __str__(self) -> str:
        return f"{self.day}"


class ChangedDay(Owned):
    """A day of which a row changed later: what was counted of it holds no more.

    Such lines are only added, so that nobody who changes a row waits for another
    one; whoever counts the day takes them away.
    """

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="changed_days", db_index=False
    )
    day = models.DateField()

    objects = OwnedQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["account", "day"], name="changes_of_days")]

    def __str__(self) -> str:
        return f"{self.day}"
