"""What the events of a shop say of orders and customers.

Pure functions. Facts are JSON, with amounts as texts of decimals and times as texts of
`format_time`. Of two facts about one thing the later one counts, so that events may
arrive in any order and more than once: `merge_facts` is commutative and idempotent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from accounts.decimals import parse_decimal

# Which of two states of one time is the later one.
STATE_RANKS = {
    "trial": 0,
    "active": 1,
    "canceled": 2,
    "inquiry": 0,
    "open": 1,
    "won": 2,
    "lost": 2,
}

TIME_FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"


def parse_time(text: str) -> datetime:
    """Return a time of `format_time`; raise `ValueError` for other texts."""
    return datetime.strptime(text, TIME_FORMAT).replace(tzinfo=UTC)


AmountText = Annotated[str, parse_decimal]
TimeText = Annotated[str, parse_time]


class Line(TypedDict):
    """A part of a sale; `products` are IDs or SKUs, of which one may have a type."""

    id: str
    products: list[str]
    amount: AmountText  # as it earns commissions: by default without tax and shipping
    # As the shop lists and refunds it, if that is different.
    listed: NotRequired[AmountText]


class Fact(TypedDict):
    """What was so at a time; `received` is when its event arrived (`mark_received`).

    What is `claimed` came without a signature, in whatever way the shop signs later.
    """

    at: TimeText
    received: NotRequired[str]
    claimed: NotRequired[bool]


class Referral(Fact):
    """What an event says of who referred the customer.

    `values` may be click IDs, tracking IDs and referral codes, or an asset and a source
    with a space between them. `tracking_ids` are click and tracking IDs, never
    referral codes. `coupons` are the codes of discounts. The first referral that a shop
    knew of a customer counts.
    """

    values: list[str]
    tracking_ids: NotRequired[list[str]]
    coupons: list[str]


class Sale(Fact):
    """An order with its present lines, before refunds.

    Of two of one time the one with the greater `rank` is the later one.
    """

    rank: NotRequired[int]
    occurred_at: NotRequired[TimeText]  # when it was made, if that is not `at`
    order_id: str  # the external ID of the conversion
    label: str  # such as `invoice in_1`
    currency: str
    lines: list[Line]
    paid: AmountText  # with tax and shipping: what refunds by amount are a part of
    customer: str  # the shop's ID; empty for a guest
    referral: Referral
    attributes: dict[str, str]  # by which a connection may choose the program
    subscription: str
    is_renewal: bool
    is_canceled: bool
    name: NotRequired[str]  # its number, as the shop shows it
    note: NotRequired[str]  # a sentence for staff about the lines


class PaymentFacts(Fact):
    """One of the payments of an order, which may be paid twice."""

    amount: AmountText
    currency: str


class Deduction(Fact):
    """An amount that is taken off a sale.

    In another currency than the sale, it counts only if the shop says that `is_full`:
    all that was paid.
    """

    amount: AmountText
    currency: NotRequired[str]  # by default that of the sale
    is_full: NotRequired[bool]


class RefundFact(Deduction):
    """A refund, or the sum of those of a charge.

    `amount` is a part of what was paid; `lines` have amounts of lines by their IDs,
    instead of it.
    """

    lines: dict[str, AmountText]
    is_canceled: bool
    charge: NotRequired[str]  # whose total a `RefundTotal` may say
    payment: NotRequired[str]  # another ID of the charge, which others may have alone


class RefundTotal(Deduction):
    """What was refunded of a charge in all, at a time."""

    payment: NotRequired[str]


class RefundList(Fact):
    """All refunds of an order that there were at a time, by the shop's IDs.

    One that was known before and is not in it was canceled. `ids` is one text, with
    commas: of two lists of one time the one with more refunds counts.
    """

    ids: str


class DisputeFact(Deduction):
    """A dispute (chargeback) about what was paid; an inquiry moves no money."""

    state: Literal["inquiry", "open", "won", "lost"]


class Removal(Fact):
    """When a shop removed a customer or an order."""


class OrderFacts(TypedDict, total=False):
    """All that is known of an order; refunds and disputes by the shop's IDs."""

    sale: Sale
    payments: dict[str, PaymentFacts]  # of those that are stated one by one
    refunds: dict[str, RefundFact]
    refund_totals: dict[str, RefundTotal]  # by charge
    refund_list: RefundList
    disputes: dict[str, DisputeFact]
    removal: Removal


