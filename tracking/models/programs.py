"""Program: the rules under which affiliates earn."""

from __future__ import annotations

from typing import Any, Self

from django.db import models
from django.utils import timezone

from accounts.models.accounts import Account, Owned, OwnedQuerySet

RULES = (
    "slug",
    "title",
    "currency",
    "cookie_time",
    "landing_page",
    "recurring",
    "recurring_cap",
    "recurring_period_days",
)


class ProgramQuerySet(OwnedQuerySet["Program"]):
    """Programs of one account."""

    def newest_first(self) -> Self:
        return self.order_by("-created_at", "-id")

    def as_shown(self) -> models.QuerySet[Program, Any]:
        """The columns that a program's shape reads."""
        shown: models.QuerySet[Program, Any] = self.values(*RULES)
        return shown


class Program(Owned):
    """A program of an account; `group_label` is what `program_group` asks for."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="programs", db_index=False
    )
    slug = models.CharField(max_length=64)
    title = models.CharField(max_length=255)
    currency = models.CharField(max_length=3)
    cookie_time = models.PositiveSmallIntegerField(default=45)  # days
    landing_page = models.CharField(max_length=2048, blank=True)
    group_label = models.CharField(max_length=255, blank=True)
    auto_approve_affiliates = models.BooleanField(default=False)
    auto_approve_commissions = models.BooleanField(default=False)
    # Whoever reads a page can tell of a sale there: by itself that approves nothing.
    auto_approve_browser_sales = models.BooleanField(default=False, db_default=False)
    recurring = models.BooleanField(default=True)
    recurring_cap = models.PositiveIntegerField(null=True)
    recurring_period_days = models.PositiveIntegerField(null=True)
    archived_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = ProgramQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "slug"], name="one_program_per_slug"
            )
        ]
        indexes = [
            models.Index(
                fields=["account", "-created_at", "-id"], name="programs_newest_first"
            )
        ]

    def __str__(self) -> str:
        return self.slug
