"""The columns of the list of affiliates, with their statistics."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from django.contrib.admin.views.main import SEARCH_VAR
from django.utils import timezone
from django.utils.html import format_html

from affiliate_site.backoffice.affiliates.affiliate_detail import (
    APPROVAL_STATUSES,
    get_full_name,
)
from affiliate_site.backoffice.affiliates.affiliate_filters import (
    STATISTICS_DAYS,
    AmountCurrencyFilter,
    find_program,
    get_period,
)
from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    REMOVED,
    Label,
    count_noun,
    format_datetime,
    format_day,
    format_labels,
    format_money,
    format_totals,
    keep_amounts_together,
)
from affiliate_site.columns import AmountSource, Column, SumsSource
from payouts.services.affiliate_activity import (
    TREND_DAYS,
    Activity,
    Trend,
    find_activity,
    find_trends,
    get_last_click,
    get_last_sale,
)
from payouts.services.affiliate_order import COUNTS, get_balance_due, get_figure
from payouts.services.statistics import calculate_performance, load_statistics
from payouts.statistics import Sums
from tracking.services.search import (
    list_hidden_matches,
    list_search_codes,
)

LAST_DAYS = f"{STATISTICS_DAYS} days"  # in the titles of statistics columns
BALANCE_TITLE = "Balance due"


class AffiliateFacts(NamedTuple):
    """What the list shows of an affiliate in addition."""

    performance: Any  # None if it is not known
    activity: Activity
    found_by: Sequence[str]  # other texts with the words of the search
    approvals: list[bool | None]  # in its programs


def find_affiliate_facts(request, rows) -> dict[int, AffiliateFacts]:
    """The facts of affiliates; operators see statistics if all rows are of one account."""
    at, accounts = timezone.now(), {row.account_id: row.account for row in rows}
    activity = find_activity([row.pk for row in rows])
    performance, enrollments = {}, []
    if len(accounts) == 1:
        (account,) = accounts.values()
        performance = calculate_performance(
            account,
            [row.pk for row in rows],
            get_period(request, account, at=at),
            program=find_program(request, account),
            at=at,
        )
        enrollments = list_search_codes(account, rows)
    found_by = list_hidden_matches(rows, enrollments, request.GET.get(SEARCH_VAR, ""))
    return {
        row.pk: AffiliateFacts(
            performance.get(row.pk),
            activity[row.pk],
            found_by.get(row.pk, ()),
            [approved for pk, approved, *_ in enrollments if pk == row.pk],
        )
        for row in rows
    }


def label_approvals(affiliate, facts: AffiliateFacts) -> str:
    """Labels of the approval statuses, with the number of programs if several."""
    if affiliate.deleted_at:
        return format_labels([REMOVED])
    return format_labels(
        Label(f"{status}{f' ({n})' if n > 1 else ''}", status.color)
        for approved, status in APPROVAL_STATUSES.items()
        if (n := facts.approvals.count(approved))
    )


def count_approvals(affiliate, facts: AffiliateFacts) -> str:
    """The number of programs per approval status."""
    if affiliate.deleted_at:
        return f"Removed {format_datetime(affiliate.deleted_at)}"
    counts = [
        f"{facts.approvals.count(approved)} {status}"
        for approved, status in APPROVAL_STATUSES.items()
        if approved in facts.approvals
    ]
    return ", ".join(counts) or EMPTY_VALUE


def rename(column: str | Column, titles: dict[str, str]) -> str | Column:
    """A column with other words at the end of its title."""
    for end, title in titles.items():
        if isinstance(column, Column) and column.title.endswith(end):
            return replace(column, title=f"{column.title.removesuffix(end)}{title}")
    return column


def format_rates(rates: Sums) -> str:
    """`2.5 %`, with the currencies if there are several; empty without any."""
    if len(rates) == 1:
        return f"{next(iter(rates.values()))} %"
    return ", ".join(f"{rate} % {currency}" for currency, rate in rates.items())


def build_order(name: str):
    """What the list is sorted by a figure with; operators have no account to sort in."""

    def get_order(request):
        account, at = request.user.account, timezone.now()
        if account is None:
            return None
        days = get_period(request, account, at=at).days
        kinds = () if name in COUNTS else ("conversions",)
        statistics = load_statistics(account, days, at=at, kinds=kinds)
        currency = request.GET.get(AmountCurrencyFilter.parameter_name)
        if not currency and name not in COUNTS:
            currency = statistics.get_main_currency(days)
        if name == "balance_due":
            figure = get_balance_due(account, currency)
        else:
            program = find_program(request, account)
            figure = get_figure(statistics, days, name, currency=currency, program=program)
        return figure.asc(nulls_first=True)

    return get_order


def build_moment_column(name: str, title: str, expression: Any) -> Column:
    """A column of the day on which an affiliate was active last."""

    def show(affiliate, facts):
        return format_day(getattr(facts.activity, name)) or EMPTY_VALUE

    return Column(
        title,
        show,
        name=name,
        load=find_affiliate_facts,
        order=lambda request: expression.asc(nulls_first=True),
        export=lambda affiliate, facts: format_day(getattr(facts.activity, name)),
    )


def build_count_column(name: str, title: str) -> Column:
    """A column of the statistics with a number."""
    return Column(
        title,
        lambda row, it: getattr(it.performance, name) if it.performance else EMPTY_VALUE,
        load=find_affiliate_facts,
        name=name,
        order=build_order(name),
        is_count=True,
    )


def build_totals_column(
    name: str, title: str, format_sums: Callable[[Sums], str] = format_totals
) -> Column:
    """A column of the statistics with amounts or rates, of one currency or several."""

    def get_sums(affiliate, facts):
        return getattr(facts.performance, name, {})

    def show(affiliate, facts):
        if facts.performance is None:
            return EMPTY_VALUE
        return keep_amounts_together(format_sums(get_sums(affiliate, facts))) or EMPTY_VALUE

    return Column(
        title,
        show,
        name=name,
        load=find_affiliate_facts,
        order=build_order(name),
        export=SumsSource(get_sums),
    )


def load_trends(request, rows) -> dict[int, Trend]:
    """What a segment compares; only users of an account have segments."""
    return find_trends(request.user.account, [row.pk for row in rows], at=timezone.now())


def build_trend_column(name: str, title: str) -> Column:
    """A column of one of the two figures that a segment compares."""

    def show(affiliate, trend):
        figure = getattr(trend, name)
        if not trend.currency:
            return count_noun(int(figure), "sale")
        return keep_amounts_together(format_money(figure, trend.currency))

    return Column(
        title,
        show,
        name=f"trend_{name}",
        load=load_trends,
        export=AmountSource(
            lambda affiliate, trend: getattr(trend, name),
            lambda affiliate, trend: trend.currency or "sales",
        ),
    )


# Of the segments that compare two periods.
TREND_COLUMNS = (
    build_trend_column("before", f"{TREND_DAYS} days before"),
    build_trend_column("now", f"{TREND_DAYS} days until yesterday"),
    Column(
        "Change (%)",
        lambda affiliate, trend: EMPTY_VALUE if trend.change is None else f"{trend.change:+}",
        name="trend_change",
        load=load_trends,
        export=lambda affiliate, trend: trend.change,
    ),
)
LAST_CLICK = build_moment_column("last_click", "Last click", get_last_click())

NAME_AND_EMAIL = Column(
    "Name and e-mail",
    lambda row: format_html(
        '{} <span class="subtext">{}</span>', get_full_name(row), row.email or ""
    ),
    name="person",
    order="lastname",
    is_exported=False,
)
FOUND_BY = Column(
    "Found by",
    lambda row, it: ", ".join(it.found_by) or EMPTY_VALUE,
    load=find_affiliate_facts,
    is_exported=False,
)


AFFILIATE_COLUMNS = (
    "slug",
    NAME_AND_EMAIL,
    FOUND_BY,
    Column("Name", export=get_full_name, is_listed=False),
    Column(name="email", is_listed=False),
    Column(
        "Group",
        lambda row: row.group.title if row.group else EMPTY_VALUE,
        name="group_title",
        order="group__title",
        export="group__title",
    ),
    Column(
        "Status",
        label_approvals,
        name="status_labels",
        load=find_affiliate_facts,
        export=count_approvals,
    ),
    LAST_CLICK,
    build_moment_column("last_sale", "Last sale", get_last_sale()),
    build_count_column("clicks", f"Clicks, {LAST_DAYS}"),
    build_count_column("conversions", f"Conversions, {LAST_DAYS}"),
    build_totals_column("revenue", f"Revenue, {LAST_DAYS}"),
    build_totals_column("commissions", f"Commissions, {LAST_DAYS}"),
    build_totals_column("refund_rates", f"Refund rate, {LAST_DAYS}", format_rates),
    build_totals_column("balance_due", BALANCE_TITLE),
    Column(
        "Created",
        lambda row: timezone.localdate(row.created_at),
        name="joined_on",
        order="created_at",
        is_exported=False,
    ),
    Column(name="created_at", is_listed=False),
)
