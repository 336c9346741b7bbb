"""Revising: a sale changed, removed, added to, decided; a commission changed.

Each story locks the sale first, so that the sale and who earns by it stay as they are
seen; then it takes the books of everybody whom it may concern.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction

from accounts.models.accounts import Account
from accounts.services.days import mark_changed
from accounts.services.events import note_each
from payouts.errors import CommissionNotFound, OnlyOfASale
from payouts.models.commissions import Commission, Kind
from payouts.reckoning import reckon, shares
from payouts.services.commissions import (
    commission_numbered,
    decide,
    grant,
    is_final,
    purses_of,
    recalculated,
    refuse_final,
    rewrite,
    set_by_hand,
)
from payouts.services.ledger import Books, hold
from payouts.services.rates import Item, rates_for, typed
from payouts.services.recording import rounded
from tracking.errors import AffiliateDeleted, ConversionNotFound, TooManyDigits
from tracking.models.conversions import Conversion
from tracking.money import NOUGHT, admit
from tracking.services.attempts import refuse_known
from tracking.services.conversions import changed, conversion_numbered, remove
from tracking.services.programs import refuse_archived


def change_conversion(
    account: Account,
    *,
    conversion_id: int,
    changes: Mapping[str, Any],
    recalculate: bool,
    status: str | None = None,
    at: datetime,
) -> Conversion:
    """Set what is named: `amount`, `external_id`, `meta_data`; all or nothing.

    With `recalculate` the commissions follow the amount; without, it changes alone.
    With a `status` they are all decided as well.
    """
    try:
        with transaction.atomic():
            conversion = conversion_numbered(account, conversion_id, lock=True)
            was = conversion.amount
            with changed(conversion, changes, at=at):
                if recalculate and "amount" in changes:
                    with held(conversion, at=at) as (books, commissions):
                        _recalculate(conversion, commissions, was, books=books, at=at)
                if status is not None:
                    decide_all(
                        account, conversion_id=conversion_id, status=status, at=at
                    )
    except IntegrityError:
        refuse_known(account, changes.get("external_id"))
        raise
    return conversion


def remove_conversion(account: Account, *, conversion_id: int, at: datetime) -> None:
    """Take a sale and its commissions back for good; what was approved is owed no
    more. A final one keeps them all."""
    with transaction.atomic():
        conversion = conversion_numbered(account, conversion_id, lock=True)
        with held(conversion, at=at) as (books, commissions):
            for commission in commissions:
                refuse_final(commission)
            remove(conversion, at=at)
            mark_changed(account, commissions, at=at)
            for commission in commissions:
                commission.move(removed_at=at, payment=None)
                books.withdraw(commission)


def add_commissions(
    account: Account, *, conversion_id: int, items: Sequence[Item], at: datetime
) -> list[Commission]:
    """Book extra rewards for a sale, whatever the caps say; its amount stays."""
    with transaction.atomic():
        conversion = conversion_numbered(account, conversion_id, lock=True)
        affiliate, program = conversion.affiliate, conversion.program
        items = rounded(items, conversion.currency)
        parts = typed(account, program, items, group=affiliate.group_id)
        if affiliate.removed_at is not None:
            raise AffiliateDeleted
        refuse_archived(program)
        lines = reckon(rates_for(conversion, parts=parts, capped=False))
        with hold(account, purses_of(conversion, lines), at=at) as books:
            commissions = grant(conversion, lines, books=books, at=at)
            note_each(account, "commission.created", commissions, at=at)
            for commission in commissions:
                books.earn(commission)
    return commissions


def change_commission(
    account: Account, *, commission_id: int, changes: Mapping[str, Any], at: datetime
) -> Commission:
    """Set what is named: `amount`, `sub_amount`, `comment`, `status`; all or nothing.

    With its part of the sale, the sale's amount and the levels above follow.
    """
    with transaction.atomic():
        seen = commission_numbered(account, commission_id)
        if seen.conversion_id is None:  # a bonus is of no sale
            with hold(account, [seen.purse], at=at) as books:
                books.open()
                commission = commission_numbered(account, commission_id)
                _change(commission, changes, [], books=books, at=at)
            return commission
        sale = conversion_numbered(account, seen.conversion_id, lock=True)
        with held(sale, at=at) as (books, commissions):
            commission = _one_of(commissions, commission_id)
            _change(commission, changes, commissions, books=books, at=at)
    return commission


def currency_of(account: Account, conversion_id: int) -> str:
    """The currency that the amounts of a sale are in."""
    return conversion_numbered(account, conversion_id).currency


def conversion_known_as(account: Account, external_id: str) -> Conversion:
    """The account's present conversion with this id of the caller's."""
    rows = account.conversions.present().filter(external_id=external_id)
    conversion = rows.first()
    if conversion is None:
        raise ConversionNotFound
    return conversion


def decide_all(
    account: Account, *, conversion_id: int, status: str, at: datetime
) -> None:
    """Give all commissions of a sale this state, or none; the others stay."""
    with transaction.atomic():
        conversion = conversion_numbered(account, conversion_id, lock=True)
        with held(conversion, at=at) as (books, commissions):
            for commission in commissions:
                if commission.status != status:
                    decide(commission, status, books=books, at=at)


@contextmanager
def held(
    conversion: Conversion, *, at: datetime
) -> Iterator[tuple[Books, list[Commission]]]:
    """The books of everybody who earns by a sale, and its commissions as they stand
    now that nobody else can move them. Whoever calls has locked the sale."""
    account = conversion.account
    commissions = account.commissions.present().filter(conversion=conversion)
    with hold(account, {it.purse for it in commissions}, at=at) as books:
        books.open()
        yield books, list(commissions.order_by("id"))


def _recalculate(
    conversion: Conversion,
    commissions: Sequence[Commission],
    was: Decimal,
    *,
    books: Books,
    at: datetime,
) -> None:
    regular = [it for it in commissions if it.kind == Kind.REGULAR]
    loose = [it for it in regular if not is_final(it)]
    parts = shares(
        [it.sub_amount or NOUGHT for it in loose],
        was=was,
        now=conversion.amount,
        currency=conversion.currency,
        complete=len(loose) == len(regular),
    )
    for commission, sub_amount in zip(loose, admitted(parts, conversion), strict=True):
        rewrite(commission, books=books, at=at, **recalculated(commission, sub_amount))
        _lead(commission, sub_amount, commissions, books=books, at=at)


def admitted(parts: Sequence[Decimal], conversion: Conversion) -> list[Decimal]:
    """Parts of a sale that may have grown with it: one may be too long by now."""
    try:
        return [admit(part, conversion.currency) for part in parts]
    except TooManyDigits:
        raise TooManyDigits(path="amount") from None


def _lead(
    commission: Commission,
    sub_amount: Decimal,
    commissions: Sequence[Commission],
    *,
    books: Books,
    at: datetime,
) -> None:
    """The levels of a commission earn by the same part of the sale."""
    for level in commissions:
        if level.follows_id == commission.pk and not is_final(level):
            rewrite(level, books=books, at=at, **recalculated(level, sub_amount))


def _change(
    commission: Commission,
    changes: Mapping[str, Any],
    family: Sequence[Commission],
    *,
    books: Books,
    at: datetime,
) -> None:
    values: dict[str, Any] = {}
    sub_amount, was = changes.get("sub_amount"), commission.sub_amount
    if sub_amount is not None and commission.kind != Kind.REGULAR:
        raise OnlyOfASale
    if sub_amount is not None and sub_amount != was:
        values |= recalculated(commission, sub_amount)
    amount = changes.get("amount")
    if amount is not None and (values or amount != commission.amount):
        values |= set_by_hand(commission, amount, besides=values)
    if values:
        refuse_final(commission)
    if "comment" in changes:
        values["comment"] = changes["comment"]
    rewrite(commission, books=books, at=at, **values)
    if "status" in changes:
        decide(commission, changes["status"], books=books, at=at)
    if "sub_amount" in values:
        _lead(commission, values["sub_amount"], family, books=books, at=at)
        _move_sale(commission, values["sub_amount"] - (was or NOUGHT), at=at)


def _move_sale(commission: Commission, difference: Decimal, *, at: datetime) -> None:
    """The sale's amount goes along with a part of it, not below nought."""
    sale = conversion_numbered(commission.account, commission.conversion_id or 0)
    try:
        amount = admit(max(sale.amount + difference, NOUGHT), sale.currency)
    except TooManyDigits:
        raise TooManyDigits(path="conversion_sub_amount") from None
    with changed(sale, {"amount": amount}, at=at):
        pass  # its commissions have moved already


def _one_of(commissions: Sequence[Commission], number: int) -> Commission:
    for commission in commissions:
        if commission.pk == number:
            return commission
    raise CommissionNotFound
