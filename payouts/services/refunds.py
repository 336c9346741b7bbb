"""Refunds: a customer got back the money of a sale, or a part of it."""

from collections.abc import Collection, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction

from accounts.exact_json import format_decimal
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from payouts.errors import (
    CommissionNotFound,
    InvalidRefund,
    RefundOfFinalCommission,
    RefundTooLarge,
)
from payouts.models.commissions import Commission, CommissionKind
from payouts.models.refunds import Refund
from payouts.services.conversion_updates import (
    delete_conversion,
    update_commission,
    update_conversion,
)
from tracking.errors import ConversionNotFound
from tracking.models.conversions import Conversion
from tracking.money import ZERO, round_and_check_amount


def refund_conversion(
    account: Account,
    *,
    conversion_id: int,
    reason: str,
    at: datetime,
    amount: Decimal | None = None,
    line_amounts: Mapping[int, Decimal] | None = None,
    external_id: str | None = None,
) -> Refund:
    """Refund all that is left of a conversion, an `amount`, or amounts of its lines.

    Amounts are in the currency of the conversion; `line_amounts` has them by the ID of
    the line's regular commission. If all is refunded, the conversion is removed. Else
    its amount is lowered: by lines with their sub-amounts, by an amount with those of
    all lines in proportion. A fixed commission is taken back with the whole line.

    A second call with an `external_id`, the shop's ID of the refund, changes nothing
    and returns the first refund. Raises `ConversionNotFound`, `CommissionNotFound`,
    `InvalidRefund`, `RefundTooLarge` and `RefundOfFinalCommission`.
    """
    with transaction.atomic():
        locked = account.conversions.select_for_update(no_key=True)
        conversion = get_or_raise(locked, ConversionNotFound, pk=conversion_id)
        earlier = _find_refund(conversion, external_id)
        if earlier is not None:
            return earlier
        if conversion.deleted_at is not None:
            raise ConversionNotFound
        commissions = list_existing_commissions(conversion)
        before = {row.pk: row.sub_amount or ZERO for row in list_lines(commissions)}
        if line_amounts is not None:
            line_amounts = _round_line_amounts(conversion, before, line_amounts)
            amount = sum(line_amounts.values(), ZERO)
        refunded = _validate_total(conversion, amount)
        ensure_none_final(commissions, line_amounts)
        is_full = refunded == conversion.amount
        if is_full:
            delete_conversion(account, conversion_id=conversion.pk, at=at)
        elif line_amounts is not None:
            left = {pk: before[pk] - part for pk, part in line_amounts.items()}
            _lower_sub_amounts(account, commissions, left, at=at)
        else:
            update_conversion(
                account,
                conversion_id=conversion.pk,
                changes={"amount": conversion.amount - refunded},
                should_recalculate=True,
                at=at,
            )
        entry = log_event(
            account,
            "conversion.refunded",
            conversion,
            at=at,
            refunded=f"{format_decimal(refunded)} {conversion.currency}",
        )
        refund = account.refunds.create(
            conversion=conversion,
            external_id=external_id,
            amount=refunded,
            currency=conversion.currency,
            is_full=is_full,
            lines=_list_refunded_lines(account, before, is_full=is_full),
            reason=reason,
            actor=entry.actor,
            created_at=at,
        )
    return refund


def list_existing_commissions(conversion: Conversion) -> list[Commission]:
    """Return the commissions of a conversion that are not removed, by ID."""
    rows = conversion.account.commissions.not_deleted().filter(conversion=conversion)
    return list(rows.order_by("id"))


def list_lines(commissions: list[Commission]) -> list[Commission]:
    """Return the commissions that are lines of the sale: no levels, no extra ones."""
    return [row for row in commissions if row.kind == CommissionKind.REGULAR and not row.is_extra]


def ensure_none_final(commissions: list[Commission], lines: Collection[int] | None) -> None:
    """Raise `RefundOfFinalCommission` if one that a refund changes is final.

    Those are the commissions of the `lines` and the levels that follow them; None: all.
    """
    for row in commissions:
        is_changed = lines is None or row.pk in lines or row.base_commission_id in lines
        if is_changed and row.is_finalized:
            raise RefundOfFinalCommission(commission=row.pk)


def _find_refund(conversion: Conversion, external_id: str | None) -> Refund | None:
    rows = conversion.account.refunds.filter(conversion=conversion)
    return rows.filter(external_id=external_id).first() if external_id else None


def _round_line_amounts(
    conversion: Conversion,
    sub_amounts: Mapping[int, Decimal],
    line_amounts: Mapping[int, Decimal],
) -> dict[int, Decimal]:
    """Return the amounts rounded, or raise for one that the line does not have."""
    rounded = {}
    for pk, amount in line_amounts.items():
        if pk not in sub_amounts:
            raise CommissionNotFound
        rounded[pk] = round_and_check_amount(amount, conversion.currency)
        if rounded[pk] > sub_amounts[pk]:
            left = format_decimal(sub_amounts[pk])
            raise RefundTooLarge(left=left, currency=conversion.currency, path=f"line_{pk}")
    return rounded


def _validate_total(conversion: Conversion, amount: Decimal | None) -> Decimal:
    """Return the rounded amount to refund; None: all that is left."""
    if amount is None:
        return conversion.amount
    total = round_and_check_amount(amount, conversion.currency)
    if total == ZERO:
        raise InvalidRefund
    if total > conversion.amount:
        left = format_decimal(conversion.amount)
        raise RefundTooLarge(left=left, currency=conversion.currency)
    return total


def _list_refunded_lines(
    account: Account, before: Mapping[int, Decimal], *, is_full: bool
) -> list[dict[str, Any]]:
    """Return what was refunded of each line, given the sub-amounts before."""
    after = {} if is_full else account.commissions.in_bulk(before)
    refunded = {
        pk: sub_amount - (after[pk].sub_amount or ZERO if pk in after else ZERO)
        for pk, sub_amount in before.items()
    }
    return [
        {"commission": pk, "amount": format_decimal(amount)}
        for pk, amount in refunded.items()
        if amount
    ]


def _lower_sub_amounts(
    account: Account,
    commissions: list[Commission],
    left: Mapping[int, Decimal],
    *,
    at: datetime,
) -> None:
    """Set the sub-amounts of lines; the conversion and level commissions follow.

    `left` has the new sub-amounts by line. A fixed commission does not depend on the
    sub-amount, so that of a line of which nothing is left becomes 0 here.
    """
    for row in commissions:
        line = row.base_commission_id or row.pk
        changes = {"sub_amount": left[line]} if row.pk in left else {}
        if row.has_fixed_part and left.get(line) == ZERO:
            changes["amount"] = ZERO
        if changes:
            update_commission(account, commission_id=row.pk, changes=changes, at=at)
