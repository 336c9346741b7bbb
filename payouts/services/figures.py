"""Figures: how an account does by the day, and what waits for somebody."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import Count, Min, QuerySet

from accounts.models.accounts import Account
from accounts.services.days import counted, is_closed, start_of
from payouts.models.commissions import Status
from payouts.services.ledger import owed_to, owed_to_affiliates
from payouts.tallies import Sums, Tally, total
from tracking.amounts import ExactSum

A_DAY = timedelta(days=1)


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
) -> dict[date, Mapping[str, Any]]:
    """What happened on each of these days, as `Tally.as_json` tells it; removed sales
    are left out, and commissions stand under their state of today."""
    closed = [day for day in days if is_closed(day, at=at)]
    known = counted(account, closed, lambda day: tally_of(account, day).as_json())
    return {
        day: known[day] if day in known else tally_of(account, day).as_json()
        for day in days
        if day <= at.date()
    }


def tally_of(account: Account, day: date, last: date | None = None) -> Tally:
    """What happened on one day, or up to a last one, counted from its rows."""
    since, until = start_of(day), start_of(last or day) + A_DAY

    def of_the_day(rows: QuerySet[Any]) -> QuerySet[Any]:
        made = rows.filter(created_at__gte=since, created_at__lt=until)
        return made.order_by()

    tally = Tally(customers=of_the_day(account.customers.present()).count())
    clicks = of_the_day(account.clicks.all()).values_list("affiliate", "landing_page")
    for affiliate, page, number in clicks.annotate(Count("pk")).iterator():
        tally.click(affiliate, page, number)
    sales = of_the_day(account.conversions.present())
    sold = sales.values_list("affiliate", "currency")
    for row in sold.annotate(Count("pk"), ExactSum("amount")):
        tally.sell(*row)
    for row in _summed(of_the_day(account.commissions.present()), "status", "currency"):
        tally.earn(*row)
    for currency, amount in _summed(
        of_the_day(account.payments.standing()), "currency"
    ):
        tally.paid.add({currency: amount})
    return tally


def standings_of(
    account: Account, affiliates: Sequence[int], period: Period, *, at: datetime
) -> dict[int, "Standing"]:
    """How these affiliates do: in a period, and what each is owed now."""
    closed = [day for day in period.days if is_closed(day, at=at)]
    known = counted(account, closed, lambda day: tally_of(account, day).as_json())
    tally = total(known.values())
    if len(closed) < len(period.days):
        running = period.days[len(closed)]
        tally.add(tally_of(account, running, period.last).as_json())
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


def in_all(figures: Mapping[date, Mapping[str, Any]], period: Period) -> Tally:
    """The days of a period as one."""
    return total(figures[day] for day in period.days if day in figures)


def owed_now(account: Account) -> Sums:
    """What is owed to affiliates at this moment; those below nought are left out."""
    return dict(sorted(owed_to_affiliates(account)))


def worklist_of(account: Account) -> Worklist:
    """What somebody should look at."""
    pending = account.commissions.present().filter(status=Status.PENDING).order_by()
    facts = pending.values_list("currency").annotate(
        Count("pk"), ExactSum("amount"), Min("created_at")
    )
    waiting = sorted(facts)
    return Worklist(
        applications=account.enrolments.present().filter(approved=None).count(),
        commissions=sum(number for _, number, _, _ in waiting),
        sums={currency: amount for currency, _, amount, _ in waiting},
        oldest=min((oldest for *_, oldest in waiting), default=None),
        webhooks=account.webhook_endpoints.all().failing().count(),
    )


def slugs_of(account: Account, affiliates: Sequence[str]) -> dict[str, str]:
    """The ids of affiliates, by the numbers of their rows."""
    rows = account.affiliates.filter(pk__in=affiliates).values_list("pk", "slug")
    return {str(number): slug for number, slug in rows}


def _summed(rows: QuerySet[Any], *by: str) -> Iterable[Any]:
    sums: Iterable[Any] = rows.values_list(*by).annotate(ExactSum("amount"))
    return sums
