"""How much staff have to check before they approve."""

from django.db.models import (
    Count,
    IntegerField,
    OuterRef,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Coalesce

from payouts.models.commissions import Commission, CommissionStatus
from tracking.models.conversions import Conversion

MAX_CONVERSIONS = 1000  # with a warning, the newest


def count_to_check(account: OuterRef) -> CombinedExpression:
    """The number of pending commissions with a warning, or of a bonus whose goal is no
    longer met, as a part of another query: `count_to_check(OuterRef("account"))`.

    Only the newest conversions count, so that the number costs the same in any account.
    """
    newest = Conversion.objects.filter(
        account=OuterRef("account"), warnings__isnull=False, deleted_at=None
    ).order_by("-created_at", "-id")[:MAX_CONVERSIONS]
    pending = Commission.objects.filter(
        account=account, status=CommissionStatus.PENDING, deleted_at=None
    )
    of_sales = pending.filter(conversion__in=newest.values("pk"))
    of_bonuses = pending.filter(goal_missed_at__isnull=False)
    return _count(of_sales) + _count(of_bonuses)


def _count(commissions: QuerySet[Commission]) -> Coalesce:
    by_account = commissions.order_by().values("account").annotate(n=Count("pk"))
    number = Subquery(by_account.values("n"), output_field=IntegerField())
    return Coalesce(number, Value(0))
