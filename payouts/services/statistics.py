"""Statistics of a period: sums over its days, in the time zone of the account.

Days that are over are stored (`stored_days.py`). Days that are still open, such as
today, are counted for each reader.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from time import monotonic
from typing import Any

from django.db import models
from django.db.models import Count, Q, QuerySet, Sum

from accounts.days import A_DAY, is_closed, list_days_anywhere, start_of_day
from accounts.models.accounts import Account
from accounts.services.row_counts import CountedList
from payouts.errors import StatisticsNotReady
from payouts.models.commissions import Commission, CommissionStatus
from payouts.services.day_counts import (
    ALL_AMOUNTS,
    AMOUNTS,
    COUNTED_KINDS,
    COUNTS,
    CountedDay,
    count_day,
)
from payouts.services.payables import get_payable_balances, get_pending
from payouts.services.stored_days import find_stored_days, store_days
from payouts.services.stored_months import find_stored_months, list_months, store_months
from payouts.statistics import (
    AffiliateTotals,
    Period,
    Sums,
    Totals,
    rank_by_count,
)
from tracking.amounts import ExactSum

MAX_SECONDS = 10  # that one call counts days that are over


@dataclass(frozen=True)
class Statistics:
    """Sums over days: SQL sums the stored days, and the `counted` days, which are not
    read from the database, are added in Python."""

    account: Account
    counted: Sequence[CountedDay]
    stored: Mapping[date, int] = field(default_factory=dict)  # `find_stored_days`

    def totals_by_day(
        self,
        days: Sequence[date],
        affiliates: Collection[int] | None = None,
        *,
        program: int | None = None,
    ) -> dict[date, Totals]:
        """Return the totals of each day, of these affiliates and this program (None: of
        all)."""
        totals = {day: Totals() for day in days}
        lines = self._sum(
            days,
            by=("day", "currency"),
            of=(*COUNTS, *AMOUNTS),
            affiliates=affiliates,
            program=program,
        )
        for day, currency, *sums in lines:
            _add_line(totals[day], currency, *sums)
        return totals

    def totals_by_day_and_program(
        self, days: Sequence[date], affiliate: int | None = None
    ) -> dict[tuple[date, int | None], Totals]:
        """Return the totals of each day and program that has some, of this affiliate (None:
        of all)."""
        totals: dict[tuple[date, int | None], Totals] = defaultdict(Totals)
        lines = self._sum(
            days,
            by=("day", "program_id", "currency"),
            of=(*COUNTS, *AMOUNTS),
            affiliates=None if affiliate is None else [affiliate],
            program=None,
        )
        for day, program, currency, *sums in lines:
            _add_line(totals[day, program], currency, *sums)
        return dict(totals)

    def affiliate_totals(
        self,
        days: Sequence[date],
        affiliates: Collection[int] | None = None,
        *,
        program: int | None = None,
    ) -> dict[int, AffiliateTotals]:
        """Return the totals by affiliate (None: of all that have statistics)."""
        totals: dict[int, AffiliateTotals] = defaultdict(AffiliateTotals)
        for affiliate in affiliates or ():
            totals[affiliate] = AffiliateTotals()
        lines = self._sum(
            days,
            by=("affiliate_id", "currency"),
            of=(
                "clicks",
                "conversions",
                "revenue",
                "sold",
                "kept",
                "commissions_pending",
                "commissions_approved",
            ),
            affiliates=affiliates,
            program=program,
        )
        for affiliate, currency, clicks, conversions, *sales, pending, approved in lines:
            total = totals[affiliate]
            total.clicks += clicks
            total.conversions += conversions
            for sums, amount in zip((total.revenue, total.sold, total.kept), sales, strict=True):
                sums.add(currency, amount)
            for amount in (pending, approved):
                total.earned.add(currency, amount)
        totals.pop(None, None)  # type: ignore[call-overload]  # rows of no affiliate
        return dict(totals)

    def get_main_currency(self, days: Sequence[date]) -> str:
        """Return the currency with the most conversions; empty without any."""
        sales: Counter[str] = Counter()
        for currency, number in self._sum(
            days, by=("currency",), of=("conversions",), affiliates=None, program=None
        ):
            sales[currency] += number if currency else 0
        ranked = rank_by_count(sales)
        return ranked[0][0] if ranked else ""

    def top_pages(self, days: Sequence[date], most: int) -> list[tuple[str, int]]:
        """Return the `most` landing pages with the most clicks, and their clicks."""
        rows = self.select_stored(self.account.daily_landing_page_clicks.all(), days)
        pages = Counter(dict(rows.values_list("landing_page").annotate(Sum("clicks"))))
        for counted in self._counted(days):
            for row in counted.landing_page_clicks:
                pages[row.landing_page] += row.clicks
        return rank_by_count(pages)[:most]

    def _sum(
        self,
        days: Sequence[date],
        *,
        by: tuple[str, ...],
        of: tuple[str, ...],
        affiliates: Collection[int] | None,
        program: int | None,
    ) -> Iterator[Any]:
        """Yield tuples of the columns `by` and the sums `of`; keys may be repeated."""
        sums = [ExactSum(name) if name in ALL_AMOUNTS else Sum(name) for name in of]
        for rows in self.select_sums(days, has_days="day" in by):
            if affiliates is not None:
                rows = rows.filter(affiliate__in=affiliates)
            if program is not None:
                rows = rows.filter(program=program)
            yield from rows.values_list(*by).annotate(*sums)
        for counted in self._counted(days):
            for row in counted.stats:
                is_of_affiliates = affiliates is None or row.affiliate_id in affiliates
                if is_of_affiliates and program in (None, row.program_id):
                    yield tuple(getattr(row, name) for name in (*by, *of))

    def select_sums(self, days: Sequence[date], *, has_days: bool) -> list[QuerySet[Any]]:
        """Return the stored rows whose sums are those of these days; unless the result
        `has_days`, those of whole months in place of their days."""
        months = {} if has_days else list_months(days)
        whole = find_stored_months(self.account, self.stored, months)
        others = [day for day in days if day.replace(day=1) not in whole]
        parts = [self.select_stored(self.account.daily_stats.all(), others)]
        if whole:
            parts.append(self.account.monthly_stats.filter(day__in=whole).order_by())
        return parts

    def select_stored(self, rows: QuerySet[Any], days: Sequence[date]) -> QuerySet[Any]:
        """Return the rows of these days, which may have a gap, except the `counted`
        days, which another reader may have stored meanwhile."""
        stored = set(days) - {counted.day for counted in self.counted}
        return rows.filter(day__in=stored).order_by()

    def _counted(self, days: Sequence[date]) -> list[CountedDay]:
        return [counted for counted in self.counted if counted.day in days]


def _add_line(
    total: Totals,
    currency: str,
    clicks: int,
    customers: int,
    conversions: int,
    *amounts: Decimal | None,
) -> None:
    total.clicks += clicks
    total.customers += customers
    total.conversions += conversions
    for name, amount in zip(AMOUNTS, amounts, strict=True):
        getattr(total, name.removeprefix("commissions_")).add(currency, amount)


@dataclass(frozen=True)
class AffiliatePerformance:
    """The statistics of an affiliate in a period, and its present balance due.

    Sums and rates are by currency; `commissions` are pending or approved, rates per
    hundred of what the sales were first.
    """

    clicks: int
    conversions: int
    revenue: Sums
    commissions: Sums
    refund_rates: Sums
    balance_due: Sums


def load_statistics(
    account: Account,
    days: Sequence[date],
    *,
    at: datetime,
    kinds: Collection[str] = COUNTED_KINDS,
    by_program: bool = False,
    affiliate: int | None = None,
) -> Statistics:
    """Return the statistics of these days.

    Closed days that were not counted yet, or have changed since, are counted and
    stored; raises `StatisticsNotReady` if there are too many of them. Open days are
    counted, but only the `kinds`, and by program only if asked for: without, that takes
    a sixth of the time. With an `affiliate`, open days are counted for this one only,
    and the result must be asked for no other. Deleted conversions are left out;
    commissions count by their present status.
    """
    closed = [day for day in days if is_closed(day, account.zone, at=at)]
    stored = find_stored_days(account, closed)
    missing = [day for day in closed if day not in stored]
    if missing:
        first = find_first_day(account)
        missing = [day for day in missing if first is not None and day >= first]
    counted: list[CountedDay] = []
    deadline = monotonic() + MAX_SECONDS
    for batch in store_days(account, missing):
        counted += batch.not_stored
        if batch.days_left and monotonic() >= deadline:
            raise StatisticsNotReady(days=batch.days_left)
    today = account.get_day(at)
    open_days = sorted(day for day in set(days) - set(closed) if day <= today)
    counted += [
        count_day(account, day, kinds=kinds, by_program=by_program, affiliate=affiliate)
        for day in open_days
    ]
    return Statistics(account, counted, stored)


def store_past_days(account: Account, *, at: datetime) -> Iterator[None]:
    """Store all days that are over, the last ones first, and the sums of whole months, so
    that no page has to count them; yields after each step of about a second."""
    closed = _list_closed_days(account, at=at)
    stored = find_stored_days(account, closed)
    if missing := [day for day in closed if day not in stored]:
        for _ in store_days(account, missing):
            yield
        stored = find_stored_days(account, closed)
    yield from store_months(account, stored)


def list_missing_days(account: Account, *, at: datetime) -> list[date]:
    """List the days that are over and not stored, or stale, the last ones first."""
    closed = _list_closed_days(account, at=at)
    stored = find_stored_days(account, closed)
    return [day for day in closed if day not in stored]


def _list_closed_days(account: Account, *, at: datetime) -> list[date]:
    first = find_first_day(account)
    if first is None:
        return []
    days = Period(first, account.get_day(at)).days
    return [day for day in reversed(days) if is_closed(day, account.zone, at=at)]


def find_first_day(account: Account) -> date | None:
    """Return the first day with a row that statistics count, or None.

    It is that of the westernmost time zone: earlier days are stored in no zone.
    """
    rows: tuple[QuerySet[Any], ...] = (
        account.clicks.all(),
        account.customers.all(),
        account.conversions.all(),
        account.commissions.all(),
        account.payments.all(),
    )
    firsts = [
        models.Subquery(some.order_by("created_at").values("created_at")[:1]) for some in rows
    ]
    removed = account.pruned_click_counts.order_by("quarter").values("quarter")
    firsts.append(models.Subquery(removed[:1]))
    moments = Account.objects.filter(pk=account.pk).values_list(*firsts).get()
    first = min((at for at in moments if at is not None), default=None)
    return first and min(list_days_anywhere(first))


def calculate_performance(
    account: Account,
    affiliates: Sequence[int],
    period: Period,
    *,
    program: int | None = None,
    at: datetime,
) -> dict[int, AffiliatePerformance]:
    """Calculate the performance of these affiliates in a period, in one program (None:
    in all). The balance is that of all programs."""
    statistics = load_statistics(
        account,
        period.days,
        at=at,
        kinds=("clicks", "conversions", "commissions"),
        by_program=program is not None,
    )
    totals = statistics.affiliate_totals(period.days, affiliates, program=program)
    balances = get_payable_balances(account, affiliates)
    return {
        affiliate: AffiliatePerformance(
            clicks=total.clicks,
            conversions=total.conversions,
            revenue=total.revenue.in_order(),
            commissions=total.earned.in_order(),
            refund_rates=total.refund_rates,
            balance_due=balances.get(affiliate, {}),
        )
        for affiliate, total in totals.items()
    }


@dataclass(frozen=True)
class ReviewCounts:
    """What staff have to review: pending applications and commissions, with the sums by
    currency and the oldest commission's time, and webhooks that fail."""

    applications: int
    commissions: int
    sums: Sums
    oldest: datetime | None
    webhooks: int


def count_removed_conversions(account: Account, periods: Sequence[Period]) -> list[int]:
    """Count the conversions that were removed in each of these periods: refunds."""
    counts = {
        f"removed_{number}": Count(
            "pk",
            filter=Q(
                deleted_at__gte=start_of_day(period.first, account.zone),
                deleted_at__lt=start_of_day(period.last + A_DAY, account.zone),
            ),
        )
        for number, period in enumerate(periods)
    }
    since = start_of_day(min(period.first for period in periods), account.zone)
    removed = account.conversions.filter(deleted_at__gte=since)
    return list(removed.aggregate(**counts).values())


def count_to_review(account: Account, *, at: datetime) -> ReviewCounts:
    """Count what staff have to review."""
    status = CommissionStatus.PENDING.value
    pending = account.commissions.not_deleted().filter(status=status)
    oldest = pending.order_by("created_at").values_list("created_at", flat=True)
    count = CountedList(account, Commission, "status", status).count(at)
    return ReviewCounts(
        applications=account.enrollments.not_deleted().filter(approved=None).count(),
        commissions=count.stored + count.later,
        sums=get_pending(account),
        oldest=oldest.first(),
        webhooks=account.webhook_endpoints.all().needing_attention().count(),
    )
