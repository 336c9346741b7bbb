"""Prospect: somebody with a link, who becomes an affiliate with the first sale."""

from __future__ import annotations

from typing import Any

from django.db import models

from accounts.models.accounts import Account, of_the_account
from tracking.models.affiliates import Affiliate, AffiliateGroup
from tracking.models.people import PERSON, Person, PersonQuerySet
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


class ProspectQuerySet(PersonQuerySet["Prospect"]):
    """Prospects of one account."""

    def as_shown(self) -> models.QuerySet[Prospect, Any]:
        """The columns that a prospect's shape reads."""
        shown: models.QuerySet[Prospect, Any] = self.annotate(
            code=of_the_account("referral_codes"),
            asset=of_the_account("program__assets"),
            source=of_the_account("sources"),
        ).values(
            "public_id",
            *PERSON,
            "signup_source",
            "program__landing_page",
            "code__code",
            "asset__id",
            "asset__hex",
            "source__id",
            "source__hex",
        )
        return shown


class Prospect(Person):
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
    custom_fields = models.JSONField(default=dict)
    signup_source = models.CharField(max_length=16, choices=SignupSource)
    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, null=True, related_name="+", db_index=False
    )
    promotion_method = models.CharField(  # noqa: DJ001
        max_length=16, choices=PromotionMethod, null=True
    )

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
