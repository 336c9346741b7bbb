"""Figures: how an account does by the day, and what waits for somebody."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db import models
from django.db.models import Min, QuerySet

from accounts.models.accounts import Account
from accounts.services.days import counted, is_closed, start_of
from payouts.models.commissions import Status
from payouts.services.dues import owed_to, owed_to_affiliates, pending_in_all
from payouts.tallies import Count, Figures, Sums, Tally
from tracking.amounts import ExactSum

A_DAY = timedelta(days=1)
NOTHING = Count().as_json()  # of a day on which nothing happened


@dataclass(frozen=True)
class Period:
    """Whole UTC days, the first and the last one included."""

    first: date
    last: date

    @property
    def days(self) -> list[date]:
        """Each day of it."""
        return [
            self.first + A_DAY * n for n in range((self.last - self.first).days + 1)
        ]

    @property
    def before(self) -> "Period":
        """As many days, which came before."""
        last = self.first - A_DAY
        return Period(last - (self.last - self.first), last)

    @property
    def since(self) -> datetime:
        """Its first moment."""
        return start_of(self.first)

    @property
    def until(self) -> datetime:
        """The first moment after it."""
        return start_of(self.last + A_DAY)


@dataclass(frozen=True)
class Standing:
    """How an affiliate does; `places`: each program's yes, no, or not yet."""

    clicked: int  # clicks of a period
    sold: int  # sales of it
    revenue: Sums
    owed: Sums
    places: tuple[bool | None, ...]


@dataclass(frozen=True)
class Worklist:
    """What waits for somebody."""

    applications: int
    commissions: int
    sums: Sums
    oldest: datetime | None
    webhooks: int


def figures_of(
    account: Account, days: Sequence[date], *, at: datetime
) -> dict[date, Figures]:
    """What happened on each of these days; removed sales are left out, and commissions
    stand under their state of today."""
    closed = [day for day in days if is_closed(day, at=at)]
    known = kept(account, closed)
    return {
        day: known[day] if day in known else count_of(account, day)
        for day in days
        if day <= at.date()
    }


def kept(account: Account, days: Sequence[date]) -> dict[date, Figures]:
    """What happened on each of these days, which are closed."""
    known = counted(
        account,
        days,
        lambda day: count_of(account, day),
        since=lambda: first_day_of(account),
    )
    return {day: known.get(day, NOTHING) for day in days}


def first_day_of(account: Account) -> date | None:
    """The day of the account's first row that is counted; None where there is none."""
    rows: tuple[models.QuerySet[Any], ...] = (
        account.clicks.all(),
        account.customers.all(),
        account.conversions.all(),
        account.commissions.all(),
        account.payments.all(),
    )
    firsts = [
        models.Subquery(some.order_by("created_at").values("created_at")[:1])
        for some in rows
    ]
    moments = Account.objects.filter(pk=account.pk).values_list(*firsts).get()
    return min((it.date() for it in moments if it is not None), default=None)


def count_of(account: Account, day: date, last: date | None = None) -> Figures:
    """What happened on one day, or up to a last one, counted from its rows."""
    since, until = start_of(day), start_of(last or day) + A_DAY

    def made(rows: QuerySet[Any]) -> QuerySet[Any]:
        return rows.filter(created_at__gte=since, created_at__lt=until).order_by()

    count = Count(customers=made(account.customers.present()).count())
    clicks = made(account.clicks.all()).values_list("affiliate", "landing_page")
    for affiliate, page, number in clicks.annotate(models.Count("pk")).iterator():
        count.click(affiliate, page, number)
    sales = made(account.conversions.present()).values_list("affiliate", "currency")
    for row in sales.annotate(models.Count("pk"), ExactSum("amount")):
        count.sell(*row)
    for row in _summed(made(account.commissions.present()), "status", "currency"):
        count.grant(*row)
    for currency, amount in _summed(made(account.payments.standing()), "currency"):
        count.paid.add({currency: amount})
    return count.as_json()


def standings_of(
    account: Account, affiliates: Sequence[int], period: Period, *, at: datetime
) -> dict[int, "Standing"]:
    """How these affiliates do: in a period, and what each is owed now."""
    closed = [day for day in period.days if is_closed(day, at=at)]
    known = kept(account, closed)
    running = period.days[len(closed) :]
    rest = [count_of(account, running[0], running[-1])] if running else []
    tally = Tally([*known.values(), *rest])
    places: dict[int, list[bool | None]] = defaultdict(list)
    rows = account.enrolments.filter(affiliate__in=affiliates)
    for affiliate, approved in rows.values_list("affiliate", "approved"):
        places[affiliate].append(approved)
    owed = owed_to(account, affiliates)
    return {
        affiliate: Standing(
            *tally.of(affiliate), owed.get(affiliate, {}), tuple(places[affiliate])
        )
        for affiliate in affiliates
    }


def in_all(figures: Mapping[date, Figures], period: Period) -> Tally:
    """The days of a period as one."""
    return Tally(figures[day] for day in period.days if day in figures)


def owed_now(account: Account) -> Sums:
    """What is owed to affiliates at this moment; those below nought are left out."""
    return dict(sorted(owed_to_affiliates(account)))


def worklist_of(account: Account) -> Worklist:
    """What somebody should look at."""
    pending = account.commissions.present().filter(status=Status.PENDING)
    facts = pending.order_by().aggregate(models.Count("pk"), Min("created_at"))
    return Worklist(
        applications=account.enrolments.present().filter(approved=None).count(),
        commissions=facts["pk__count"],
        sums=dict(sorted(pending_in_all(account))),
        oldest=facts["created_at__min"],
        webhooks=account.webhook_endpoints.all().failing().count(),
    )


def slugs_of(account: Account, affiliates: Sequence[int]) -> dict[int, str]:
    """The ids of affiliates, by the numbers of their rows."""
    rows = account.affiliates.filter(pk__in=affiliates)
    return dict(rows.values_list("pk", "slug"))


def _summed(rows: QuerySet[Any], *by: str) -> Iterable[Any]:
    sums: Iterable[Any] = rows.values_list(*by).annotate(ExactSum("amount"))
    return sums
