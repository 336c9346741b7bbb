"""Payables: what affiliates are owed, what of it is due, on hold or paid."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import BooleanField, Case, ExpressionWrapper, Max, Q, QuerySet, When
from django.db.models.functions import TruncDate

from accounts.db_compat import BATCH_SIZE, split_into_batches
from accounts.models.accounts import Account
from payouts.models.commissions import (
    BalanceKey,
    Commission,
    CommissionQuerySet,
    CommissionStatus,
)
from payouts.models.ledger import LedgerAccount, LedgerAccountType
from payouts.models.payments import Payment
from payouts.services.opening_balances import find_paid_opening_balances
from payouts.statistics import Sums
from tracking.amounts import ExactSum
from tracking.models.affiliates import Affiliate
from tracking.money import ZERO
from tracking.services.programs import MAX_HOLD_DAYS

# Of a commission, in the groups of a query.
IS_UNDER_REVIEW = ExpressionWrapper(Q(under_review_since__isnull=False), BooleanField())


@dataclass(frozen=True)
class AmountsDue:
    """A payable balance as the sum of `due` and `on_hold`, and what is pending.

    `on_hold` is the sum of the approved, unpaid commissions that are not due yet; at
    `held_until` all of them are, but for those `under_review`. An opening balance is due
    at once. `due` is negative if payments exceeded what was due.
    """

    payable: Decimal = ZERO
    on_hold: Decimal = ZERO
    held_until: datetime | None = None
    under_review: Decimal = ZERO  # of `on_hold`
    pending: Decimal = ZERO
    days: tuple[tuple[date, Decimal], ...] = ()  # when how much of `on_hold` is due

    @property
    def due(self) -> Decimal:
        return self.payable - self.on_hold

    @property
    def has_hold(self) -> bool:
        """Whether a commission is on hold, maybe one of zero."""
        return self.held_until is not None or bool(self.under_review)


def get_amounts_due(
    account: Account, affiliate_ids: Collection[int], *, at: datetime
) -> dict[BalanceKey, AmountsDue]:
    """Return the amounts of the balances of these affiliates."""
    pks = sorted(set(affiliate_ids))
    amounts: dict[BalanceKey, AmountsDue] = {}
    for batch in split_into_batches(pks):
        amounts |= _get_amounts_of_batch(account, batch, at)
    return amounts


def get_own_amounts_due(affiliate: Affiliate, *, at: datetime) -> dict[str, AmountsDue]:
    """Return the amounts of one affiliate by currency, with their `days` in order."""
    account, held = affiliate.account, dict[BalanceKey, AmountsDue]()
    rows = filter_on_hold(account.commissions.filter(affiliate=affiliate), at=at)
    day = TruncDate("due_at", tzinfo=account.zone)
    sums = rows.order_by(day).values_list("currency", day, IS_UNDER_REVIEW)
    totals = sums.annotate(ExactSum("amount"), Max("due_at"))
    for currency, due_on, is_under_review, total, until in totals:
        key = (affiliate.pk, currency)
        held[key] = _add_held(
            held.get(key, AmountsDue()), total, until, is_under_review=is_under_review
        )
        if not is_under_review:
            held[key] = replace(held[key], days=(*held[key].days, (due_on, total)))
    amounts = _add_balances(account, [affiliate.pk], held)
    return {currency: each for (_, currency), each in sorted(amounts.items())}


def filter_on_hold(rows: CommissionQuerySet, *, at: datetime) -> CommissionQuerySet:
    """The commissions that are approved, unpaid and not due yet, or under review.

    The former are not older than the longest hold, which spares a list all earlier rows.
    """
    since = at - timedelta(days=MAX_HOLD_DAYS)
    is_early = Q(due_at__gt=at, created_at__gte=since)
    return rows.unpaid().filter(is_early | Q(under_review_since__isnull=False))


def sort_for_allocation(unpaid: CommissionQuerySet, *, at: datetime) -> CommissionQuerySet:
    """In the order in which payments pay them: what is due, then what is on hold, and
    what is under review last."""
    held = Case(
        When(under_review_since__isnull=False, then=2), When(due_at__gt=at, then=1), default=0
    )
    return unpaid.order_by(held, "created_at", "id")


def is_on_hold(commission: Commission, *, at: datetime) -> bool:
    """Whether a commission that may be paid is not due yet, or under review."""
    is_open = commission.payment_id is None and commission.deleted_at is None
    is_held = commission.is_under_review or is_early(commission, at=at)
    return is_open and is_held and commission.status != CommissionStatus.DISAPPROVED


def is_early(commission: Commission, *, at: datetime) -> bool:
    """Whether a commission that may be paid has not reached the end of its hold."""
    return (
        commission.due_at is not None
        and commission.due_at > at
        and commission.deleted_at is None
        and commission.payment_id is None
        and commission.status != CommissionStatus.DISAPPROVED
    )


def _get_amounts_of_batch(
    account: Account, affiliate_ids: Sequence[int], at: datetime
) -> dict[BalanceKey, AmountsDue]:
    rows = filter_on_hold(account.commissions.filter(affiliate__in=affiliate_ids), at=at)
    sums = rows.order_by().values_list("affiliate", "currency", IS_UNDER_REVIEW)
    held: dict[BalanceKey, AmountsDue] = {}
    for *key, is_under_review, total, until in sums.annotate(ExactSum("amount"), Max("due_at")):
        of_balance = held.get((key[0], key[1]), AmountsDue())
        held[key[0], key[1]] = _add_held(of_balance, total, until, is_under_review=is_under_review)
    return _add_balances(account, affiliate_ids, held)


def _add_held(
    amounts: AmountsDue, total: Decimal, until: datetime, *, is_under_review: bool
) -> AmountsDue:
    """Add commissions that are on hold until a moment, or under review."""
    on_hold = amounts.on_hold + total
    if is_under_review:
        return replace(amounts, on_hold=on_hold, under_review=amounts.under_review + total)
    return replace(amounts, on_hold=on_hold, held_until=max(amounts.held_until or until, until))


def _add_balances(
    account: Account, affiliate_ids: Sequence[int], held: dict[BalanceKey, AmountsDue]
) -> dict[BalanceKey, AmountsDue]:
    """Complete what is on hold by the balances; return the amounts of all balances."""
    kinds = (LedgerAccountType.PAYABLE, LedgerAccountType.PENDING)
    rows = account.ledger_accounts.filter(affiliate__in=affiliate_ids, kind__in=kinds)
    balances: dict[BalanceKey, dict[str, Decimal]] = {}
    for row in rows.order_by("affiliate", "currency"):
        key = (row.affiliate_id or 0, row.currency)
        balances.setdefault(key, {})[row.kind] = row.balance or ZERO
    return {
        key: replace(
            held.get(key, AmountsDue()),
            payable=balance.get(LedgerAccountType.PAYABLE, ZERO),
            pending=balance.get(LedgerAccountType.PENDING, ZERO),
        )
        for key, balance in balances.items()
    }


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
