"""Refund: money that a customer got back; Correction: why staff changed a sale."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models.accounts import TenantModel
from tracking.amounts import AmountField
from tracking.models.conversions import Conversion

MAX_REASON_LENGTH = 500


class Refund(TenantModel):
    """A refund of a conversion; one of everything that was left has removed it.

    `lines` say what was refunded of each regular commission: `commission` is its ID,
    `amount` a decimal as text. `external_id` is the shop's ID of the refund.
    """

    conversion = models.ForeignKey(
        Conversion, models.PROTECT, related_name="refunds", db_index=False
    )
    external_id = models.CharField(max_length=255, null=True)  # noqa: DJ001 - none sent
    amount = AmountField()
    currency = models.CharField(max_length=3)
    is_full = models.BooleanField()
    lines = models.JSONField(default=list)
    reason = models.CharField(max_length=MAX_REASON_LENGTH)
    actor = models.CharField(max_length=255)
    created_at = models.DateTimeField(default=timezone.now)
    canceled_at = models.DateTimeField(null=True)  # by the shop; the amount is 0 then

    class Meta:
        default_related_name = "refunds"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "conversion", "external_id"],
                name="one_refund_per_external_id",
            ),
            models.CheckConstraint(condition=Q(amount__gte=0), name="refund_amount_not_negative"),
        ]
        indexes = [models.Index(fields=["account", "created_at"], name="refunds_by_time")]

    def __str__(self) -> str:
        return f"refund {self.pk}"


class Correction(TenantModel):
    """The reason of a correction by staff, which the audit log must not hold."""

    conversion = models.ForeignKey(
        Conversion, models.PROTECT, related_name="corrections", db_index=False
    )
    reason = models.CharField(max_length=MAX_REASON_LENGTH)
    actor = models.CharField(max_length=255)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        default_related_name = "corrections"
        indexes = [models.Index(fields=["account", "conversion"], name="corrections_of_conversion")]

    def __str__(self) -> str:
        return f"correction {self.pk}"
