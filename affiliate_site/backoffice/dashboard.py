"""The dashboard: statistics of a period, and what staff have to review."""

import json
from dataclasses import dataclass
from datetime import date, timedelta
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from accounts.days import A_DAY
from accounts.exact_json import format_decimal
from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    format_datetime,
    format_totals,
)
from payouts.models.commissions import CommissionStatus
from payouts.services.statistics import (
    count_to_review,
    get_balance_due,
    get_overpaid,
    get_slugs,
    load_statistics,
)
from payouts.statistics import Period, Totals, add_totals, rank_by_count
from tracking.services.failed_page_calls import count_unexpected_failures

PERIOD_CHOICES_DAYS = (7, 30, 90)
DEFAULT_PERIOD_DAYS = 30
MAX_PERIOD_DAYS = 366
TOP_LIST_SIZE = 10  # rows of a top list
CHART_COLORS = ("#16a34a", "#6366f1", "#d97706", "#db2777")  # for both themes


@dataclass(frozen=True)
class DashboardCard:
    """A number, its value in the previous period, and the list of its rows."""

    title: str
    value: str
    previous_value: str = ""
    url: str = ""
    note: str = ""
    change: str = ""  # relative to the previous period


def add_dashboard_context(request, context):
    """Add the statistics of the user's account; operators have no account."""
    account = request.user.account
    if account is None:
        return context
    at = timezone.now()
    period, error = parse_period(request, today=at.date())
    previous = period.previous
    statistics = load_statistics(account, previous.days + period.days, at=at)
    totals = statistics.totals_by_day(previous.days + period.days)
    by_day = [(day, totals[day]) for day in period.days]
    current_totals = add_totals(day_totals for _, day_totals in by_day)
    previous_totals = add_totals(totals[day] for day in previous.days)
    affiliate_totals = statistics.affiliate_totals(period.days)
    active_counts = (
        count_active(affiliate_totals),
        count_active(statistics.affiliate_totals(previous.days)),
    )
    return context | {
        "period": period,
        "length_days": len(period.days),
        "is_current": period.last == at.date(),
        "error": error,
        "period_choices": PERIOD_CHOICES_DAYS,
        "cards": [
            *build_cards(current_totals, previous_totals, active_counts, period),
            build_balance_due_card(account),
        ],
        "activity_chart": build_chart(by_day, get_daily_counts),
        "commission_chart": build_chart(by_day, get_commission_totals)
        if current_totals.commissions
        else "",
        "daily_rows": [build_daily_row(day, day_totals) for day, day_totals in by_day],
        "review_cards": build_review_cards(account),
        "top_affiliates": list_top_affiliates(account, affiliate_totals),
        "top_landing_pages": statistics.top_pages(period.days, TOP_LIST_SIZE),
    }


def parse_period(request, *, today: date) -> tuple[Period, str]:
    """The requested period, or the default period with an error message."""
    requested_days = request.GET.get("days", "")
    length_days = DEFAULT_PERIOD_DAYS
    if requested_days in map(str, PERIOD_CHOICES_DAYS):
        length_days = int(requested_days)
    default = Period(today - timedelta(days=length_days - 1), today)
    first, last = request.GET.get("from", ""), request.GET.get("to", "")
    if not first and not last:
        return default, ""
    try:
        period = Period(date.fromisoformat(first), date.fromisoformat(last))
    except ValueError:
        return default, "Enter both dates as YYYY-MM-DD."
    if period.first > period.last or period.last > today:
        return default, (
            "The start date must not be after the end date, and the end date must not"
            " be in the future."
        )
    if period.last - period.first >= timedelta(days=MAX_PERIOD_DAYS):
        return default, f"Choose a period of at most {MAX_PERIOD_DAYS} days."
    if period.first.year <= date.min.year + 1:
        return default, "The start date is too early."
    return period, ""


def build_cards(
    current: Totals, previous: Totals, active_counts: tuple[int, int], period: Period
) -> list[DashboardCard]:
    """The cards that compare a period with the previous one."""
    clicks_url = build_changelist_url("tracking_click", period)
    conversions_url = build_changelist_url(
        "tracking_conversion", period, deleted_at__isnull=True
    )
    customers_url = build_changelist_url(
        "tracking_customer", period, deleted_at__isnull=True
    )
    payments_url = build_changelist_url(
        "payouts_payment", period, canceled_at__isnull=True
    )
    return [
        build_count_card("Clicks", current.clicks, previous.clicks, clicks_url),
        build_count_card(
            "Customers", current.customers, previous.customers, customers_url
        ),
        build_count_card(
            "Conversions", current.conversions, previous.conversions, conversions_url
        ),
        DashboardCard(
            "Conversion rate",
            format_conversion_rate(current),
            format_conversion_rate(previous),
        ),
        DashboardCard(
            "Revenue",
            format_totals(current.revenue),
            format_totals(previous.revenue),
            conversions_url,
        ),
        build_count_card("Active affiliates", *active_counts),
        *(
            DashboardCard(
                f"{status.label} commissions",
                format_totals(getattr(current, status)),
                format_totals(getattr(previous, status)),
                build_changelist_url(
                    "payouts_commission",
                    period,
                    deleted_at__isnull=True,
                    status__exact=status,
                ),
            )
            for status in (CommissionStatus.PENDING, CommissionStatus.APPROVED)
        ),
        DashboardCard(
            "Paid out",
            format_totals(current.paid),
            format_totals(previous.paid),
            payments_url,
        ),
    ]


def build_count_card(
    title: str, current: int, previous: int, url: str = ""
) -> DashboardCard:
    """A card with a count and its relative change."""
    change = f"{(current - previous) * 100 / previous:+.0f} %" if previous else ""
    return DashboardCard(title, f"{current:,}", f"{previous:,}", url, change=change)


