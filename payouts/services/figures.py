"""Figures: how an account does, counted from its rows; currencies are never added."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db.models import Count, Min, QuerySet
from django.db.models.functions import TruncDate

from accounts.models.accounts import Account
from payouts.models.commissions import Status
from payouts.services.ledger import balances_of
from tracking.amounts import ExactSum
from tracking.money import NOUGHT

Sums = Mapping[str, Decimal]  # currency → amount

BEST = 10  # rows of a top list


@dataclass(frozen=True)
class Period:
    """From a moment on, up to another one."""

    since: datetime
    until: datetime

    @property
    def before(self) -> "Period":
        """The period of the same length that came before."""
        return Period(self.since - (self.until - self.since), self.since)

    def of(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Those of the rows that were made in this period."""
        return rows.filter(created_at__gte=self.since, created_at__lt=self.until)


@dataclass(frozen=True)
class Figures:
    """What happened in a period; `sums` of commissions by their state today."""

    clicks: int
    customers: int
    conversions: int
    active: int  # affiliates with a click or a sale
    revenue: Sums
    commissions: Mapping[str, Sums]
    paid: Sums

    @property
    def rate(self) -> Decimal | None:
        """Sales of a hundred clicks; None without clicks."""
        if not self.clicks:
            return None
        return (Decimal(100) * self.conversions / self.clicks).quantize(Decimal("0.1"))


@dataclass(frozen=True)
class Worklist:
    """What waits for somebody."""

    applications: int
    commissions: int
    sums: Sums
    oldest: datetime | None
    webhooks: int


def figures_of(account: Account, period: Period) -> Figures:
    """What happened in a period, removed sales left out."""
    clicks = period.of(account.clicks.all())
    sales = period.of(account.conversions.present())
    commissions = period.of(account.commissions.present())
    seen = set(clicks.order_by().values_list("affiliate", flat=True).distinct())
    sold = set(sales.order_by().values_list("affiliate", flat=True).distinct())
    return Figures(
        clicks=clicks.count(),
        customers=period.of(account.customers.present()).count(),
        conversions=sales.count(),
        active=len((seen | sold) - {None}),
        revenue=summed(sales),
        commissions={
            status: summed(commissions.filter(status=status)) for status in Status
        },
        paid=summed(period.of(account.payments.standing())),
    )


def summed(rows: QuerySet[Any]) -> Sums:
    """The sum of the amounts, for each currency that there is."""
    sums = rows.order_by().values_list("currency").annotate(total=ExactSum("amount"))
    return dict(sorted(sums))


def owed_now(account: Account) -> Sums:
    """What is owed to affiliates at this moment; those below nought are left out."""
    owed: dict[str, Decimal] = defaultdict(Decimal)
    for balances in balances_of(account).values():
        for currency, balance in balances.items():
            owed[currency] += max(balance, NOUGHT)
    return dict(sorted(owed.items()))


def worklist_of(account: Account) -> Worklist:
    """What somebody should look at."""
    pending = account.commissions.present().filter(status=Status.PENDING)
    return Worklist(
        applications=account.enrolments.present().filter(approved=None).count(),
        commissions=pending.count(),
        sums=summed(pending),
        oldest=pending.aggregate(oldest=Min("created_at"))["oldest"],
        webhooks=account.webhook_endpoints.all().failing().count(),
    )


def days_of(account: Account, period: Period) -> dict[date, tuple[int, int]]:
    """Clicks and sales of each day of a period that had any, in UTC."""
    days: dict[date, list[int]] = {}
    both: tuple[QuerySet[Any], ...] = (
        account.clicks.all(),
        account.conversions.present(),
    )
    for place, rows in enumerate(both):
        counted = (
            period.of(rows)
            .order_by()
            .values_list(TruncDate("created_at"))
            .annotate(Count("pk"))
        )
        for day, number in counted:
            days.setdefault(day, [0, 0])[place] = number
    return {day: (clicks, sales) for day, (clicks, sales) in sorted(days.items())}


def best_affiliates(account: Account, period: Period) -> list[tuple[str, int, Sums]]:
    """Who sold most often in a period: id, how often, for how much."""
    sales = period.of(account.conversions.present())
    counted = sales.order_by().values_list("affiliate__slug").annotate(n=Count("pk"))
    best = list(counted.order_by("-n", "affiliate__slug")[:BEST])
    revenue: dict[str, dict[str, Decimal]] = {}
    rows = (
        sales.filter(affiliate__slug__in=[slug for slug, _ in best])
        .order_by()
        .values_list("affiliate__slug", "currency")
        .annotate(total=ExactSum("amount"))
    )
    for slug, currency, total in rows:
        revenue.setdefault(slug, {})[currency] = total
    return [(slug, number, revenue[slug]) for slug, number in best]


def best_pages(account: Account, period: Period) -> list[tuple[str, int]]:
    """The landing pages with the most clicks in a period."""
    clicks = period.of(account.clicks.exclude(landing_page=None))
    pages = clicks.order_by().values_list("landing_page").annotate(n=Count("pk"))
    return list(pages.order_by("-n", "landing_page")[:BEST])
