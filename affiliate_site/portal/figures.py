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
from affiliate_site.portal.formats import format_money, format_number
from affiliate_site.portal.periods import (
    FiguresForm,
    choose_step,
    name_part,
    name_part_shortly,
    split_period,
)
from affiliate_site.portal.svg_charts import Chart, build_chart
from affiliate_site.portal.tables import (
    DAY,
    NUMBER,
    PERCENT,
    SUMS,
    Column,
    Table,
    build_query,
    download,
)
from payouts.services.commissions import get_reason
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


def build_days_table(parts: list[tuple[Period, Totals]], step: str) -> Table:
    """The totals of each part of the period; a file has the first day of each."""
    columns = (
        Column(_("Time"), DAY, partial(name_part, step=step)),
        Column(_("Clicks"), NUMBER),
        Column(_("Customers"), NUMBER),
        Column(_("Sales"), NUMBER),
        Column(_("Sales per 100 clicks"), PERCENT),
        Column(_("Revenue"), SUMS),
        Column(_("You earn"), SUMS),
    )
    rows = [
        (
            part.first,
            *(totals.clicks, totals.customers, totals.conversions),
            totals.conversion_rate,
            *(totals.revenue, totals.commissions),
        )
        for part, totals in parts
    ]
    return Table("time", _("Over time"), columns, rows)


def build_states_table(affiliate, period: Period, *, at) -> Table:
    """What became of the commissions of the period."""
    rows = [
        (str(STATES[total.state]), total.number, {total.currency: total.amount})
        for total in list_state_totals(affiliate, period, at=at)
    ]
    columns = (
        Column(_("State")),
        Column(_("Commissions"), NUMBER),
        Column(_("Amount"), SUMS),
    )
    return Table("states", _("What became of your commissions"), columns, rows)


def build_reasons_table(request, affiliate, period: Period) -> Table:
    """Why commissions were disapproved, in the words of the company."""
    account, order_ids = request.account, request.portal.order_ids
    rows = [
        (
            account.get_day(row.created_at),
            find_order_id(row, order_ids),
            {row.currency: row.amount},
            get_reason(row),
        )
        for row in list_disapproved(affiliate, period)
    ]
    columns = (
        Column(_("Day"), DAY),
        Column(_("Order")),
        Column(_("Amount"), SUMS),
        Column(_("Reason")),
    )
    return Table("reasons", _("Why commissions were disapproved"), columns, rows)


def build_breakdown(affiliate, breakdown, name: str, period: Period, *, at) -> Table:
    """The parts of a breakdown, without the columns that none of them has."""
    source: Any = period
    if breakdown.needs_figures:
        source = load_figures(affiliate, period, period, at=at)
    parts = breakdown.list_parts(affiliate, source)
    columns = [
        (Column(str(breakdown.column)), [part.label for part in parts]),
        (Column(_("Clicks"), NUMBER), [part.clicks for part in parts]),
        (Column(_("Sales"), NUMBER), [part.sales for part in parts]),
        (Column(_("Revenue"), SUMS), [part.revenue for part in parts]),
        (Column(_("You earn"), SUMS), [part.commissions for part in parts]),
    ]
    known = [
        (column, values) for column, values in columns if any(value is not None for value in values)
    ]
    return Table(
        name,
        str(breakdown.title),
        [column for column, _values in known],
        list(zip(*(values for _column, values in known), strict=True)),
    )


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
            write = partial(format_money, currency=currency)
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
