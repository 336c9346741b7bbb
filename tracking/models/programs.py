"""Program: the rules by which affiliates earn commissions."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from accounts.models.accounts import TenantModel

# Of links of other programs, which may name a referral code besides `ref`.
FOREIGN_LINK_PARAMETERS = ("via", "fpr", "rfsn", "aff", "a_aid")
CODE_PARAMETERS = ("ref", *FOREIGN_LINK_PARAMETERS)


class Visibility(models.TextChoices):
    """Who finds a program in the portal; its affiliates always do."""

    PUBLIC = "public", "Public: listed in the portal"
    UNLISTED = "unlisted", "Unlisted: by its link"
    PRIVATE = "private", "Private: by invitation"


class Program(TenantModel):
    """A program of an account; `program_group` is what tracking calls may name."""

    slug = models.CharField("ID", max_length=64)
    title = models.CharField(max_length=255)
    currency = models.CharField(max_length=3)
    cookie_time = models.PositiveSmallIntegerField("cookie lifetime in days", default=45)  # days
    landing_page = models.CharField(max_length=2048, blank=True)
    # Hosts of the shop besides that of the landing page; some have a port.
    shop_hosts = models.JSONField(null=True)
    # Of FOREIGN_LINK_PARAMETERS, those that count; null: none.
    link_parameters = models.JSONField(null=True)
    program_group = models.CharField(max_length=255, blank=True, db_column="group_label")
    visibility = models.CharField(
        max_length=8,
        choices=Visibility,
        default=Visibility.PUBLIC,
        db_default=Visibility.PUBLIC.value,
    )
    auto_approve_affiliates = models.BooleanField("approve affiliates automatically", default=False)
    auto_approve_commissions = models.BooleanField(
        "approve commissions automatically", default=False
    )
    # Off by default: anyone who opens a page can report a conversion from it.
    auto_approve_browser_sales = models.BooleanField(
        "approve sales reported by pages like others", default=False, db_default=False
    )
    # Off by default, too: customers that only a page has named are unconfirmed.
    trust_browser_customers = models.BooleanField(
        "trust customers named by pages", default=False, db_default=False
    )
    # Days from a sale until its commissions are due.
    hold_days = models.PositiveSmallIntegerField("days on hold", default=0, db_default=0)
    recurring = models.BooleanField(default=True)
    recurring_cap = models.PositiveIntegerField("rewarded conversions per customer", null=True)
    recurring_period_days = models.PositiveIntegerField("rewarded days per customer", null=True)
    archived_at = models.DateTimeField("archived", null=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        default_related_name = "programs"
        constraints = [
            models.UniqueConstraint(fields=["account", "slug"], name="one_program_per_slug")
        ]
        indexes = [
            models.Index(fields=["account", "-created_at", "-id"], name="programs_newest_first")
        ]

    def __str__(self) -> str:
        return self.slug
