"""The end of a hold by staff, before its time."""

from datetime import datetime

from django.db import transaction

from accounts.models.accounts import Account
from accounts.services.changes import log_event
from payouts.models.commissions import Commission
from payouts.services.amounts_due import is_on_hold
from payouts.services.conversion_updates import lock_commission
from payouts.services.corrections import record_reason


def release_commission(
    account: Account, *, commission_id: int, reason: str, at: datetime
) -> Commission:
    """Make a commission due now; one that is not on hold stays as it is.

    The reason is kept with the sale, as the audit log must not hold what people write.
    Raises `CommissionNotFound`.
    """
    with transaction.atomic():
        commission = lock_commission(account, commission_id=commission_id, at=at)
        conversion, due_at = commission.conversion, commission.due_at
        if conversion is None or due_at is None or not is_on_hold(commission, at=at):
            return commission
        commission.update_locked(at=at, due_at=at)
        record_reason(conversion, reason, at=at)
        log_event(account, "commission.released", commission, at=at, until=due_at.isoformat())
    return commission
