"""Figures: what the links and coupons of an affiliate brought in a period."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from affiliate_site.portal.access import portal_page, show
from affiliate_site.portal.earnings import STATES, find_order_id
from affiliate_site.portal.formats import day as format_day
from affiliate_site.portal.formats import format_number
from affiliate_site.portal.periods import (
    FiguresForm,
    choose_step,
    name_part,
    name_part_shortly,
    split_period,
)
from affiliate_site.portal.svg_charts import Chart, build_chart
from affiliate_site.portal.tables import (
    NamedTable,
    build_column,
    build_number_column,
    build_query,
    build_sums_column,
    download,
)
from payouts.services.decisions import get_reason
from payouts.services.figures import (
    Figures,
    Part,
    break_down_by_click,
    break_down_by_coupon,
    break_down_by_program,
    get_landing_page,
    get_sub_id,
    list_disapproved,
    list_state_totals,
    load_figures,
)
from payouts.statistics import Period, Totals
from tracking.money import ZERO, get_exponent
from tracking.written_amounts import write_amount

MAX_CHARTS_OF_MONEY = 2  # currencies


@dataclass(frozen=True)
class Breakdown:
    """The sales of a period by what brought them.

    `list_parts` takes the affiliate and the period, or the figures of the period if it
    `needs_figures`.
    Columns that no part has a value of are left out.
    """

    title: Any
    column: Any
    list_parts: Callable[..., list[Part]]
    needs_figures: bool = False


# By the parameter `by`.
BREAKDOWNS = {
    "program": Breakdown(
        gettext_lazy("By program"),
        gettext_lazy("Program"),
        break_down_by_program,
        needs_figures=True,
    ),
    "coupon": Breakdown(gettext_lazy("By coupon"), gettext_lazy("Coupon"), break_down_by_coupon),
    "page": Breakdown(
        gettext_lazy("By page of the shop"),
        gettext_lazy("Page"),
        partial(break_down_by_click, get_value=get_landing_page),
    ),
    "sub_id": Breakdown(
        gettext_lazy("By sub-ID"),
        gettext_lazy("Sub-ID"),
        partial(break_down_by_click, get_value=get_sub_id),
    ),
}


@portal_page()
def figures(request):
    """Totals, charts and tables of a period; with `file`, one table as CSV."""
    affiliate, account, at = request.affiliate, request.account, timezone.now()
    form = FiguresForm(request.GET)
    period = form.get_period(account.get_day(at))
    name = request.GET.get("by", "")
    if name in BREAKDOWNS:
        tables = [build_breakdown(affiliate, BREAKDOWNS[name], name, period, at=at)]
        context: dict[str, Any] = {}
    else:
        name = ""
        step = choose_step(period, form.cleaned_data["step"] if form.is_valid() else "")
        found = load_figures(affiliate, period, period.comparable, at=at)
        parts = [(part, found.of_days(part.days)) for part in split_period(period, step)]
        tables = [
            build_days_table(parts, step),
            build_states_table(affiliate, period, at=at),
        ]
        if request.portal.shows_comments:
            reasons = build_reasons_table(request, affiliate, period)
            tables += [reasons] if reasons.rows else []
        context = {
            "before": found.before,
            "cards": build_cards(found),
            "charts": build_charts(parts, step),
        }
    wanted = request.GET.get("file", "")
    for table in tables:
        if table.name == wanted:
            return download(table, f"{wanted}-{period.first}-{period.last}")
    query = request.GET
    context |= {
        "title": _("Figures"),
        "form": form,
        "period": period,
        "tables": tables,
        "by": name,
        "tabs": [
            (title, build_query(query, by=key, file=""), key == name)
            for key, title in (
                ("", _("Over time")),
                *((key, each.title) for key, each in BREAKDOWNS.items()),
            )
        ],
        "file_query": build_query(query, by=name, file="") + "&file=",
    }
    return show(request, "figures", context)


def build_days_table(parts: list[tuple[Period, Totals]], step: str) -> NamedTable:
    """The totals of each part of the period; a file has the first day of each."""
    columns = (
        build_column(_("Time"), lambda it: it[0].first, partial(name_part, step=step)),
        build_number_column(_("Clicks"), lambda it: it[1].clicks),
        build_number_column(_("Customers"), lambda it: it[1].customers),
        build_number_column(_("Sales"), lambda it: it[1].conversions),
        build_number_column(_("Sales per 100 clicks"), lambda it: it[1].conversion_rate, "{} %"),
        build_sums_column(_("Revenue"), lambda it: it[1].revenue),
        build_sums_column(_("You earn"), lambda it: it[1].commissions),
    )
    return NamedTable(_("Over time"), columns, parts, name="time")


def build_states_table(affiliate, period: Period, *, at) -> NamedTable:
    """What became of the commissions of the period."""
    columns = (
        build_column(_("State"), lambda it: str(STATES[it.state])),
        build_number_column(_("Commissions"), lambda it: it.number),
        build_sums_column(_("Amount"), lambda it: {it.currency: it.amount}),
    )
    rows = list(list_state_totals(affiliate, period, at=at))
    return NamedTable(_("What became of your commissions"), columns, rows, name="states")


def build_reasons_table(request, affiliate, period: Period) -> NamedTable:
    """Why commissions were disapproved, in the words of the company."""
    account, order_ids = request.account, request.portal.order_ids
    columns = (
        build_column(_("Day"), lambda it: account.get_day(it.created_at), format_day),
        build_column(_("Order"), lambda it: find_order_id(it, order_ids)),
        build_sums_column(_("Amount"), lambda it: {it.currency: it.amount}),
        build_column(_("Reason"), get_reason),
    )
    rows = list(list_disapproved(affiliate, period))
    return NamedTable(_("Why commissions were disapproved"), columns, rows, name="reasons")


def build_breakdown(affiliate, breakdown, name: str, period: Period, *, at) -> NamedTable:
    """The parts of a breakdown, without the columns that none of them has."""
    source: Any = period
    if breakdown.needs_figures:
        source = load_figures(affiliate, period, period, at=at)
    parts = breakdown.list_parts(affiliate, source)
    columns = [
        ("label", build_column(str(breakdown.column), lambda it: it.label)),
        ("clicks", build_number_column(_("Clicks"), lambda it: it.clicks)),
        ("sales", build_number_column(_("Sales"), lambda it: it.sales)),
        ("revenue", build_sums_column(_("Revenue"), lambda it: it.revenue)),
        ("commissions", build_sums_column(_("You earn"), lambda it: it.commissions)),
    ]
    known = [
        column
        for field, column in columns
        if any(getattr(part, field) is not None for part in parts)
    ]
    return NamedTable(str(breakdown.title), known, parts, name=name)


def build_cards(figures: Figures) -> list[tuple[str, str, str]]:
    """Title, number, and the difference from the period before in words."""
    now = figures.of_days(figures.period.days)
    then = figures.of_days(figures.before.days)
    rate, rate_then = now.conversion_rate, then.conversion_rate
    counts = [
        (_("Clicks"), now.clicks, then.clicks),
        (_("Customers"), now.customers, then.customers),
        (_("Sales"), now.conversions, then.conversions),
    ]
    cards = [
        (title, format_number(value), compare(value, value_then, format_number))
        for title, value, value_then in counts
    ]
    if rate is not None:
        before = (
            _("before: {rate} %").format(rate=format_number(rate_then))
            if rate_then is not None
            else _("nothing to compare with")
        )
        title = _("Sales per 100 clicks")
        cards.append((title, f"{format_number(rate)} %", before))
    for title, sums, sums_then in (
        (_("Revenue"), now.revenue, then.revenue),
        (_("You earn"), now.commissions, then.commissions),
    ):
        for currency in sorted({*sums, *sums_then}):
            value = sums.get(currency, ZERO)
            write = partial(write_amount, currency=currency)
            text = compare(value, sums_then.get(currency, ZERO), write)
            cards.append((title, write(value), text))
    return cards


def compare(value, before, write: Callable[[Any], str]) -> str:
    """`3 more than before (+25 %)`."""
    if not before:
        return _("nothing before") if value else _("nothing before, either")
    if value == before:
        return _("as many as before")
    percent = format_number(round(abs(value - before) * 100 / before))
    if value > before:
        text = _("{number} more than before (+{percent} %)")
    else:
        text = _("{number} less than before (-{percent} %)")
    return text.format(number=write(abs(value - before)), percent=percent)


def build_charts(parts: list[tuple[Period, Totals]], step: str) -> list[Chart]:
    """Clicks, sales, and what the affiliate earns in each currency."""
    labels = [name_part_shortly(part, step) for part, _totals in parts]
    totals = [each for _part, each in parts]

    def chart(title: str, values: list[Any], write, *, has_decimals=False) -> Chart:
        pairs = list(zip(labels, values, strict=True))
        return build_chart(title, pairs, write, has_decimals=has_decimals)

    earned = [each.commissions for each in totals]
    currencies = sorted({code for sums in earned for code in sums})
    return [
        chart(_("Clicks"), [each.clicks for each in totals], format_number),
        chart(_("Sales"), [each.conversions for each in totals], format_number),
        *(
            chart(
                _("You earn, {currency}").format(currency=currency),
                [sums.get(currency, ZERO) for sums in earned],
                format_number,
                has_decimals=get_exponent(currency) > 0,
            )
            for currency in currencies[:MAX_CHARTS_OF_MONEY]
        ),
    ]
