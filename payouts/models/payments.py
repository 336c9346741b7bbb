"""Payment: money that an affiliate was paid; PayoutMethod: by which way it wants it."""

from __future__ import annotations

from typing import Any, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models.accounts import Account, Owned, OwnedQuerySet
from tracking.amounts import AmountField
from tracking.models.affiliates import Affiliate


class PaymentQuerySet(OwnedQuerySet["Payment"]):
    """Payments of one account."""

    def standing(self) -> Self:
        """Those that were not canceled."""
        return self.filter(canceled_at=None)

    def newest_first(self) -> Self:
        return self.order_by("-created_at", "-id")

    def as_shown(self) -> models.QuerySet[Payment, Any]:
        """The columns that a payment's shape reads."""
        return self.values(
            "public_id",
            "created_at",
            "affiliate__slug",
            "affiliate__firstname",
            "affiliate__lastname",
            "amount",
            "currency",
        )


class Payment(Owned):
    """A payment to an affiliate. Canceled, it stays, and its amount is owed again."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="payments", db_index=False
    )
    public_id = models.CharField(max_length=32)
    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, related_name="payments", db_index=False
    )
    amount = AmountField()
    currency = models.CharField(max_length=3)
    created_at = models.DateTimeField(default=timezone.now)
    canceled_at = models.DateTimeField(null=True)

    objects = PaymentQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "public_id"], name="one_payment_per_id"
            ),
            models.CheckConstraint(
                condition=Q(amount__gt=0), name="a_payment_pays_something"
            ),
        ]
        indexes = [
            models.Index(
                fields=["account", "-created_at", "-id"], name="payments_newest_first"
            ),
            models.Index(
                fields=["account", "affiliate", "-created_at", "-id"],
                name="payments_of_affiliate",
            ),
        ]

    def __str__(self) -> str:
        return self.public_id


class Way(models.TextChoices):
    """The ways to be paid that an affiliate can name."""

    PAYPAL = "paypal", "PayPal"
    WIRE_TRANSFER = "wire_transfer", "Wire transfer"
    BANK = "bank", "Bank account"
    OTHER = "other", "Other"


class PayoutMethodQuerySet(OwnedQuerySet["PayoutMethod"]):
    """Payout methods of one account."""

    def as_defined(self) -> Self:
        return self.order_by("id")

    def as_shown(self) -> models.QuerySet[PayoutMethod, Any]:
        """The columns that a payout method's shape reads."""
        return self.values("kind", "details", "is_primary")


class PayoutMethod(Owned):
    """How an affiliate wants to be paid; one of its methods is the primary one."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="payout_methods", db_index=False
    )
    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, related_name="payout_methods", db_index=False
    )
    kind = models.CharField(max_length=16, choices=Way)
    details = models.JSONField(default=dict)
    is_primary = models.BooleanField(default=False)

    objects = PayoutMethodQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "affiliate", "kind"],
                name="one_payout_method_per_kind",
            ),
            models.UniqueConstraint(
                fields=["account", "affiliate"],
                condition=Q(is_primary=True),
                name="one_primary_payout_method",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.affiliate_id}/{self.kind}"
