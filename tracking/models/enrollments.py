"""Enrollment: an affiliate in a program. ReferralCode: the `ref` of its links, of which
ReferralCodeAlias has earlier ones."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone

from accounts.email_addresses import fold_email
from accounts.models.accounts import TenantModel, TenantQuerySet, join_within_account
from tracking.models.affiliates import Affiliate
from tracking.models.programs import Program
from tracking.models.prospects import Prospect

LINK_COLUMNS = (
    "pk",
    "approved",
    "affiliate__slug",
    "program__slug",
    "program__title",
    "program__landing_page",
    "program__shop_hosts",
    "code__code",
    "asset__id",
    "asset__hex",
    "source__id",
    "source__hex",
)


class EnrollmentQuerySet(TenantQuerySet["Enrollment"]):
    """Enrollments of one account."""

    def not_deleted(self) -> Self:
        """Enrollments whose affiliate is not deleted."""
        return self.filter(affiliate__deleted_at=None)

    def with_email(self, email: str) -> Self:
        """Enrollments of the affiliate with this e-mail address, case-insensitively."""
        return self.filter(affiliate__email_folded=fold_email(email))

    def newest_first(self) -> Self:
        return self.order_by("-applied_at", "-id")

    def for_links(self) -> models.QuerySet[Enrollment, Any]:
        """The columns that links and their titles are built from."""
        rows: models.QuerySet[Enrollment, Any] = self.with_link_parts().values(*LINK_COLUMNS)
        return rows

    def with_link_parts(self) -> Self:
        """Join the rows that a referral link is built from."""
        return self.annotate(
            code=join_within_account("referral_codes"),
            coupon=join_within_account("coupons"),
            asset=join_within_account("program__assets"),
            source=join_within_account("affiliate__sources"),
        )


class Enrollment(TenantModel):
    """An affiliate in a program; `approved` is null while it is pending."""

    program = models.ForeignKey(Program, models.PROTECT, related_name="enrollments", db_index=False)
    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, related_name="enrollments", db_index=False
    )
    approved = models.BooleanField("approval", null=True)
    # Created for a prospect by a page's claim: eligible like the prospect was, and
    # approved by the first fact.
    promoted_by_claim = models.BooleanField(default=False, db_default=False)
    code_chosen_at = models.DateTimeField(null=True)  # by the affiliate, once
    applied_at = models.DateTimeField("applied", default=timezone.now)

    objects: ClassVar = EnrollmentQuerySet.as_manager()

    class Meta:
        verbose_name = "program affiliate"
        verbose_name_plural = "program affiliates"
        default_related_name = "enrollments"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "program", "affiliate"],
                name="one_enrollment_per_program",
            )
        ]
        indexes = [
            models.Index(
                fields=["account", "program", "-applied_at", "-id"],
                name="enrollments_newest_first",
            ),
            models.Index(
                fields=["account", "-applied_at", "-id"],
                name="applications_newest_first",
            ),
            models.Index(fields=["account", "affiliate"], name="programs_of_affiliate"),
        ]

    def __str__(self) -> str:
        return f"{self.program_id}/{self.affiliate_id}"

    @property
    def log_id(self) -> str:
        return f"{self.program.slug}/{self.affiliate.log_id}"

    @property
    def awaits_fact(self) -> bool:
        """Whether the first fact approves it."""
        return self.approved is None and self.promoted_by_claim


class ReferralCode(TenantModel):
    """A code for an affiliate in one program, or for a prospect until its promotion."""

    code = models.CharField(max_length=64)
    enrollment = models.ForeignKey(
        Enrollment,
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

    class Meta:
        default_related_name = "referral_codes"
        constraints = [
            models.UniqueConstraint(fields=["account", "code"], name="one_referral_code_per_code"),
            models.UniqueConstraint(
                fields=["account", "enrollment"],
                name="one_referral_code_per_enrollment",
            ),
            models.UniqueConstraint(
                fields=["account", "prospect"], name="one_referral_code_per_prospect"
            ),
            models.CheckConstraint(
                condition=models.Q(enrollment__isnull=False) | models.Q(prospect__isnull=False),
                name="referral_code_has_affiliate_or_prospect",
            ),
        ]
        indexes = [
            models.Index("account", Lower("code"), "code", name="referral_codes_by_lowered_code")
        ]

    def __str__(self) -> str:
        return self.code


class ReferralCodeAlias(TenantModel):
    """A further code of an affiliate in a program, such as that of an earlier system.

    Links with it count like those with the referral code, and are not made any more. If
    a referral code is the same, that one counts.
    """

    code = models.CharField(max_length=64)
    enrollment = models.ForeignKey(
        Enrollment,
        models.PROTECT,
        related_name="referral_code_aliases",
        db_index=False,
    )

    class Meta:
        default_related_name = "referral_code_aliases"
        constraints = [
            models.UniqueConstraint(fields=["account", "code"], name="one_alias_per_code")
        ]
        indexes = [
            models.Index(fields=["account", "enrollment"], name="aliases_of_enrollment"),
            models.Index("account", Lower("code"), "code", name="aliases_by_lowered_code"),
        ]

    def __str__(self) -> str:
        return self.code
