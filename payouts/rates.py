"""Which rate of a program an item of a sale earns: pure functions.

`docs/api-contract.md` says which rate wins. A rate is described as JSON data by the
words of the file that the command `set_rates` reads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from payouts.calculation import (
    DEFAULT_COMMISSION_TYPE,
    PERCENTAGE,
    CommissionRate,
    RateSource,
    RateSourceKind,
)
from payouts.statistics import count_months
from tracking.money import ZERO

NEW, RETURNING = "new", "returning"
COUNTRY, CUSTOMER_KIND, AMOUNT = "country", "customer_kind", "amount"
META_DATA = "meta_data."  # and a key
WITHOUT_RATE: Mapping[str, Any] = {
    "kind": PERCENTAGE,
    "value": ZERO,
    "source": RateSource(RateSourceKind.NONE),
}


class Lost(StrEnum):
    """Why a rate did not win. The values are stored in calculations."""

    ORDER = "order"  # it is for other orders of a customer
    CONDITION = "condition"
    PRECEDENCE = "precedence"


@dataclass(frozen=True)
class Condition:
    """A field of a sale is one of some texts, or above a number."""

    field: str
    texts: Sequence[str] = ()
    above: Decimal | None = None

    def holds(self, sale: "SaleFacts") -> bool:
        """Whether it holds for a sale; an amount in another currency is above nothing."""
        value = sale.get_value(self.field)
        if self.above is None:
            return value in self.texts
        return isinstance(value, Decimal) and bool(value > self.above)


@dataclass(frozen=True)
class Orders:
    """Orders of a customer from one number to another, or in the first months."""

    first: int = 1
    last: int | None = None
    months: int | None = None

    def holds(self, sale: "SaleFacts") -> bool:
        """Whether the order of a sale is one of them."""
        if self.months is not None:
            since = sale.first_order_day
            return since is None or count_whole_months(since, sale.day) < self.months
        return self.first <= sale.order_number and (
            self.last is None or sale.order_number <= self.last
        )


@dataclass(frozen=True)
class SaleFacts:
    """What the choice of a rate depends on, besides the commission type of the item.

    `amount` is in the program's currency; None: the sale is in another one.
    """

    day: date  # in the account's zone
    amount: Decimal | None = None
    meta_data: Mapping[str, str] = field(default_factory=dict)
    order_number: int = 1
    first_order_day: date | None = None  # None: this is the first one

    def get_value(self, name: str) -> str | Decimal | None:
        """Return the value of a field of a condition; None if the sale has none."""
        if name == AMOUNT:
            return self.amount
        if name == CUSTOMER_KIND:
            stated = self.meta_data.get("customer")
            is_stated = stated in (NEW, RETURNING)
            return stated if is_stated else NEW if self.order_number == 1 else RETURNING
        if name == COUNTRY:
            return self.meta_data.get(name, "").upper()
        return self.meta_data.get(name.removeprefix(META_DATA))


@dataclass(frozen=True)
class RateRule:
    """A rate of a program, and for which items of which sales it counts.

    It is for the affiliate that it was read for. `words` describes it as the file of
    rates does: without a `type` it is for all commission types.
    """

    kind: str
    value: Decimal
    words: Mapping[str, Any]
    source: RateSource
    fixed: Decimal = ZERO
    orders: Orders | None = None
    conditions: Sequence[Condition] = ()
    starts_at: datetime | None = None
    ends_at: datetime | None = None

    def is_for(self, identifier: str) -> bool:
        """Whether it is for a commission type."""
        return bool(self.words.get("type", identifier) == identifier)

    def find_obstacle(self, sale: SaleFacts) -> Lost | None:
        """Return why it does not hold for a sale; None: it does."""
        if self.orders is not None and not self.orders.holds(sale):
            return Lost.ORDER
        is_met = all(condition.holds(sale) for condition in self.conditions)
        return None if is_met else Lost.CONDITION


@dataclass(frozen=True)
class ProgramRates:
    """The rates of a program for one affiliate.

    `types` has the plain rate of each commission type, or of the affiliate's group for
    it, by its identifier, and that of the default type as `default`; `rules` are the
    further rates that hold at the time of the sale.
    """

    types: Mapping[str, CommissionRate]
    rules: Sequence[RateRule] = ()

    @property
    def depends_on_orders(self) -> bool:
        """Whether a rate needs the customer's earlier sales."""
        return any(
            rule.orders or any(each.field == CUSTOMER_KIND for each in rule.conditions)
            for rule in self.rules
        )

    def has_percentage(self, type_name: str) -> bool:
        """Whether an item of a commission type may earn a percentage."""
        rate = self.types[type_name]
        rules = [rule for rule in self.rules if rule.is_for(rate.identifier)]
        return PERCENTAGE in [rate.kind, *(rule.kind for rule in rules)]

    def choose(self, sale: SaleFacts) -> Mapping[str, CommissionRate]:
        """Return the rate of a sale for each commission type, as in `types`."""
        chosen = {
            rate.identifier: _choose_rate(rate, self.rules, sale) for rate in self.types.values()
        }
        default = self.types[DEFAULT_COMMISSION_TYPE].identifier
        return chosen | {DEFAULT_COMMISSION_TYPE: chosen[default]}


def _choose_rate(
    plain: CommissionRate, rules: Sequence[RateRule], sale: SaleFacts
) -> CommissionRate:
    """Return the rate of an item, with the rates that lost and why."""
    candidates = [rule for rule in rules if rule.is_for(plain.identifier)]
    if plain.source.kind != RateSourceKind.NONE:
        candidates.insert(0, _build_plain_rule(plain))
    if not candidates:
        return plain
    stored = [
        {
            "words": rule.words,
            "since": rule.starts_at.isoformat() if rule.starts_at else None,
            "lost": rule.find_obstacle(sale),
        }
        for rule in candidates
    ]
    winner = find_winner(stored)
    for number, each in enumerate(stored):
        if number != winner and each["lost"] is None:
            each["lost"] = Lost.PRECEDENCE
    choice = {"order_number": sale.order_number, "rates": stored}
    if winner is None:
        return replace(plain, **WITHOUT_RATE, choice=choice)
    won = candidates[winner]
    return replace(
        plain, kind=won.kind, value=won.value, fixed=won.fixed, source=won.source, choice=choice
    )


def _build_plain_rule(plain: CommissionRate) -> RateRule:
    words = {plain.kind: f"{plain.value.normalize():f}", "type": plain.identifier}
    if plain.source.group:
        words["group"] = plain.source.group
    return RateRule(plain.kind, plain.value, words, plain.source)


def find_winner(candidates: Sequence[Mapping[str, Any]]) -> int | None:
    """Return which of the rates of a stored choice wins, in the order of their positions.

    One wins that holds: for an affiliate before a group before all, with a type before
    without, with more conditions, with orders, with the latest start, the last one.
    """

    def get_precedence(number: int) -> tuple[Any, ...]:
        words, since = candidates[number]["words"], candidates[number]["since"]
        return (
            "affiliate" in words,
            "group" in words,
            "type" in words,
            len(words.get("when", ())),
            "orders" in words,
            since or "",
            number,
        )

    holding = [
        number
        for number, each in enumerate(candidates)
        if each["lost"] not in (Lost.ORDER, Lost.CONDITION)
    ]
    return max(holding, key=get_precedence, default=None)


def count_whole_months(first: date, last: date) -> int:
    """Return how many months are over from one day to another."""
    return count_months(first, last) - (last.day < first.day)
