"""The columns of the list of affiliates, with their statistics."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from django.contrib.admin.views.main import SEARCH_VAR
from django.utils import timezone
from django.utils.html import format_html

from affiliate_site.backoffice.affiliates.affiliate_detail import (
    APPROVAL_STATUSES,
    get_full_name,
)
from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    REMOVED,
    Label,
    format_datetime,
    format_labels,
    format_totals,
    keep_amounts_together,
)
from affiliate_site.backoffice.lists.date_filters import (
    find_active_period,
)
from affiliate_site.backoffice.lists.filters import (
    EnrolledProgramFilter,
)
from affiliate_site.columns import Column, SumsSource
from payouts.services.statistics import calculate_performance
from payouts.statistics import get_last_days
from tracking.services.search import (
    list_hidden_matches,
    list_search_codes,
)

STATISTICS_DAYS = 30  # days of the statistics columns, including today
LAST_DAYS = f"{STATISTICS_DAYS} days"  # in their titles
BALANCE_TITLE = "Balance due"


class AffiliateFacts(NamedTuple):
    """What the list shows of an affiliate in addition."""

    performance: Any  # None if it is not known
    found_by: Sequence[str]  # other texts with the words of the search
    approvals: list[bool | None]  # in its programs


def find_affiliate_facts(request, rows) -> dict[int, AffiliateFacts]:
    """The facts of affiliates; operators see statistics if all rows are of one account."""
    at, accounts = timezone.now(), {row.account_id: row.account for row in rows}
    performance, enrollments = {}, []
    if len(accounts) == 1:
        (account,) = accounts.values()
        default = get_last_days(STATISTICS_DAYS, account.get_day(at))
        slug = request.GET.get(EnrolledProgramFilter.parameter_name)
        program = account.programs.filter(slug=slug).first() if slug else None
        performance = calculate_performance(
            account,
            [row.pk for row in rows],
            find_active_period(request) or default,
            program=program and program.pk,
            at=at,
        )
        enrollments = list_search_codes(account, rows)
    found_by = list_hidden_matches(rows, enrollments, request.GET.get(SEARCH_VAR, ""))
    return {
        row.pk: AffiliateFacts(
            performance.get(row.pk),
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


def build_totals_column(name: str, title: str) -> Column:
    """A column of the statistics with amounts, of one currency or several."""

    def get_sums(affiliate, facts):
        return getattr(facts.performance, name, {})

    def show(affiliate, facts):
        if facts.performance is None:
            return EMPTY_VALUE
        return keep_amounts_together(format_totals(get_sums(affiliate, facts)))

    return Column(title, show, name=name, load=find_affiliate_facts, export=SumsSource(get_sums))


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
    Column(
        f"Clicks, {LAST_DAYS}",
        lambda row, it: it.performance.clicks if it.performance else EMPTY_VALUE,
        load=find_affiliate_facts,
        name="clicks",
        is_count=True,
    ),
    Column(
        f"Conversions, {LAST_DAYS}",
        lambda row, it: it.performance.conversions if it.performance else EMPTY_VALUE,
        load=find_affiliate_facts,
        name="conversions",
        is_count=True,
    ),
    build_totals_column("revenue", f"Revenue, {LAST_DAYS}"),
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
