"""The cards of an affiliate or a program: its numbers of the last days."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from affiliate_site.backoffice.dashboard.charts import Sparkline, build_sparkline
from affiliate_site.backoffice.formatters import format_totals, keep_amounts_together
from affiliate_site.backoffice.list_urls import build_list_url
from payouts.statistics import Period, Totals, add_totals


@dataclass(frozen=True)
class NumberCard:
    """A number of the last days, the list of its rows, and its curve if it is of one
    kind."""

    title: str
    value: str
    url: str
    sparkline: Sparkline | None = None


def build_number_cards(by_day: dict[date, Totals], period: Period, **of: Any) -> list[NumberCard]:
    """Clicks, conversions, revenue and commissions; `of` filters the lists of rows."""
    total = add_totals(by_day.values())
    clicks_url, conversions_url, commissions_url = (
        build_list_url(name, period, **of) for name in ("clicks", "conversions", "commissions")
    )
    return [
        build_count_card("Clicks", total.clicks, clicks_url, by_day),
        build_count_card("Conversions", total.conversions, conversions_url, by_day),
        build_amount_card(
            "Revenue", total.revenue, conversions_url, by_day, lambda day: day.revenue
        ),
        build_amount_card(
            "Commissions",
            total.commissions,
            commissions_url,
            by_day,
            lambda day: day.commissions,
        ),
    ]


def build_count_card(title: str, total: int, url: str, by_day) -> NumberCard:
    """The card of a number of rows."""
    values = [(day.isoformat(), getattr(totals, title.lower())) for day, totals in by_day.items()]
    return NumberCard(title, f"{total:,}", url, build_sparkline(title, values))


def build_amount_card(title: str, total, url: str, by_day, get_amounts) -> NumberCard:
    """The card of amounts; several currencies have no common curve."""
    sparkline = None
    if len(total) == 1:
        (currency,) = total
        values = [
            (day.isoformat(), float(get_amounts(totals).get(currency, 0)))
            for day, totals in by_day.items()
        ]
        sparkline = build_sparkline(f"{title} in {currency}", values)
    return NumberCard(title, keep_amounts_together(format_totals(total)), url, sparkline)
