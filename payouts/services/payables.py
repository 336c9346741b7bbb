"""Payables: what affiliates are owed, in all and approved before a time."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import QuerySet

from accounts.models.accounts import Account
from payouts.models.commissions import BalanceKey, Commission
from payouts.models.ledger import LedgerAccount, LedgerAccountType, TransferType
from payouts.models.payments import Payment
from payouts.statistics import Sums
from tracking.amounts import ExactSum
from tracking.models.affiliates import Affiliate
from tracking.money import ZERO


@dataclass(frozen=True)
class Payable:
    """A positive balance of an affiliate, and the amount due of it."""

    ledger_account: LedgerAccount
    amount_due: Decimal


def list_payable_currencies(account: Account) -> list[str]:
    """List the currencies with a positive payable balance."""
    rows = account.ledger_accounts.filter(
        kind=LedgerAccountType.PAYABLE, balance__gt=ZERO
    )
    return sorted(set(rows.values_list("currency", flat=True)))


def list_payables(
    account: Account, *, currency: str, approved_before: datetime
) -> list[Payable]:
    """List positive payable balances in a currency, the highest first.

    The amount due is the balance minus the commissions approved at `approved_before` or
    later. It is zero or negative if earlier payments exceeded earlier commissions.
    """
    rows = account.ledger_accounts.filter(
        kind=LedgerAccountType.PAYABLE, currency=currency, balance__gt=ZERO
    ).select_related("affiliate")
    approved_since = _calculate_approved_since(account, currency, approved_before)
    return [
        Payable(row, (row.balance or ZERO) - approved_since[row.pk])
        for row in rows.order_by("-balance", "id")
    ]


def list_payable_accounts(
    account: Account, affiliate: Affiliate
) -> list[LedgerAccount]:
    """List the positive payable balances of an affiliate, one per currency."""
    rows = account.ledger_accounts.filter(
        kind=LedgerAccountType.PAYABLE, affiliate=affiliate, balance__gt=ZERO
    )
    return list(rows.order_by("currency"))


def get_balance_due(account: Account) -> Sums:
    """Return the sum of all positive payable balances by currency."""
    return _sum_balances(account, LedgerAccountType.PAYABLE)


def get_overpaid(account: Account) -> Sums:
    """Return the sum of all negative payable balances by currency, as positive amounts.

    A balance is negative if a commission was disapproved after it was paid, or if more
    was paid than was due.
    """
    rows = account.ledger_accounts.filter(
        kind=LedgerAccountType.PAYABLE, balance__lt=ZERO
    )
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
        balances.setdefault(row.affiliate_id or 0, {})[row.currency] = (
            row.balance or ZERO
        )
    return balances


def get_amount_due(
    account: Account, balance_key: BalanceKey, *, approved_before: datetime
) -> Decimal:
    """Return the amount due to one affiliate, as in `list_payables`.

    The caller has locked the balance.
    """
    affiliate_id, currency = balance_key
    ledger_account = account.ledger_accounts.get(
        kind=LedgerAccountType.PAYABLE, affiliate=affiliate_id, currency=currency
    )
    approved_since = _calculate_approved_since(
        account, currency, approved_before, ledger_account=ledger_account
    )
    return (ledger_account.balance or ZERO) - approved_since[ledger_account.pk]


def _calculate_approved_since(
    account: Account,
    currency: str,
    since: datetime,
    ledger_account: LedgerAccount | None = None,
) -> dict[int, Decimal]:
    """Sum the commissions approved since a time by ledger account.

    A commission that was approved before, reopened and approved again adds nothing.
    """
    changes: dict[tuple[int, int], Decimal] = defaultdict(Decimal)
    for account_id, commission_id, amount in _list_approval_changes(
        account, currency, since, ledger_account
    ):
        changes[account_id, commission_id] += amount
    sums: dict[int, Decimal] = defaultdict(Decimal)
    for (account_id, _), amount in changes.items():
        sums[account_id] += max(amount, ZERO)
    return sums


def _list_approval_changes(
    account: Account,
    currency: str,
    since: datetime,
    ledger_account: LedgerAccount | None,
) -> Iterator[tuple[int, int, Decimal]]:
    """Yield ledger account, commission, and amount: negative if it was reopened."""
    transfers = account.transfers.filter(currency=currency, created_at__gte=since)
    for kind, side, sign in (
        (TransferType.APPROVED, "credit", 1),
        (TransferType.REOPENED, "debit", -1),
    ):
        rows = transfers.filter(kind=kind)
        if ledger_account is not None:
            rows = rows.filter(**{side: ledger_account})
        sums = rows.order_by().values_list(side, "commission")
        for account_id, commission_id, amount in sums.annotate(ExactSum("amount")):
            yield account_id, commission_id, sign * amount


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
