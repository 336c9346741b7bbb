"""Decisions about commissions: how many wait for staff, and what is kept of others.

Reasons of disapprovals are lines of the comment. `ShopOrder.suspended` are those that
the end of a dispute approves again.
"""

import re
from collections.abc import Collection
from typing import Any

from django.db.models import (
    OuterRef,
)
from django.db.models.expressions import CombinedExpression

from accounts.lookups import count_rows
from payouts.errors import CommentTooLong
from payouts.models.commissions import (
    MAX_COMMENT_LENGTH,
    Commission,
    CommissionStatus,
)
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
    return count_rows(of_sales) + count_rows(of_bonuses)


DISAPPROVAL_PREFIX = "Disapproved: "  # of the reason, in the comment
PAST_DISAPPROVAL_PREFIX = "Earlier disapproved: "  # of one that was undone


def add_reason(commission: Commission, reason: str) -> str:
    """Return the comment with the reason of a disapproval as its last line."""
    line = f"{DISAPPROVAL_PREFIX}{reason}"
    comment = f"{commission.comment}\n{line}" if commission.comment else line
    if len(comment) > MAX_COMMENT_LENGTH:
        free = MAX_COMMENT_LENGTH - len(comment) + len(reason)
        raise CommentTooLong(limit=max(free, 0))
    return comment


def get_reason(commission: Commission) -> str:
    """Return why a commission is disapproved: the comment, without how its lines begin.

    Reasons of disapprovals that were undone are left out.
    """
    lines = (commission.comment or "").splitlines()
    kept = (line for line in lines if not line.startswith(PAST_DISAPPROVAL_PREFIX))
    return "\n".join(line.removeprefix(DISAPPROVAL_PREFIX) for line in kept)


def mark_reasons_past(comment: str) -> str:
    """Return the comment with its reasons of disapprovals as earlier ones."""
    pattern = f"^{DISAPPROVAL_PREFIX}"
    past = re.sub(pattern, PAST_DISAPPROVAL_PREFIX, comment, flags=re.MULTILINE)
    return past if len(past) <= MAX_COMMENT_LENGTH else comment


def remember_suspended(conversion: Conversion, pks: Collection[int]) -> None:
    """Remember commissions that only the dispute keeps from being approved."""
    orders = conversion.account.shop_orders.filter(conversion=conversion)
    for order in orders.order_by("id")[:1] if pks else ():
        order.update_row(suspended=[*order.suspended, *pks])


def forget_suspended(commission: Commission) -> None:
    """Forget a commission that somebody has decided about during the dispute."""
    orders = commission.account.shop_orders.filter(conversion=commission.conversion_id)
    for order in orders.order_by("id"):
        if commission.pk in order.suspended:
            order.update_row(suspended=[pk for pk in order.suspended if pk != commission.pk])
