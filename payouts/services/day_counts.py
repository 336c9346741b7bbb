"""Count an account's rows of days into unsaved `DailyStats` rows."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from itertools import groupby
from typing import Any

from django.db import models, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Case, Count, F, OuterRef, QuerySet, Value, When
from django.db.models.functions import Coalesce
from django.db.models.sql.compiler import SQLCompiler

from accounts.compiled_queries import CompiledQuery
from accounts.days import A_DAY, start_of_day
from accounts.models.accounts import Account
from payouts.models.bonuses import Bonus
from payouts.models.commissions import Commission, CommissionStatus
from payouts.models.daily_stats import DailyLandingPageClicks, DailyStats
from payouts.models.payments import Payment
from payouts.statistics import MAX_PAGES, OTHER_PAGES
from tracking.amounts import MAX_SCALED_AMOUNT, SCALE, ExactSum
from tracking.models.clicks import Click
from tracking.models.conversions import Conversion
from tracking.models.customers import Customer

MAX_AMOUNT = Decimal(MAX_SCALED_AMOUNT).scaleb(-SCALE)  # of a column
COMMISSIONS = {status: f"commissions_{status}" for status in CommissionStatus.values}
AMOUNTS = ("revenue", *COMMISSIONS.values(), "paid")
NO_PROGRAM = Value(None, models.BigIntegerField())


@dataclass(frozen=True)
class CountedDay:
    """The statistics of one day, as unsaved rows."""

    day: date
    stats: list[DailyStats]
    landing_page_clicks: list[DailyLandingPageClicks]

    @property
    def is_storable(self) -> bool:
        """Whether all sums fit their columns: a sum of amounts may be too large."""
        amounts = (getattr(row, name) for row in self.stats for name in AMOUNTS)
        return all(amount is None or amount <= MAX_AMOUNT for amount in amounts)


class TextBefore(models.Func):
    """`TextBefore(text, separator)`: the part before the first separator, or all."""

    function = "SPLIT_PART"
    template = "%(function)s(%(expressions)s, 1)"
    output_field = models.TextField()

    def as_sqlite(  # type: ignore[override]
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> tuple[str, list[Any]]:
        (text, values), (separator, mark) = map(
            compiler.compile, self.source_expressions
        )
        sql = f"SUBSTR({text}, 1, INSTR({text} || {separator}, {separator}) - 1)"
        return sql, [*values, *values, *mark, *mark]


# The functions below group rows of one model (`Rows`) by `keys`: the program, or the
# day and the program. They return a queryset of tuples (`Groups`): the keys of a group,
# then its counts and sums.
Rows = QuerySet[Any, Any]
Groups = Any
Keys = tuple[Any, ...]


def cut_query(url: F) -> TextBefore:
    """Return the expression of a URL without query and fragment."""
    return TextBefore(TextBefore(url, Value("?")), Value("#"))


def group_landing_pages(clicks: Rows, _keys: Keys) -> Groups:
    """The `MAX_PAGES` most visited pages: URL without query and fragment, clicks."""
    rows = clicks.filter(landing_page__isnull=False)
    rows = rows.annotate(page=cut_query(F("landing_page")))
    groups = rows.values_list("page").annotate(number=Count("*"))
    return groups.order_by("-number", "page")[:MAX_PAGES]


def group_clicks(clicks: Rows, keys: Keys) -> Groups:
    """Program, affiliate, clicks, clicks with a landing page."""
    groups = clicks.values_list(*keys, "affiliate")
    return groups.annotate(number=Count("*"), pages=Count("landing_page"))


def group_customers(customers: Rows, keys: Keys) -> Groups:
    """Program, affiliate, customers; without deleted customers."""
    groups = customers.filter(deleted_at=None).values_list(*keys, "affiliate")
    return groups.annotate(number=Count("*"))


def group_conversions(conversions: Rows, keys: Keys) -> Groups:
    """Program, affiliate, currency, conversions, revenue; without deleted ones."""
    rows = conversions.filter(deleted_at=None)
    groups = rows.values_list(*keys, "affiliate", "currency")
    return groups.annotate(number=Count("*"), sum=ExactSum("amount"))


def group_commissions(commissions: Rows, keys: Keys) -> Groups:
    """Program, affiliate, currency, present status, amount; without deleted ones."""
    rows = commissions.filter(deleted_at=None)
    groups = rows.values_list(*keys, "affiliate", "currency", "status")
    return groups.annotate(ExactSum("amount"))


def group_payments(payments: Rows, keys: Keys) -> Groups:
    """Affiliate, currency, amount; without canceled payments."""
    rows = payments.filter(canceled_at=None)
    groups = rows.values_list(*keys[:-1], "affiliate", "currency")
    return groups.annotate(ExactSum("amount"))


GROUPS: dict[str, tuple[Any, Callable[[Rows, Keys], Groups]]] = {
    "landing_pages": (Click, group_landing_pages),
    "clicks": (Click, group_clicks),
    "customers": (Customer, group_customers),
    "conversions": (Conversion, group_conversions),
    "commissions": (Commission, group_commissions),
    "payments": (Payment, group_payments),
}
COUNTED_KINDS = tuple(GROUPS)


def find_program_of_commission(account: Account) -> Coalesce:
    """Return the expression for the program of a commission's conversion or bonus.

    It is a subquery per commission: for a join PostgreSQL may read all conversions.
    """
    programs = [
        models.Subquery(rows.filter(pk=OuterRef(name)).values("program")[:1])
        for name, rows in (
            ("conversion", Conversion.objects.of(account)),
            ("bonus", Bonus.objects.of(account)),
        )
    ]
    return Coalesce(*programs)


@cache
def get_day_query(
    kind: str, *, by_program: bool, of_affiliate: bool = False
) -> CompiledQuery[Any]:
    """Return the compiled query of a function in `GROUPS` for rows created in a period.

    Without `by_program`, the program in its groups is None. With `of_affiliate`, it
    takes the `affiliate` whose rows count.
    """
    model, group = GROUPS[kind]

    def groups(account: Any, since: Any, until: Any, affiliate: Any = None) -> Groups:
        program: Any = "program" if by_program else NO_PROGRAM
        if by_program and model is Commission:
            program = find_program_of_commission(account)
        rows = _list_rows(model, account, since, until)
        if of_affiliate:
            rows = rows.filter(affiliate=affiliate)
        return group(rows, (program,))

    names = ("account", "since", "until")
    return CompiledQuery(groups, (*names, "affiliate") if of_affiliate else names)


def _list_rows(model: Any, account: Any, since: Any, until: Any) -> Rows:
    """Return the rows that were created in a period."""
    rows = model.objects.of(account).order_by()
    return rows.filter(created_at__gte=since, created_at__lt=until)  # type: ignore[no-any-return]


class DayCounter:
    """Counts the rows of a day, with one statement for each kind of row."""

    def __init__(
        self,
        account: Account,
        day: date,
        *,
        by_program: bool,
        affiliate: int | None = None,
    ) -> None:
        self.account = account
        self.affiliate = affiliate  # None: all
        self.day = day
        self.by_program = by_program
        self.page_clicks: dict[str, int] = {}  # at most `MAX_PAGES`
        self.clicks_with_page = 0
        self.rows: dict[tuple[int | None, int | None, str], DailyStats] = {}
        self.row(None, None)  # each day has this row, even if nothing happened

    def row(
        self, program: int | None, affiliate: int | None, currency: str = ""
    ) -> DailyStats:
        """Return the statistics of a program, affiliate and currency, zero at first."""
        key = (program, affiliate, currency)
        if key not in self.rows:
            self.rows[key] = DailyStats(
                account=self.account,
                day=self.day,
                time_zone=self.account.time_zone,
                program_id=program,
                affiliate_id=affiliate,
                currency=currency,
            )
        return self.rows[key]

    def count(self, kinds: Collection[str]) -> CountedDay:
        """Count the rows of these `kinds`, which are keys of `GROUPS`."""
        since, until = (
            start_of_day(day, self.account.zone) for day in (self.day, self.day + A_DAY)
        )
        of_one = {} if self.affiliate is None else {"affiliate": self.affiliate}
        for kind in kinds:
            query = get_day_query(
                kind, by_program=self.by_program, of_affiliate=bool(of_one)
            )
            groups = query.all(
                router.db_for_read(GROUPS[kind][0]),
                account=self.account,
                since=since,
                until=until,
                **of_one,
            )
            self.add(kind, groups)
        return CountedDay(
            self.day, list(self.rows.values()), self.list_landing_page_clicks()
        )

    def add(self, kind: str, groups: Any) -> None:
        """Add the groups of a query of this kind to the statistics."""
        adders = {
            "landing_pages": self.add_landing_pages,
            "clicks": self.add_clicks,
            "customers": self.add_customers,
            "conversions": self.add_conversions,
            "commissions": self.add_commissions,
            "payments": self.add_payments,
        }
        adders[kind](groups)

    def add_landing_pages(self, groups: Any) -> None:
        self.page_clicks = dict(groups)

    def add_clicks(self, groups: Any) -> None:
        for *key, number, pages in groups:
            self.row(*key).clicks = number
            self.clicks_with_page += pages

    def add_customers(self, groups: Any) -> None:
        for *key, number in groups:
            self.row(*key).customers = number

    def add_conversions(self, groups: Any) -> None:
        for *key, number, amount in groups:
            stats = self.row(*key)
            stats.conversions, stats.revenue = number, amount

    def add_commissions(self, groups: Any) -> None:
        for *key, status, amount in groups:
            setattr(self.row(*key), COMMISSIONS[status], amount)

    def add_payments(self, groups: Any) -> None:
        for affiliate, currency, amount in groups:
            self.row(None, affiliate, currency).paid = amount

    def list_landing_page_clicks(self) -> list[DailyLandingPageClicks]:
        """Return the clicks of each landing page; of all others as `OTHER_PAGES`."""
        pages = dict(self.page_clicks)
        others = self.clicks_with_page - sum(pages.values())
        if others and len(pages) == MAX_PAGES:
            pages[OTHER_PAGES] = others
        return [
            DailyLandingPageClicks(
                account=self.account, day=self.day, landing_page=page, clicks=number
            )
            for page, number in pages.items()
        ]


def count_day(
    account: Account,
    day: date,
    *,
    kinds: Collection[str] = COUNTED_KINDS,
    by_program: bool = True,
    affiliate: int | None = None,
) -> CountedDay:
    """Count the rows of a day of these `kinds`, which are keys of `GROUPS`; those of
    one affiliate if one is given."""
    counter = DayCounter(account, day, by_program=by_program, affiliate=affiliate)
    return counter.count(kinds)


def count_days(account: Account, days: Iterable[date]) -> list[CountedDay]:
    """Count the rows of days; of consecutive ones together."""
    runs = groupby(enumerate(sorted(days)), lambda pair: pair[1] - A_DAY * pair[0])
    counted: list[CountedDay] = []
    for _, pairs in runs:
        run = [day for _, day in pairs]
        counted += _count_run(account, run) if run[1:] else [count_day(account, *run)]
    return counted


def _count_run(account: Account, days: Sequence[date]) -> list[CountedDay]:
    """Count consecutive days with one statement for each kind of row, but one for the
    landing pages of each day."""
    starts = [start_of_day(day, account.zone) for day in (*days, days[-1] + A_DAY)]
    ends = zip(days, starts[1:], strict=True)
    day_of_row = Case(
        *(When(created_at__lt=end, then=Value(day)) for day, end in ends),
        output_field=models.DateField(),
    )
    counters = {day: DayCounter(account, day, by_program=True) for day in days}
    for kind in COUNTED_KINDS[1:]:
        model, group = GROUPS[kind]
        is_commission = model is Commission
        program = find_program_of_commission(account) if is_commission else "program"
        rows = _list_rows(model, account, starts[0], starts[-1])
        groups = defaultdict(list)
        for day, *rest in group(rows.annotate(day=day_of_row), ("day", program)):
            groups[day].append(rest)
        for day in groups:
            counters[day].add(kind, groups[day])
    return [
        counter.count(COUNTED_KINDS[:1] if counter.clicks_with_page else ())
        for counter in counters.values()
    ]
