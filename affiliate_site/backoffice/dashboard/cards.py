"""The cards of the dashboard: what needs attention, and numbers of a period."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal

from accounts.exact_json import format_decimal
from affiliate_site.backoffice.dashboard.urgent import list_urgent
from affiliate_site.backoffice.formatters import (
    format_datetime,
    format_totals,
    keep_amounts_together,
)
from affiliate_site.backoffice.list_urls import (
    build_changelist_url,
    build_list_url,
)
from affiliate_site.backoffice.watches.alerts import list_open_alerts
from payouts.services.payables import get_balance_due, get_overpaid
from payouts.services.statistics import ReviewCounts
from payouts.statistics import Period, Sums, Totals
from tracking.services.connections import count_refused_requests
from tracking.services.failed_page_calls import count_page_problems
from tracking.services.portal_settings import get_portal_settings

# What it means that a number grows: good news, bad news, or neither. Some are not compared:
# what was pending in an earlier period is decided by now.
GOOD, BAD, NEUTRAL, NOT_COMPARED = 1, -1, 0, None
TONES = {GOOD: "better", BAD: "worse", NEUTRAL: ""}
# Titles of cards, with the number of `Totals`, the list, what growth means, and what
# they count.
OF_TODAY = "by their own day, with the status of today"
HEADLINE = (
    ("Revenue", "revenue", "conversions", GOOD, "by the day of the sale"),
    ("Commissions", "commissions", "commissions", NEUTRAL, OF_TODAY),
)
FUNNEL = (
    ("Clicks", "clicks", "clicks", GOOD, "by the day of the click"),
    (
        *("New customers", "customers", "customers", GOOD),
        "by the day they came; also without a click",
    ),
    (
        *("Conversions", "conversions", "conversions", GOOD),
        "by the day of the sale; also without a click, and of earlier customers",
    ),
)
CONVERSION_RATE = (
    (
        *("Conversion rate", "conversion_rate", "conversions", GOOD),
        "conversions of the period per 100 clicks of it",
    ),
)
MONEY = (
    ("Pending commissions", "pending", "pending", NOT_COMPARED, OF_TODAY),
    ("Approved commissions", "approved", "approved", NEUTRAL, "also those paid since"),
    ("Paid out", "paid", "payments", NEUTRAL, "by the day of the payment"),
)

Number = int | Decimal | Sums | None  # a count, a rate, or amounts by currency


@dataclass(frozen=True)
class Change:
    """The change since the previous period, and whether that is good."""

    text: str
    tone: str  # better, worse or empty
    currency: str = ""  # of an amount


@dataclass(frozen=True)
class DashboardCard:
    """A number, its value in the previous period, and the list of its rows."""

    title: str
    value: str
    previous_value: str = ""
    url: str = ""
    note: str = ""
    changes: tuple[Change, ...] = ()
    percentage: int | None = None  # of the first step of a funnel

    @property
    def lines(self) -> list[tuple[str, list[Change]]]:
        """Each amount with its change, or a number with all changes."""
        return [
            (
                line,
                [
                    change
                    for change in self.changes
                    if line.endswith(change.currency) or not line[-1].isalpha()
                ],
            )
            for line in split_currencies(self.value)
        ]

    @property
    def previous_text(self) -> str:
        return keep_amounts_together(self.previous_value)

    @property
    def note_text(self) -> str:
        return keep_amounts_together(self.note)


def build_cards(cards, current: Totals, previous: Totals, period: Period) -> list[DashboardCard]:
    """The cards that compare a period with the previous one."""
    return [
        build_card(
            title,
            getattr(current, number),
            getattr(previous, number),
            build_list_url(list_name, period),
            meaning,
            note,
        )
        for title, number, list_name, meaning, note in cards
    ]


def build_funnel(current: Totals, previous: Totals, period: Period) -> list[DashboardCard]:
    """Clicks, customers and conversions, each with its percentage of the clicks."""
    clicks = current.clicks
    percentages = [
        min(100 * count // clicks, 100) if clicks else 0
        for count in (current.clicks, current.customers, current.conversions)
    ]
    cards = build_cards(FUNNEL, current, previous, period)
    return [
        replace(card, percentage=percentage)
        for card, percentage in zip(cards, percentages, strict=True)
    ]


def build_cost_ratio_card(current: Totals, previous: Totals, period: Period) -> DashboardCard:
    """Which part of the revenue the commissions are, for each currency."""
    ratios, before = current.cost_ratios, previous.cost_ratios
    return DashboardCard(
        "Cost ratio",
        format_ratios(ratios),
        format_ratios(before),
        build_list_url("commissions", period),
        changes=tuple(list_changes(ratios, before, BAD, unit="points")),
    )


def format_ratios(ratios: Sums) -> str:
    """`5.4 %`, or `5.4 % EUR, 6.1 % USD`; a dash without revenue."""
    if len(ratios) < 2:
        return format_percentage(next(iter(ratios.values()), None))
    return ", ".join(f"{format_percentage(ratio)} {currency}" for currency, ratio in ratios.items())


def build_card(
    title: str,
    current: Number,
    previous: Number,
    url: str,
    meaning: int | None = GOOD,
    note: str = "",
) -> DashboardCard:
    """A card with a number; `meaning` says whether growth is good, `note` what it
    counts."""
    if meaning is NOT_COMPARED:
        return DashboardCard(title, format_number(current), url=url, note=note)
    unit = "points" if isinstance(current, Decimal) else "%"
    return DashboardCard(
        title,
        format_number(current),
        format_number(previous),
        url,
        note,
        changes=tuple(list_changes(current, previous, meaning, unit)),
    )


def build_cards_of_today(account, pending: Sums) -> list[DashboardCard]:
    """What is owed now, whatever the period; `pending` waits for approval."""
    overpaid = get_overpaid(account)
    return [
        DashboardCard(
            "Waiting for approval",
            format_totals(pending),
            url=build_changelist_url(
                "payouts_commission", status__exact="pending", deleted_at__isnull=True
            ),
        ),
        DashboardCard(
            "Balance due",
            format_totals(get_balance_due(account)),
            note=(
                f"Overpaid: {format_totals(overpaid)}, not subtracted"
                if overpaid
                else "with what is on hold"
            ),
            url=build_changelist_url("payouts_ledgeraccount", balance__gt=0),
        ),
    ]


def build_attention_cards(user, to_review: ReviewCounts, *, at: datetime) -> list[DashboardCard]:
    """What staff have to do, with links to the lists; nothing that is zero."""
    account = user.account
    pending_note: str = format_totals(to_review.sums)
    if to_review.oldest:
        pending_note += f"; the oldest since {format_datetime(to_review.oldest)}"
    since = account.get_day(at) - timedelta(days=6)
    failures, contested = count_page_problems(account, since=since)
    counted = [
        (
            account.discrepancy_count or 0,
            "Ledger discrepancies",
            "Do not pay anyone; contact an operator",
            build_changelist_url("payouts_transfer"),
        ),
        *list_urgent(account, at=at),
        *list_open_alerts(account),
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
            user.open_cases,
            "Risk cases",
            "Undecided: what they are about is on hold",
            build_changelist_url("payouts_riskcase", state__exact="open"),
        ),
        (
            count_questions(user),
            "Open questions",
            "Affiliates wait for an answer",
            build_changelist_url("tracking_question", state__exact="open"),
        ),
        (
            contested,
            "Contested conversions",
            "Confirm one claim of each",
            build_changelist_url("tracking_conversionclaim", decided_at__isnull="True"),
        ),
        (
            account.shop_events.failed().count(),
            "Failed shop events",
            "Read why, and process them again",
            build_changelist_url("tracking_shopevent", state__exact="failed"),
        ),
        (
            count_refused_requests(account, since=since),
            "Refused shop requests",
            "Last 7 days; the page of the shop says why",
            build_changelist_url("tracking_connection"),
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
            "Last 7 days",
            build_changelist_url("tracking_failedpagecall", day__gte=since),
        ),
    ]
    return [
        DashboardCard(title, f"{count:,}", url=url, note=note)
        for count, title, note, url in counted
        if count
    ]


def count_questions(user) -> int:
    """The open questions, if the portal is on and the user may see them."""
    number: int = user.open_questions
    if not number or not user.has_perm("tracking.view_question"):
        return 0
    return number if get_portal_settings(user.account).is_on else 0


def format_number(number: Number) -> str:
    """A count, a rate, or amounts as text."""
    if isinstance(number, Mapping):
        return format_totals(number)
    return f"{number:,}" if isinstance(number, int) else format_percentage(number)


def list_changes(current: Number, previous: Number, meaning: int, unit: str) -> Iterator[Change]:
    """How much a number changed; of amounts, that of each currency."""
    now, before = (
        number if isinstance(number, Mapping) else {"": number or 0}
        for number in (current, previous)
    )
    for currency in sorted({*now, *before}):
        numbers = (now.get(currency, 0), before.get(currency, 0))
        for change in compare(*numbers, meaning, unit):
            yield replace(change, currency=currency)


def compare(
    current: int | Decimal, previous: int | Decimal, meaning: int, unit: str
) -> tuple[Change, ...]:
    """How much a number changed, in points or percent; nothing if it was zero."""
    if not previous:
        return ()
    change = current - previous
    if unit == "%":
        change = round(change * 100 / previous)
    tone = TONES[((change > 0) - (change < 0)) * meaning]
    return (Change(f"{change:+} {unit}", tone),) if change else ()


def format_percentage(rate: Decimal | None) -> str:
    """`3.2 %`; a dash without clicks, as plain text."""
    return "-" if rate is None else f"{format_decimal(rate)} %"


def split_currencies(text: str) -> list[str]:
    """The amounts of several currencies, for a line each."""
    return text.split(", ")
