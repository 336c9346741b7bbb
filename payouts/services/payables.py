"""Payables: what affiliates are owed, and what payments have paid of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import QuerySet

from accounts.db_compat import BATCH_SIZE
from accounts.models.accounts import Account
from payouts.models.commissions import BalanceKey, Commission
from payouts.models.ledger import LedgerAccount, LedgerAccountType
from payouts.models.payments import Payment
from payouts.services.amounts_due import sort_for_allocation
from payouts.services.opening_balances import find_paid_opening_balances
from payouts.statistics import Sums
from tracking.amounts import ExactSum
from tracking.models.affiliates import Affiliate
from tracking.money import ZERO


def list_payable_currencies(account: Account) -> list[str]:
    """List the currencies with a payable balance that is not zero."""
    rows = account.ledger_accounts.filter(kind=LedgerAccountType.PAYABLE)
    currencies = rows.exclude(balance=ZERO).order_by().values_list("currency")
    return sorted(currency for (currency,) in currencies.distinct())


def load_payable_balances(account: Account, **conditions: Any) -> dict[BalanceKey, Decimal]:
    """Return the payable balances that meet the conditions and are not zero."""
    rows = account.ledger_accounts.filter(kind=LedgerAccountType.PAYABLE, **conditions)
    columns = rows.exclude(balance=ZERO).order_by()
    return {
        (affiliate_id or 0, currency): balance or ZERO
        for affiliate_id, currency, balance in columns.values_list(
            "affiliate_id", "currency", "balance"
        ).iterator(BATCH_SIZE)
    }


def list_payable_accounts(account: Account, affiliate: Affiliate) -> list[LedgerAccount]:
    """List the payable balances of an affiliate, one per currency."""
    rows = account.ledger_accounts.filter(kind=LedgerAccountType.PAYABLE, affiliate=affiliate)
    return list(rows.order_by("currency"))


def get_balance_due(account: Account) -> Sums:
    """Return the sum of all positive payable balances by currency."""
    return _sum_balances(account, LedgerAccountType.PAYABLE)


def get_overpaid(account: Account) -> Sums:
    """Return the sum of all negative payable balances by currency, as positive amounts.

    A balance is negative if a commission was disapproved after it was paid, if more
    was paid than was due, or if the opening balance is.
    """
    rows = account.ledger_accounts.filter(kind=LedgerAccountType.PAYABLE, balance__lt=ZERO)
    totals = rows.order_by().values_list("currency").annotate(ExactSum("balance"))
    return {currency: -total for currency, total in sorted(totals)}


def get_pending(account: Account) -> Sums:
    """Return the sum of all pending commissions by currency."""
    return _sum_balances(account, LedgerAccountType.PENDING)


def _sum_balances(account: Account, kind: LedgerAccountType) -> Sums:
    rows = account.ledger_accounts.filter(kind=kind, balance__gt=ZERO)
    totals = rows.order_by().values_list("currency").annotate(ExactSum("balance"))
    return dict(sorted(totals))


def get_payable_balances(
    account: Account, affiliate_ids: Iterable[int]
) -> dict[int, dict[str, Decimal]]:
    """Return payable balances by affiliate id and currency, without zero ones."""
    rows = account.ledger_accounts.filter(
        kind=LedgerAccountType.PAYABLE, affiliate__in=affiliate_ids
    ).exclude(balance=ZERO)
    balances: dict[int, dict[str, Decimal]] = {}
    for row in rows.order_by("currency"):
        balances.setdefault(row.affiliate_id or 0, {})[row.currency] = row.balance or ZERO
    return balances


@dataclass(frozen=True)
class PaymentBalance:
    """Amounts of a payment that is not canceled, with the commissions of today.

    `brought_forward` is what the payments before it have not paid, negative if their
    commissions exceed them: one of them was canceled, or a paid commission was raised.
    `opening` is what it pays of the opening balance, negative if what the affiliate
    owed is deducted.
    `previous` and `following` are the payments of the affiliate in the currency before
    and after it.
    """

    payment: Payment
    previous: Payment | None
    following: Payment | None
    brought_forward: Decimal
    opening: Decimal
    paid: Decimal

    @property
    def carried_forward(self) -> Decimal:
        """What is left for later payments; negative if it is missing."""
        left = self.brought_forward + self.payment.amount
        return left - self.opening - self.paid


def get_payment_balance(payment: Payment) -> PaymentBalance:
    """Return the balance of a payment, as of today."""
    account = payment.account
    of_balance = {"affiliate": payment.affiliate_id, "currency": payment.currency}
    payments = account.payments.not_canceled().filter(**of_balance)
    commissions = account.commissions.filter(**of_balance, deleted_at=None)
    earlier = payments.filter(pk__lt=payment.pk)
    opening = find_paid_opening_balances(account, [*earlier, payment])
    own_opening = opening.pop(payment.pk, ZERO)
    return PaymentBalance(
        payment=payment,
        previous=earlier.order_by("-id").first(),
        following=payments.filter(pk__gt=payment.pk).order_by("id").first(),
        brought_forward=_sum_amounts(earlier)
        - _sum_amounts(commissions.filter(payment__lt=payment.pk))
        - sum(opening.values(), ZERO),
        opening=own_opening,
        paid=_sum_amounts(commissions.filter(payment=payment)),
    )


def find_next_commission(payment: Payment, *, at: datetime) -> Commission | None:
    """Return the commission that the next payment of this affiliate pays first."""
    rows = payment.account.commissions.unpaid().filter(
        affiliate=payment.affiliate_id, currency=payment.currency
    )
    return sort_for_allocation(rows, at=at).first()


def _sum_amounts(rows: QuerySet[Any]) -> Decimal:
    return rows.aggregate(total=ExactSum("amount"))["total"] or ZERO
