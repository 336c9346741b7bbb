"""Payments: made, canceled, and which commissions they cover."""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import transaction

from accounts.errors import Rejected, Several
from accounts.exact_json import plain
from accounts.ids import new_id
from accounts.models.accounts import Account
from accounts.services.events import note, note_each
from payouts.errors import BalanceMoved, BalanceTooLarge, DueMoved, PaymentNotFound
from payouts.models.commissions import Commission, Purse, Status
from payouts.models.payments import Payment
from payouts.services.dues import due_to
from payouts.services.ledger import Books, hold
from tracking.amounts import ExactSum
from tracking.errors import UnknownAffiliate
from tracking.money import NOUGHT

AT_ONCE = 1000  # rows that one UPDATE names: every database takes so many


@dataclass(frozen=True)
class Order:
    """Whom to pay how much; `place` is where it stood among others: `[1].`.

    With `owed` it is made only while the balance is just that: of two who pay the
    same balance at once the second is refused. With `until` it is made only while the
    amount is what was approved before that moment and is still owed.
    """

    affiliate_id: str
    amount: Decimal
    currency: str
    place: str = ""
    owed: Decimal | None = None
    until: datetime | None = None

    def purse(self, affiliates: dict[str, int]) -> Purse:
        """Whose money it is, in which currency."""
        return affiliates[self.affiliate_id], self.currency


def pay(
    account: Account,
    *,
    orders: Sequence[Order],
    at: datetime,
) -> list[Payment]:
    """Make all these payments, in this order, or none; removed affiliates too.

    Any amount is paid: above the balance, which then goes below nought.
    """
    affiliates = _affiliates_of(account, orders)
    with transaction.atomic():
        purses = [order.purse(affiliates) for order in orders]
        with hold(account, purses, at=at) as books:
            books.open()
            for order, purse in zip(orders, purses, strict=True):
                _refuse_moved(order, books.owed(purse))
                _refuse_undue(account, order, purse)
            payments = account.payments.bulk_create(
                Payment(
                    account=account,
                    public_id=new_id("pa"),
                    affiliate_id=affiliate,
                    amount=order.amount,
                    currency=currency,
                    created_at=at,
                )
                for order, (affiliate, currency) in zip(orders, purses, strict=True)
            )
            covered = cover(account, payments)
            note_each(account, "payment.created", payments, at=at)
            note_each(account, "commission.updated", covered, at=at, fields=["payout"])
            for order, payment in zip(orders, payments, strict=True):
                _book(order, payment, books)
    return payments


def _refuse_moved(order: Order, owed: Decimal) -> None:
    if order.owed not in (None, owed):
        raise BalanceMoved(balance=plain(owed), currency=order.currency)


def _refuse_undue(account: Account, order: Order, purse: Purse) -> None:
    if order.until is None:
        return
    due = due_to(account, purse, until=order.until)
    if due != order.amount:
        raise DueMoved(due=plain(due), currency=order.currency)


def _book(order: Order, payment: Payment, books: Books) -> None:
    try:
        books.pay(payment)
    except BalanceTooLarge:
        raise BalanceTooLarge(path=f"{order.place}amount") from None


def cancel_payment(account: Account, *, payment_id: str, at: datetime) -> None:
    """Owe a payment's amount again, once; what it covered is uncovered."""
    with transaction.atomic():
        payment = payment_named(account, payment_id)
        with hold(account, [(payment.affiliate_id, payment.currency)], at=at) as books:
            books.open()
            if not payment.change(expecting={"canceled_at": None}, canceled_at=at):
                raise PaymentNotFound
            freed = list(account.commissions.filter(payment=payment).order_by("id"))
            account.commissions.filter(payment=payment).update(payment=None)
            note(account, "payment.canceled", payment, at=at)
            note_each(account, "commission.updated", freed, at=at, fields=["payout"])
            books.cancel(payment)


def payment_named(account: Account, public_id: str) -> Payment:
    """The account's standing payment with this id."""
    payment = account.payments.standing().filter(public_id=public_id).first()
    if payment is None:
        raise PaymentNotFound
    return payment


def cover(account: Account, payments: Sequence[Payment]) -> list[Commission]:
    """Let new payments cover approved commissions, oldest first, while they fit whole.

    What fits: all standing payments of the affiliate in that currency, the new ones
    included one after the other, less what is covered already. The walk stops at the
    first commission that does not fit. Whoever calls holds the books.
    """
    budgets = _budgets(account, payments)
    waiting = _uncovered(account, payments, budgets)
    covered = []
    for payment in payments:
        purse = (payment.affiliate_id, payment.currency)
        budgets[purse] += payment.amount
        mine = []
        while waiting[purse] and waiting[purse][0].amount <= budgets[purse]:
            commission = waiting[purse].popleft()
            budgets[purse] -= commission.amount
            mine.append(commission)
        for some in _in_runs([it.pk for it in mine]):
            account.commissions.filter(pk__in=some).update(payment=payment)
        covered += mine
    return covered


def _budgets(account: Account, payments: Sequence[Payment]) -> dict[Purse, Decimal]:
    """What older payments have left, per purse; below nought where they cover more."""
    budgets: dict[Purse, Decimal] = defaultdict(Decimal)
    affiliates = {it.affiliate_id for it in payments}
    new = [it.pk for it in payments]
    paid = account.payments.standing().filter(affiliate__in=affiliates)
    taken = account.commissions.filter(
        affiliate__in=affiliates, payment__isnull=False, removed_at=None
    )
    for rows, sign in ((paid.exclude(pk__in=new), 1), (taken, -1)):
        sums = rows.values_list("affiliate", "currency").annotate(ExactSum("amount"))
        for affiliate, currency, amount in sums:
            budgets[affiliate, currency] += sign * amount
    return budgets


def _uncovered(
    account: Account, payments: Sequence[Payment], budgets: dict[Purse, Decimal]
) -> dict[Purse, deque[Commission]]:
    """Approved commissions without a payment, oldest first, of purses with a budget."""
    totals: dict[Purse, Decimal] = defaultdict(Decimal, budgets)
    for payment in payments:
        totals[payment.affiliate_id, payment.currency] += payment.amount
    rich = {purse for purse, total in totals.items() if total >= NOUGHT}
    rows = account.commissions.filter(
        affiliate__in={affiliate for affiliate, _ in rich},
        currency__in={currency for _, currency in rich},
        status=Status.APPROVED,
        payment=None,
        removed_at=None,
    )
    waiting: dict[Purse, deque[Commission]] = defaultdict(deque)
    for commission in rows.order_by("created_at", "id"):
        if commission.purse in rich:
            waiting[commission.purse].append(commission)
    return waiting


def _in_runs(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    for first in range(0, len(numbers), AT_ONCE):
        yield numbers[first : first + AT_ONCE]


def _affiliates_of(account: Account, orders: Sequence[Order]) -> dict[str, int]:
    slugs = {order.affiliate_id for order in orders}
    rows = account.affiliates.filter(slug__in=slugs)
    found = dict(rows.values_list("slug", "pk"))
    unknown: list[Rejected] = [
        UnknownAffiliate(path=f"{order.place}affiliate_id")
        for order in orders
        if order.affiliate_id not in found
    ]
    if unknown:
        raise Several(unknown)
    return found
