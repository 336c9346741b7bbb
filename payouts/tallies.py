"""Tallies: what happened in some days, added up; currencies are never added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

NOUGHT = Decimal(0)
MOST_PAGES = 1000  # landing pages that are counted by name, of one day
OTHERS = "(all other pages)"

Sums = Mapping[str, Decimal]  # currency → amount
Figures = Mapping[str, Any]  # a day as plain JSON, see Count.as_json


class Amounts(dict[str, Decimal]):
    """Amounts per currency, to which others are added."""

    def add(self, others: Mapping[str, Decimal | str]) -> None:
        """Add amounts, each to its own currency."""
        for currency, amount in others.items():
            self[currency] = self.get(currency, NOUGHT) + Decimal(amount)

    def as_json(self) -> dict[str, str]:
        """As texts, so that no digit is lost."""
        return {currency: f"{amount:f}" for currency, amount in self.items()}


@dataclass
class Count:
    """What is counted of a day. Affiliates are the numbers of their rows, as text;
    whose a thing is not known of is left out of theirs, not of the totals."""

    customers: int = 0
    clicked: int = 0
    sold: int = 0
    clicks: Counter[str] = field(default_factory=Counter)
    pages: Counter[str] = field(default_factory=Counter)
    sales: Counter[str] = field(default_factory=Counter)
    earned: dict[str, Amounts] = field(default_factory=dict)
    revenue: Amounts = field(default_factory=Amounts)
    commissions: dict[str, Amounts] = field(default_factory=dict)
    paid: Amounts = field(default_factory=Amounts)

    def click(self, affiliate: int | None, page: str | None, number: int) -> None:
        """Count clicks of somebody's on a landing page, whose query is left out."""
        self.clicked += number
        if affiliate is not None:
            self.clicks[str(affiliate)] += number
        if page is not None:
            path = page.partition("?")[0].partition("#")[0]
            self.pages[path] += number

    def sell(self, affiliate: int, currency: str, number: int, amount: Decimal) -> None:
        """Count sales of somebody's in one currency."""
        self.sold += number
        self.sales[str(affiliate)] += number
        self.revenue.add({currency: amount})
        self.earned.setdefault(str(affiliate), Amounts()).add({currency: amount})

    def grant(self, status: str, currency: str, amount: Decimal) -> None:
        """Add commissions of one state and currency."""
        self.commissions.setdefault(status, Amounts()).add({currency: amount})

    def as_json(self) -> Figures:
        """Plain JSON: totals, then clicks, pages and sales by whose they are."""
        return {
            "customers": self.customers,
            "clicked": self.clicked,
            "sold": self.sold,
            "revenue": self.revenue.as_json(),
            "commissions": {
                it: sums.as_json() for it, sums in self.commissions.items()
            },
            "paid": self.paid.as_json(),
            "clicks": dict(self.clicks),
            "pages": self._named(),
            "sales": dict(self.sales),
            "earned": _each(self.earned),
        }

    def _named(self) -> dict[str, int]:
        """The pages that are seen most, and all others together."""
        seen = sorted(self.pages.items(), key=lambda pair: (-pair[1], pair[0]))
        rest = sum(number for _, number in seen[MOST_PAGES:])
        return dict(seen[:MOST_PAGES]) | ({OTHERS: rest} if rest else {})


class Tally:
    """Some days, added up where somebody asks: a day may name thousands."""

    def __init__(self, days: Iterable[Figures]) -> None:
        self.days = list(days)

    @property
    def clicked(self) -> int:
        """How many clicks there were."""
        return sum(day["clicked"] for day in self.days)

    @property
    def sold(self) -> int:
        """How many sales there were."""
        return sum(day["sold"] for day in self.days)

    @property
    def customers(self) -> int:
        """How many customers came."""
        return sum(day["customers"] for day in self.days)

    @property
    def rate(self) -> Decimal | None:
        """Sales of a hundred clicks; None without clicks."""
        if not self.clicked:
            return None
        return (Decimal(100) * self.sold / self.clicked).quantize(Decimal("0.1"))

    @property
    def active(self) -> int:
        """How many affiliates had a click or a sale."""
        named = [day[kind] for day in self.days for kind in ("clicks", "sales")]
        return len(set().union(*named))

    @property
    def revenue(self) -> Sums:
        """What was sold for how much, in each currency."""
        return added(day["revenue"] for day in self.days)

    @property
    def paid(self) -> Sums:
        """What was paid to affiliates."""
        return added(day["paid"] for day in self.days)

    def commissions_that_are(self, *states: str) -> Sums:
        """Commissions that are in one of these states by now."""
        return added(
            day["commissions"].get(it, {}) for day in self.days for it in states
        )

    def of(self, affiliate: int) -> tuple[int, int, Sums]:
        """Clicks, sales and revenue of one affiliate."""
        who = str(affiliate)
        return (
            sum(day["clicks"].get(who, 0) for day in self.days),
            sum(day["sales"].get(who, 0) for day in self.days),
            added(day["earned"].get(who, {}) for day in self.days),
        )

    def best(self, most: int) -> list[tuple[int, int]]:
        """Who sold most often: affiliate and how often, the longest here first."""
        sales = self._summed("sales")
        sold = sorted(sales.items(), key=lambda pair: (-pair[1], int(pair[0])))
        return [(int(who), number) for who, number in sold[:most]]

    def most_seen(self, most: int) -> list[tuple[str, int]]:
        """The landing pages with the most clicks."""
        pages = self._summed("pages")
        return sorted(pages.items(), key=lambda pair: (-pair[1], pair[0]))[:most]

    def _summed(self, kind: str) -> Counter[str]:
        numbers: Counter[str] = Counter()
        for day in self.days:
            numbers.update(day[kind])
        return numbers


def _each(sums: Mapping[str, Amounts]) -> dict[str, dict[str, str]]:
    return {name: amounts.as_json() for name, amounts in sums.items()}


def added(amounts: Iterable[Mapping[str, str]]) -> Sums:
    """Amounts per currency as one, in the order of the currencies."""
    total = Amounts()
    for some in amounts:
        total.add(some)
    return dict(sorted(total.items()))
