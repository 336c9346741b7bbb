"""DailyStats: the numbers of a day; MonthlyStats: their sums; DailyLandingPageClicks:
clicks by landing page."""

from typing import Any

from django.db import models
from django.db.models.functions import Coalesce

from accounts.models.accounts import Account, TenantModel
from tracking.amounts import AmountField
from tracking.models.affiliates import Affiliate
from tracking.models.programs import Program


class StoredStats(TenantModel):
    """Numbers by program, affiliate and currency.

    Clicks and customers have no currency (`""`), payments no program, clicks of a
    prospect no affiliate. An amount is null if there was nothing to add up.
    `sold` is what conversions were first, with removed ones, `kept` what is left of that.
    """

    not_exported = "counts of other rows; made again when somebody looks"

    day = models.DateField()
    program = models.ForeignKey(
        Program, models.PROTECT, null=True, related_name="+", db_index=False
    )
    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, null=True, related_name="+", db_index=False
    )
    currency = models.CharField(max_length=3, blank=True)
    clicks = models.PositiveIntegerField(default=0)
    customers = models.PositiveIntegerField(default=0)
    conversions = models.PositiveIntegerField(default=0)
    revenue = AmountField(null=True)  # type: ignore[misc]
    sold: Any = AmountField(null=True)  # type: ignore[misc]
    kept = AmountField(null=True)  # type: ignore[misc]
    commissions_pending = AmountField(null=True)  # type: ignore[misc]
    commissions_approved = AmountField(null=True)  # type: ignore[misc]
    commissions_disapproved = AmountField(null=True)  # type: ignore[misc]
    paid = AmountField(null=True)  # type: ignore[misc]

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.day} {self.program_id} {self.affiliate_id} {self.currency}"


class DailyStats(StoredStats):
    """The numbers of one day.

    Every stored day has a row without program, affiliate and currency. All rows of a
    day are of one `time_zone`: those of a former zone of the account count no more. In
    the row of the day `sold` is 0, and null if a release before stored it.
    """

    account = models.ForeignKey(Account, models.PROTECT, related_name="daily_stats", db_index=False)
    time_zone = models.CharField(max_length=64, db_default="UTC")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "account",
                "day",
                Coalesce("program", 0),
                Coalesce("affiliate", 0),
                "currency",
                name="one_row_of_daily_stats",
            )
        ]
        indexes = [
            models.Index(fields=["account", "affiliate", "day"], name="daily_stats_of_affiliate"),
            models.Index(
                fields=["account", "day"],
                condition=models.Q(program=None, affiliate=None),
                name="stored_days",
            ),
        ]


class MonthlyStats(StoredStats):
    """The sums of all stored days of a month, whose first one is `day`.

    The row without program, affiliate and currency has the `days_key`: the sum of the
    primary keys of such rows of the days that were added up. The sums count while it is
    that of the stored days: `payouts.services.stored_months`.
    """

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="monthly_stats", db_index=False
    )
    days_key = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "account",
                "day",
                Coalesce("program", 0),
                Coalesce("affiliate", 0),
                "currency",
                name="one_row_of_monthly_stats",
            )
        ]
        indexes = [
            models.Index(fields=["account", "affiliate", "day"], name="months_of_affiliate"),
        ]


class DailyLandingPageClicks(TenantModel):
    """The clicks of one day on a landing page.

    A day has one row for each of its `payouts.statistics.MAX_PAGES` most clicked
    pages, and one for the sum of all others.
    """

    not_exported = "counts of other rows; made again when somebody looks"

    account = models.ForeignKey(
        Account,
        models.PROTECT,
        related_name="daily_landing_page_clicks",
        db_index=False,
    )
    day = models.DateField()
    landing_page = models.TextField()  # without query; too long for a unique index
    clicks = models.PositiveIntegerField()

    class Meta:
        indexes = [models.Index(fields=["account", "day"], name="landing_page_clicks_by_day")]

    def __str__(self) -> str:
        return f"{self.day} {self.landing_page}"
