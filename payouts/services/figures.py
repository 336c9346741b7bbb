"""The figures of one affiliate in a period, what they consist of, and of recruits.

Customers are counted, never named.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db.models import (
    BooleanField,
    Count,
    Exists,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    Sum,
)

from accounts.days import A_DAY, start_of_day
from accounts.models.accounts import Account
from payouts.models.commissions import (
    Commission,
    CommissionKind,
    CommissionQuerySet,
    CommissionStatus,
)
from payouts.models.runs import PayoutLine, PayoutLineState
from payouts.services.day_counts import cut_query, sum_most_frequent
from payouts.services.payables import filter_on_hold
from payouts.services.statistics import load_statistics
from payouts.statistics import Amounts, Period, Totals, add_totals
from tracking.amounts import ExactSum
from tracking.attribution import COUPON
from tracking.models.affiliates import Affiliate
from tracking.models.clicks import OTHER_TEXTS

KINDS = ("clicks", "customers", "conversions", "commissions")
MAX_ROWS = 100  # of a breakdown
MAX_REASONS = 50
# States of commissions, in the order in which a commission passes them.
STATES = ("pending", "on_hold", "due", "on_its_way", "paid", "disapproved")
REMOVED = "removed"


@dataclass(frozen=True)
class Figures:
    """Totals by day and program in a period, and those of the period before."""

    period: Period
    before: Period
    totals: Mapping[tuple[date, int | None], Totals]

    def of_days(self, days: Iterable[date]) -> Totals:
        """The totals of some days, in all programs."""
        wanted = set(days)
        return add_totals(it for (day, _), it in self.totals.items() if day in wanted)

    def by_program(self) -> dict[int | None, Totals]:
        """The totals of the period by program; bonuses of no sale have one, too."""
        wanted = set(self.period.days)
        programs: dict[int | None, list[Totals]] = {}
        for (day, program), totals in self.totals.items():
            if day in wanted:
                programs.setdefault(program, []).append(totals)
        return {program: add_totals(totals) for program, totals in programs.items()}


@dataclass(frozen=True)
class StateTotal:
    """The commissions of a period in one state and currency."""

    state: str  # one of `STATES`
    currency: str
    number: int
    amount: Decimal


@dataclass
class Part:
    """A row of a breakdown."""

    label: str
    clicks: int | None = None  # None: not known
    sales: int = 0
    revenue: Amounts | None = None
    commissions: Any = None  # `Sums`; None: not known


def load_figures(affiliate: Affiliate, period: Period, before: Period, *, at: datetime) -> Figures:
    """Read the statistics of the affiliate in both periods."""
    days = [*before.days, *period.days]
    statistics = load_statistics(
        affiliate.account,
        days,
        at=at,
        kinds=KINDS,
        by_program=True,
        affiliate=affiliate.pk,
    )
    totals = statistics.totals_by_day_and_program(days, affiliate.pk)
    return Figures(period, before, totals)


def list_state_totals(affiliate: Affiliate, period: Period, *, at: datetime) -> list[StateTotal]:
    """Sum the commissions of the period by their present state."""
    account = affiliate.account
    rows = select_commissions(affiliate, period)
    on_hold = filter_on_hold(account.commissions.filter(pk=OuterRef("pk")), at=at)
    groups = (
        rows.order_by()
        .annotate(
            is_paid=ExpressionWrapper(Q(payment__isnull=False), BooleanField()),
            is_held=Exists(on_hold),
            is_on_its_way=Exists(find_open_lines(account)),
        )
        .values_list("status", "is_paid", "is_held", "is_on_its_way", "currency")
        .annotate(number=Count("*"), sum=ExactSum("amount"))
    )
    totals: dict[tuple[int, str], StateTotal] = {}
    for status, is_paid, is_held, is_on_its_way, currency, number, amount in groups:
        if is_paid:
            state = "on_its_way" if is_on_its_way else "paid"
        elif status == CommissionStatus.APPROVED:
            state = "on_hold" if is_held else "due"
        else:
            state = str(status)
        key = (STATES.index(state), currency)
        known = totals.get(key, StateTotal(state, currency, 0, Decimal(0)))
        totals[key] = StateTotal(state, currency, known.number + number, known.amount + amount)
    return [totals[key] for key in sorted(totals)]


def find_open_lines(account: Account) -> QuerySet[PayoutLine]:
    """The lines of a commission's payment about which the bank has not answered."""
    rows: QuerySet[PayoutLine] = account.payout_lines.filter(
        payment=OuterRef("payment"), state=PayoutLineState.UNKNOWN
    )
    return rows


