"""Affiliate: who sends visitors, and earns by it."""

from __future__ import annotations

from typing import Any, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models.accounts import Account, Owned, OwnedQuerySet

ADDRESS = ("address", "address_two", "postal_code", "city", "state", "country")
PERSON = (
    "slug",
    "firstname",
    "lastname",
    "email",
    "company_name",
    "company_description",
    *ADDRESS,
    "meta_data",
    "created_at",
)


class AffiliateQuerySet(OwnedQuerySet["Affiliate"]):
    """Affiliates of one account."""

    def present(self) -> Self:
        """Those that were not removed."""
        return self.filter(removed_at=None)

    def with_email(self, email: str) -> Self:
        """E-mail addresses compare in any case."""
        return self.filter(email_folded=email.casefold())

    def newest_first(self) -> Self:
        return self.order_by("-created_at", "-id")

    def as_shown(self) -> models.QuerySet[Affiliate, Any]:
        """The columns that an affiliate's shape reads."""
        shown: models.QuerySet[Affiliate, Any] = self.values(*PERSON)
        return shown


class Affiliate(Owned):
    """An affiliate of an account. `slug` is never used again, `email` is free again
    once the affiliate is removed."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="affiliates", db_index=False
    )
    slug = models.CharField(max_length=64)
    firstname = models.CharField(max_length=255)
    lastname = models.CharField(max_length=255)
    email = models.CharField(max_length=254, null=True)  # noqa: DJ001 - none was given
    # Folded here, since the databases fold differently beyond ASCII.
    email_folded = models.CharField(max_length=762, null=True)  # noqa: DJ001
    password = models.CharField(max_length=255)
    company_name = models.CharField(max_length=255, null=True)  # noqa: DJ001
    company_description = models.CharField(max_length=1000, null=True)  # noqa: DJ001
    address = models.CharField(max_length=255, null=True)  # noqa: DJ001
    address_two = models.CharField(max_length=255, null=True)  # noqa: DJ001
    postal_code = models.CharField(max_length=255, null=True)  # noqa: DJ001
    city = models.CharField(max_length=255, null=True)  # noqa: DJ001
    state = models.CharField(max_length=255, null=True)  # noqa: DJ001
    country = models.CharField(max_length=2, null=True)  # noqa: DJ001
    meta_data = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now)
    removed_at = models.DateTimeField(null=True)

    objects = AffiliateQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "slug"], name="one_affiliate_per_slug"
            ),
            models.UniqueConstraint(
                fields=["account", "email_folded"],
                condition=Q(removed_at=None),
                name="one_affiliate_per_email",
            ),
        ]
        indexes = [
            models.Index(
                fields=["account", "-created_at", "-id"], name="affiliates_newest_first"
            )
        ]

    def __str__(self) -> str:
        return self.slug