class SubscriptionFact(Fact):
    """The state of a subscription of a customer."""

    state: Literal["trial", "active", "canceled"]


class Email(Fact):
    """The e-mail address of a customer."""

    email: str


class CustomerFacts(TypedDict, total=False):
    """All that is known of a customer."""

    referral: Referral
    subscriptions: dict[str, SubscriptionFact]
    email: Email
    removal: Removal


@dataclass(frozen=True)
class ShopErasure:
    """That a shop wants the personal data of a customer erased, or of all."""

    customer_key: str = ""
    references: Sequence[str] = ()  # of the customer's orders
    is_whole_shop: bool = False


@dataclass(frozen=True)
class EventFacts:
    """What one event says. `references` are the IDs that it has for its order.

    Without any facts, `ignored` says why. `is_claim`: nobody has signed it.
    """

    references: Sequence[str] = ()
    order: OrderFacts = field(default_factory=OrderFacts)
    customer_key: str = ""
    customer: CustomerFacts = field(default_factory=CustomerFacts)
    ignored: str = ""
    erasure: ShopErasure | None = None
    is_claim: bool = False


def format_time(at: datetime) -> str:
    """Return a time as a text whose order is that of the times."""
    return at.astimezone(UTC).strftime(TIME_FORMAT)


def get_time(sale: Sale) -> str:
    """Return when a sale was made."""
    return sale.get("occurred_at", sale["at"])


def mark_received(facts: Any, received: str, *, is_claim: bool = False) -> Any:
    """Return facts that say when they were received, and whether they are claimed.

    Of one time the last one counts: `received` is a text whose order is that of
    arrival.
    """
    if isinstance(facts.get("at"), str):  # a refund may have the ID `at`
        claimed = {"claimed": True} if is_claim else {}
        return facts | {"received": received} | claimed
    return {name: mark_received(each, received, is_claim=is_claim) for name, each in facts.items()}


def is_claimed(fact: Any) -> bool:
    """Whether a fact came without a signature."""
    return bool(fact.get("claimed"))


def merge_order_facts(known: OrderFacts, new: OrderFacts) -> OrderFacts:
    """Return what is known of an order; claims change nothing of a signed sale."""
    merged: OrderFacts = merge_facts(known, new)
    if "sale" not in merged or is_claimed(merged["sale"]):
        return merged
    signed: OrderFacts = _drop_claims(merged)
    return signed


def _drop_claims(facts: Any) -> Any:
    if isinstance(facts.get("at"), str):
        return facts
    return {
        name: _drop_claims(each)
        for name, each in facts.items()
        if not (isinstance(each.get("at"), str) and is_claimed(each))
    }


def merge_facts(known: Any, new: Any) -> Any:
    """Return known facts with new ones: the later fact counts, the earlier referral.

    Of facts of the same time that one counts whose state comes after the other's, or
    which has more (refunds, or refunded in all), or else was received later. A signed
    fact counts before a claimed one, whatever their times are.
    """
    if isinstance(known.get("at"), str):
        if is_claimed(known) != is_claimed(new):
            return new if is_claimed(known) else known
        choose: Any = min if "coupons" in known else max
        return choose(known, new, key=get_place)
    merged = dict(known)
    for key, value in new.items():
        old = known.get(key)
        merged[key] = value if old is None else merge_facts(old, value)
    return merged


def get_place(fact: Any) -> tuple[Any, ...]:
    """Return what decides which of two facts about one thing is the later one."""
    return fact["at"], get_rank(fact), fact.get("received", ""), repr(sort_keys(fact))


def get_rank(fact: Any) -> Decimal | int:
    """Return the rank of a fact among those of the same time."""
    if "state" in fact:
        return STATE_RANKS[fact["state"]]
    if "ids" in fact:
        return len(fact["ids"].split(",")) if fact["ids"] else 0
    if "order_id" in fact:
        return int(fact.get("rank", 0))
    if "is_canceled" in fact:
        return int(fact["is_canceled"])
    return Decimal(fact.get("amount", 0))


def sort_keys(fact: Any) -> Any:
    """Return the items of a fact in the order of their keys, which databases change."""
    if isinstance(fact, Mapping):
        return sorted((key, sort_keys(value)) for key, value in fact.items())
    return [sort_keys(each) for each in fact] if isinstance(fact, list) else fact
