"""When affiliates were active last, and segments of them: who went quiet, who rises."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from django.db.models import (
    Case,
    Count,
    DateTimeField,
    F,
    FloatField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    TextChoices,
    Value,
    When,
)
from django.db.models.functions import Cast, Coalesce, Greatest, NullIf

from accounts.days import A_DAY, start_of_day
from accounts.models.accounts import Account
from payouts.services.exchange_rates import load_rates
from payouts.services.statistics import load_statistics
from payouts.statistics import AffiliateTotals, Period, calculate_share, get_last_days
from tracking.models.affiliates import Affiliate
from tracking.models.clicks import Click, PrunedClickCount
from tracking.models.conversions import Conversion
from tracking.money import ZERO, round_amount

QUIET_DAYS = 60
NEW_DAYS = 30
TREND_DAYS = 30  # of each of the two periods that are compared
MIN_TREND_SALES = 5  # in the better one of them: fewer are chance
NEVER = Value(datetime(1970, 1, 1, tzinfo=UTC), DateTimeField())


class Segment(TextChoices):
    """A part of the affiliates; they overlap, and nobody who is removed is in one."""

    QUIET = "quiet"
    NEW = "new"
    RISING = "rising"
    FALLING = "falling"
    NEVER_SOLD = "never_sold", "Never sold"


TREND = (
    f"in the last {TREND_DAYS} days until yesterday than in the {TREND_DAYS} days before, and"
    f" at least {MIN_TREND_SALES} sales in the better of the two. Several currencies are"
    " compared at your exchange rates; if one has none, the number of sales is."
)
SEGMENT_TEXTS = {
    Segment.QUIET: f"The last sale is more than {QUIET_DAYS} days ago.",
    Segment.NEW: f"Created in the last {NEW_DAYS} days.",
    Segment.RISING: f"At least half more revenue {TREND}",
    Segment.FALLING: f"At least half less revenue {TREND}",
    Segment.NEVER_SOLD: "No sale ever, not counting removed ones.",
}


def get_last_sale() -> Subquery:
    """Return the expression for the last sale of an affiliate, without removed ones.

    It is one look-up in an index for each affiliate: PostgreSQL would join all sales
    for `Exists`.
    """
    return _get_last(Conversion.objects.across_accounts().not_deleted(), "created_at")


def get_last_click() -> Any:
    """Return the expression for the last click of an affiliate; of removed ones the
    quarter of an hour."""
    click = _get_last(Click.objects.across_accounts(), "created_at")
    removed = _get_last(PrunedClickCount.objects.across_accounts(), "quarter")
    return NullIf(Greatest(Coalesce(click, NEVER), Coalesce(removed, NEVER)), NEVER)


def _get_last(rows: QuerySet[Any], moment: str) -> Subquery:
    own = rows.filter(account=OuterRef("account"), affiliate=OuterRef("pk"))
    return Subquery(own.order_by(f"-{moment}").values(moment)[:1])


class Activity(NamedTuple):
    """The last click and the last sale; None if there was none."""

    last_click: datetime | None
    last_sale: datetime | None


def find_activity(affiliates: Sequence[int]) -> dict[int, Activity]:
    """Find the last activity of each of these affiliates, in one statement."""
    rows = Affiliate.objects.across_accounts().filter(pk__in=affiliates).order_by()
    found = rows.values_list("pk", get_last_click(), get_last_sale())
    return {pk: Activity(*moments) for pk, *moments in found}


def filter_segment(
    account: Account, affiliates: QuerySet[Affiliate], segment: Segment, *, at: datetime
) -> QuerySet[Affiliate]:
    """Return those of the account's affiliates that are in a segment."""
    rows = affiliates.filter(account=account, deleted_at=None)
    today = account.get_day(at)
    if segment is Segment.NEW:
        first = get_last_days(NEW_DAYS, today).first
        return rows.filter(created_at__gte=start_of_day(first, account.zone))
    if segment in (Segment.RISING, Segment.FALLING):
        return rows.filter(pk__in=_select_trend(account, segment, at=at))
    rows = rows.alias(last_sale=get_last_sale())
    if segment is Segment.NEVER_SOLD:
        return rows.filter(last_sale=None)
    last_day = today - A_DAY * QUIET_DAYS
    return rows.filter(last_sale__lt=start_of_day(last_day, account.zone))


