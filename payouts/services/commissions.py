"""Commissions: granted with a sale, approved, disapproved, given other amounts."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction

from accounts.exact_json import plain
from accounts.models.accounts import Account
from accounts.services.events import note
from payouts.errors import CommissionApproved, CommissionNotFound, CommissionUnfunded
from payouts.models.commissions import Commission, Purse, Status
from payouts.reckoning import APPROVED, Line, exact_amount
from payouts.services.ledger import Books, hold
from tracking.models.conversions import Conversion
from tracking.money import round_to

TOLD = {"sub_amount", "comment"}  # what the diary names without telling its values


def purses_of(conversion: Conversion, lines: Iterable[Line]) -> list[Purse]:
    """Whose money the commissions of a sale will be."""
    return [(line.affiliate, conversion.currency) for line in lines]


def grant(
    conversion: Conversion, lines: Sequence[Line], *, books: Books, at: datetime
) -> list[Commission]:
    """Write the commissions of a sale, as they were reckoned; the books learn of them
    by `earn`, which is for the end of the story."""
    account = conversion.account
    if account.uses_payouts:
        lines = covered(conversion, lines, books)
    regular = [_commission(conversion, it, at) for it in lines if it.leader is None]
    account.commissions.bulk_create(regular)
    levels = [
        _commission(conversion, it, at, follows=regular[it.leader])
        for it in lines
        if it.leader is not None
    ]
    account.commissions.bulk_create(levels)
    return regular + levels


def covered(conversion: Conversion, lines: Sequence[Line], books: Books) -> list[Line]:
    """What lacks cover is born pending; the sale itself is never refused for it."""
    promised: list[tuple[Purse, Decimal]] = []
    kept: list[Line] = []
    for line in lines:
        if line.leader is not None:
            line = line.under(leads=kept[line.leader].status)
        if line.status == APPROVED:
            purse = (line.affiliate, conversion.currency)
            if books.covers(purse, line.amount, besides=promised):
                promised.append((purse, line.amount))
            else:
                line = line.under(covered=False)
        kept.append(line)
    return kept


def approve(account: Account, *, commission_id: int, at: datetime) -> Commission:
    """Approve a commission and owe its amount to the affiliate."""
    return _decide(account, commission_id, Status.APPROVED, at)


def disapprove(account: Account, *, commission_id: int, at: datetime) -> Commission:
    """Owe a commission's amount no more; the balance may go below nought."""
    return _decide(account, commission_id, Status.DISAPPROVED, at)


def commission_numbered(account: Account, number: int) -> Commission:
    """The account's commission with this number."""
    commission = account.commissions.present().filter(pk=number).first()
    if commission is None:
        raise CommissionNotFound
    return commission


def decide(commission: Commission, goal: str, *, books: Books, at: datetime) -> None:
    """Approve, disapprove or put back to pending; the contract's table of states."""
    refuse_final(commission)
    if commission.status == goal:
        return
    approves = goal == Status.APPROVED and commission.account.uses_payouts
    if approves and not books.covers(commission.purse, commission.amount, besides=()):
        raise CommissionUnfunded
    rewrite(commission, books=books, at=at, status=goal)


def is_final(commission: Commission) -> bool:
    """Approved by an account that pays through the service: nothing changes it."""
    return commission.status == Status.APPROVED and commission.account.uses_payouts


def refuse_final(commission: Commission) -> None:
    """Stop here if the commission is final."""
    if is_final(commission):
        raise CommissionApproved


def rewrite(
    commission: Commission, *, books: Books, at: datetime, **values: Any
) -> None:
    """Write another state or other amounts, the diary's line, and what moves by it.

    What stays as it is is no change. Whoever calls holds the books.
    """
    changed = {
        name: value
        for name, value in values.items()
        if getattr(commission, name) != value
    }
    if not changed:
        return
    was, held = commission.status, commission.amount
    goal = changed.get("status", was)
    if goal != was:
        final = goal == Status.APPROVED and commission.account.uses_payouts
        changed |= {"payment": None, "finalized_at": at if final else None}
    commission.move(**changed)
    facts: dict[str, Any] = {}
    if fields := sorted(TOLD & set(changed)):
        facts["fields"] = fields
    if goal != was:
        facts["status"] = [was, str(goal)]
    if commission.amount != held:
        facts["amount"] = [plain(held), plain(commission.amount)]
    note(commission.account, "commission.updated", commission, at=at, **facts)
    books.follow(commission, was=was, held=held)


def recalculated(commission: Commission, sub_amount: Decimal) -> dict[str, Any]:
    """The columns of a commission with another part of the sale, by its own rate."""
    exact = exact_amount(sub_amount, commission.rate_kind, commission.rate)
    amount = round_to(commission.currency, exact)
    if (sub_amount, amount) == (commission.sub_amount, commission.amount):
        return {}
    working = json.loads(commission.working) | {
        "sub_amount": str(sub_amount),
        "exact": str(exact),
        "amount": str(amount),
    }
    working.pop("by_hand", None)
    return {
        "sub_amount": sub_amount,
        "amount": amount,
        "working": json.dumps(working, sort_keys=True),
    }


def set_by_hand(
    commission: Commission, amount: Decimal, *, besides: Mapping[str, Any]
) -> dict[str, Any]:
    """The columns of a commission whose amount somebody decides, `besides` others."""
    working = json.loads(besides.get("working", commission.working))
    working |= {"amount": str(amount), "by_hand": True}
    return {
        **besides,
        "amount": amount,
        "working": json.dumps(working, sort_keys=True),
    }


def _decide(
    account: Account, commission_id: int, goal: Status, at: datetime
) -> Commission:
    with transaction.atomic():
        seen = commission_numbered(account, commission_id)
        with hold(account, [seen.purse], at=at) as books:
            books.open()
            commission = commission_numbered(account, commission_id)
            decide(commission, goal, books=books, at=at)
    return commission


def _commission(
    conversion: Conversion, line: Line, at: datetime, follows: Commission | None = None
) -> Commission:
    account, rate = conversion.account, line.part.rate
    final = at if account.uses_payouts and line.status == Status.APPROVED else None
    return Commission(
        account=account,
        conversion=conversion,
        affiliate_id=line.affiliate,
        kind=line.kind,
        follows=follows,
        commission_type=rate.identifier,
        name=rate.title,
        currency=conversion.currency,
        sub_amount=line.part.sub_amount,
        amount=line.amount,
        rate_kind=rate.kind,
        rate=rate.value,
        working=json.dumps(line.working(), sort_keys=True),
        status=line.status,
        comment=line.part.comment,
        created_at=at,
        finalized_at=final,
    )
