"""What a worker does with money, by name; imported once Django is set up."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from accounts.errors import DomainError
from payouts.services.commissions import approve, disapprove
from payouts.services.figures import figures_of
from payouts.services.funding import top_up
from payouts.services.payments import Order, cancel_payment, pay

AT = datetime(2026, 3, 4, 9, 15, 27, tzinfo=UTC)
LATER = AT + timedelta(days=9)


def pay_batches(account, *, batches):
    """Batch after batch; an order is a slug, an amount and a currency."""
    for batch in batches:
        orders = [Order(slug, Decimal(amount), of) for slug, amount, of in batch]
        pay(account, orders=orders, at=AT)


def pay_owed(account, *, affiliate, amount, times):
    """As staff do it: the whole balance, or nothing."""
    owed = Decimal(amount)
    order = Order(affiliate, owed, "EUR", owed=owed)
    return [outcome(pay, account, orders=[order]) for _ in range(times)]


def fund(account, *, amounts, currency):
    for amount in amounts:
        top_up(account, amount=Decimal(amount), currency=currency, at=AT)


def cancel_each(account, *, payments):
    return [outcome(cancel_payment, account, payment_id=it) for it in payments]


def approve_each(account, *, commissions):
    return [outcome(approve, account, commission_id=it) for it in commissions]


def look(account, *, day, times):
    """As the dashboard does, days later."""
    for _ in range(times):
        figures_of(account, [date.fromisoformat(day)], at=LATER)


def decide_by_turns(account, *, commission, times):
    """Approve and disapprove one commission of an earlier day, again and again."""
    for _ in range(times):
        approve(account, commission_id=commission, at=LATER)
        disapprove(account, commission_id=commission, at=LATER)


def outcome(story, account, **which):
    """`done`, or the refusal: the next one is tried all the same."""
    try:
        story(account, **which, at=AT)
    except DomainError as refusal:
        return type(refusal).__name__
    return "done"


PAYMENT_ACTS = {
    "pay": pay_batches,
    "pay_owed": pay_owed,
    "fund": fund,
    "cancel": cancel_each,
    "approve": approve_each,
    "look": look,
    "decide_by_turns": decide_by_turns,
}