class Trend(NamedTuple):
    """What is compared of an affiliate: revenue in a currency, or numbers of sales."""

    before: Decimal
    now: Decimal
    currency: str  # empty for sales

    @property
    def change(self) -> Decimal | None:
        """Per hundred of what was before; None after nothing."""
        return calculate_share(self.now - self.before, self.before)


def find_trends(account: Account, affiliates: Sequence[int], *, at: datetime) -> dict[int, Trend]:
    """Find what the segments *Rising* and *Falling* compare of these affiliates."""
    now, rates = _get_trend_days(account, at), load_rates(account)
    periods = (now.previous, now)
    days = [day for period in periods for day in period.days]
    statistics = load_statistics(account, days, at=at, kinds=("conversions",))
    totals = [statistics.affiliate_totals(it.days, affiliates) for it in periods]
    found = {}
    for pk in affiliates:
        both = [it.get(pk, AffiliateTotals()) for it in totals]
        currencies = sorted({code for it in both for code, amount in it.revenue.items() if amount})
        if len(currencies) == 1:
            [currency] = currencies
            figures = [it.revenue.get(currency, ZERO) for it in both]
        elif currencies and not rates.list_missing(currencies):
            currency = rates.into
            worth = [[rates.convert(*pair[::-1]) for pair in it.revenue.items()] for it in both]
            figures = [round_amount(sum(filter(None, it), ZERO), currency) for it in worth]
        else:
            currency, figures = "", [Decimal(it.conversions) for it in both]
        found[pk] = Trend(figures[0], figures[1], currency)
    return found


def _get_trend_days(account: Account, at: datetime) -> Period:
    """The later one of the two periods."""
    return get_last_days(TREND_DAYS, account.get_day(at) - A_DAY)


def _select_trend(account: Account, segment: Segment, *, at: datetime) -> QuerySet[Any]:
    """Select the affiliates whose revenue rises or falls, from the stored days.

    Numbers are compared as floats: SQLite's sums of integers fail beyond 64 bits.
    """
    now = _get_trend_days(account, at)
    days = Period(now.previous.first, now.last)
    rates = load_rates(account)
    has_rate = Q(currency__in=[rates.into, *rates.rates])
    by_currency = [
        When(currency=it, then=Value(row.rate, output_field=FloatField()))
        for it, row in rates.rates.items()
    ]
    rate = Case(*by_currency, default=Value(1.0))
    load_statistics(account, days.days, at=at, kinds=())  # counts days that are not stored
    is_now = Q(day__gte=now.first)
    has_revenue = Q(revenue__gt=0)
    revenue = Cast("revenue", FloatField())
    sums = {
        "sales": Sum("conversions", filter=is_now, default=0),
        "sales_before": Sum("conversions", filter=~is_now, default=0),
        "revenue_now": Sum(revenue, filter=is_now, default=0.0),
        "revenue_before": Sum(revenue, filter=~is_now, default=0.0),
        "worth_now": Sum(revenue * rate, filter=is_now, default=0.0),
        "worth_before": Sum(revenue * rate, filter=~is_now, default=0.0),
        "currencies": Count("currency", filter=has_revenue, distinct=True),
        "without_rate": Count("currency", filter=has_revenue & ~has_rate, distinct=True),
    }
    rows = account.daily_stats.filter(day__range=(days.first, days.last), affiliate__isnull=False)
    totals = rows.order_by().values("affiliate").annotate(**sums)
    compared = totals.annotate(
        **{
            name: Case(
                When(currencies__lte=1, then=amount),
                When(without_rate=0, then=worth),
                default=Cast(sales, FloatField()),
            )
            for name, amount, worth, sales in (
                ("now", "revenue_now", "worth_now", "sales"),
                ("before", "revenue_before", "worth_before", "sales_before"),
            )
        }
    )
    if segment is Segment.RISING:
        better, condition = "sales", Q(now__gte=F("before") * 1.5, now__gt=0)
    else:
        better, condition = "sales_before", Q(now__lte=F("before") * 0.5, before__gt=0)
    return compared.filter(condition, **{f"{better}__gte": MIN_TREND_SALES}).values("affiliate")
