"""Prospect: a person with a referral link who may be promoted to an affiliate."""

from __future__ import annotations

from typing import ClassVar, Self

from django.db import models

from accounts.models.accounts import join_within_account
from tracking.models.affiliates import Affiliate, AffiliateGroup, Person, PersonQuerySet
from tracking.models.programs import Program


class SignupSource(models.TextChoices):
    """How a prospect was created."""

    API = "api", "API"
    FORM = "form"
    IMPORT = "import"


class PromotionMethod(models.TextChoices):
    """What promoted a prospect to an affiliate."""

    CUSTOMER = "customer"
    CONVERSION = "conversion"
    MANUAL = "manual"


class ProspectQuerySet(PersonQuerySet["Prospect"]):
    """Prospects of one account."""

    def with_link_parts(self) -> Self:
        """Join the rows that a referral link is built from."""
        return self.annotate(
            code=join_within_account("referral_codes"),
            asset=join_within_account("program__assets"),
            source=join_within_account("sources"),
        )


class Prospect(Person):
    """A person that the first attributed customer or conversion makes an affiliate.

    After its promotion the row stays; the affiliate shares its code and source.
    """

    public_id = models.CharField("ID", max_length=32)
    program = models.ForeignKey(Program, models.PROTECT, related_name="+", db_index=False)
    group = models.ForeignKey(
        AffiliateGroup, models.PROTECT, null=True, related_name="+", db_index=False
    )
    custom_fields = models.JSONField(default=dict)
    signup_source = models.CharField("sign-up source", max_length=16, choices=SignupSource)
    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, null=True, related_name="+", db_index=False
    )
    promotion_method = models.CharField(  # noqa: DJ001
        "became affiliate by", max_length=16, choices=PromotionMethod, null=True
    )

    objects: ClassVar = ProspectQuerySet.as_manager()

    class Meta:
        default_related_name = "prospects"
        constraints = [
            models.UniqueConstraint(fields=["account", "public_id"], name="one_prospect_per_id")
        ]
        indexes = [
            models.Index(fields=["account", "-created_at", "-id"], name="prospects_newest_first"),
            models.Index(fields=["account", "email_folded"], name="prospects_by_email"),
        ]

    def __str__(self) -> str:
        return self.public_id
