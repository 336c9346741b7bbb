"""How much staff have to check before they approve."""

from typing import Any

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


def count_to_check() -> CombinedExpression:
    """The number of pending commissions with a warning, or of a bonus whose goal is no
    longer met, as a part of a query of rows that have an account.

    Only the newest conversions count, so that the number costs the same in any account.
    """
    account: Any = OuterRef("account")  # of the row, or of the commission
    sales = Conversion.objects.of(account).not_deleted()
    newest = sales.filter(warnings__isnull=False).order_by("-created_at", "-id")
    pending = Commission.objects.of(account).not_deleted()
    pending = pending.filter(status=CommissionStatus.PENDING)
    of_sales = pending.filter(conversion__in=newest.values("pk")[:MAX_CONVERSIONS])
    of_bonuses = pending.filter(goal_missed_at__isnull=False)
    return _count(of_sales) + _count(of_bonuses)


def _count(commissions: QuerySet[Commission]) -> Coalesce:
    by_account = commissions.order_by().values("account").annotate(n=Count("pk"))
    number = Subquery(by_account.values("n"), output_field=IntegerField())
    return Coalesce(number, Value(0))
