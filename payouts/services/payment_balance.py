"""What a payment pays, with what earlier ones left over, and what it leaves over.

Commissions are paid in full only, so a payment may leave a rest, with which the next
one pays a commission that exceeds its own amount (docs/api-contract.md, section 7.6).
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import QuerySet

from payouts.models.commissions import Commission
from payouts.models.payments import Payment
from tracking.amounts import ExactSum
from tracking.money import ZERO


@dataclass(frozen=True)
class PaymentBalance:
    """Amounts of a payment that is not canceled, with the commissions of today.

    `brought_forward` is what the payments before it have not paid, negative if their
    commissions exceed them: one of them was canceled, or a paid commission was raised.
    `previous` and `following` are the payments of the affiliate in the currency before
    and after it.
    """

    payment: Payment
    previous: Payment | None
    following: Payment | None
    brought_forward: Decimal
    paid: Decimal

    @property
    def carried_forward(self) -> Decimal:
        """What is left for later payments; negative if it is missing."""
        return self.brought_forward + self.payment.amount - self.paid


def get_payment_balance(payment: Payment) -> PaymentBalance:
    """Return the balance of a payment, as of today."""
    account = payment.account
    of_balance = {"affiliate": payment.affiliate_id, "currency": payment.currency}
    payments = account.payments.not_canceled().filter(**of_balance)
    commissions = account.commissions.filter(**of_balance, deleted_at=None)
    earlier = payments.filter(pk__lt=payment.pk)
    return PaymentBalance(
        payment=payment,
        previous=earlier.order_by("-id").first(),
        following=payments.filter(pk__gt=payment.pk).order_by("id").first(),
        brought_forward=_sum_amounts(earlier)
        - _sum_amounts(commissions.filter(payment__lt=payment.pk)),
        paid=_sum_amounts(commissions.filter(payment=payment)),
    )


def find_next_commission(payment: Payment) -> Commission | None:
    """Return the commission that the next payment of this affiliate pays first."""
    rows = payment.account.commissions.unpaid().filter(
        affiliate=payment.affiliate_id, currency=payment.currency
    )
    return rows.order_by("created_at", "id").first()


def _sum_amounts(rows: QuerySet[Any]) -> Decimal:
    return rows.aggregate(total=ExactSum("amount"))["total"] or ZERO
