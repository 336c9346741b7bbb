"""Commission: what an affiliate earns; PaymentAllocation: which payment covers it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models.accounts import Account, TenantModel, TenantQuerySet
from accounts.models.row_counts import (
    DailyCountedRow,
    get_day_end,
    get_list_key,
    record_count_changes,
)
from payouts.models.bonuses import Bonus
from payouts.models.commission_types import RateKind
from payouts.models.payments import Payment
from tracking.amounts import AmountField
from tracking.models.affiliates import Affiliate
from tracking.models.conversions import Conversion
from tracking.models.late_changes import record_late_change

MAX_COMMENT_LENGTH = 1000


class CommissionStatus(models.TextChoices):
    """The status of a commission."""

    PENDING = "pending"
    APPROVED = "approved"
    DISAPPROVED = "disapproved"


class CommissionKind(models.TextChoices):
    """What it is for: an own conversion, one of a sub-affiliate, a bonus goal."""

    REGULAR = "regular"
    LEVEL = "level"
    BONUS = "bonus"


BalanceKey = tuple[int, str]  # affiliate id, currency: the unit of locking


def is_finalized(status: str, account: Account) -> bool:
    """Is a commission of this status approved, of an account that uses payouts?"""
    return status == CommissionStatus.APPROVED and account.uses_payouts


class CommissionQuerySet(TenantQuerySet["Commission"]):
    """Commissions of one account."""

    def not_deleted(self) -> Self:
        """Exclude those whose conversion was deleted."""
        return self.filter(deleted_at=None)

    def unpaid(self) -> Self:
        """The approved ones that no payment pays."""
        return self.filter(status=CommissionStatus.APPROVED, payment=None, deleted_at=None)


class Commission(DailyCountedRow):
    """A commission with the rate and the calculation that it was created with.

    `calculation` is JSON: the inputs, the exact amount and the reasons, from which the
    commission can be calculated again. `base_commission` is set on level commissions,
    `payment` on paid ones. A bonus has no conversion, but the start of its period, and
    `goal_missed_at` while its goal is no longer met.
    """

    counted_by = ("affiliate", "status", "payment__isnull")
    removed_by = "deleted_at"

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
    kind = models.CharField(max_length=16, choices=CommissionKind, default=CommissionKind.REGULAR)
    # Added to the conversion, not part of what that was reported with.
    is_extra = models.BooleanField(default=False, db_default=False)
    commission_type = models.CharField(max_length=64)
    name = models.CharField(max_length=255)
    currency = models.CharField(max_length=3)
    sub_amount = AmountField("line item amount", null=True)  # type: ignore[misc]
    amount = AmountField()
    rate_kind = models.CharField(max_length=16, choices=RateKind)
    rate = AmountField()
    # On top of a percentage.
    rate_fixed = AmountField(null=True)  # type: ignore[misc]
    calculation = models.TextField()
    status = models.CharField(max_length=16, choices=CommissionStatus)
    comment = models.CharField(  # noqa: DJ001 - null: none given
        max_length=MAX_COMMENT_LENGTH, null=True
    )
    created_at = models.DateTimeField(default=timezone.now)
    finalized_at = models.DateTimeField(null=True)
    deleted_at = models.DateTimeField("removed", null=True)
    base_commission = models.ForeignKey(
        "self", models.PROTECT, null=True, related_name="+", db_index=False
    )
    payment = models.ForeignKey(
        Payment, models.PROTECT, null=True, related_name="+", db_index=False
    )
    bonus = models.ForeignKey(Bonus, models.PROTECT, null=True, related_name="+", db_index=False)
    period_start = models.DateField(null=True)
    goal_missed_at = models.DateTimeField(null=True)
    # The sale's time plus the hold of that day. Null: due at once, from before holds.
    due_at = models.DateTimeField(null=True)
    # Since when an open risk case keeps it on hold, whenever it is due; null: none does.
    under_review_since = models.DateTimeField(null=True)

    objects: ClassVar = CommissionQuerySet.as_manager()

    class Meta:
        default_related_name = "commissions"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "bonus", "affiliate", "period_start"],
                condition=Q(bonus__isnull=False),
                name="unique_bonus_commission_per_period",
            ),
            models.CheckConstraint(
                condition=Q(amount__gte=0) & (Q(sub_amount__gte=0) | Q(sub_amount=None)),
                name="commission_amounts_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(payment=None) | Q(status=CommissionStatus.APPROVED, deleted_at=None),
                name="paid_commission_is_approved",
            ),
            models.CheckConstraint(
                condition=Q(conversion=None, bonus__isnull=False)
                | Q(conversion__isnull=False, bonus=None),
                name="commission_has_conversion_or_bonus",
            ),
            models.CheckConstraint(
                condition=Q(is_extra=False) | Q(conversion__isnull=False),
                name="extra_commission_has_conversion",
            ),
        ]
        indexes = [
            models.Index(
                fields=["account", "-created_at", "-id"],
                name="commissions_newest_first",
            ),
            models.Index(fields=["account", "conversion"], name="commissions_by_conversion"),
            models.Index(
                fields=["account", "affiliate", "-created_at", "-id"],
                name="commissions_by_affiliate",
            ),
            models.Index(
                fields=["account", "status", "-created_at", "-id"],
                name="commissions_with_status",
            ),
            models.Index(
                fields=["account", "affiliate", "currency", "created_at", "id"],
                condition=Q(status=CommissionStatus.APPROVED, payment=None, deleted_at=None),
                name="commissions_unpaid",
            ),
            models.Index(
                fields=["account", "payment"],
                condition=Q(payment__isnull=False),
                name="commissions_by_payment",
            ),
            models.Index(
                fields=["account", "-created_at", "-id"],
                condition=Q(goal_missed_at__isnull=False),
                name="commissions_of_missed_goals",
            ),
            models.Index(
                fields=["account", "affiliate"],
                condition=Q(under_review_since__isnull=False),
                name="commissions_under_review",
            ),
        ]

    def __str__(self) -> str:
        return str(self.pk)

    @property
    def balance_key(self) -> BalanceKey:
        """The affiliate and the currency of the balance that the amount belongs to."""
        return self.affiliate_id, self.currency

    @property
    def has_fixed_part(self) -> bool:
        """Whether a part of it does not depend on the sub-amount."""
        return self.rate_kind == RateKind.FIXED or bool(self.rate_fixed)

    @property
    def is_pending(self) -> bool:
        """Whether it waits for a decision."""
        return self.status == CommissionStatus.PENDING and self.deleted_at is None

    @property
    def is_under_review(self) -> bool:
        """Whether an open risk case keeps it on hold."""
        return self.under_review_since is not None

    @property
    def is_finalized(self) -> bool:
        """Whether it is approved for good."""
        return is_finalized(self.status, self.account)

    @property
    def is_settled(self) -> bool:
        """Whether it is final, or a payment pays it."""
        return self.is_finalized or self.payment_id is not None

    def update_locked(self, *, at: datetime, **values: Any) -> None:
        """Update columns. The caller has locked the balances of the commission, and its
        conversion if the status changes."""
        expected = {"status": self.status, "deleted_at": None}
        was_pending = self.is_pending
        if not self.update_row(expected=expected, at=at, **values):
            raise RuntimeError(f"commission {self.pk} changed while its balances were locked")
        if self.conversion is None:
            return
        if self.kind == CommissionKind.REGULAR and {"status", "deleted_at"} & set(values):
            record_late_change(self.account, [self.conversion.created_at], at=at)
        if self.is_pending != was_pending:
            record_pending_change(self.conversion, -1 if was_pending else 1, [self], at)

    def restore(self, *, at: datetime) -> None:
        """Undo a deletion. The caller has locked the balances and the conversion."""
        self.update_row(deleted_at=None)
        if self.conversion is None:
            return
        if self.kind == CommissionKind.REGULAR:
            record_late_change(self.account, [self.conversion.created_at], at=at)
        if self.is_pending:
            record_pending_change(self.conversion, 1, [self], at)


def record_pending_change(
    conversion: Conversion, change: int, commissions: Sequence[Commission], at: datetime
) -> None:
    """Count a conversion whose commissions became pending, or are so no longer.

    Its other commissions decide whether the number of pending conversions changes. The
    caller has locked the conversion.
    """
    day_end = get_day_end(conversion.created_at)
    if at < day_end:
        return  # nobody has counted the day yet
    others = Commission.objects.of(conversion.account).not_deleted()
    others = others.filter(conversion=conversion, status=CommissionStatus.PENDING)
    if not others.exclude(pk__in=[commission.pk for commission in commissions]).exists():
        key = get_list_key(Conversion, "commissions__status", CommissionStatus.PENDING)
        record_count_changes(conversion.account_id, Counter({(key, day_end): change}))


class PaymentAllocation(TenantModel):
    """A commission that a payment paid when it was created.

    `Commission.payment` is the payment that pays it now. The allocation stays when the
    payment is canceled or the commission's status changes.
    """

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="payment_allocations", db_index=False
    )
    payment = models.ForeignKey(Payment, models.PROTECT, related_name="+", db_index=False)
    commission = models.ForeignKey(Commission, models.PROTECT, related_name="+", db_index=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "commission", "payment"],
                name="one_allocation_per_payment",
            )
        ]

    def __str__(self) -> str:
        return f"{self.payment_id} {self.commission_id}"
