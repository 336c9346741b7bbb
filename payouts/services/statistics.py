"""Daily statistics: days that are over are counted once and stored, one row per
program, affiliate and currency; after a change they are stale and counted again.

Counting holds no lock, and the transaction that stores the result is short. A counter
first marks the days as stale itself, then reads their marks, then counts. It stores
only if its own mark still exists, and deletes the marks that it has read. So a change
that the count does not include leaves a mark behind, and a count never replaces a
later one, which has deleted its mark: docs/reliability.md, section 7.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.db import models, transaction
from django.db.models import Count, Exists, OuterRef, QuerySet, Sum

from accounts import replica
from accounts.days import A_DAY
from accounts.db_compat import BATCH_SIZE
from accounts.models.accounts import Account
from accounts.models.daily_stats import StaleDay
from accounts.services.row_counts import CountedList
from payouts.models.commissions import Commission, CommissionStatus
from payouts.services.day_counts import (
    AMOUNTS,
    COUNTED_KINDS,
    CountedDay,
    count_day,
)
from payouts.services.payables import (
    get_overpaid_totals,
    get_payable_balances,
    get_payable_totals,
    get_pending_totals,
)
from payouts.statistics import (
    AffiliateTotals,
    Period,
    Sums,
    Totals,
    is_closed,
    rank_by_count,
    start_of_day,
)
from tracking.amounts import ExactSum

BATCH_DAYS = 5  # days that are stored in one transaction
COUNTS = ("clicks", "customers", "conversions")


@dataclass(frozen=True)
class Statistics:
    """Statistics of some days: stored ones are summed by SQL, to which those are added
    that were counted for this reader alone, such as today."""

    account: Account
    counted: Sequence[CountedDay]

    def totals_by_day(
        self, days: Sequence[date], affiliates: Collection[int] | None = None
    ) -> dict[date, Totals]:
        """Return the totals of each of these days; None: of all affiliates."""
        totals = {day: Totals() for day in days}
        lines = self._sum(
            days,
            by=("day", "currency"),
            of=(*COUNTS, *AMOUNTS),
            affiliates=affiliates,
        )
        for day, currency, clicks, customers, conversions, *amounts in lines:
            total = totals[day]
            total.clicks += clicks
            total.customers += customers
            total.conversions += conversions
            for name, amount in zip(AMOUNTS, amounts, strict=True):
                sums = getattr(total, name.removeprefix("commissions_"))
                sums.add(currency, amount)
        return totals

    def affiliate_totals(
        self, days: Sequence[date], affiliates: Collection[int] | None = None
    ) -> dict[int, AffiliateTotals]:
        """Return the totals of these affiliates; None: of all with any statistics."""
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
                "commissions_pending",
                "commissions_approved",
            ),
            affiliates=affiliates,
        )
        for affiliate, currency, clicks, conversions, revenue, *commissions in lines:
            total = totals[affiliate]
            total.clicks += clicks
            total.conversions += conversions
            total.revenue.add(currency, revenue)
            for amount in commissions:
                total.earned.add(currency, amount)
        totals.pop(None, None)  # type: ignore[call-overload]
        return dict(totals)

    def top_pages(self, days: Sequence[date], most: int) -> list[tuple[str, int]]:
        """Return the landing pages with the most clicks."""
        rows = self._stored(self.account.daily_landing_page_clicks.all(), days)
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
        affiliates: Collection[int] | None = None,
    ) -> Iterator[Any]:
        """Yield lines of keys and sums; the same keys may come several times."""
        rows = self._stored(self.account.daily_stats.all(), days)
        if affiliates is not None:
            rows = rows.filter(affiliate__in=affiliates)
        sums = [ExactSum(name) if name in AMOUNTS else Sum(name) for name in of]
        yield from rows.values_list(*by).annotate(*sums)
        for counted in self._counted(days):
            for row in counted.stats:
                if affiliates is None or row.affiliate_id in affiliates:
                    yield tuple(getattr(row, name) for name in (*by, *of))

    def _stored(self, rows: QuerySet[Any], days: Sequence[date]) -> QuerySet[Any]:
        """Rows of these days, but not of those counted for this reader alone, which
        another one may have stored meanwhile."""
        rows = rows.filter(day__range=(min(days), max(days)))
        return rows.exclude(
            day__in=[counted.day for counted in self.counted]
        ).order_by()

    def _counted(self, days: Sequence[date]) -> list[CountedDay]:
        first, last = min(days), max(days)
        return [counted for counted in self.counted if first <= counted.day <= last]


@dataclass(frozen=True)
class AffiliatePerformance:
    """The statistics of an affiliate in a period, and its present balance due."""

    clicks: int
    conversions: int
    revenue: Sums
    balance_due: Sums


@dataclass(frozen=True)
class ToReview:
    """What staff have to review."""

    applications: int
    commissions: int
    sums: Sums
    oldest: datetime | None
    webhooks: int


def load_statistics(
    account: Account,
    days: Sequence[date],
    *,
    at: datetime,
    kinds: Collection[str] = COUNTED_KINDS,
) -> Statistics:
    """Statistics of these days: counts and stores those that are closed and were not
    counted yet, or changed since; counts those that are still open, of these kinds only
    and not by program: nobody reads that of them, and it takes a sixth of the time.

    Deleted conversions are left out, and commissions counted by their status now.
    """
    closed = [day for day in days if is_closed(day, at=at)]
    stored = _find_stored_days(account, closed)
    missing = [day for day in closed if day not in stored]
    if missing:
        first = find_first_day(account)
        missing = [day for day in missing if first is not None and day >= first]
    counted: list[CountedDay] = []
    for start in range(0, len(missing), BATCH_DAYS):
        counted += _store(account, missing[start : start + BATCH_DAYS])
    open_days = sorted(day for day in set(days) - set(closed) if day <= at.date())
    counted += [
        count_day(account, day, kinds=kinds, by_program=False) for day in open_days
    ]
    return Statistics(account, counted)


def refresh_stale_days(accounts: Iterable[Account], *, dry_run: bool) -> int:
    """Count stored days again that are stale, and delete the marks of all others; how
    many marks there were. Without readers they would only accumulate."""
    number = sum(account.stale_days.count() for account in accounts)
    if dry_run:
        return number
    for account in accounts:
        _delete_unused_marks(account)
        stale = account.stale_days.order_by("day")
        days = list(stale.values_list("day", flat=True).distinct())
        for start in range(0, len(days), BATCH_DAYS):
            _store(account, days[start : start + BATCH_DAYS])
    return number


def find_first_day(account: Account) -> date | None:
    """The day of the account's first row that is counted; None where there is none."""
    rows: tuple[QuerySet[Any], ...] = (
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
    return min((at.date() for at in moments if at is not None), default=None)


def calculate_performance(
    account: Account, affiliates: Sequence[int], period: Period, *, at: datetime
) -> dict[int, AffiliatePerformance]:
    """Calculate the performance of these affiliates in a period."""
    kinds = ("clicks", "conversions")
    statistics = load_statistics(account, period.days, at=at, kinds=kinds)
    totals = statistics.affiliate_totals(period.days, affiliates)
    balances = get_payable_balances(account, affiliates)
    return {
        affiliate: AffiliatePerformance(
            clicks=total.clicks,
            conversions=total.conversions,
            revenue=total.revenue.in_order(),
            balance_due=balances.get(affiliate, {}),
        )
        for affiliate, total in totals.items()
    }


def count_removed_conversions(account: Account, periods: Sequence[Period]) -> list[int]:
    """Count the conversions that were removed in each of these periods: refunds."""
    counts = {
        f"removed_{number}": Count(
            "pk",
            filter=models.Q(
                deleted_at__gte=start_of_day(period.first),
                deleted_at__lt=start_of_day(period.last + A_DAY),
            ),
        )
        for number, period in enumerate(periods)
    }
    since = start_of_day(min(period.first for period in periods))
    removed = account.conversions.filter(deleted_at__gte=since)
    return list(removed.aggregate(**counts).values())


def get_balance_due(account: Account) -> Sums:
    """Return the sum of positive payable balances by currency."""
    return dict(sorted(get_payable_totals(account)))


def get_overpaid(account: Account) -> Sums:
    """Return what affiliates owe the account by currency: their negative balances."""
    return dict(sorted(get_overpaid_totals(account)))


def count_to_review(account: Account, *, at: datetime) -> ToReview:
    """Count what staff have to review."""
    status = CommissionStatus.PENDING.value
    pending = account.commissions.not_deleted().filter(status=status)
    oldest = pending.order_by("created_at").values_list("created_at", flat=True)
    count = CountedList(account, Commission, "status", status).count(at)
    return ToReview(
        applications=account.enrollments.not_deleted().filter(approved=None).count(),
        commissions=count.stored + count.later,
        sums=dict(sorted(get_pending_totals(account))),
        oldest=oldest.first(),
        webhooks=account.webhook_endpoints.all().failing().count(),
    )


def _find_stored_days(account: Account, days: Sequence[date]) -> set[date]:
    """Those of these days that are stored and not stale, in one statement."""
    if not days:
        return set()
    stale = account.stale_days.filter(day=OuterRef("day"))
    stored = account.daily_stats.filter(
        ~Exists(stale),
        day__range=(min(days), max(days)),
        program=None,
        affiliate=None,
        currency="",
    )
    return set(stored.values_list("day", flat=True))


def _store(account: Account, days: Sequence[date]) -> list[CountedDay]:
    """Count those of these days that are missing, and store them; return those that
    could not be stored: their sums do not fit, or another counter was faster."""
    replica.use_primary()
    stored = _find_stored_days(account, days)
    own_marks = account.stale_days.bulk_create(
        [StaleDay(account=account, day=day) for day in days if day not in stored]
    )
    if not own_marks:
        return []
    missing = [mark.day for mark in own_marks]
    marks = dict(account.stale_days.filter(day__in=missing).values_list("pk", "day"))
    counted = [count_day(account, day) for day in missing]
    with transaction.atomic():
        locked = _lock_marks(account, marks)
        current = {mark.day for mark in own_marks if mark.pk in locked}
        storable = [row for row in counted if row.day in current and row.is_storable]
        for batch in _split(sorted(pk for pk in locked if marks[pk] in current)):
            account.stale_days.filter(pk__in=batch).delete()
        account.daily_stats.filter(day__in=current).delete()
        account.daily_landing_page_clicks.filter(day__in=current).delete()
        account.daily_stats.bulk_create(
            [stats for row in storable for stats in row.stats]
        )
        account.daily_landing_page_clicks.bulk_create(
            [clicks for row in storable for clicks in row.landing_page_clicks]
        )
    return [row for row in counted if row not in storable]


def _delete_unused_marks(account: Account) -> None:
    """Delete the marks of days that are not stored.

    A counter may store such a day meanwhile, so this is asked again under the lock. A
    counter whose mark is deleted does not store.
    """
    stored = account.daily_stats.filter(day=OuterRef("day"))
    unused = account.stale_days.filter(~Exists(stored))
    while batch := list(unused.values_list("pk", flat=True)[:BATCH_SIZE]):
        with transaction.atomic():
            unused.filter(pk__in=_lock_marks(account, batch)).delete()


def _lock_marks(account: Account, marks: Iterable[int]) -> set[int]:
    """Lock these marks, in order, and return those that still exist.

    Nobody else waits for them but counters and `prune`: changes only insert marks.
    """
    rows = account.stale_days.select_for_update(no_key=True).order_by("pk")
    return {
        pk
        for batch in _split(sorted(marks))
        for pk in rows.filter(pk__in=batch).values_list("pk", flat=True)
    }


def _split(marks: Sequence[int]) -> Iterator[Sequence[int]]:
    """Split a list into parts of at most `BATCH_SIZE`."""
    for start in range(0, len(marks), BATCH_SIZE):
        yield marks[start : start + BATCH_SIZE]
