"""Commissions: granted with a sale, approved, disapproved."""

import json
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from accounts.models.accounts import Account
from accounts.services.events import note
from payouts.errors import CommissionApproved, CommissionNotFound, CommissionUnfunded
from payouts.models.commissions import Commission, Status
from payouts.reckoning import Line
from payouts.services.ledger import hold
from tracking.models.conversions import Conversion


def grant(
    conversion: Conversion, lines: Sequence[Line], *, at: datetime
) -> list[Commission]:
    """Write the commissions of a sale, as they were reckoned."""
    account = conversion.account
    final = at if account.uses_payouts else None
    return account.commissions.bulk_create(
        Commission(
            account=account,
            conversion=conversion,
            affiliate_id=line.affiliate,
            commission_type=line.part.rate.identifier,
            name=line.part.rate.title,
            currency=conversion.currency,
            sub_amount=line.part.sub_amount,
            amount=line.amount,
            rate_kind=line.part.rate.kind,
            rate=line.part.rate.value,
            working=json.dumps(line.working(), sort_keys=True),
            status=line.status,
            comment=line.part.comment,
            created_at=at,
            finalized_at=final if line.status == Status.APPROVED else None,
        )
        for line in lines
    )


def approve(account: Account, *, commission_id: int, at: datetime) -> Commission:
    """Approve a commission and owe its amount to the affiliate."""
    return _decide(account, commission_id, Status.APPROVED, at)


def disapprove(account: Account, *, commission_id: int, at: datetime) -> Commission:
    """Owe a commission's amount no more; the balance may go below nought."""
    return _decide(account, commission_id, Status.DISAPPROVED, at)


def _decide(
    account: Account, commission_id: int, goal: Status, at: datetime
) -> Commission:
    with transaction.atomic():
        seen = commission_numbered(account, commission_id)
        with hold(account, seen.currency, [seen.affiliate_id], at=at) as books:
            commission = books.look_again(seen)
            was = commission.status
            if was == Status.APPROVED and account.uses_payouts:
                raise CommissionApproved
            if was == goal:
                return commission
            final = None
            if goal == Status.APPROVED and account.uses_payouts:
                if not books.covers(commission.amount):
                    raise CommissionUnfunded
                final = at
            commission.move(to=goal, finalized_at=final)
            note(account, "commission.updated", commission, at=at, status=[was, goal])
            books.follow(commission, was=was)
    return commission


def commission_numbered(account: Account, number: int) -> Commission:
    """The account's commission with this number."""
    commission = account.commissions.filter(pk=number).first()
    if commission is None:
        raise CommissionNotFound
    return commission
