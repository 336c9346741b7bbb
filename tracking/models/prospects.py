"""Prospect: somebody with a link, who becomes an affiliate with the first sale."""

from __future__ import annotations

from typing import Any, Self

from django.db import models
from django.utils import timezone

from accounts.models.accounts import Account, Owned, OwnedQuerySet, of_the_account
from tracking.models.affiliates import ADDRESS, Affiliate, AffiliateGroup
from tracking.models.programs import Program


class SignupSource(models.TextChoices):
    """By which door a prospect came in."""

    API = "api"
    FORM = "form"
    IMPORT = "import"


class PromotionMethod(models.TextChoices):
    """What made an affiliate of a prospect."""

    CUSTOMER = "customer"
    CONVERSION = "conversion"
    MANUAL = "manual"


class ProspectQuerySet(OwnedQuerySet["Prospect"]):
    """Prospects of one account."""

    def present(self) -> Self:
        """Those that were not removed."""
        return self.filter(removed_at=None)

    def with_email(self, email: str) -> Self:
        """E-mail addresses compare in any case."""
        return self.filter(email_folded=email.casefold())

    def newest_first(self) -> Self:
        return self.order_by("-created_at", "-id")

    def as_shown(self) -> models.QuerySet[Prospect, Any]:
        """The columns that a prospect's shape reads."""
        shown: models.QuerySet[Prospect, Any] = self.annotate(
            code=of_the_account("referral_codes"),
            asset=of_the_account("program__assets"),
            source=of_the_account("sources"),
        ).values(
            "public_id",
            "firstname",
            "lastname",
            "email",
            "company_name",
            "company_description",
            *ADDRESS,
            "signup_source",
            "program__landing_page",
            "code__code",
            "asset__id",
            "asset__hex",
            "source__id",
            "source__hex",
            "created_at",
            "promoted_at",
            "promotion_method",
        )
        return shown


class Prospect(Owned):
    """Not an affiliate yet: the first customer or sale by its code makes one of it.

    Promoted, it stays, and its code and source belong to the affiliate as well.
    """

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="prospects", db_index=False
    )
    public_id = models.CharField(max_length=32)
    program = models.ForeignKey(
        Program, models.PROTECT, related_name="+", db_index=False
    )
    group = models.ForeignKey(
        AffiliateGroup, models.PROTECT, null=True, related_name="+", db_index=False
    )
    firstname = models.CharField(max_length=255)
    lastname = models.CharField(max_length=255)
    email = models.CharField(max_length=254, null=True)  # noqa: DJ001 - none was given
    email_folded = models.CharField(max_length=762, null=True)  # noqa: DJ001
    company_name = models.CharField(max_length=255, null=True)  # noqa: DJ001
    company_description = models.CharField(max_length=1000, null=True)  # noqa: DJ001
    address = models.CharField(max_length=255, null=True)  # noqa: DJ001
    address_two = models.CharField(max_length=255, null=True)  # noqa: DJ001
    postal_code = models.CharField(max_length=255, null=True)  # noqa: DJ001
    city = models.CharField(max_length=255, null=True)  # noqa: DJ001
    state = models.CharField(max_length=255, null=True)  # noqa: DJ001
    country = models.CharField(max_length=2, null=True)  # noqa: DJ001
    custom_fields = models.JSONField(default=dict)
    meta_data = models.JSONField(default=dict)
    signup_source = models.CharField(max_length=16, choices=SignupSource)
    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, null=True, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(default=timezone.now)
    promoted_at = models.DateTimeField(null=True)
    promotion_method = models.CharField(  # noqa: DJ001
        max_length=16, choices=PromotionMethod, null=True
    )
    removed_at = models.DateTimeField(null=True)

    objects = ProspectQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "public_id"], name="one_prospect_per_id"
            )
        ]
        indexes = [
            models.Index(
                fields=["account", "-created_at", "-id"], name="prospects_newest_first"
            ),
            models.Index(fields=["account", "email_folded"], name="prospects_by_email"),
        ]

    def __str__(self) -> str:
        return self.public_id
