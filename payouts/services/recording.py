"""Recording: the story of a sale, top to bottom."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.db import transaction

from accounts.errors import Rejected, Several
from accounts.models.accounts import Account
from accounts.services.events import note, note_each
from payouts.reckoning import APPROVED, PENDING, Line, reckon
from payouts.services.commissions import grant
from payouts.services.ledger import Books, hold
from payouts.services.rates import Item, rates_for, typed
from tracking.attribution import REST, Clues, Order
from tracking.errors import BelowNought, TooManyDigits
from tracking.models.conversions import Conversion
from tracking.money import NOUGHT, admit
from tracking.services.attribution import weigh
from tracking.services.conversions import create_conversion
from tracking.services.customers import LookAgain

LOOKS = 3  # a customer that comes and goes so often is no customer
UNCOVERED = "the payout balance does not cover it"


@dataclass(frozen=True)
class Sale:
    """A sale as the caller tells it; amounts as exact as they were sent."""

    clues: Clues
    items: Sequence[Item]
    external_id: str | None = None
    currency: str | None = None  # None: the program's
    meta_data: dict[str, str] = field(default_factory=dict)
    user_agent: str | None = None
    ip: str | None = None
    ignore_cookie_age: bool = False
    order: Order = REST


def record_conversion(account: Account, *, sale: Sale, at: datetime) -> Conversion:
    """Record a sale and everything that follows from it, or nothing at all."""
    for _ in range(LOOKS):
        with suppress(LookAgain):
            return _record(account, sale, at)
    return _record(account, sale, at)


def _record(account: Account, sale: Sale, at: datetime) -> Conversion:
    with transaction.atomic():
        finding = weigh(
            account,
            clues=sale.clues,
            order=sale.order,
            at=at,
            ignore_cookie_age=sale.ignore_cookie_age,
        )
        finding.verdict.require_earner(customer_id=sale.clues.customer_id or "")
        currency = sale.currency or finding.program.currency
        items = rounded(sale.items, currency)
        parts = typed(account, finding.program, items)
        finding.verdict.require_fresh_click()
        conversion = create_conversion(
            account,
            finding=finding,
            external_id=sale.external_id,
            customer_id=sale.clues.customer_id,
            amount=sum((item.sub_amount for item in items), NOUGHT),
            currency=currency,
            meta_data=sale.meta_data,
            user_agent=sale.user_agent,
            ip=sale.ip,
            at=at,
        )
        lines = reckon(rates_for(conversion, parts=parts))
        affiliates = [line.affiliate for line in lines]
        with hold(account, currency, affiliates, at=at) as books:
            if account.uses_payouts:
                lines = covered(lines, books)
            commissions = grant(conversion, lines, at=at)
            note(account, "conversion.created", conversion, at=at)
            note_each(account, "commission.created", commissions, at=at)
            for commission in commissions:
                books.earn(commission)  # written when the block ends
    return conversion


def rounded(items: Sequence[Item], currency: str) -> list[Item]:
    """The parts of a sale in whole minor units; or every one that does not fit."""
    kept: list[Item] = []
    odd: list[Rejected] = []
    for item in items:
        try:
            amount = admit(item.sub_amount, currency)
        except (TooManyDigits, BelowNought) as refusal:
            odd.append(type(refusal)(path=item.amount_path))
        else:
            kept.append(replace(item, sub_amount=amount))
    if odd:
        raise Several(odd)
    if len(kept) > 1:
        _refuse_huge_sum(kept, currency)
    return kept


def _refuse_huge_sum(items: Sequence[Item], currency: str) -> None:
    try:
        admit(sum((item.sub_amount for item in items), NOUGHT), currency)
    except TooManyDigits:
        raise TooManyDigits(path="commissions") from None


def covered(lines: Sequence[Line], books: Books) -> list[Line]:
    """What lacks cover is born pending; the sale itself is never refused for it."""
    promised, kept = NOUGHT, []
    for line in lines:
        if line.status == APPROVED and not books.covers(promised + line.amount):
            line = replace(line, status=PENDING, reason=UNCOVERED)
        if line.status == APPROVED:
            promised += line.amount
        kept.append(line)
    return kept
