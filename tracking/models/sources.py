"""Coupons, assets and sources, which identify an affiliate in a program."""

from django.db import models
from django.db.models.functions import Lower

from accounts.ids import generate_hex
from accounts.models.accounts import TenantModel
from tracking.models.affiliates import Affiliate
from tracking.models.enrollments import Enrollment
from tracking.models.programs import Program
from tracking.models.prospects import Prospect

HEX_LENGTH = 6


def generate_hex_suffix() -> str:
    """Generate the part of an id after the number: `b81d20` in `4-b81d20`."""
    return generate_hex(HEX_LENGTH)


class Coupon(TenantModel):
    """A checkout code of one affiliate in one program; case-sensitive.

    Pages alone may report it in another case.
    """

    code = models.CharField(max_length=64)
    enrollment = models.ForeignKey(
        Enrollment, models.PROTECT, related_name="coupons", db_index=False
    )

    class Meta:
        default_related_name = "coupons"
        constraints = [
            models.UniqueConstraint(fields=["account", "code"], name="one_coupon_per_code"),
            models.UniqueConstraint(
                fields=["account", "enrollment"], name="one_coupon_per_enrollment"
            ),
        ]
        indexes = [
            # With `code`: otherwise SQLite reads all coupons from the other index.
            models.Index("account", Lower("code"), "code", name="coupons_by_lowered_code")
        ]

    def __str__(self) -> str:
        return self.code


class Asset(TenantModel):
    """Link material such as a banner; each program has one generic asset."""

    program = models.ForeignKey(Program, models.PROTECT, related_name="assets", db_index=False)
    hex = models.CharField(max_length=HEX_LENGTH, default=generate_hex_suffix)

    class Meta:
        default_related_name = "assets"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "program"], name="one_generic_asset_per_program"
            )
        ]

    def __str__(self) -> str:
        return f"{self.pk}-{self.hex}"


class Source(TenantModel):
    """A traffic source; each affiliate or prospect has one.

    A promoted prospect shares its source with its affiliate.
    """

    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, null=True, related_name="sources", db_index=False
    )
    prospect = models.ForeignKey(
        Prospect, models.PROTECT, null=True, related_name="sources", db_index=False
    )
    hex = models.CharField(max_length=HEX_LENGTH, default=generate_hex_suffix)

    class Meta:
        default_related_name = "sources"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "affiliate"], name="one_source_per_affiliate"
            ),
            models.UniqueConstraint(fields=["account", "prospect"], name="one_source_per_prospect"),
            models.CheckConstraint(
                condition=models.Q(affiliate__isnull=False) | models.Q(prospect__isnull=False),
                name="source_has_affiliate_or_prospect",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pk}-{self.hex}"
