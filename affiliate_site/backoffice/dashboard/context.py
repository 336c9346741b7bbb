"""The dashboard: what needs attention, and the statistics of a period.

Days and moments are in the time zone of the account; the page says so once.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from affiliate_site.backoffice.conversions.saved_reports import list_pinned_reports
from affiliate_site.backoffice.dashboard.cards import (
    BAD,
    CONVERSION_RATE,
    HEADLINE,
    MONEY,
    build_attention_cards,
    build_card,
    build_cards,
    build_cards_of_today,
    build_cost_ratio_card,
    build_funnel,
    split_currencies,
)
from affiliate_site.backoffice.dashboard.charts import build_charts
from affiliate_site.backoffice.dashboard.onboarding import (
    DISMISS_PERMISSION,
    get_onboarding,
)
from affiliate_site.backoffice.formatters import (
    format_datetime,
    format_ledger_note,
    format_totals,
    keep_amounts_together,
)
from affiliate_site.backoffice.list_urls import (
    build_active_url,
    build_list_url,
    build_removed_url,
)
from payouts.services.statistics import (
    count_removed_conversions,
    count_to_review,
    load_statistics,
)
from payouts.statistics import (
    AffiliateTotals,
    Period,
    Totals,
    add_totals,
    get_last_days,
    get_last_month,
    rank_by_count,
)

PERIOD_CHOICES_DAYS = (7, 30, 90)
DEFAULT_PERIOD_DAYS = 30
MAX_PERIOD_DAYS = 366
TOP_LIST_SIZE = 10  # rows of a top list
RANKING_VAR = "top"  # the currency of the commissions that affiliates are ranked by


def add_dashboard_context(request, context):
    """Add the statistics of the user's account; operators have no account."""
    account = request.user.account
    if account is None:
        return context
    at = timezone.now()
    onboarding, to_review = get_onboarding(request), count_to_review(account, at=at)
    context |= {
        "account": account,
        "onboarding": onboarding,
        "attention_cards": build_attention_cards(request.user, to_review, at=at),
        "ledger_note": format_ledger_note(account),
        "pinned_reports": list_pinned_reports(request.user, account, at=at),
        "can_change_settings": request.user.has_perm(DISMISS_PERMISSION),
    }
    if not onboarding.has_activity:
        return context
    today = account.get_day(at)
    period, error = parse_period(request, today=today)
    # The presets promise a number of days, whatever dates these are.
    previous = period.comparable if "from" in request.GET else period.previous
    statistics = load_statistics(account, previous.days + period.days, at=at)
    totals = statistics.totals_by_day(previous.days + period.days)
    current_totals = add_totals(totals[day] for day in period.days)
    previous_totals = add_totals(totals[day] for day in previous.days)
    compared = (current_totals, previous_totals, period)
    affiliate_totals = statistics.affiliate_totals(period.days)
    affiliate_totals_before = statistics.affiliate_totals(previous.days)
    removed, removed_before = count_removed_conversions(account, [period, previous])
    currencies = sorted({*current_totals.revenue, *current_totals.commissions})
    ranked_by = request.GET.get(RANKING_VAR, "")
    ranked_by = ranked_by if ranked_by in currencies else ""
    return context | {
        "period": period,
        "previous_period": previous,
        "is_current": period.last == today,
        "now": format_datetime(at),
        "error": error,
        "presets": list_presets(period, today),
        "headline": [
            *build_cards(HEADLINE, *compared),
            build_cost_ratio_card(*compared),
            build_card(
                "Active affiliates",
                count_active(affiliate_totals),
                count_active(affiliate_totals_before),
                build_active_url(period),
                note="with a click or a sale",
            ),
        ],
        "funnel": [
            *build_funnel(*compared),
            *build_cards(CONVERSION_RATE, *compared),
            build_card(
                "Removed conversions",
                removed,
                removed_before,
                build_removed_url(period),
                BAD,
                "by the day of removal, whenever they were sold",
            ),
        ],
        "money": build_cards(MONEY, *compared),
        "money_today": build_cards_of_today(account, to_review.sums),
        "charts": build_charts(totals, period, previous, currencies),
        "daily_rows": [build_daily_row(day, totals[day]) for day in period.days],
        "top_affiliates": list_top_affiliates(
            account,
            affiliate_totals,
            affiliate_totals_before,
            period,
            currency=ranked_by,
        ),
        "rankings": list_rankings(period, currencies, ranked_by),
        "top_landing_pages": statistics.top_pages(period.days, TOP_LIST_SIZE),
    }