def filter_state(
    account: Account, rows: CommissionQuerySet, state: str, *, at: datetime
) -> CommissionQuerySet:
    """The commissions in one of `STATES`, or those that were removed."""
    if state == REMOVED:
        return rows.filter(deleted_at__isnull=False)
    rows = rows.not_deleted()
    if state in ("on_its_way", "paid"):
        is_on_its_way = Exists(find_open_lines(account))
        wanted = is_on_its_way if state == "on_its_way" else ~is_on_its_way
        return rows.filter(wanted, payment__isnull=False)
    rows = rows.filter(payment=None)
    if state == "on_hold":
        return filter_on_hold(rows, at=at)
    if state == "due":
        approved = rows.filter(status=CommissionStatus.APPROVED)
        approved = approved.filter(under_review_since=None)
        return approved.filter(Q(due_at=None) | Q(due_at__lte=at))
    return rows.filter(status=state)


def list_disapproved(affiliate: Affiliate, period: Period) -> list[Commission]:
    """List disapproved commissions of the period with a comment, newest first."""
    rows = select_commissions(affiliate, period)
    disapproved = rows.filter(status=CommissionStatus.DISAPPROVED, comment__gt="")
    newest = disapproved.select_related("conversion").order_by("-created_at", "-id")
    return list(newest[:MAX_REASONS])


def select_commissions(affiliate: Affiliate, period: Period) -> QuerySet[Commission, Any]:
    """The commissions of the days of a period that are not removed."""
    account = affiliate.account
    rows: QuerySet[Commission, Any] = account.commissions.not_deleted().filter(
        is_of_days(account, period), affiliate=affiliate
    )
    return rows


def is_of_days(account: Account, period: Period) -> Q:
    """The condition that a row was created in a period."""
    return Q(
        created_at__gte=start_of_day(period.first, account.zone),
        created_at__lt=start_of_day(period.last + A_DAY, account.zone),
    )


def break_down_by_program(affiliate: Affiliate, figures: Figures) -> list[Part]:
    """One part for each program."""
    account = affiliate.account
    by_program = figures.by_program()
    programs = account.programs.filter(pk__in=[pk for pk in by_program if pk])
    titles = dict(programs.values_list("pk", "title"))
    return sort_parts(
        Part(
            titles[program],
            clicks=totals.clicks,
            sales=totals.conversions,
            revenue=totals.revenue,
            commissions=totals.commissions,
        )
        for program, totals in by_program.items()
        if program in titles
    )


def break_down_by_coupon(affiliate: Affiliate, period: Period) -> list[Part]:
    """One part for each coupon of the affiliate, whether it won a sale or not."""
    account = affiliate.account
    coupons = account.coupons.filter(enrollment__affiliate=affiliate)
    codes = dict(coupons.values_list("enrollment__program", "code"))
    parts = {program: Part(code, revenue=Amounts()) for program, code in codes.items()}
    sales = account.conversions.not_deleted().filter(
        is_of_days(account, period), affiliate=affiliate, tracking_source=COUPON
    )
    groups = sales.order_by().values_list("program", "currency")
    for program, currency, number, amount in groups.annotate(
        number=Count("*"), sum=ExactSum("amount")
    ):
        if part := parts.get(program):
            part.sales += number
            add_revenue(part, currency, amount)
    return sort_parts(parts.values())


