"""Commission: what an affiliate earns by a sale, and how it was reckoned."""

from __future__ import annotations

from typing import Any, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models.accounts import Account, Owned, OwnedQuerySet
from payouts.models.bonuses import Bonus
from payouts.models.commission_types import RateKind
from payouts.models.payments import Payment
from tracking.amounts import AmountField
from tracking.models.affiliates import Affiliate
from tracking.models.conversions import Conversion


class Status(models.TextChoices):
    """Whether it counts: not decided yet, yes, no."""

    PENDING = "pending"
    APPROVED = "approved"
    DISAPPROVED = "disapproved"


class Kind(models.TextChoices):
    """Where it comes from: a sale, somebody's below, a goal that was reached."""

    REGULAR = "regular"
    LEVEL = "level"
    BONUS = "bonus"


Purse = tuple[int, str]  # whose money, in which currency: what is locked to move it


class CommissionQuerySet(OwnedQuerySet["Commission"]):
    """Commissions of one account."""

    def present(self) -> Self:
        """Those whose sale was not removed."""
        return self.filter(removed_at=None)

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
            "payment__public_id",
        )


class Commission(Owned):
    """A commission keeps the rate of its birth and its working: `working` is JSON,
    the exact product and the reasons, from which it can be reckoned again.

    `follows` is the commission whose level it is; `payment` the one that covers it.
    A bonus has no conversion, but the period in which its goal was reached.
    """

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="commissions", db_index=False
    )
    conversion = models.ForeignKey(
        Conversion,
        models.PROTECT,
        null=True,
        related_name="commissions",
        db_index=False,
    )
    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, related_name="commissions", db_index=False
    )
    kind = models.CharField(max_length=16, choices=Kind, default=Kind.REGULAR)
    commission_type = models.CharField(max_length=64)
    name = models.CharField(max_length=255)
    currency = models.CharField(max_length=3)
    sub_amount = AmountField(null=True)  # type: ignore[misc]
    amount = AmountField()
    rate_kind = models.CharField(max_length=16, choices=RateKind)
    rate = AmountField()
    working = models.TextField()
    status = models.CharField(max_length=16, choices=Status)
    comment = models.CharField(max_length=1000, null=True)  # noqa: DJ001 - none given
    created_at = models.DateTimeField(default=timezone.now)
    finalized_at = models.DateTimeField(null=True)
    removed_at = models.DateTimeField(null=True)
    follows = models.ForeignKey(
        "self", models.PROTECT, null=True, related_name="+", db_index=False
    )
    payment = models.ForeignKey(
        Payment, models.PROTECT, null=True, related_name="+", db_index=False
    )
    bonus = models.ForeignKey(
        Bonus, models.PROTECT, null=True, related_name="+", db_index=False
    )
    period_start = models.DateField(null=True)

    objects = CommissionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "bonus", "affiliate", "period_start"],
                condition=Q(bonus__isnull=False),
                name="one_bonus_per_period",
            ),
            models.CheckConstraint(
                condition=Q(amount__gte=0)
                & (Q(sub_amount__gte=0) | Q(sub_amount=None)),
                name="a_commission_is_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(payment=None) | Q(status=Status.APPROVED, removed_at=None),
                name="a_covered_commission_counts",
            ),
            models.CheckConstraint(
                condition=Q(conversion=None, bonus__isnull=False)
                | Q(conversion__isnull=False, bonus=None),
                name="a_commission_has_one_cause",
            ),
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
                condition=Q(removed_at=None),
                name="commissions_in_state",
            ),
            models.Index(
                fields=["account", "affiliate", "currency", "created_at", "id"],
                condition=Q(status=Status.APPROVED, payment=None, removed_at=None),
                name="commissions_to_cover",
            ),
            models.Index(
                fields=["account", "payment"],
                condition=Q(payment__isnull=False),
                name="commissions_of_payment",
            ),
        ]

    def __str__(self) -> str:
        return str(self.pk)

    @property
    def purse(self) -> Purse:
        """Whose money it is, in which currency."""
        return self.affiliate_id, self.currency

    def move(self, **values: Any) -> None:
        """Take another state or amount. Whoever calls holds the books of its purse."""
        expecting = {"status": self.status, "removed_at": None}
        if not self.change(expecting=expecting, **values):
            raise RuntimeError(f"commission {self.pk} moved while its books were held")
