"""The risk rules: what each is about, and the query that finds what it says.

A rule is a `RiskRuleKind`. Its function reads a batch of sales, or the affiliates of an
account, in a fixed number of statements, and changes nothing. Facts have no personal
data: the page of a case shows them beside the sale, which has it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, DateTimeField, Exists, ExpressionWrapper, Max, OuterRef, Q

from payouts.models.risk import RiskRule
from tracking.attribution import COUPON
from tracking.models.clicks import Click
from tracking.models.conversions import ConversionQuerySet
from tracking.services.warnings import CUSTOMER_IS_AFFILIATE

WINDOW = timedelta(days=90)  # of what rules about affiliates count, and of dry runs
MIN_SALES = 5  # of an affiliate, before a rate says anything


@dataclass(frozen=True)
class RiskFact:
    """What a rule found of a sale, or of an affiliate.

    `key` names what is known about an affiliate: with a new fact it is another one.
    """

    affiliate_id: int
    facts: list[tuple[str, str]]
    conversion_id: int | None = None
    key: str = ""


@dataclass(frozen=True)
class RiskRuleKind:
    """A rule: `find` takes the settings and the sales, or the moment, and finds facts.

    `unit` is that of the threshold; without one the rule has none. `patterns` says what
    the lines are that it compares with.
    """

    title: str
    explanation: str
    find: Callable[[RiskRule, Any], Iterable[RiskFact]]
    is_about_sales: bool = True
    unit: str = ""
    default: int = 0
    patterns: str = ""
    default_patterns: str = ""


def find_fast_sales(rule: RiskRule, sales: ConversionQuerySet) -> Iterable[RiskFact]:
    """Find sales that followed their click within fewer seconds than the threshold."""
    columns = ("pk", "affiliate_id", "created_at", "click__created_at")
    by_click = sales.filter(click__isnull=False).values_list(*columns)
    for pk, affiliate_id, sold_at, clicked_at in by_click:
        seconds = (sold_at - clicked_at).total_seconds()
        if 0 <= seconds < rule.threshold:
            facts = [
                ("Click", _format_time(clicked_at)),
                ("Seconds from click to sale", f"{seconds:.0f}"),
            ]
            yield RiskFact(affiliate_id, facts, pk)


def find_coupons_without_clicks(rule: RiskRule, sales: ConversionQuerySet) -> Iterable[RiskFact]:
    """Find sales by coupon whose affiliate had no click in the days before."""
    since = ExpressionWrapper(
        OuterRef("created_at") - timedelta(days=rule.threshold), output_field=DateTimeField()
    )
    clicks = Click.objects.of(rule.account).filter(
        affiliate=OuterRef("affiliate"), created_at__lte=OuterRef("created_at")
    )
    by_coupon = sales.filter(tracking_source=COUPON)
    for sale in by_coupon.exclude(Exists(clicks.filter(created_at__gte=since))):
        facts = [(f"Clicks in the {rule.threshold} days before", "0")]
        yield RiskFact(sale.affiliate_id, facts, sale.pk)


def find_own_sales(rule: RiskRule, sales: ConversionQuerySet) -> Iterable[RiskFact]:
    """Find sales with the warning that the customer is the affiliate."""
    for sale in sales.filter(warnings__isnull=False):
        if CUSTOMER_IS_AFFILIATE in (sale.warnings or ()):
            yield RiskFact(
                sale.affiliate_id, [("E-mail address", "that of the affiliate")], sale.pk
            )


def find_refund_rates(rule: RiskRule, at: datetime) -> Iterable[RiskFact]:
    """Find affiliates of whose sales of the window at least so many percent came back."""
    account, since = rule.account, at - WINDOW
    refunds = account.refunds.filter(
        canceled_at=None, conversion__created_at__gte=since, created_at__lte=at
    )
    counts = refunds.order_by().values("conversion__affiliate")
    counts = counts.annotate(number=Count("conversion", distinct=True), newest=Max("created_at"))
    refunded = {row["conversion__affiliate"]: row for row in counts}
    sales = account.conversions.filter(created_at__gte=since, created_at__lte=at)
    sales = sales.filter(Q(deleted_at=None) | Exists(refunds.filter(conversion=OuterRef("pk"))))
    totals = sales.filter(affiliate__in=list(refunded)).order_by().values_list("affiliate")
    for affiliate_id, total in totals.annotate(Count("pk")) if refunded else ():
        number, newest = refunded[affiliate_id]["number"], refunded[affiliate_id]["newest"]
        percent = 100 * number // total
        if total >= MIN_SALES and percent >= rule.threshold:
            facts = [
                (f"Sales of {WINDOW.days} days", f"{total:,}"),
                ("With a refund", f"{number:,}"),
                ("Refund rate", f"{percent} %"),
            ]
            yield RiskFact(affiliate_id, facts, key=newest.isoformat())


def _format_time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


RISK_RULES = {
    "fast_sale": RiskRuleKind(
        "Sale right after the click",
        "A person needs a while to order: sales that follow their click within fewer seconds.",
        find_fast_sales,
        unit="seconds",
        default=10,
    ),
    "coupon_without_clicks": RiskRuleKind(
        "Coupon without clicks",
        "Coupon sites take over sales that others have won: sales by a coupon whose"
        " affiliate had no click in so many days before.",
        find_coupons_without_clicks,
        unit="days",
        default=30,
    ),
    "customer_is_affiliate": RiskRuleKind(
        "Customer is the affiliate",
        "Sales whose customer has the e-mail address of the affiliate, from whatever source.",
        find_own_sales,
    ),
    "refund_rate": RiskRuleKind(
        "Refund rate",
        f"Affiliates of whose sales of the last {WINDOW.days} days, at least {MIN_SALES}, so many"
        " percent or more had a refund.",
        find_refund_rates,
        is_about_sales=False,
        unit="percent",
        default=30,
    ),
}
