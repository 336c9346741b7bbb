"""The dashboard: how the program does, and what waits for somebody."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from accounts.exact_json import plain
from affiliate_site.backoffice.cells import NOTHING
from payouts.models.commissions import Status
from payouts.services.figures import (
    Figures,
    Period,
    best_affiliates,
    best_pages,
    days_of,
    figures_of,
    owed_now,
    worklist_of,
)

PERIODS = (7, 30, 90)  # days
COLOURS = ("#16a34a", "#6366f1")  # of clicks and of sales, in light and dark


@dataclass(frozen=True)
class Card:
    """A number, what it was in the period before, and the list that adds up to it."""

    title: str
    value: str
    before: str = ""
    link: str = ""


def context(request, context):
    """What `admin/index.html` shows; operators choose an account's staff page first."""
    account = request.user.account
    if account is None:
        return context
    days = chosen_days(request)
    period = Period(timezone.now() - timedelta(days=days), timezone.now())
    now, before = figures_of(account, period), figures_of(account, period.before)
    by_day = days_of(account, period)
    return context | {
        "days": days,
        "periods": PERIODS,
        "cards": [*cards(now, before, period), owed_card(account)],
        "chart": chart(by_day, period),
        "table": [(day, *counts) for day, counts in by_day.items()],
        "worklist": worklist(account),
        "affiliates": [
            (slug, number, sums(revenue))
            for slug, number, revenue in best_affiliates(account, period)
        ],
        "pages": best_pages(account, period),
    }


def chosen_days(request) -> int:
    """One of the periods, thirty days by itself."""
    asked = request.GET.get("days", "")
    return int(asked) if asked in map(str, PERIODS) else 30


def cards(now: Figures, before: Figures, period: Period) -> list[Card]:
    """What happened, beside what happened in as many days before."""
    clicks = listed("tracking_click", period)
    sales = listed("tracking_conversion", period, removed_at__isnull=True)
    people = listed("tracking_customer", period, removed_at__isnull=True)
    rows = [
        Card("Clicks", str(now.clicks), str(before.clicks), clicks),
        Card("Customers", str(now.customers), str(before.customers), people),
        Card("Conversions", str(now.conversions), str(before.conversions), sales),
        Card("Conversion rate", rate(now), rate(before)),
        Card("Revenue", sums(now.revenue), sums(before.revenue), sales),
        Card("Active affiliates", str(now.active), str(before.active)),
    ]
    rows += [
        Card(
            f"Commissions {status}",
            sums(now.commissions[status]),
            sums(before.commissions[status]),
            listed(
                "payouts_commission",
                period,
                removed_at__isnull=True,
                status__exact=status,
            ),
        )
        for status in (Status.PENDING, Status.APPROVED)
    ]
    paid = listed("payouts_payment", period, canceled_at__isnull=True)
    return [*rows, Card("Paid", sums(now.paid), sums(before.paid), paid)]


def owed_card(account) -> Card:
    """What is owed now; it is of no period."""
    address = reverse("admin:payouts_ledgeraccount_changelist")
    return Card("Owed now", sums(owed_now(account)), link=f"{address}?balance__gt=0")


def worklist(account) -> list[Card]:
    """What waits, with the list where it can be done."""
    waits = worklist_of(account)
    oldest = f"the oldest of {waits.oldest:%Y-%m-%d}" if waits.oldest else ""
    commissions = f"{waits.commissions}: {sums(waits.sums)}"
    return [
        Card(
            "Applications to review",
            str(waits.applications),
            link=listed("tracking_enrolment", approved__isnull=True),
        ),
        Card(
            "Commissions to review",
            commissions if waits.commissions else "0",
            oldest,
            listed(
                "payouts_commission", status__exact="pending", removed_at__isnull=True
            ),
        ),
        Card(
            "Failing webhooks",
            str(waits.webhooks),
            link=listed("accounts_webhookendpoint", state="failing"),
        ),
    ]


def chart(by_day, period: Period) -> str:
    """Clicks and sales by day, as the theme's chart reads it."""
    first, last = period.since.date(), period.until.date()
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    values = [by_day.get(day, (0, 0)) for day in days]
    return json.dumps(
        {
            "labels": [f"{day:%m-%d}" for day in days],
            "datasets": [
                {
                    "label": label,
                    "data": [value[place] for value in values],
                    "borderColor": COLOURS[place],
                }
                for place, label in enumerate(("Clicks", "Conversions"))
            ],
        }
    )


def listed(name: str, period: Period | None = None, **narrowed) -> str:
    """The address of a list with these filters, and of this period."""
    if period is not None:
        narrowed["created_at__gte"] = exact(period.since)
        narrowed["created_at__lt"] = exact(period.until)
    query = f"?{urlencode(narrowed)}" if narrowed else ""
    return reverse(f"admin:{name}_changelist") + query


def exact(moment: datetime) -> str:
    """As a list's filter reads it, to the microsecond."""
    return f"{moment:%Y-%m-%dT%H:%M:%S.%fZ}"


def rate(figures: Figures) -> str:
    """`3.2 %`; a dash without clicks."""
    return NOTHING if figures.rate is None else f"{plain(figures.rate)} %"


def sums(by_currency) -> str:
    """`249.9 EUR, 20 USD`; nought without any."""
    told = [f"{plain(total)} {currency}" for currency, total in by_currency.items()]
    return ", ".join(told) or "0"
