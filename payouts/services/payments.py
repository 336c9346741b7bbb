"""Payments: creation, cancellation and allocation to commissions."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import models, transaction

from accounts.db_compat import split_into_batches
from accounts.errors import ErrorList, InvalidInput
from accounts.exact_json import format_decimal
from accounts.ids import generate_public_id
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.models.row_counts import keep_counts
from accounts.services.changes import record_change, record_changes
from payouts.errors import (
    BalanceChanged,
    BalanceTooLarge,
    PaymentNotFound,
)
from payouts.models.commissions import BalanceKey, Commission, PaymentAllocation
from payouts.models.payments import Payment, PayoutMethod
from payouts.services.disputes import lock_disputed_sales, suspend_unpaid_commissions
from payouts.services.documents import correct_document
from payouts.services.ledger import LedgerSession, open_ledger_session
from payouts.services.mails import withdraw_payment_mail
from payouts.services.opening_balances import select_opening_sums
from payouts.services.payables import sort_for_allocation
from payouts.services.payout_runs import cancel_line, lock_line_of_payment
from tracking.amounts import ExactSum
from tracking.errors import UnknownReference
from tracking.money import ZERO
from tracking.services.affiliates import list_known_slugs
from tracking.services.concurrency import retry_on_conflict


@dataclass(frozen=True)
class PaymentOrder:
    """A payment to make; `path_prefix` is its position in a request: `[1].`.

    With `expected_balance`, the payment is rejected if the balance differs: of two
    concurrent payments of one balance, the second fails.
    """

    affiliate_id: str
    amount: Decimal
    currency: str
    path_prefix: str = ""
    expected_balance: Decimal | None = None


def create_payments(
    account: Account,
    *,
    orders: Sequence[PaymentOrder],
    at: datetime,
    affiliates: dict[str, int] | None = None,
) -> list[Payment]:
    """Create all payments in the order of `orders`, or none.

    Affiliates may be deleted, and an amount may exceed the balance, which becomes
    negative. `affiliates` maps the ids in `orders` to primary keys, if the caller has
    looked them up. Raises `UnknownReference`, `BalanceChanged` and `BalanceTooLarge`.
    """
    if affiliates is None:
        affiliates = _get_affiliate_ids(account, orders)
    balance_keys = [(affiliates[order.affiliate_id], order.currency) for order in orders]
    with transaction.atomic(), open_ledger_session(account, balance_keys, at=at) as ledger:
        ledger.lock_balances()
        for order, balance_key in zip(orders, balance_keys, strict=True):
            _ensure_balance_unchanged(order, ledger.get_payable_balance(balance_key))
        methods = _get_primary_methods(account, affiliates.values())
        payments = [
            build_payment(ledger, balance_key, order.amount, methods[balance_key[0]])
            for order, balance_key in zip(orders, balance_keys, strict=True)
        ]
        payments = insert_payments(ledger, payments, [None] * len(payments))
        for order, payment in zip(orders, payments, strict=True):
            _post_payment(order, payment, ledger)
    return payments


def build_payment(
    ledger: LedgerSession,
    balance_key: BalanceKey,
    amount: Decimal,
    method: PayoutMethod,
    *,
    tax_withheld: Decimal | None = None,
) -> Payment:
    """Return a new payment by a payout method; `tax_withheld` is kept for the tax office."""
    affiliate_id, currency = balance_key
    return Payment(
        account=ledger.account,
        public_id=generate_public_id("pa"),
        affiliate_id=affiliate_id,
        amount=amount,
        tax_withheld=tax_withheld,  # type: ignore[misc]
        currency=currency,
        created_at=ledger.at,
        payout_kind=method.kind,
        payout_details=method.details,
    )


def insert_payments(
    ledger: LedgerSession,
    payments: Sequence[Payment],
    commissions: Sequence[Sequence[int] | None],
) -> list[Payment]:
    """Insert payments of balances that are locked, which the caller posts.

    `commissions` are the primary keys of those that each of them covers; None: as
    `allocate_payments` says.
    """
    account, at = ledger.account, ledger.at
    payments = account.payments.bulk_create(payments)
    paid = allocate_payments(account, payments, commissions, at=at)
    record_changes(account, "payment.created", payments, at=at)
    record_changes(
        account,
        "commission.updated",
        paid,
        at=at,
        fields=["payout"],
        row_details=[{"payment": [None, str(row.payment)]} for row in paid],
    )
    return payments


def _get_primary_methods(account: Account, affiliate_ids: Iterable[int]) -> dict[int, PayoutMethod]:
    methods = {pk: PayoutMethod(kind="") for pk in affiliate_ids}
    rows = account.payout_methods.filter(affiliate__in=methods, is_primary=True)
    return methods | {row.affiliate_id: row for row in rows}


def _ensure_balance_unchanged(order: PaymentOrder, balance: Decimal) -> None:
    if order.expected_balance not in (None, balance):
        raise BalanceChanged(balance=format_decimal(balance), currency=order.currency)


def _post_payment(order: PaymentOrder, payment: Payment, ledger: LedgerSession) -> None:
    try:
        ledger.post_payment(payment)
    except BalanceTooLarge:
        raise BalanceTooLarge(path=f"{order.path_prefix}amount") from None


@retry_on_conflict
def cancel_payment(account: Account, *, payment_id: str, at: datetime, reason: str = "") -> None:
    """Cancel a payment: its amount is payable again, its commissions are unpaid.

    Those of disputed sales become pending. Raises `PaymentNotFound` if it does not
    exist or is canceled already.
    """
    with transaction.atomic():
        payment = get_payment(account, payment_id)
        disputed = lock_disputed_sales(account, [payment_id])
        line = lock_line_of_payment(account, payment)
        with open_ledger_session(
            account, [(payment.affiliate_id, payment.currency)], at=at
        ) as ledger:
            ledger.lock_balances()
            if not payment.update_row(
                expected={"canceled_at": None}, canceled_at=at, cancel_reason=reason
            ):
                raise PaymentNotFound
            rows = account.commissions.filter(payment=payment)
            unpaid = list(rows.order_by("id"))
            with keep_counts(unpaid, at=at):
                rows.update(payment=None)
                for commission in unpaid:
                    commission.payment = None
            record_change(account, "payment.canceled", payment, at=at)
            record_changes(
                account,
                "commission.updated",
                unpaid,
                at=at,
                fields=["payout"],
                payment=[payment.public_id, None],
            )
            ledger.post_payment_canceled(payment)
            suspend_unpaid_commissions(disputed, unpaid, ledger=ledger, at=at)
        if line is not None:
            cancel_line(line)
        correct_document(account, payment, at=at)
        withdraw_payment_mail(payment)


def get_payment(account: Account, payment_id: str) -> Payment:
    """Return a payment that is not canceled, or raise `PaymentNotFound`."""
    rows = account.payments.not_canceled()
    return get_or_raise(rows, PaymentNotFound, public_id=payment_id)


def allocate_payments(
    account: Account,
    payments: Sequence[Payment],
    chosen: Sequence[Sequence[int] | None],
    *,
    at: datetime,
) -> list[Commission]:
    """Allocate new payments to approved commissions: those chosen, or due ones first.

    `chosen` has the primary keys of each payment's commissions. None: the amount to
    allocate is the sum of an affiliate's payments in a currency that are not canceled,
    minus its opening balance and its paid commissions. Those that are due come before
    those on hold, each oldest first. Commissions are paid in full only, and the first
    one that exceeds the rest ends the allocation (docs/api-contract.md, section 7.6).
    A balance has chosen or other payments in one call, not both. Returns the paid
    commissions. The caller has locked the balances.
    """
    pairs = list(zip(payments, chosen, strict=True))
    paid = [
        *_list_chosen_commissions(account, [pair for pair in pairs if pair[1]]),
        *_list_next_commissions(account, [payment for payment, pks in pairs if pks is None], at),
    ]
    account.payment_allocations.bulk_create(
        PaymentAllocation(account=account, payment=payment, commission=commission)
        for payment, commission in paid
    )
    commissions = [commission for _, commission in paid]
    with keep_counts(commissions, at=at):
        pks = [commission.pk for commission in commissions]
        for batch in split_into_batches(pks, is_large=True):
            new_allocations = PaymentAllocation.objects.of(account).filter(
                commission=models.OuterRef("pk"),
                payment__gte=min(payment.pk for payment in payments),
            )
            account.commissions.filter(pk__in=batch).update(
                payment=models.Subquery(new_allocations.values("payment")[:1])
            )
        for payment, commission in paid:
            commission.payment = payment
    return commissions


def _list_chosen_commissions(
    account: Account, pairs: Sequence[tuple[Payment, Sequence[int] | None]]
) -> Iterator[tuple[Payment, Commission]]:
    payments = {pk: payment for payment, pks in pairs for pk in pks or ()}
    for batch in split_into_batches(list(payments), is_large=True):
        rows = account.commissions.unpaid().filter(pk__in=batch)
        for commission in rows.defer("calculation").order_by("id"):
            yield payments[commission.pk], commission


def _list_next_commissions(
    account: Account, payments: Sequence[Payment], at: datetime
) -> Iterator[tuple[Payment, Commission]]:
    if not payments:
        return
    unallocated = _get_unallocated_amounts(account, payments)
    unpaid = _list_unpaid_commissions(account, payments, unallocated, at)
    for payment in payments:
        balance_key = (payment.affiliate_id, payment.currency)
        unallocated[balance_key] += payment.amount
        queue = unpaid[balance_key]
        while queue and queue[0].amount <= unallocated[balance_key]:
            commission = queue.popleft()
            unallocated[balance_key] -= commission.amount
            yield payment, commission


def _get_unallocated_amounts(
    account: Account, payments: Sequence[Payment]
) -> dict[BalanceKey, Decimal]:
    """Return older payments minus paid commissions and opening balances.

    By balance key; may be negative.
    """
    amounts: dict[BalanceKey, Decimal] = defaultdict(Decimal)
    affiliate_ids = {payment.affiliate_id for payment in payments}
    new_ids = [payment.pk for payment in payments]
    all_payments = account.payments.not_canceled().filter(affiliate__in=affiliate_ids)
    older_payments = all_payments.exclude(pk__in=new_ids)
    paid_commissions = account.commissions.filter(
        affiliate__in=affiliate_ids, payment__isnull=False, deleted_at=None
    )
    sums: list[models.QuerySet[Any, Any]] = [
        *(
            rows.values_list("affiliate", "currency", models.Value(sign))
            .annotate(ExactSum("amount"))
            .order_by()
            for rows, sign in ((older_payments, -1), (paid_commissions, 1))
        ),
        *select_opening_sums(account, affiliate_ids),
    ]
    for affiliate_id, currency, sign, amount in sums[0].union(*sums[1:], all=True):
        amounts[affiliate_id, currency] -= sign * amount
    return amounts


def _list_unpaid_commissions(
    account: Account,
    payments: Sequence[Payment],
    unallocated: dict[BalanceKey, Decimal],
    at: datetime,
) -> dict[BalanceKey, deque[Commission]]:
    """List unpaid approved commissions by balance key, in the order of allocation.

    Balance keys without an amount to allocate are left out.
    """
    totals: dict[BalanceKey, Decimal] = defaultdict(Decimal, unallocated)
    for payment in payments:
        totals[payment.affiliate_id, payment.currency] += payment.amount
    balance_keys = {key for key, total in totals.items() if total >= ZERO}
    rows = account.commissions.unpaid().filter(
        affiliate__in={affiliate_id for affiliate_id, _ in balance_keys},
        currency__in={currency for _, currency in balance_keys},
    )
    unpaid: dict[BalanceKey, deque[Commission]] = defaultdict(deque)
    for commission in sort_for_allocation(rows, at=at):
        if commission.balance_key in balance_keys:
            unpaid[commission.balance_key].append(commission)
    return unpaid


def _get_affiliate_ids(account: Account, orders: Sequence[PaymentOrder]) -> dict[str, int]:
    found = list_known_slugs(account, {order.affiliate_id for order in orders})
    unknown: list[InvalidInput] = [
        UnknownReference(what="affiliate", path=f"{order.path_prefix}affiliate_id")
        for order in orders
        if order.affiliate_id not in found
    ]
    if unknown:
        raise ErrorList(unknown)
    return found
