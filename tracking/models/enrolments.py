"""Enrolment: an affiliate in a program; ReferralCode: the `ref=` of its links."""

from __future__ import annotations

from typing import Any, Self

from django.db import models
from django.utils import timezone

from accounts.models.accounts import Account, Owned, OwnedQuerySet
from tracking.models.affiliates import PERSON, Affiliate
from tracking.models.programs import Program


def _of_the_account(relation: str) -> models.FilteredRelation:
    """Joined by the account as well: every index begins with it."""
    return models.FilteredRelation(
        relation, condition=models.Q(**{f"{relation}__account": models.F("account")})
    )


class EnrolmentQuerySet(OwnedQuerySet["Enrolment"]):
    """Enrolments of one account."""

    def present(self) -> Self:
        """Those whose affiliate was not removed."""
        return self.filter(affiliate__removed_at=None)

    def with_email(self, email: str) -> Self:
        """Those whose affiliate has this e-mail address, in any case."""
        return self.filter(affiliate__email_folded=email.casefold())

    def newest_first(self) -> Self:
        return self.order_by("-applied_at", "-id")

    def as_shown(self) -> models.QuerySet[Enrolment, Any]:
        """The columns that a program affiliate's shape reads."""
        shown: models.QuerySet[Enrolment, Any] = self.annotate(
            code=_of_the_account("referral_codes"),
            coupon=_of_the_account("coupons"),
            asset=_of_the_account("program__assets"),
            source=_of_the_account("affiliate__sources"),
        ).values(
            *(f"affiliate__{column}" for column in PERSON),
            "approved",
            "applied_at",
            "code__code",
            "coupon__code",
            "program__landing_page",
            "asset__id",
            "asset__hex",
            "source__id",
            "source__hex",
        )
        return shown


class Enrolment(Owned):
    """An affiliate in a program. `approved`: yes, no, or (null) not yet decided."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="enrolments", db_index=False
    )
    program = models.ForeignKey(
        Program, models.PROTECT, related_name="enrolments", db_index=False
    )
    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, related_name="enrolments", db_index=False
    )
    approved = models.BooleanField(null=True)
    applied_at = models.DateTimeField(default=timezone.now)

    objects = EnrolmentQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "program", "affiliate"],
                name="one_enrolment_per_program",
            )
        ]
        indexes = [
            models.Index(
                fields=["account", "program", "-applied_at", "-id"],
                name="enrolments_newest_first",
            ),
            models.Index(fields=["account", "affiliate"], name="programs_of_affiliate"),
        ]

    def __str__(self) -> str:
        return f"{self.program_id}/{self.affiliate_id}"


class ReferralCode(Owned):
    """A code that names one affiliate in one program."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="referral_codes", db_index=False
    )
    code = models.CharField(max_length=64)
    enrolment = models.ForeignKey(
        Enrolment, models.PROTECT, related_name="referral_codes", db_index=False
    )

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "code"], name="one_referral_code_per_code"
            ),
            models.UniqueConstraint(
                fields=["account", "enrolment"],
                name="one_referral_code_per_enrolment",
            ),
        ]

    def __str__(self) -> str:
        return self.code
