"""The columns of reports, and what each is calculated from. Does not import Django.

A report adds up sums of each group of rows, and calculates its columns from them. Two
sums are no column: what sales were first (`sold`), and what is left of that (`kept`).
Shares are per hundred, as on the dashboard.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from payouts.statistics import calculate_share
from tracking.money import get_exponent, round_amount

COUNTS = ("clicks", "customers")  # whatever the currency
STATUS_SUMS = ("commissions_pending", "commissions_approved", "commissions_disapproved")
AGES = (1, 3, 6, 12)  # months after the first sale until which revenue of customers counts
SPENT = {age: f"spent_{age}" for age in AGES}
AGED = {age: f"customers_{age}" for age in AGES}  # those who are as old
AGE_SUMS = (*SPENT.values(), *AGED.values())
AMOUNT_SUMS = frozenset(("revenue", *STATUS_SUMS, "sold", "kept", *SPENT.values()))
MOMENTS: dict[str, Callable[..., datetime]] = {"first_sale": min, "last_sale": max}
# Percentiles of the seconds from click to sale; those of parts make none of the whole.
TIMES = {"time_to_conversion": 50, "time_to_conversion_90": 90}
EPC_DECIMALS = 4
EARNED = STATUS_SUMS[:2]
# What parts have of these adds up to no whole: a customer may buy in several months.
DISTINCT = ("buyers", "returning_buyers")

Sums = dict[str, Any]  # by name; a name that is missing has nothing to add up


class Unit(StrEnum):
    """What the numbers of a column are."""

    NUMBER = "number"
    AMOUNT = "amount"
    SHARE = "share"
    MOMENT = "moment"
    SECONDS = "seconds"


ZEROS = {Unit.NUMBER: 0, Unit.MOMENT: None, Unit.SECONDS: None}


@dataclass(frozen=True)
class ReportColumn:
    """A column of a report.

    `calculate` takes the `sums` it names, in their order, and the currency; by default
    the column is its only sum.
    """

    name: str
    title: str
    sums: tuple[str, ...]
    unit: Unit = Unit.NUMBER
    calculate: Callable[..., Any] | None = None
    help_text: str = ""
    is_of_all_currencies: bool = False  # the same in each row of a group, as clicks are
    is_converted: bool = False  # at the account's own rates, into its currency
    currency: str = ""  # of converted amounts, if there is one

    @property
    def has_amounts(self) -> bool:
        """Whether it is calculated from amounts, as shares may be, too."""
        return not AMOUNT_SUMS.isdisjoint(self.sums)

    @property
    def is_of_clicks(self) -> bool:
        """Whether it compares clicks with something."""
        return "clicks" in self.sums and len(self.sums) > 1

    def get_value(self, sums: Mapping[str, Any], currency: str) -> Any:
        """Return the value; None if there is none, such as a share of nothing."""
        zero: Any = {Unit.NUMBER: 0, Unit.MOMENT: None, Unit.SECONDS: None}.get(
            self.unit, Decimal(0)
        )
        values = [sums.get(name, zero) for name in self.sums]
        return self.calculate(*values, currency) if self.calculate else values[0]


def add_sums(sums: Sums, others: Mapping[str, Any]) -> None:
    """Add other sums to some; None adds nothing."""
    for name, value in others.items():
        if value is None:
            continue
        if name not in sums:
            sums[name] = value
        elif name in MOMENTS:
            sums[name] = MOMENTS[name](sums[name], value)
        else:
            sums[name] += value


def divide(amount: Decimal, number: int, decimals: int) -> Decimal | None:
    """The amount by number, rounded; None for none."""
    return (amount / number).quantize(Decimal(1).scaleb(-decimals)) if number else None


def list_columns() -> Iterable[ReportColumn]:
    """Yield all columns, in the order in which pages offer them."""
    amount, share, moment = Unit.AMOUNT, Unit.SHARE, Unit.MOMENT
    yield ReportColumn("clicks", "Clicks", ("clicks",))
    yield ReportColumn("customers", "New customers", ("customers",))
    yield ReportColumn("conversions", "Conversions", ("conversions",))
    yield ReportColumn(
        *("coupon_conversions", "Conversions by coupon", ("coupon_conversions",)),
        help_text="Conversions that a coupon was decisive for: far more of them than clicks"
        " may be a coupon that others publish.",
    )
    yield ReportColumn(
        *("clicks_per_coupon", "Clicks per conversion by coupon", ("clicks", "coupon_conversions")),
        calculate=lambda clicks, number, _: divide(Decimal(clicks), number, 1),
        help_text="Clicks for each conversion that a coupon was decisive for.",
        is_of_all_currencies=True,
    )
    yield ReportColumn(
        *("conversion_rate", "Conversion rate", ("conversions", "clicks"), share),
        lambda conversions, clicks, _: calculate_share(conversions, clicks),
        "Conversions of all currencies per hundred clicks.",
        is_of_all_currencies=True,
    )
    yield ReportColumn(
        *("buyers", "Customers who bought", ("buyers",)),
        help_text="Customers with a sale, each once.",
    )
    yield ReportColumn(
        *("repeat_rate", "Repeat rate", ("returning_buyers", "buyers"), share),
        lambda returning, buyers, _: calculate_share(returning, buyers),
        "Customers who bought again, per hundred who bought.",
    )
    yield ReportColumn(
        *("known_conversions", "Conversions of earlier customers", ("known_conversions",)),
        help_text="First sales by the affiliate to customers who had bought before without it.",
    )
    yield ReportColumn(
        *("known_rate", "Share of earlier customers", ("known_conversions", "conversions"), share),
        lambda known, conversions, _: calculate_share(known, conversions),
        "These per hundred conversions.",
    )
    yield ReportColumn("revenue", "Revenue", ("revenue",), amount)
    yield ReportColumn(
        *("average_order", "Average order", ("revenue", "conversions"), amount),
        lambda revenue, number, currency: divide(revenue, number, get_exponent(currency)),
        "Revenue by conversion.",
    )
    yield ReportColumn(
        *("commissions", "Commissions", EARNED, amount),
        lambda pending, approved, _: pending + approved,
        "Pending and approved ones.",
    )
    for name in STATUS_SUMS:
        yield ReportColumn(name, name.capitalize().replace("_", ", "), (name,), amount)
    yield ReportColumn(
        *("cost_ratio", "Cost ratio", (*EARNED, "revenue"), share),
        lambda pending, approved, revenue, _: calculate_share(pending + approved, revenue),
        "Commissions per hundred of revenue.",
    )
    yield ReportColumn(
        *("epc", "Earnings per click", (*EARNED, "clicks"), amount),
        lambda pending, approved, clicks, _: divide(pending + approved, clicks, EPC_DECIMALS),
        "Commissions by click.",
    )
    yield ReportColumn(
        *("refunds", "Refunds", ("sold", "kept"), amount),
        lambda sold, kept, _: sold - kept,
        "What was refunded, removed or lowered since of sales of the period.",
    )
    yield ReportColumn(
        *("refund_rate", "Refund rate", ("sold", "kept"), share),
        lambda sold, kept, _: calculate_share(sold - kept, sold),
        "Refunds per hundred of what these sales were first.",
    )
    yield ReportColumn("disputes", "Open disputes", ("disputes",))
    for name, percent in TIMES.items():
        title = (
            "Time to conversion, median" if percent == 50 else f"Time to conversion, {percent} %"
        )
        help_text = f"{percent} % of the sales with a click came at most so long after it."
        yield ReportColumn(name, title, (name,), Unit.SECONDS, help_text=help_text)
    for age in AGES:
        yield ReportColumn(
            *(f"customer_value_{age}", f"Revenue per customer, {age} month{'s' * (age > 1)}"),
            *((SPENT[age], AGED[age]), amount),
            lambda spent, number, currency: divide(spent, number, get_exponent(currency)),
            f"What customers spent until month {age} after that of their first sale, of those"
            " who are as old.",
        )
    yield ReportColumn("first_sale", "First sale", ("first_sale",), moment)
    yield ReportColumn("last_sale", "Last sale", ("last_sale",), moment)


COLUMNS = {column.name: column for column in list_columns()}
AMOUNTS = [it.name for it in COLUMNS.values() if it.unit is Unit.AMOUNT]
SUMMED_AMOUNTS = [  # the others are ratios, with decimals of their own
    it for it in AMOUNTS if len(COLUMNS[it].sums) == 1 or it in ("commissions", "refunds")
]
CONVERTED = {it: f"{it}_converted" for it in AMOUNTS}


def convert_column(column: ReportColumn) -> ReportColumn:
    """The column of the same sums, whose amounts are converted then. It is rounded once."""
    calculate = column.calculate or (lambda amount, _: amount)
    is_sum = column.name in SUMMED_AMOUNTS
    return replace(
        column,
        name=CONVERTED[column.name],
        title=f"{column.title}, converted",
        help_text="At your own exchange rates into the currency of the account.",
        calculate=(lambda *it: round_amount(calculate(*it), it[-1])) if is_sum else calculate,
        is_converted=True,
    )


COLUMNS |= {name: convert_column(COLUMNS[it]) for it, name in CONVERTED.items()}
