"""The dashboard: what needs attention, and the statistics of a period.

Statistics count whole UTC days, as they are stored (`DailyStats`); the page says so.
Moments are shown in the time zone of the account.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from accounts.days import A_DAY
from accounts.exact_json import format_decimal
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
from payouts.services.statistics import (
    count_removed_conversions,
    count_to_review,
    get_balance_due,
    get_overpaid,
    load_statistics,
)
from payouts.statistics import (
    AffiliateTotals,
    Period,
    Sums,
    Totals,
    add_totals,
    rank_by_count,
)
from tracking.services.failed_page_calls import count_page_problems

PERIOD_CHOICES_DAYS = (7, 30, 90)
DEFAULT_PERIOD_DAYS = 30
MAX_PERIOD_DAYS = 366
TOP_LIST_SIZE = 10  # rows of a top list
RANKING_VAR = "top"  # the currency of the commissions that affiliates are ranked by
# What it means that a number grows: good news, bad news, or neither.
GOOD, BAD, NEUTRAL = 1, -1, 0
TONES = {GOOD: "better", BAD: "worse", NEUTRAL: ""}
NOT_DELETED: dict[str, object] = {"deleted_at__isnull": True}
# The lists of what was created in a period, with their filters.
LISTS: dict[str, tuple[str, dict[str, object]]] = {
    "clicks": ("tracking_click", {}),
    "customers": ("tracking_customer", NOT_DELETED),
    "conversions": ("tracking_conversion", NOT_DELETED),
    "commissions": ("payouts_commission", NOT_DELETED),
    "pending": ("payouts_commission", NOT_DELETED | {"status__exact": "pending"}),
    "approved": ("payouts_commission", NOT_DELETED | {"status__exact": "approved"}),
    "payments": ("payouts_payment", {"canceled_at__isnull": True}),
}
# Titles of cards, with the number of `Totals`, the list, and what growth means.
CARDS = (
    ("Clicks", "clicks", "clicks", GOOD),
    ("Customers", "customers", "customers", GOOD),
    ("Conversions", "conversions", "conversions", GOOD),
    ("Conversion rate", "conversion_rate", "conversions", GOOD),
    ("Revenue", "revenue", "conversions", GOOD),
    ("Pending commissions", "pending", "pending", NEUTRAL),
    ("Approved commissions", "approved", "approved", NEUTRAL),
    ("Paid out", "paid", "payments", NEUTRAL),
)

Number = int | Decimal | Sums | None  # a count, a rate, or amounts by currency


@dataclass(frozen=True)
class Change:
    """The relative change since the previous period, and whether that is good."""

    text: str
    tone: str  # better, worse or empty


@dataclass(frozen=True)
class DashboardCard:
    """A number, its value in the previous period, and the list of its rows."""

    title: str
    value: str
    previous_value: str = ""
    url: str = ""
    note: str = ""
    changes: tuple[Change, ...] = ()

    @property
    def lines(self) -> list[str]:
        return split_totals(self.value)

    @property
    def previous_text(self) -> str:
        return keep_amounts_together(self.previous_value)

    @property
    def note_text(self) -> str:
        return keep_amounts_together(self.note)


def add_dashboard_context(request, context):
    """Add the statistics of the user's account; operators have no account."""
    account = request.user.account
    if account is None:
        return context
    at = timezone.now()
    onboarding = get_onboarding(request)
    context |= {
        "account": account,
        "onboarding": onboarding,
        "attention_cards": build_attention_cards(account, at=at),
        "ledger_note": format_ledger_note(account),
        "can_change_settings": request.user.has_perm(DISMISS_PERMISSION),
    }
    if not onboarding.has_activity:
        return context
    period, error = parse_period(request, today=at.date())
    # The presets promise a number of days, whatever dates these are.
    previous = period.comparable if "from" in request.GET else period.previous
    statistics = load_statistics(account, previous.days + period.days, at=at)
    totals = statistics.totals_by_day(previous.days + period.days)
    current_totals = add_totals(totals[day] for day in period.days)
    previous_totals = add_totals(totals[day] for day in previous.days)
    affiliate_totals = statistics.affiliate_totals(period.days)
    affiliate_totals_before = statistics.affiliate_totals(previous.days)
    removed, removed_before = count_removed_conversions(account, [period, previous])
    currencies = sorted({*current_totals.revenue, *current_totals.commissions})
    ranked_by = request.GET.get(RANKING_VAR, "")
    ranked_by = ranked_by if ranked_by in currencies else ""
    return context | {
        "period": period,
        "previous_period": previous,
        "length_days": len(period.days),
        "is_current": period.last == at.date(),
        "now": format_datetime(at),
        "error": error,
        "period_choices": PERIOD_CHOICES_DAYS,
        "months": [
            ("This month", Period(at.date().replace(day=1), at.date())),
            ("Last month", get_last_month(at.date())),
        ],
        "cards": [
            *build_cards(current_totals, previous_totals, period),
            build_card(
                "Removed conversions",
                removed,
                removed_before,
                build_removed_url(period),
                BAD,
            ),
            build_card(
                "Active affiliates",
                count_active(affiliate_totals),
                count_active(affiliate_totals_before),
                "#top-affiliates",
            ),
            build_balance_due_card(account),
        ],
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
    default = Period(today - timedelta(days=length_days - 1), today)
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


def get_last_month(today: date) -> Period:
    """The whole calendar month before that of `today`."""
    last = today.replace(day=1) - A_DAY
    return Period(last.replace(day=1), last)


def build_cards(
    current: Totals, previous: Totals, period: Period
) -> list[DashboardCard]:
    """The cards that compare a period with the previous one."""
    return [
        build_card(
            title,
            getattr(current, number),
            getattr(previous, number),
            build_list_url(list_name, period),
            meaning,
        )
        for title, number, list_name, meaning in CARDS
    ]


def build_list_url(name: str, period: Period) -> str:
    """The URL of a list of `LISTS` with what was created in a period."""
    model_name, filters = LISTS[name]
    return build_changelist_url(model_name, period, **filters)


def build_card(
    title: str, current: Number, previous: Number, url: str, meaning: int = GOOD
) -> DashboardCard:
    """A card with a number; `meaning` says whether growth is good."""
    return DashboardCard(
        title,
        format_number(current),
        format_number(previous),
        url,
        changes=tuple(list_changes(current, previous, meaning)),
    )


def format_number(number: Number) -> str:
    """A count, a rate, or amounts as text."""
    if isinstance(number, Mapping):
        return format_totals(number)
    return f"{number:,}" if isinstance(number, int) else format_percentage(number)


def list_changes(current: Number, previous: Number, meaning: int) -> Iterator[Change]:
    """How much a number changed; of amounts, that of each currency."""
    now, before = (
        number if isinstance(number, Mapping) else {"": number or 0}
        for number in (current, previous)
    )
    currencies = sorted({*now, *before})
    for currency in currencies:
        for change in compare(now.get(currency, 0), before.get(currency, 0), meaning):
            text = f"{change.text} {currency}" if len(currencies) > 1 else change.text
            yield Change(text, change.tone)


def build_removed_url(period: Period) -> str:
    """The conversions removed in the period, whenever they were created."""
    first, end = format_bounds(period)
    return build_changelist_url(
        "tracking_conversion", deleted_at__gte=first, deleted_at__lt=end
    )


def compare(
    current: int | Decimal, previous: int | Decimal, meaning: int = GOOD
) -> tuple[Change, ...]:
    """The relative change of a number; nothing if it was zero."""
    if not previous:
        return ()
    percentage = round((current - previous) * 100 / previous)
    direction = (percentage > 0) - (percentage < 0)
    return (Change(f"{percentage:+d} %", TONES[direction * meaning]),)


def build_balance_due_card(account) -> DashboardCard:
    """The balance due now, independent of the period."""
    overpaid = get_overpaid(account)
    return DashboardCard(
        "Balance due now",
        format_totals(get_balance_due(account)),
        note=f"Overpaid: {format_totals(overpaid)}, not subtracted" if overpaid else "",
        url=build_changelist_url("payouts_ledgeraccount", balance__gt=0),
    )


def build_attention_cards(account, *, at: datetime) -> list[DashboardCard]:
    """What staff have to do, with links to the lists; nothing that is zero."""
    to_review = count_to_review(account, at=at)
    pending_note: str = format_totals(to_review.sums)
    if to_review.oldest:
        pending_note += f"; the oldest since {format_datetime(to_review.oldest)}"
    since = at.date() - timedelta(days=6)
    failures, contested = count_page_problems(account, since=since)
    counted = [
        (
            account.discrepancy_count or 0,
            "Ledger discrepancies",
            "Do not pay anyone; contact an operator",
            build_changelist_url("payouts_transfer"),
        ),
        (
            to_review.applications,
            "Affiliate applications",
            "Approve or disapprove them",
            build_changelist_url("tracking_enrollment", approved="pending"),
        ),
        (
            to_review.commissions,
            "Pending commissions",
            pending_note,
            build_changelist_url(
                "payouts_commission", status__exact="pending", deleted_at__isnull=True
            ),
        ),
        (
            contested,
            "Contested conversions",
            "Confirm one claim of each",
            build_changelist_url("tracking_conversionclaim", decided_at__isnull="True"),
        ),
        (
            to_review.webhooks,
            "Failing webhooks",
            "Mend the receiver, or disable the webhook",
            build_changelist_url("accounts_webhookendpoint", status="failing"),
        ),
        (
            failures,
            "Failed page calls",
            "Last 7 days, in UTC",
            build_changelist_url("tracking_failedpagecall", day__gte=since),
        ),
    ]
    return [
        DashboardCard(title, f"{count:,}", url=url, note=note)
        for count, title, note, url in counted
        if count
    ]


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
        return split_totals(self.revenue)

    @property
    def commission_lines(self) -> list[str]:
        return split_totals(self.commissions)

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
            + urlencode(
                {"from": period.first, "to": period.last, RANKING_VAR: currency}
            )
            + "#top-affiliates",
            currency == ranked_by,
        )
        for currency, text in texts.items()
    ]


