"""Statistics without Django: periods of days, and totals that are added up.

Amounts of different currencies are never added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import TypeVar

from accounts.days import A_DAY

ZERO = Decimal(0)
MAX_PAGES = 1000  # landing pages of a day that are counted by their address
OTHER_PAGES = "(all other pages)"

Sums = Mapping[str, Decimal]  # currency → amount
Key = TypeVar("Key", int, str)
Number = TypeVar("Number", int, Decimal)


@dataclass(frozen=True)
class Period:
    """Whole days, the first and the last one included."""

    first: date
    last: date

    @property
    def days(self) -> list[date]:
        return [self.first + A_DAY * n for n in range((self.last - self.first).days + 1)]

    @property
    def previous(self) -> Period:
        """The period of as many days that ends the day before."""
        last = self.first - A_DAY
        return Period(last - (self.last - self.first), last)

    @property
    def comparable(self) -> Period:
        """The period before: of as many months if this one is made of whole calendar
        months, the same days of the month before if it is a part of one from its first
        day on, else of as many days."""
        last = self.first - A_DAY
        months = self._get_month(self.last) - self._get_month(self.first) + 1
        is_whole = (self.last + A_DAY).day == 1
        if self.first.day > 1 or (months > 1 and not is_whole):
            return self.previous
        year, month = divmod(self._get_month(self.first) - months, 12)
        first = date(year, month + 1, 1)
        if is_whole:
            return Period(first, last)
        return Period(first, min(last, first + (self.last - self.first)))

    @staticmethod
    def _get_month(day: date) -> int:
        """The number of a calendar month, counted from January of the year 0."""
        return day.year * 12 + day.month - 1


def get_last_days(days: int, today: date) -> Period:
    """The period of as many days that ends today."""
    return Period(today - A_DAY * (days - 1), today)


def get_last_month(today: date) -> Period:
    """The whole calendar month before that of `today`."""
    last = today.replace(day=1) - A_DAY
    return Period(last.replace(day=1), last)


def get_month(day: date) -> Period:
    """The whole calendar month of a day."""
    return get_last_month(day.replace(day=1) + A_DAY * 32)


def get_last_months(months: int, today: date) -> Period:
    """So many calendar months, of which the last one is that of `today`, until that day."""
    year, month = divmod(today.year * 12 + today.month - months, 12)
    return Period(date(year, month + 1, 1), today)


def get_quarter(day: date) -> Period:
    """The whole quarter of a day."""
    first = date(day.year, (day.month - 1) // 3 * 3 + 1, 1)
    next_quarter = (first + A_DAY * 93).replace(day=1)
    return Period(first, next_quarter - A_DAY)


# Periods that move with the day, by the name that an address has.
NAMED_PERIODS: dict[str, Callable[[date], Period]] = {
    "last_month": get_last_month,
    "this_month": lambda day: Period(day.replace(day=1), day),
    "last_30_days": lambda day: get_last_days(30, day),
    "last_90_days": lambda day: get_last_days(90, day),
    "last_12_months": lambda day: get_last_months(12, day),
    "last_24_months": lambda day: get_last_months(24, day),
    "last_quarter": lambda day: get_quarter(get_quarter(day).first - A_DAY),
    "this_quarter": lambda day: Period(get_quarter(day).first, day),
    "last_year": lambda day: Period(date(day.year - 1, 1, 1), date(day.year - 1, 12, 31)),
    "this_year": lambda day: Period(date(day.year, 1, 1), day),
}


class Amounts(dict[str, Decimal]):
    """Amounts per currency, to which others are added."""

    def add(self, currency: str, amount: Decimal | None) -> None:
        """Add an amount; None adds nothing, not even its currency."""
        if amount is not None:
            self[currency] = self.get(currency, ZERO) + amount

    def in_order(self) -> Sums:
        """The amounts in the order of their currencies."""
        return dict(sorted(self.items()))


@dataclass
class Totals:
    """The totals of some days."""

    clicks: int = 0
    customers: int = 0
    conversions: int = 0
    revenue: Amounts = field(default_factory=Amounts)
    pending: Amounts = field(default_factory=Amounts)  # commissions by status
    approved: Amounts = field(default_factory=Amounts)
    disapproved: Amounts = field(default_factory=Amounts)
    paid: Amounts = field(default_factory=Amounts)

    @property
    def conversion_rate(self) -> Decimal | None:
        """Conversions per hundred clicks; None without clicks."""
        return calculate_share(self.conversions, self.clicks)

    @property
    def commissions(self) -> Sums:
        """Commissions that are approved or may yet be."""
        return add_sums([self.pending, self.approved])

    @property
    def cost_ratios(self) -> Sums:
        """Commissions per hundred of the revenue in each currency that has one."""
        return {
            currency: ratio
            for currency, amount in self.commissions.items()
            if (ratio := calculate_share(amount, self.revenue.get(currency, ZERO))) is not None
        }


@dataclass
class AffiliateTotals:
    """The totals of one affiliate in some days."""

    clicks: int = 0
    conversions: int = 0
    revenue: Amounts = field(default_factory=Amounts)
    earned: Amounts = field(default_factory=Amounts)  # pending or approved
    sold: Amounts = field(default_factory=Amounts)  # what sales were first
    kept: Amounts = field(default_factory=Amounts)  # what is left of that

    @property
    def refund_rates(self) -> Sums:
        """What was refunded or removed of what was sold, per hundred, by currency."""
        rates = {
            currency: calculate_share(sold - self.kept.get(currency, ZERO), sold)
            for currency, sold in sorted(self.sold.items())
        }
        return {currency: rate for currency, rate in rates.items() if rate is not None}


def count_months(first: date, last: date) -> int:
    """The calendar months from a day to another."""
    return 12 * (last.year - first.year) + last.month - first.month


def calculate_share(part: Decimal | int, whole: Decimal | int) -> Decimal | None:
    """Return how many per hundred a part is, with one decimal; None of nothing."""
    return (Decimal(100) * part / whole).quantize(Decimal("0.1")) if whole else None


def add_totals(totals: Iterable[Totals]) -> Totals:
    """Add up the totals of several days."""
    days = list(totals)
    total = Totals(
        clicks=sum(day.clicks for day in days),
        customers=sum(day.customers for day in days),
        conversions=sum(day.conversions for day in days),
    )
    for name in ("revenue", "pending", "approved", "disapproved", "paid"):
        setattr(total, name, Amounts(add_sums(getattr(day, name) for day in days)))
    return total


def add_sums(sums: Iterable[Sums]) -> Sums:
    """Add up amounts by currency, in the order of the currencies."""
    total = Amounts()
    for amounts in sums:
        for currency, amount in amounts.items():
            total.add(currency, amount)
    return total.in_order()


def rank_by_count(counts: Mapping[Key, Number]) -> list[tuple[Key, Number]]:
    """The largest count first; of equal ones by key."""
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
