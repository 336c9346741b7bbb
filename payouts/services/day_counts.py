"""Count an account's rows of days into unsaved `DailyStats` rows."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from itertools import groupby
from typing import Any

from django.db import connections, models, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Case, Count, F, OuterRef, Q, QuerySet, Sum, Value, When
from django.db.models.functions import Coalesce, Least
from django.db.models.sql.compiler import SQLCompiler

from accounts.compiled_queries import CompiledQuery
from accounts.days import A_DAY, start_of_day
from accounts.models.accounts import Account
from payouts.models.bonuses import Bonus
from payouts.models.commissions import Commission, CommissionStatus
from payouts.models.daily_stats import DailyLandingPageClicks, DailyStats
from payouts.models.payments import Payment
from payouts.statistics import MAX_PAGES, OTHER_PAGES, ZERO
from tracking.amounts import MAX_SCALED_AMOUNT, SCALE, ExactSum
from tracking.models.clicks import OTHER_TEXTS, Click, PrunedClickCount
from tracking.models.conversions import Conversion
from tracking.models.customers import Customer

MAX_AMOUNT = Decimal(MAX_SCALED_AMOUNT).scaleb(-SCALE)  # of a column
COMMISSIONS = {status: f"commissions_{status}" for status in CommissionStatus.values}
COUNTS = ("clicks", "customers", "conversions")
AMOUNTS = ("revenue", *COMMISSIONS.values(), "paid")
ALL_AMOUNTS = (*AMOUNTS, "sold", "kept")
FIRST_AMOUNT = Coalesce("first_amount", "amount")
KEPT_AMOUNT = Least(FIRST_AMOUNT, "amount")
NOT_REMOVED = Q(deleted_at=None)
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
        amounts = (getattr(row, name) for row in self.stats for name in ALL_AMOUNTS)
        return all(amount is None or amount <= MAX_AMOUNT for amount in amounts)


class TextBefore(models.Func):
    """`TextBefore(text, separator)`: the part before the first separator, or all."""

    function = "SPLIT_PART"
    template = "%(function)s(%(expressions)s, 1)"
    output_field = models.TextField()

    def as_sqlite(  # type: ignore[override]
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> tuple[str, list[Any]]:
        (text, values), (separator, mark) = map(compiler.compile, self.source_expressions)
        sql = f"SUBSTR({text}, 1, INSTR({text} || {separator}, {separator}) - 1)"
        return sql, [*values, *values, *mark, *mark]


class TextAfter(models.Func):
    """`TextAfter(text, separator)`: what is behind a separator that the text has once."""

    function = "SPLIT_PART"
    template = "%(function)s(%(expressions)s, 2)"
    output_field = models.TextField()

    def as_sqlite(  # type: ignore[override]
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> tuple[str, list[Any]]:
        (text, values), (separator, mark) = map(compiler.compile, self.source_expressions)
        sql = f"SUBSTR({text}, INSTR({text}, {separator}) + LENGTH({separator}))"
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
    groups = _group_pages(clicks, cut_query(F("landing_page")), Count("*"))
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
    """Program, affiliate, currency, conversions, revenue, what was sold, what is kept of
    that; only sold ones with deleted ones."""
    groups = conversions.values_list(*keys, "affiliate", "currency")
    return groups.annotate(
        number=Count("pk", filter=NOT_REMOVED),
        revenue=ExactSum("amount", filter=NOT_REMOVED),
        sold=ExactSum(FIRST_AMOUNT),
        kept=ExactSum(KEPT_AMOUNT, filter=NOT_REMOVED),
    )


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


def group_removed_clicks(counts: Rows, keys: Keys) -> Groups:
    """What `group_clicks` returns for clicks of which only the counts are left."""
    has_page = Q(landing_page__isnull=False)
    pages = Coalesce(Sum("clicks", filter=has_page), 0)
    groups = counts.values_list(*keys, "affiliate")
    return groups.annotate(number=Sum("clicks"), pages=pages)


def _group_pages(rows: Rows, page: Any, number: Any) -> Groups:
    rows = rows.filter(landing_page__isnull=False).annotate(page=page)
    return rows.values_list("page").annotate(number=number)


def sum_most_frequent(clicks: Groups, removed: Groups, most: int) -> list[Any]:
    """Add up the numbers of each text in the groups of clicks and of removed ones.

    Both are querysets of a text and a number. One statement reads both, so that no
    click is missing or counted twice that is removed meanwhile. Returns the texts with
    the highest numbers, and their numbers.
    """
    union = clicks.union(removed, all=True)
    sql, values = union.query.sql_with_params()
    with connections[union.db].cursor() as cursor:
        cursor.execute(
            f"WITH texts (text, number) AS ({sql})"  # noqa: S608 - the ORM's own SQL
            " SELECT text, CAST(SUM(number) AS BIGINT) AS total FROM texts"
            f" GROUP BY text ORDER BY total DESC, text LIMIT {most}",
            values,
        )
        return list(cursor.fetchall())


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
def get_day_query(kind: str, *, by_program: bool, of_affiliate: bool = False) -> CompiledQuery[Any]:
    """Return the compiled query of a function in `GROUPS` for rows created in a period.

    Without `by_program`, the program in its groups is None. With `of_affiliate`, it
    takes the `affiliate` whose rows count.
    """
    model, group = GROUPS[kind]

    def groups(account: Any, since: Any, until: Any, affiliate: Any = None) -> Groups:
        program: Any = "program" if by_program else NO_PROGRAM
        if by_program and model is Commission:
            program = find_program_of_commission(account)
        rows = _list_created_rows(model, account, since, until)
        if of_affiliate:
            rows = rows.filter(affiliate=affiliate)
        return group(rows, (program,))

    names = ("account", "since", "until")
    return CompiledQuery(groups, (*names, "affiliate") if of_affiliate else names)


def _list_created_rows(model: Any, account: Any, since: Any, until: Any) -> Rows:
    """Return the rows that were created in a period."""
    rows = model.objects.of(account).order_by()
    return rows.filter(created_at__gte=since, created_at__lt=until)  # type: ignore[no-any-return]


def _list_removed_clicks(account: Any, since: Any, until: Any) -> Rows:
    rows = PrunedClickCount.objects.of(account).order_by()
    return rows.filter(quarter__gte=since, quarter__lt=until)


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
        self.row(None, None).sold = ZERO  # each day has this row, even if nothing happened

    def row(self, program: int | None, affiliate: int | None, currency: str = "") -> DailyStats:
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
            query = get_day_query(kind, by_program=self.by_program, of_affiliate=bool(of_one))
            groups = query.all(
                router.db_for_read(GROUPS[kind][0]),
                account=self.account,
                since=since,
                until=until,
                **of_one,
            )
            self.add(kind, groups)
        return CountedDay(self.day, list(self.rows.values()), self.list_landing_page_clicks())

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
            self.row(*key).clicks += number
            self.clicks_with_page += pages

    def add_customers(self, groups: Any) -> None:
        for *key, number in groups:
            self.row(*key).customers = number

    def add_conversions(self, groups: Any) -> None:
        for *key, number, revenue, sold, kept in groups:
            stats = self.row(*key)
            stats.conversions, stats.revenue = number, revenue
            stats.sold, stats.kept = sold, kept

    def add_commissions(self, groups: Any) -> None:
        for *key, status, amount in groups:
            setattr(self.row(*key), COMMISSIONS[status], amount)

    def add_payments(self, groups: Any) -> None:
        for affiliate, currency, amount in groups:
            self.row(None, affiliate, currency).paid = amount

    def list_landing_page_clicks(self) -> list[DailyLandingPageClicks]:
        """Return the clicks of each landing page; of all others as `OTHER_PAGES`."""
        pages = dict(self.page_clicks)
        others = pages.pop(OTHER_TEXTS, 0)  # of removed clicks
        if len(self.page_clicks) == MAX_PAGES:
            others = self.clicks_with_page - sum(pages.values())
        if others:
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
    """Count the rows of days, and clicks that were removed; of consecutive days
    together."""
    runs = groupby(enumerate(sorted(days)), lambda pair: pair[1] - A_DAY * pair[0])
    return [
        counted for _, pairs in runs for counted in _count_run(account, [day for _, day in pairs])
    ]


def _count_run(account: Account, days: Sequence[date]) -> list[CountedDay]:
    """Count consecutive days with one statement for each kind of row, but one for the
    landing pages of each day."""
    starts = [start_of_day(day, account.zone) for day in (*days, days[-1] + A_DAY)]
    day_of_row, day_of_quarter = (
        Case(
            *(
                When(**{f"{column}__lt": end}, then=Value(day))
                for day, end in zip(days, starts[1:], strict=True)
            ),
            output_field=models.DateField(),
        )
        for column in ("created_at", "quarter")
    )
    removed = _list_removed_clicks(account, starts[0], starts[-1])
    counters = {day: DayCounter(account, day, by_program=True) for day in days}
    for kind in COUNTED_KINDS[1:]:
        model, group = GROUPS[kind]
        is_commission = model is Commission
        program = find_program_of_commission(account) if is_commission else "program"
        rows = _list_created_rows(model, account, starts[0], starts[-1])
        groups = defaultdict(list)
        counts = group(rows.annotate(day=day_of_row), ("day", program))
        if model is Click:
            counts = counts.union(
                group_removed_clicks(removed.annotate(day=day_of_quarter), ("day", program)),
                all=True,
            )
        for day, *rest in counts:
            groups[day].append(rest)
        for day in groups:
            counters[day].add(kind, groups[day])
    for number, counter in enumerate(counters.values()):
        if counter.clicks_with_page:
            period = (account, *starts[number : number + 2])
            clicks, removed = _list_created_rows(Click, *period), _list_removed_clicks(*period)
            counter.add_landing_pages(
                sum_most_frequent(
                    _group_pages(clicks, cut_query(F("landing_page")), Count("*")),
                    _group_pages(removed, F("landing_page"), Sum("clicks")),
                    MAX_PAGES,
                )
            )
    return [counter.count(()) for counter in counters.values()]
