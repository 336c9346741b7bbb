"""Enrolment: an affiliate in a program; ReferralCode: the `ref=` of its links."""

from __future__ import annotations

from typing import Any, Self

from django.db import models
from django.utils import timezone

from accounts.models.accounts import Account, Owned, OwnedQuerySet, of_the_account
from tracking.models.affiliates import AFFILIATE, Affiliate
from tracking.models.programs import RULES, Program
from tracking.models.prospects import Prospect

MEMBERSHIP = (
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
        shown: models.QuerySet[Enrolment, Any] = self._linked().values(
            *(f"affiliate__{column}" for column in AFFILIATE),
            "program__slug",
            "program__title",
            "program__currency",
            *MEMBERSHIP,
        )
        return shown

    def as_shown_by_program(self) -> models.QuerySet[Enrolment, Any]:
        """The columns of a program that somebody is in, and how it stands there."""
        shown: models.QuerySet[Enrolment, Any] = self._linked().values(
            *(f"program__{column}" for column in RULES if column != "landing_page"),
            *MEMBERSHIP,
        )
        return shown

    def as_linked(self) -> models.QuerySet[Enrolment, Any]:
        """The columns that its links are made of, and what to call them."""
        shown: models.QuerySet[Enrolment, Any] = self._linked().values(
            "pk",
            "affiliate__slug",
            *(f"program__{column}" for column in ("slug", "title")),
            *MEMBERSHIP,
        )
        return shown

    def _linked(self) -> Self:
        """Joined with what a referral link is made of."""
        return self.annotate(
            code=of_the_account("referral_codes"),
            coupon=of_the_account("coupons"),
            asset=of_the_account("program__assets"),
            source=of_the_account("affiliate__sources"),
        )


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
    """A code that names one affiliate in one program, or a prospect until then."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="referral_codes", db_index=False
    )
    code = models.CharField(max_length=64)
    enrolment = models.ForeignKey(
        Enrolment,
        models.PROTECT,
        null=True,
        related_name="referral_codes",
        db_index=False,
    )
    prospect = models.ForeignKey(
        Prospect,
        models.PROTECT,
        null=True,
        related_name="referral_codes",
        db_index=False,
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
            models.UniqueConstraint(
                fields=["account", "prospect"], name="one_referral_code_per_prospect"
            ),
            models.CheckConstraint(
                condition=models.Q(enrolment__isnull=False)
                | models.Q(prospect__isnull=False),
                name="a_referral_code_names_somebody",
            ),
        ]

    def __str__(self) -> str:
        return self.code
