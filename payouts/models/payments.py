"""Payment: money paid to an affiliate; PayoutMethod: how an affiliate is paid."""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.encryption import EncryptedJSONField
from accounts.models.accounts import TenantModel, TenantQuerySet
from accounts.models.row_counts import DailyCountedRow
from tracking.amounts import AmountField
from tracking.models.affiliates import Affiliate


class PayoutMethodKind(models.TextChoices):
    """The kinds of payout methods."""

    PAYPAL = "paypal", "PayPal"
    WIRE_TRANSFER = "wire_transfer", "Wire transfer"
    BANK = "bank", "Bank account"
    WISE = "wise", "Wise"
    OTHER = "other", "Other"


class PaymentQuerySet(TenantQuerySet["Payment"]):
    """Payments of one account."""

    def not_canceled(self) -> Self:
        """Exclude canceled payments."""
        return self.filter(canceled_at=None)


class Payment(DailyCountedRow):
    """A payment to an affiliate. A canceled one stays; its amount is payable again."""

    counted_by = ("affiliate",)
    removed_by = "canceled_at"

    public_id = models.CharField("ID", max_length=32)
    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, related_name="payments", db_index=False
    )
    amount = AmountField()
    # What of the amount is withheld for the tax office; null: nothing.
    tax_withheld = AmountField(null=True)  # type: ignore[misc]
    currency = models.CharField(max_length=3)
    created_at = models.DateTimeField(default=timezone.now)
    canceled_at = models.DateTimeField("canceled", null=True)
    # Why staff canceled it; the API has no such field.
    cancel_reason = models.CharField(max_length=500, default="", db_default="")
    # The primary payout method at that time, "" without one. Null: an earlier version,
    # which did not record it.
    payout_kind = models.CharField(  # noqa: DJ001 - null: not recorded
        max_length=16, null=True, choices=[("", "none"), *PayoutMethodKind.choices]
    )
    payout_details = EncryptedJSONField(default=dict)

    objects: ClassVar = PaymentQuerySet.as_manager()

    class Meta:
        default_related_name = "payments"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "public_id"], name="unique_payment_public_id"
            ),
            models.CheckConstraint(condition=Q(amount__gt=0), name="payment_amount_positive"),
        ]
        indexes = [
            models.Index(fields=["account", "-created_at", "-id"], name="payments_newest_first"),
            models.Index(
                fields=["account", "affiliate", "-created_at", "-id"],
                name="payments_by_affiliate",
            ),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def net_amount(self) -> Decimal:
        """What is transferred: the amount without the tax that is withheld."""
        return self.amount - (self.tax_withheld or 0)


class PayoutMethodQuerySet(TenantQuerySet["PayoutMethod"]):
    """Payout methods of one account."""

    def in_definition_order(self) -> Self:
        return self.order_by("id")


class PayoutMethod(TenantModel):
    """How an affiliate is paid; one of its methods is the primary one."""

    not_exported: ClassVar[dict[str, str]] = {
        "blind_index": "depends on the keys; calculated again",
    }

    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, related_name="payout_methods", db_index=False
    )
    kind = models.CharField(max_length=16, choices=PayoutMethodKind)
    details = EncryptedJSONField(default=dict)
    is_primary = models.BooleanField("primary", default=False)
    # When the details changed; null: before the column.
    details_changed_at = models.DateTimeField(null=True)
    # Why payout runs leave it out until staff have looked at it: the bank returned it.
    on_hold_reason = models.CharField(max_length=500, default="", db_default="")
    # Of the IBAN or the address: equal ones are found without being decrypted.
    blind_index = models.CharField(max_length=64, null=True)  # noqa: DJ001

    objects: ClassVar = PayoutMethodQuerySet.as_manager()

    class Meta:
        default_related_name = "payout_methods"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "affiliate", "kind"],
                name="unique_payout_method_kind",
            ),
            models.UniqueConstraint(
                fields=["account", "affiliate"],
                condition=Q(is_primary=True),
                name="unique_primary_payout_method",
            ),
        ]
        indexes = [
            models.Index(
                fields=["account", "blind_index"],
                condition=Q(blind_index__isnull=False),
                name="payout_methods_by_index",
            )
        ]

    def __str__(self) -> str:
        return f"{self.affiliate_id}/{self.kind}"