def build_balance_due_card(account) -> DashboardCard:
    """The balance due now, independent of the period."""
    overpaid = get_overpaid(account)
    return DashboardCard(
        "Balance due",
        format_totals(get_balance_due(account)),
        note=f"Overpaid: {format_totals(overpaid)}" if overpaid else "",
        url=build_changelist_url("payouts_ledgeraccount", balance__gt=0),
    )


def build_review_cards(account) -> list[DashboardCard]:
    """What staff have to review, with links to the lists."""
    to_review = count_to_review(account, at=timezone.now())
    oldest = f"Oldest: {to_review.oldest:%Y-%m-%d}" if to_review.oldest else ""
    commissions = f"{to_review.commissions:,}"
    if to_review.commissions:
        commissions += f" ({format_totals(to_review.sums)})"
    return [
        DashboardCard(
            "Affiliate applications",
            f"{to_review.applications:,}",
            url=build_changelist_url("tracking_enrollment", approved__isnull=True),
        ),
        DashboardCard(
            "Pending commissions",
            commissions,
            url=build_changelist_url(
                "payouts_commission", status__exact="pending", deleted_at__isnull=True
            ),
            note=oldest,
        ),
        DashboardCard(
            "Failing webhooks",
            f"{to_review.webhooks:,}",
            url=build_changelist_url("accounts_webhookendpoint", status="failing"),
        ),
        *build_contested_claims_cards(account),
        *build_failed_page_calls_cards(account, today=timezone.now().date()),
        build_ledger_card(account),
    ]


def build_contested_claims_cards(account) -> list[DashboardCard]:
    """The conversions that two visitors claim, if there are any."""
    waiting = account.conversion_claims.filter(is_original=True, decided_at=None)
    count = waiting.count()
    url = build_changelist_url("tracking_conversionclaim", decided_at__isnull="True")
    card = DashboardCard(
        "Contested conversions", f"{count:,}", url=url, note="Confirm one claim of each"
    )
    return [card] if count else []


def build_failed_page_calls_cards(account, *, today: date) -> list[DashboardCard]:
    """The calls of pages that failed in the last seven days, if there are any."""
    since = today - timedelta(days=6)
    count = count_unexpected_failures(account, since=since)
    url = build_changelist_url("tracking_failedpagecall", day__gte=since)
    card = DashboardCard("Failed page calls", f"{count:,}", url=url, note="Last 7 days")
    return [card] if count else []


def build_ledger_card(account) -> DashboardCard:
    """The result of the last `check_ledger --note`."""
    if account.reconciled_at is None:
        result = "Not checked yet"
        note = "Ask an operator to run check_ledger --note"
    else:
        result = "Ledger balanced"
        note = f"Last checked {format_datetime(account.reconciled_at)}"
    if account.discrepancy_count:
        result = (
            f"{account.discrepancy_count} discrepancies: do not pay anyone, contact an"
            " operator"
        )
    url = build_changelist_url("payouts_transfer")
    return DashboardCard("Ledger check", result, url=url, note=note)


def list_top_affiliates(account, totals) -> list[tuple[str, int, str]]:
    """ID, number of conversions and revenue of the affiliates with most conversions."""
    conversion_counts = {
        affiliate_id: affiliate_totals.conversions
        for affiliate_id, affiliate_totals in totals.items()
        if affiliate_totals.conversions
    }
    ranked = rank_by_count(conversion_counts)[:TOP_LIST_SIZE]
    slugs = get_slugs(account, [affiliate_id for affiliate_id, _ in ranked])
    return [
        (slugs[affiliate_id], count, format_totals(totals[affiliate_id].revenue))
        for affiliate_id, count in ranked
    ]


def count_active(totals) -> int:
    """The number of affiliates with a click or a conversion."""
    return sum(
        1
        for affiliate_totals in totals.values()
        if affiliate_totals.clicks or affiliate_totals.conversions
    )


def build_chart(daily_statistics, get_series) -> str:
    """The JSON of a line chart; `get_series` returns the values of a day by series."""
    daily_values = [get_series(totals) for _, totals in daily_statistics]
    names = list(dict.fromkeys(name for values in daily_values for name in values))
    return json.dumps(
        {
            "labels": [f"{day:%m-%d}" for day, _ in daily_statistics],
            "datasets": [
                {
                    "label": name,
                    "data": [
                        format_decimal(values.get(name, 0)) for values in daily_values
                    ],
                    "borderColor": CHART_COLORS[index % len(CHART_COLORS)],
                }
                for index, name in enumerate(names)
            ],
        }
    )


def get_daily_counts(totals: Totals) -> dict[str, int]:
    """The clicks and conversions of a day."""
    return {"Clicks": totals.clicks, "Conversions": totals.conversions}


def get_commission_totals(totals: Totals) -> dict:
    """The pending and approved commissions of a day, per currency."""
    return dict(totals.commissions)


def build_daily_row(day: date, totals: Totals) -> tuple[date, int, int, str]:
    """A row of the table that repeats the charts."""
    return day, totals.clicks, totals.conversions, format_totals(totals.commissions)


def build_changelist_url(
    model_name: str, period: Period | None = None, **filters
) -> str:
    """The URL of a list with these filters, limited to the period."""
    if period is not None:
        filters["created_at__gte"] = f"{period.first}T00:00:00Z"
        filters["created_at__lt"] = f"{period.last + A_DAY}T00:00:00Z"
    query = f"?{urlencode(filters)}" if filters else ""
    return reverse(f"admin:{model_name}_changelist") + query


def format_conversion_rate(totals: Totals) -> str:
    """`3.2 %`; a dash without clicks."""
    rate = totals.conversion_rate
    return EMPTY_VALUE if rate is None else f"{format_decimal(rate)} %"
