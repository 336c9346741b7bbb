"""The affiliates whom an affiliate recruited, and what their sales earn."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Count

from payouts.models.commissions import CommissionKind, CommissionStatus
from payouts.statistics import Amounts
from tracking.amounts import ExactSum
from tracking.models.affiliates import Affiliate

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