def parse_period(request, *, today: date) -> tuple[Period, str]:
    """The requested period, or the default period with an error message."""
    requested_days = request.GET.get("days", "")
    length_days = DEFAULT_PERIOD_DAYS
    if requested_days in map(str, PERIOD_CHOICES_DAYS):
        length_days = int(requested_days)
    default = get_last_days(length_days, today)
    first, last = request.GET.get("from", ""), request.GET.get("to", "")
    if not first and not last:
        return default, ""
    try:
        period = Period(date.fromisoformat(first), date.fromisoformat(last))
    except ValueError:
        return default, "Enter both dates as YYYY-MM-DD."
    if period.first > period.last:
        period = Period(period.last, period.first)
    if period.first > today:
        return default, "Choose days that have begun."
    period = Period(period.first, min(period.last, today))
    if period.last - period.first >= timedelta(days=MAX_PERIOD_DAYS):
        return default, f"Choose a period of at most {MAX_PERIOD_DAYS} days."
    if period.first.year <= date.min.year + 1:
        return default, "The start date is too early."
    return period, ""


def list_presets(period: Period, today: date) -> list[tuple[str, str, bool]]:
    """Periods to choose: texts, URLs, and whether it is the present one."""
    presets = [
        (f"Last {days} days", f"?days={days}", get_last_days(days, today))
        for days in PERIOD_CHOICES_DAYS
    ]
    for text, month in (
        ("This month", Period(today.replace(day=1), today)),
        ("Last month", get_last_month(today)),
    ):
        presets.append((text, f"?from={month.first}&to={month.last}", month))
    return [(text, url, preset == period) for text, url, preset in presets]


@dataclass(frozen=True)
class TopAffiliate:
    """An affiliate with its conversions, revenue and commissions in the period;
    `before` are its numbers in the previous one."""

    name: str
    slug: str
    conversions: int
    revenue: str
    commissions: str
    before: AffiliateTotals
    url: str
    conversions_url: str
    commissions_url: str

    @property
    def revenue_lines(self) -> list[str]:
        return split_currencies(self.revenue)

    @property
    def commission_lines(self) -> list[str]:
        return split_currencies(self.commissions)

    @property
    def commissions_before(self) -> str:
        return keep_amounts_together(format_totals(self.before.earned))


def list_rankings(
    period: Period, currencies: list[str], ranked_by: str
) -> list[tuple[str, str, bool]]:
    """What affiliates are ranked by: texts, URLs, and whether it is so now."""
    texts = {"": "Conversions"} | {
        currency: f"Commissions in {currency}" for currency in currencies
    }
    return [
        (
            text,
            "?"
            + urlencode({"from": period.first, "to": period.last, RANKING_VAR: currency})
            + "#top-affiliates",
            currency == ranked_by,
        )
        for currency, text in texts.items()
    ]


def list_top_affiliates(
    account,
    totals,
    totals_before,
    period: Period,
    *,
    currency: str,
    most: int = TOP_LIST_SIZE,
) -> list[TopAffiliate]:
    """The affiliates with most conversions, or most commissions in a currency.

    `totals_before` are those of the previous period.
    """
    numbers = {
        affiliate_id: affiliate_totals.earned.get(currency, 0)
        if currency
        else affiliate_totals.conversions
        for affiliate_id, affiliate_totals in totals.items()
    }
    ranked = rank_by_count({key: number for key, number in numbers.items() if number})
    ranked = ranked[:most]
    found = account.affiliates.in_bulk([affiliate_id for affiliate_id, _ in ranked])
    return [
        TopAffiliate(
            f"{found[affiliate_id].firstname} {found[affiliate_id].lastname}",
            found[affiliate_id].slug,
            totals[affiliate_id].conversions,
            format_totals(totals[affiliate_id].revenue),
            format_totals(totals[affiliate_id].earned),
            totals_before.get(affiliate_id, AffiliateTotals()),
            url=reverse("admin:tracking_affiliate_change", args=[affiliate_id]),
            conversions_url=build_list_url("conversions", period, affiliate_id=affiliate_id),
            commissions_url=build_list_url(
                "commissions", period, affiliate=found[affiliate_id].slug
            ),
        )
        for affiliate_id, _ in ranked
    ]


def count_active(totals) -> int:
    return sum(
        1
        for affiliate_totals in totals.values()
        if affiliate_totals.clicks or affiliate_totals.conversions
    )


@dataclass(frozen=True)
class DailyRow:
    """A row of the table that repeats the charts, with links to the lists."""

    day: date
    totals: Totals
    revenue: str
    commissions: str
    urls: dict[str, str]


def build_daily_row(day: date, totals: Totals) -> DailyRow:
    """The statistics of one day."""
    return DailyRow(
        day,
        totals,
        format_totals(totals.revenue),
        format_totals(totals.commissions),
        {
            name: build_list_url(name, Period(day, day))
            for name in ("clicks", "conversions", "commissions")
        },
    )
