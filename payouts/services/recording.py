"""Recording: the story of a sale, top to bottom."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal

from django.db import transaction

from accounts.errors import Rejected, Several
from accounts.models.accounts import Account
from accounts.services.events import note, note_each
from payouts.models.commissions import Commission
from payouts.reckoning import reckon
from payouts.services.commissions import decide, grant, purses_of
from payouts.services.ledger import hold
from payouts.services.rates import Item, rates_for, typed
from tracking.attribution import REST, Clues, Order
from tracking.errors import BelowNought, TooManyDigits
from tracking.models.conversions import Conversion
from tracking.models.prospects import PromotionMethod
from tracking.money import NOUGHT, admit
from tracking.services.attribution import weigh
from tracking.services.conversions import create_conversion
from tracking.services.looking import looking_again
from tracking.services.prospects import promoted


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
    by_page: bool = False  # a browser told it


@looking_again
def record_conversion(
    account: Account,
    *,
    sale: Sale,
    status: str | None = None,
    at: datetime,
) -> Conversion:
    """Record a sale and everything that follows from it, or nothing at all.

    With a `status` its commissions are decided as well, and told as they are then.
    """
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
        amount = total(items, currency)
        parts = typed(account, finding.program, items, group=finding.group)
        finding.verdict.require_fresh_click()
        finding = promoted(account, finding, by=PromotionMethod.CONVERSION, at=at)
        conversion = create_conversion(
            account,
            finding=finding,
            external_id=sale.external_id,
            customer_id=sale.clues.customer_id,
            amount=amount,
            currency=currency,
            meta_data=sale.meta_data,
            user_agent=sale.user_agent,
            ip=sale.ip,
            at=at,
        )
        lines = reckon(rates_for(conversion, parts=parts, by_page=sale.by_page))
        with hold(account, purses_of(conversion, lines), at=at) as books:
            commissions = grant(conversion, lines, books=books, at=at)
            if status is None:
                _tell(conversion, commissions, at=at)  # the books come last
            for commission in commissions:
                books.earn(commission)  # written when the block ends
            if status is not None:
                for commission in commissions:
                    decide(commission, status, books=books, at=at)
                _tell(conversion, commissions, at=at)
    return conversion


def _tell(
    conversion: Conversion, commissions: Sequence[Commission], *, at: datetime
) -> None:
    note(conversion.account, "conversion.created", conversion, at=at)
    note_each(conversion.account, "commission.created", commissions, at=at)


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
    return kept


def total(items: Sequence[Item], currency: str) -> Decimal:
    """What the parts of a sale come to."""
    try:
        return admit(sum((item.sub_amount for item in items), NOUGHT), currency)
    except TooManyDigits:
        raise TooManyDigits(path="commissions") from None