def break_down_by_click(
    affiliate: Affiliate, period: Period, get_value: Callable[[str], Any]
) -> list[Part]:
    """One part for each value of clicks; `get_value` returns its expression for the
    clicks (prefix ``""``), and for the clicks of sales (prefix ``"click__"``)."""
    account, is_of_period = affiliate.account, is_of_days(affiliate.account, period)
    clicks = account.clicks.filter(is_of_period, affiliate=affiliate)
    groups = clicks.order_by().annotate(part=get_value("")).exclude(part=None)
    removed = account.pruned_click_counts.filter(
        quarter__gte=start_of_day(period.first, account.zone),
        quarter__lt=start_of_day(period.last + A_DAY, account.zone),
        affiliate=affiliate,
    )
    counts = removed.order_by().annotate(part=get_value("")).exclude(part=None)
    numbers = sum_most_frequent(
        groups.values_list("part").annotate(number=Count("*")),
        counts.exclude(part=OTHER_TEXTS).values_list("part").annotate(Sum("clicks")),
        MAX_ROWS,
    )
    parts = {label: Part(label, clicks=number, revenue=Amounts()) for label, number in numbers}
    sales = account.conversions.not_deleted().filter(is_of_period, affiliate=affiliate)
    # The click may be that of another affiliate, whose link a coupon has beaten.
    sales = sales.filter(click__affiliate=affiliate)
    of_clicks = sales.order_by().annotate(part=get_value("click__")).exclude(part=None)
    sums = of_clicks.values_list("part", "currency")
    for label, currency, number, amount in sums.annotate(number=Count("*"), sum=ExactSum("amount")):
        if part := parts.get(label):
            part.sales += number
            add_revenue(part, currency, amount)
    return sort_parts(parts.values())


def get_sub_id(prefix: str) -> F:
    """The sub-ID of a click."""
    return F("click__sub_id") if prefix else F("sub_id")


def get_landing_page(prefix: str) -> Any:
    """The landing page of a click without its query."""
    return cut_query(F("click__landing_page") if prefix else F("landing_page"))


def add_revenue(part: Part, currency: str, amount: Decimal | None) -> None:
    """Add the revenue of some sales to a part that has one."""
    if part.revenue is not None:
        part.revenue.add(currency, amount)


def sort_parts(parts: Iterable[Part]) -> list[Part]:
    """The most sales first, then the most clicks."""
    return sorted(parts, key=lambda it: (-it.sales, -(it.clicks or 0), it.label))


MAX_RECRUITS = 100  # that a page lists, the newest
MAX_RECRUITS_OF_FILE = 10_000


@dataclass(frozen=True)
class Recruits:
    """First names of the newest recruits, each with the number of sales (None: it is
    not shown), and how many recruits there are."""

    newest: list[tuple[str, int | None]]
    number: int


def list_recruits(affiliate: Affiliate, *, with_sales: bool, limit: int = MAX_RECRUITS) -> Recruits:
    """List the newest recruits of an affiliate who are not removed."""
    account = affiliate.account
    rows = account.affiliates.not_deleted().filter(parent=affiliate)
    newest = list(rows.order_by("-created_at", "-id").values_list("pk", "firstname")[:limit])
    number = len(newest) if len(newest) < limit else rows.count()
    if not with_sales:
        return Recruits([(name, None) for _, name in newest], number)
    sales = account.conversions.not_deleted().filter(affiliate__in=[pk for pk, _ in newest])
    counts = dict(sales.order_by().values_list("affiliate").annotate(Count("pk")))
    return Recruits([(name, counts.get(pk, 0)) for pk, name in newest], number)


def sum_level_commissions(affiliate: Affiliate) -> dict[int, Mapping[str, Decimal]]:
    """Sum the commissions of recruits' sales by level and currency, without disapproved
    ones. Level 1 are the sales of recruits, level 2 those of their recruits."""
    rows = affiliate.account.commissions.not_deleted().filter(
        affiliate=affiliate, kind=CommissionKind.LEVEL
    )
    rows = rows.exclude(status=CommissionStatus.DISAPPROVED)
    levels: dict[int, Amounts] = defaultdict(Amounts)
    groups = rows.order_by().values_list("commission_type", "currency")
    for identifier, currency, amount in groups.annotate(ExactSum("amount")):
        level = int(identifier.removeprefix("level-"))  # 1 is the sale's own affiliate
        levels[level - 1].add(currency, amount)
    return {level: sums.in_order() for level, sums in sorted(levels.items())}
