"""Charts as SVG: those of the dashboard and small ones in lists."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from accounts.exact_json import format_decimal
from payouts.statistics import ZERO, Period, Sums, Totals
from tracking.money import get_exponent

COLORS = ("#16a34a", "#6366f1")  # with enough contrast in both themes
PREVIOUS_DASHES = (6, 4)  # pixels drawn and left out
MAX_DAY_LABELS = 8
MIN_LABEL_GAP = 16  # pixels


@dataclass(frozen=True)
class Series:
    """A line of a chart: the value of each day."""

    label: str
    get_value: Callable[[Totals], int | Decimal]
    color: str
    is_compared: bool = True  # with the previous period


@dataclass(frozen=True)
class Chart:
    """A chart of daily values: its title, and the JSON for the theme's component."""

    title: str
    data: str
    options: str


def build_charts(
    totals: dict[date, Totals],
    period: Period,
    previous: Period,
    currencies: Sequence[str],
) -> list[Chart]:
    """For each currency revenue and commissions; clicks, and conversions."""
    periods = (period, previous)
    return [
        *(
            build_chart(
                f"Revenue, {currency}",
                totals,
                periods,
                build_money_series(currency),
                unit=currency,
            )
            for currency in currencies
        ),
        build_chart("Clicks", totals, periods, [count_series("clicks")]),
        build_chart("Conversions", totals, periods, [count_series("conversions")]),
    ]


def count_series(name: str) -> Series:
    """The daily counts of this field of `Totals`."""
    return Series(name.capitalize(), lambda day: getattr(day, name), COLORS[0])


def build_money_series(currency: str) -> list[Series]:
    """The daily revenue and commissions in a currency; the revenue is compared."""

    def get_amount(sums: Sums) -> Decimal:
        return sums.get(currency, ZERO)

    return [
        Series("Revenue", lambda day: get_amount(day.revenue), COLORS[0]),
        Series(
            "Commissions",
            lambda day: get_amount(day.commissions),
            COLORS[1],
            is_compared=False,
        ),
    ]


def build_chart(
    title: str,
    totals: dict[date, Totals],
    periods: tuple[Period, Period],
    series: Sequence[Series],
    *,
    unit: str = "",
) -> Chart:
    """A line for each series, and a dashed one for its previous period.

    `periods` are the period and the previous one, of which a longer month loses its
    last days. `unit` is the currency of the values; without one they are counts.
    """
    period, previous = periods
    days = previous.days[: len(period.days)]
    name = "previous period"
    if len(days) < len(previous.days):
        name = f"first {len(days)} days of the {name}"
    datasets = []
    for line in series:
        datasets.append(build_dataset(line, line.label, totals, period.days))
        if line.is_compared:
            dashed = build_dataset(line, f"{line.label}, {name}", totals, days)
            datasets.append(dashed | {"borderDash": PREVIOUS_DASHES})
    data = {"labels": [f"{day:%a %d %b}" for day in period.days], "datasets": datasets}
    return Chart(title, json.dumps(data), json.dumps(build_options(unit)))


def build_bar_chart(
    title: str,
    labels: Sequence[str],
    series: Sequence[tuple[str, Sequence[Any]]],
    *,
    unit: str = "",
) -> Chart:
    """Bars for each label: one of each series, whose numbers may be None."""
    datasets = [
        {
            "label": label,
            "data": [format_decimal(Decimal(value or 0)) for value in values],
            "backgroundColor": color,
        }
        for (label, values), color in zip(series, COLORS, strict=False)
    ]
    data = {"labels": list(labels), "datasets": datasets}
    return Chart(title, json.dumps(data), json.dumps(build_options(unit)))


def build_dataset(
    line: Series, label: str, totals: dict[date, Totals], days: Sequence[date]
) -> dict[str, Any]:
    """The values of a line on these days."""
    values = [line.get_value(totals[day]) for day in days]
    return {
        "label": label,
        "data": [format_decimal(Decimal(value)) for value in values],
        "borderColor": line.color,
        "backgroundColor": line.color,
    }


def build_options(unit: str) -> dict[str, Any]:
    """Axes, a legend, and one tooltip for all lines of a day."""
    digits = get_exponent(unit) if unit else 0
    return {
        "animation": False,
        "locale": "en",
        "maintainAspectRatio": False,
        "interaction": {"mode": "index", "intersect": False},
        "elements": {"line": {"borderWidth": 2}, "point": {"radius": 0}},
        "plugins": {"legend": {"position": "bottom", "labels": {"boxHeight": 1, "boxWidth": 24}}},
        "scales": {
            "x": {
                "ticks": {
                    "maxTicksLimit": MAX_DAY_LABELS,
                    "maxRotation": 0,
                    "autoSkipPadding": MIN_LABEL_GAP,
                },
                "grid": {"display": False},
            },
            "y": {
                "beginAtZero": True,
                "ticks": {
                    "precision": digits,
                    "format": {
                        "minimumFractionDigits": digits,
                        "maximumFractionDigits": digits,
                    },
                },
                "grid": {},
            },
        },
    }


WIDTH, HEIGHT = 120, 28  # units of the drawing
GAP = 1  # between two bars
MIN_BAR_HEIGHT = 1


@dataclass(frozen=True)
class Bar:
    """The rectangle of a day, with its text."""

    x: float
    y: float
    width: float
    height: float
    text: str


@dataclass(frozen=True)
class Sparkline:
    """A bar for each day; `label` says all numbers in words."""

    label: str
    bars: list[Bar]
    view_box: str = f"0 0 {WIDTH} {HEIGHT}"


def build_sparkline(title: str, values: Sequence[tuple[str, float]]) -> Sparkline:
    """A sparkline of days with their numbers; a negative number counts as zero."""
    highest = max((value for _, value in values), default=0) or 1
    step = WIDTH / (len(values) or 1)
    bars = []
    for index, (day, value) in enumerate(values):
        height = round(max(value, 0) * HEIGHT / highest, 1)
        height = max(height, MIN_BAR_HEIGHT)
        bars.append(
            Bar(
                x=round(index * step, 2),
                y=round(HEIGHT - height, 2),
                width=round(step - GAP, 2),
                height=height,
                text=f"{day}: {value:,}",
            )
        )
    numbers = ", ".join(f"{value:,}" for _, value in values)
    period = f"{values[0][0]} to {values[-1][0]}" if values else ""
    return Sparkline(f"{title} by day, {period}: {numbers}", bars)
