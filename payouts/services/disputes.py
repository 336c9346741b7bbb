"""Disputes: while the shop has an open one, nobody can approve what the sale earns.

What was approved and is not paid is pending meanwhile. `ShopOrder.suspended` are the
commissions that are approved again at the end: those that were approved before, and new
ones that only the dispute kept from it, unless somebody has disapproved them meanwhile.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from accounts.db_compat import split_into_batches
from accounts.models.accounts import Account
from payouts.calculation import InitialStatusReason
from payouts.models.commissions import Commission, CommissionStatus
from payouts.services.commissions import set_status
from payouts.services.decisions import forget_suspended, remember_suspended
from payouts.services.ledger import LedgerSession
from tracking.models.conversions import Conversion
from tracking.services.concurrency import ConcurrentUpdate


def suspend_commissions(
    conversion: Conversion,
    commissions: Iterable[Commission],
    *,
    ledger: LedgerSession,
    at: datetime,
) -> None:
    """Set the approved commissions of a disputed sale to pending.

    Those that are paid or final stay. The caller has locked the conversion and the
    balances.
    """
    suspended = [row for row in commissions if can_be_suspended(row)]
    for row in suspended:
        set_status(row, CommissionStatus.PENDING, ledger=ledger, at=at)
    remember_suspended(conversion, [row.pk for row in suspended])


def suspend_new_commissions(conversion: Conversion, commissions: Sequence[Commission]) -> None:
    """Remember new commissions that only the dispute keeps from being approved."""
    suspended = {
        row.pk
        for row in commissions
        if json.loads(row.calculation)["reason"] == InitialStatusReason.DISPUTED
    }
    levels = [row.pk for row in commissions if row.base_commission_id in suspended]
    remember_suspended(conversion, [*sorted(suspended), *levels])


def lock_disputed_sales(account: Account, payment_ids: Sequence[str]) -> list[Conversion]:
    """Lock the disputed sales that these payments pay, in the order of their ids."""
    pks: set[int] = set()
    for batch in split_into_batches(payment_ids):
        payments = account.payments.filter(public_id__in=batch)
        paid = account.commissions.filter(payment__in=payments).values("conversion")
        pks.update(_filter_disputed(account, paid).values_list("pk", flat=True))
    return [
        row
        for batch in split_into_batches(sorted(pks))
        for row in _filter_disputed(account, batch).order_by("pk").select_for_update(no_key=True)
    ]


def suspend_unpaid_commissions(
    disputed: Sequence[Conversion],
    commissions: Sequence[Commission],
    *,
    ledger: LedgerSession,
    at: datetime,
) -> None:
    """Hold the commissions of a payment that was canceled, if their sale is disputed.

    The caller has locked the `disputed` conversions, then the balances. Raises
    `ConcurrentUpdate` if a dispute began in between.
    """
    for conversion in disputed:
        own = [row for row in commissions if row.conversion_id == conversion.pk]
        for row in own:
            row.conversion = conversion
        suspend_commissions(conversion, own, ledger=ledger, at=at)
    sales = {row.conversion_id for row in commissions if row.conversion_id}
    others = sorted(sales - {row.pk for row in disputed})
    for batch in split_into_batches(others):
        if _filter_disputed(ledger.account, batch).exists():
            raise ConcurrentUpdate


def choose_disputed_status(conversion: Conversion | None, status: str, *, is_settled: bool) -> str:
    """Return the status of a commission that another system decided on.

    One of a disputed sale is pending instead of approved, unless it is paid or final.
    """
    is_disputed = conversion is not None and conversion.disputed_at is not None
    if is_disputed and status == CommissionStatus.APPROVED and not is_settled:
        return CommissionStatus.PENDING
    return status


def remember_decision(commission: Commission, status: str) -> None:
    """Hold a commission of a disputed sale for its approval by another system, or not.

    The caller has locked the conversion.
    """
    conversion = commission.conversion
    if conversion is None or conversion.disputed_at is None:
        return
    forget_suspended(commission)
    is_approval = status == CommissionStatus.APPROVED
    if is_approval and commission.status == CommissionStatus.PENDING:
        remember_suspended(conversion, [commission.pk])


def can_be_suspended(commission: Commission) -> bool:
    """Whether a commission is approved, and neither paid nor final."""
    is_approved = commission.status == CommissionStatus.APPROVED
    return is_approved and not commission.is_settled


def _filter_disputed(account: Account, pks: Any) -> QuerySet[Conversion]:
    return account.conversions.filter(pk__in=pks, disputed_at__isnull=False)