def list_top_affiliates(
    account, totals, totals_before, period: Period, *, currency: str
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
    ranked = ranked[:TOP_LIST_SIZE]
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
            conversions_url=build_changelist_url(
                "tracking_conversion",
                period,
                affiliate_id=affiliate_id,
                deleted_at__isnull=True,
            ),
            commissions_url=build_changelist_url(
                "payouts_commission",
                period,
                affiliate=found[affiliate_id].slug,
                deleted_at__isnull=True,
            ),
        )
        for affiliate_id, _ in ranked
    ]


def split_totals(text: str) -> list[str]:
    """The amounts of several currencies, for a line each."""
    return text.split(", ")


def count_active(totals) -> int:
    """The number of affiliates with a click or a conversion."""
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
    """The statistics of one UTC day."""
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


def build_changelist_url(
    model_name: str, period: Period | None = None, **filters
) -> str:
    """The URL of a list with these filters, limited to the period."""
    if period is not None:
        filters["created_at__gte"], filters["created_at__lt"] = format_bounds(period)
    query = f"?{urlencode(filters)}" if filters else ""
    return reverse(f"admin:{model_name}_changelist") + query


def format_bounds(period: Period) -> tuple[str, str]:
    """The first moment of a period, and the first one after it."""
    return f"{period.first}T00:00:00Z", f"{period.last + A_DAY}T00:00:00Z"


def format_percentage(rate: Decimal | None) -> str:
    """`3.2 %`; a dash without clicks, as plain text."""
    return "-" if rate is None else f"{format_decimal(rate)} %"
