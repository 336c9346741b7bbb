"""What each sub-id of an affiliate's links has brought."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

from django.db.models import Count

from accounts.days import A_DAY, start_of_day
from payouts.models.commissions import CommissionStatus
from tracking.amounts import ExactSum
from tracking.models.affiliates import Affiliate


@dataclass
class SubIdCounts:
    """Clicks, conversions by them, and the commissions of these by currency."""

    sub_id: str  # empty: of links without one
    clicks: int = 0
    conversions: int = 0
    commissions: dict[str, Decimal] = field(default_factory=dict)


def count_by_sub_id(affiliate: Affiliate, start: date, end: date) -> list[SubIdCounts]:
    """Count what an affiliate has referred from `start` to `end`, both included.

    Most clicks first. Without deleted conversions and disapproved commissions; a sale
    counts on its own day, under the sub-id of its click.
    """
    account = affiliate.account
    period = {
        "created_at__gte": start_of_day(start, account.zone),
        "created_at__lt": start_of_day(end + A_DAY, account.zone),
    }
    found: defaultdict[str | None, SubIdCounts] = defaultdict(lambda: SubIdCounts(""))
    clicks = account.clicks.filter(affiliate=affiliate, **period)
    for sub_id, number in clicks.values_list("sub_id").annotate(number=Count("*")):
        found[sub_id].clicks = number
    # The click may be that of another affiliate, whose link a coupon has beaten.
    sales = account.conversions.filter(
        affiliate=affiliate, click__affiliate=affiliate, deleted_at=None, **period
    )
    for sub_id, number in sales.values_list("click__sub_id").annotate(
        number=Count("*")
    ):
        found[sub_id].conversions = number
    commissions = account.commissions.filter(affiliate=affiliate, deleted_at=None)
    sums = (
        commissions.filter(conversion__in=sales)
        .exclude(status=CommissionStatus.DISAPPROVED)
        .values_list("conversion__click__sub_id", "currency")
        .annotate(ExactSum("amount"))
    )
    for sub_id, currency, amount in sums:
        found[sub_id].commissions[currency] = amount
    for sub_id, counts in found.items():
        counts.sub_id = sub_id or ""
    return sorted(found.values(), key=lambda each: (-each.clicks, each.sub_id))
