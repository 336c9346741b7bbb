"""Tallies: what happened in some days, added up; currencies are never added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

NOUGHT = Decimal(0)
MOST_PAGES = 1000  # landing pages that are counted by name, of one day
OTHERS = "others"
Sums = Mapping[str, Decimal]  # currency → amount


class Amounts(dict[str, Decimal]):
    """Amounts per currency, to which others are added."""

    def add(self, others: Mapping[str, Decimal | str]) -> None:
        """Add amounts, each to its own currency."""
        for currency, amount in others.items():
            self[currency] = self.get(currency, NOUGHT) + Decimal(amount)


@dataclass
class Tally:
    """Counts and sums of some days.

    By affiliate (the row's number as text; nothing: nobody's): `clicks`, `sales`,
    `revenue`. By landing page without its query: `pages`. By state: `commissions`.
    """

    clicks: Counter[str] = field(default_factory=Counter)
    pages: Counter[str] = field(default_factory=Counter)
    customers: int = 0
    sales: Counter[str] = field(default_factory=Counter)
    revenue: dict[str, Amounts] = field(default_factory=dict)
    commissions: dict[str, Amounts] = field(default_factory=dict)
    paid: Amounts = field(default_factory=Amounts)

    def click(self, affiliate: int | None, page: str | None, number: int) -> None:
        """Count clicks of somebody's on a landing page."""
        self.clicks[_key(affiliate)] += number
        if page is not None:
            path = page.partition("?")[0].partition("#")[0]
            is_named = path in self.pages or len(self.pages) < MOST_PAGES
            self.pages[path if is_named else OTHERS] += number

    def sell(
        self, affiliate: int | None, currency: str, number: int, amount: Decimal
    ) -> None:
        """Count sales of somebody's in one currency."""
        self.sales[_key(affiliate)] += number
        self.revenue.setdefault(_key(affiliate), Amounts()).add({currency: amount})

    def earn(self, status: str, currency: str, amount: Decimal) -> None:
        """Add commissions of one state and currency."""
        self.commissions.setdefault(status, Amounts()).add({currency: amount})

    def add(self, day: Mapping[str, Any]) -> None:
        """Add what `as_json` told of another tally."""
        self.clicks.update(day["clicks"])
        self.pages.update(day["pages"])
        self.customers += day["customers"]
        self.sales.update(day["sales"])
        for name in ("revenue", "commissions"):
            sums: dict[str, Amounts] = getattr(self, name)
            for key, amounts in day[name].items():
                sums.setdefault(key, Amounts()).add(amounts)
        self.paid.add(day["paid"])

    def as_json(self) -> dict[str, Any]:
        """The tally as plain JSON; amounts are texts, so that no digit is lost."""
        return {
            "clicks": dict(self.clicks),
            "pages": dict(self.pages),
            "customers": self.customers,
            "sales": dict(self.sales),
            "revenue": {key: _told(sums) for key, sums in self.revenue.items()},
            "commissions": {key: _told(sums) for key, sums in self.commissions.items()},
            "paid": _told(self.paid),
        }

    @property
    def active(self) -> int:
        """How many affiliates had a click or a sale."""
        return len((set(self.clicks) | set(self.sales)) - {""})

    @property
    def rate(self) -> Decimal | None:
        """Sales of a hundred clicks; None without clicks."""
        if not self.clicks.total():
            return None
        sales = Decimal(100) * self.sales.total()
        return (sales / self.clicks.total()).quantize(Decimal("0.1"))

    def of(self, affiliate: int) -> tuple[int, int, Sums]:
        """Clicks, sales and revenue of one affiliate."""
        who = str(affiliate)
        return self.clicks[who], self.sales[who], self.revenue_of([who])

    def revenue_of(self, affiliates: Iterable[str]) -> Sums:
        """What these affiliates sold for."""
        total = Amounts()
        for affiliate in affiliates:
            total.add(self.revenue.get(affiliate, {}))
        return dict(sorted(total.items()))

    def best(self, most: int) -> list[tuple[str, int]]:
        """Who sold most often: affiliate and how often, the longest here first."""
        sold = [(who, number) for who, number in self.sales.items() if who]
        sold.sort(key=lambda pair: (-pair[1], int(pair[0])))
        return sold[:most]

    def most_seen(self, most: int) -> list[tuple[str, int]]:
        """The landing pages with the most clicks."""
        return sorted(self.pages.items(), key=lambda pair: (-pair[1], pair[0]))[:most]


def total(days: Iterable[Mapping[str, Any]]) -> Tally:
    """Some days as one."""
    tally = Tally()
    for day in days:
        tally.add(day)
    return tally


def _key(affiliate: int | None) -> str:
    return "" if affiliate is None else str(affiliate)


def _told(sums: Sums) -> dict[str, str]:
    return {currency: f"{amount:f}" for currency, amount in sums.items()}
