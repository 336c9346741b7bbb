"""Commission: what an affiliate earns by a sale, and how it was reckoned."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models.accounts import Account, Owned, OwnedQuerySet
from payouts.models.commission_types import RateKind
from tracking.amounts import AmountField
from tracking.models.affiliates import Affiliate
from tracking.models.conversions import Conversion


class Status(models.TextChoices):
    """Whether it counts: not decided yet, yes, no."""

    PENDING = "pending"
    APPROVED = "approved"
    DISAPPROVED = "disapproved"


class Kind(models.TextChoices):
    """Where it comes from."""

    REGULAR = "regular"


class CommissionQuerySet(OwnedQuerySet["Commission"]):
    """Commissions of one account."""

    def newest_first(self) -> Self:
        return self.order_by("-created_at", "-id")

    def as_shown(self) -> models.QuerySet[Commission, Any]:
        """The columns that a commission's shape reads."""
        return self.values(
            "id",
            "sub_amount",
            "amount",
            "commission_type",
            "status",
            "affiliate__slug",
            "affiliate__firstname",
            "affiliate__lastname",
            "kind",
            "currency",
            "created_at",
            "comment",
            "finalized_at",
            "name",
            "conversion_id",
        )


class Commission(Owned):
    """A commission keeps the rate of its birth and its working: `working` is JSON,
    the exact product and the reasons, from which it can be reckoned again."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="commissions", db_index=False
    )
    conversion = models.ForeignKey(
        Conversion, models.PROTECT, related_name="commissions", db_index=False
    )
    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, related_name="commissions", db_index=False
    )
    kind = models.CharField(max_length=16, choices=Kind, default=Kind.REGULAR)
    commission_type = models.CharField(max_length=64)
    name = models.CharField(max_length=255)
    currency = models.CharField(max_length=3)
    sub_amount = AmountField()
    amount = AmountField()
    rate_kind = models.CharField(max_length=16, choices=RateKind)
    rate = AmountField()
    working = models.TextField()
    status = models.CharField(max_length=16, choices=Status)
    comment = models.CharField(max_length=1000, null=True)  # noqa: DJ001 - none given
    created_at = models.DateTimeField(default=timezone.now)
    finalized_at = models.DateTimeField(null=True)

    objects = CommissionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(amount__gte=0) & Q(sub_amount__gte=0),
                name="a_commission_is_not_negative",
            )
        ]
        indexes = [
            models.Index(
                fields=["account", "-created_at", "-id"],
                name="commissions_newest_first",
            ),
            models.Index(
                fields=["account", "conversion"], name="commissions_of_conversion"
            ),
            models.Index(
                fields=["account", "affiliate", "-created_at", "-id"],
                name="commissions_of_affiliate",
            ),
            models.Index(
                fields=["account", "status", "-created_at", "-id"],
                name="commissions_by_status",
            ),
        ]

    def __str__(self) -> str:
        return str(self.pk)

    def move(self, *, to: Status, finalized_at: datetime | None = None) -> None:
        """Take another state. Whoever calls holds the ledger rows of its affiliate."""
        was = self.status
        if not self.change(
            expecting={"status": was}, status=to, finalized_at=finalized_at
        ):
            raise RuntimeError(f"commission {self.pk} moved while its books were held")
