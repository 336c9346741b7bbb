"""The dashboard: how the program does, and what waits for somebody."""

import json
from dataclasses import dataclass
from datetime import date, timedelta
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from accounts.exact_json import plain
from affiliate_site.backoffice.cells import NOTHING, sums
from payouts.models.commissions import Status
from payouts.services.figures import (
    A_DAY,
    Period,
    figures_of,
    in_all,
    owed_now,
    slugs_of,
    worklist_of,
)
from payouts.tallies import Tally

PERIODS = (7, 30, 90)  # days
LONGEST = 366  # days of a period that somebody chose
BEST = 10  # rows of a top list
COLOURS = ("#16a34a", "#6366f1", "#d97706", "#db2777")  # in light and dark


@dataclass(frozen=True)
class Card:
    """A number, what it was in the period before, and the list that adds up to it."""

    title: str
    value: str
    before: str = ""
    link: str = ""
    note: str = ""
    change: str = ""  # against the period before, where both are numbers


def context(request, context):
    """What `admin/index.html` shows; operators choose an account's staff page first."""
    account = request.user.account
    if account is None:
        return context
    at = timezone.now()
    period, flaw = chosen(request, today=at.date())
    figures = figures_of(account, period.before.days + period.days, at=at)
    now, before = in_all(figures, period), in_all(figures, period.before)
    by_day = [(day, Tally([figures[day]])) for day in period.days]
    return context | {
        "period": period,
        "length": len(period.days),
        "is_running": period.last == at.date(),
        "flaw": flaw,
        "periods": PERIODS,
        "cards": [*cards(now, before, period), owed_card(account)],
        "chart": chart(by_day, counts_of),
        "earned": chart(by_day, earned_of) if earned_of(now) else "",
        "table": [day_told(day, tally) for day, tally in by_day],
        "worklist": worklist(account),
        "affiliates": best_affiliates(account, now),
        "pages": now.most_seen(BEST),
    }


def chosen(request, *, today: date) -> tuple[Period, str]:
    """The days that the address asks for, thirty by itself; what is wrong with them."""
    asked = request.GET.get("days", "")
    length = int(asked) if asked in map(str, PERIODS) else 30
    usual = Period(today - timedelta(days=length - 1), today)
    first, last = request.GET.get("from", ""), request.GET.get("to", "")
    if not first and not last:
        return usual, ""
    try:
        period = Period(date.fromisoformat(first), date.fromisoformat(last))
    except ValueError:
        return usual, "Give both days like 2026-01-31."
    if period.first > period.last or period.last > today:
        return (
            usual,
            "The first day comes before the last one, which is over or today.",
        )
    if period.last - period.first >= timedelta(days=LONGEST):
        return usual, f"Choose {LONGEST} days at most."
    if period.first.year <= date.min.year + 1:
        return usual, "Choose days of this age."
    return period, ""


def cards(now: Tally, before: Tally, period: Period) -> list[Card]:
    """What happened, beside what happened in as many days before."""
    clicks = listed("tracking_click", period)
    sales = listed("tracking_conversion", period, removed_at__isnull=True)
    people = listed("tracking_customer", period, removed_at__isnull=True)
    rows = [
        counted("Clicks", now.clicked, before.clicked, clicks),
        counted("Customers", now.customers, before.customers, people),
        counted("Conversions", now.sold, before.sold, sales),
        Card("Conversion rate", rate(now), rate(before)),
        Card("Revenue", sums(now.revenue), sums(before.revenue), sales),
        counted("Active affiliates", now.active, before.active),
    ]
    rows += [
        Card(
            f"Commissions {status}",
            sums(now.commissions_that_are(status)),
            sums(before.commissions_that_are(status)),
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


def counted(title: str, now: int, before: int, link: str = "") -> Card:
    """A count, and by how much it grew or shrank."""
    change = f"{(now - before) * 100 / before:+.0f} %" if before else ""
    return Card(title, str(now), str(before), link, change=change)


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
            link=listed(
                "payouts_commission", status__exact="pending", removed_at__isnull=True
            ),
            note=oldest,
        ),
        Card(
            "Failing webhooks",
            str(waits.webhooks),
            link=listed("accounts_webhookendpoint", state="failing"),
        ),
        ledger_card(account),
    ]


def ledger_card(account) -> Card:
    """What `check_ledger --note` found last; nobody is paid while rows differ."""
    link = reverse("admin:payouts_transfer_changelist")
    if account.proved_at is None:
        todo = "an operator runs check_ledger --note"
        return Card("Ledger", "not checked yet", link=link, note=todo)
    found = "every balance agrees"
    if account.differing_rows:
        found = f"{account.differing_rows} rows differ: pay nobody, call an operator"
    checked = f"checked {account.proved_at:%Y-%m-%d %H:%M} UTC"
    return Card("Ledger", found, link=link, note=checked)


def best_affiliates(account, tally: Tally) -> list[tuple[str, int, str]]:
    """Who sold most often: id, how often, for how much."""
    best = tally.best(BEST)
    slugs = slugs_of(account, [who for who, _ in best])
    return [(slugs[who], number, sums(tally.of(who)[2])) for who, number in best]


def chart(by_day, lines_of) -> str:
    """A line for each name that `lines_of` tells, as the theme's chart reads it."""
    days = [lines_of(tally) for _, tally in by_day]
    names = list(dict.fromkeys(name for lines in days for name in lines))
    return json.dumps(
        {
            "labels": [f"{day:%m-%d}" for day, _ in by_day],
            "datasets": [
                {
                    "label": name,
                    "data": [plain(lines.get(name, 0)) for lines in days],
                    "borderColor": COLOURS[place % len(COLOURS)],
                }
                for place, name in enumerate(names)
            ],
        }
    )


def counts_of(tally: Tally) -> dict[str, int]:
    """Clicks and conversions of a day."""
    return {"Clicks": tally.clicked, "Conversions": tally.sold}


def earned_of(tally: Tally) -> dict:
    """Commissions of a day that count or may yet, a line for each currency."""
    return dict(tally.commissions_that_are(Status.PENDING, Status.APPROVED))


def day_told(day: date, tally: Tally) -> tuple[date, int, int, str]:
    """A line of the table beside the charts."""
    return day, tally.clicked, tally.sold, sums(earned_of(tally))


def listed(name: str, period: Period | None = None, **narrowed) -> str:
    """The address of a list with these filters, and of this period."""
    if period is not None:
        narrowed["created_at__gte"] = f"{period.first}T00:00:00Z"
        narrowed["created_at__lt"] = f"{period.last + A_DAY}T00:00:00Z"
    query = f"?{urlencode(narrowed)}" if narrowed else ""
    return reverse(f"admin:{name}_changelist") + query


def rate(tally: Tally) -> str:
    """`3.2 %`; a dash without clicks."""
    return NOTHING if tally.rate is None else f"{plain(tally.rate)} %"
