"""Coupon, Asset, Source: the other ways to point at an affiliate."""

from django.db import models

from accounts.ids import new_hex
from accounts.models.accounts import Account, Owned, OwnedQuerySet
from tracking.models.affiliates import Affiliate
from tracking.models.enrolments import Enrolment
from tracking.models.programs import Program
from tracking.models.prospects import Prospect

HEX_DIGITS = 6


def six_hex_digits() -> str:
    """What follows the number in `4-b81d20`."""
    return new_hex(HEX_DIGITS)


class Coupon(Owned):
    """A code at the till that names one affiliate in one program; case-sensitive."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="coupons", db_index=False
    )
    code = models.CharField(max_length=64)
    enrolment = models.ForeignKey(
        Enrolment, models.PROTECT, related_name="coupons", db_index=False
    )

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "code"], name="one_coupon_per_code"
            ),
            models.UniqueConstraint(
                fields=["account", "enrolment"], name="one_coupon_per_enrolment"
            ),
        ]

    def __str__(self) -> str:
        return self.code


class Asset(Owned):
    """What a link shows, a banner say; one generic asset is born with each program."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="assets", db_index=False
    )
    program = models.ForeignKey(
        Program, models.PROTECT, related_name="assets", db_index=False
    )
    hex = models.CharField(max_length=HEX_DIGITS, default=six_hex_digits)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "program"], name="one_generic_asset_per_program"
            )
        ]

    def __str__(self) -> str:
        return f"{self.pk}-{self.hex}"


class Source(Owned):
    """Where a visitor comes from; one source is born with each affiliate, and with each
    prospect, who keeps it."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="sources", db_index=False
    )
    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, null=True, related_name="sources", db_index=False
    )
    prospect = models.ForeignKey(
        Prospect, models.PROTECT, null=True, related_name="sources", db_index=False
    )
    hex = models.CharField(max_length=HEX_DIGITS, default=six_hex_digits)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "affiliate"], name="one_source_per_affiliate"
            ),
            models.UniqueConstraint(
                fields=["account", "prospect"], name="one_source_per_prospect"
            ),
            models.CheckConstraint(
                condition=models.Q(affiliate__isnull=False)
                | models.Q(prospect__isnull=False),
                name="a_source_is_somebodys",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pk}-{self.hex}"
