"""The refunds of a sale as the shop has them now, also when it takes one back."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from accounts.actor import get_actor
from accounts.exact_json import format_decimal
from accounts.services.changes import log_event
from payouts.errors import RefundOfFinalCommission
from payouts.models.commission_types import RateKind
from payouts.models.commissions import Commission
from payouts.models.refunds import MAX_REASON_LENGTH, Refund
from payouts.services.conversion_updates import (
    delete_conversion,
    restore_conversion,
    update_commission,
)
from payouts.services.refunds import list_existing_commissions
from payouts.shop_amounts import Amounts, Target, describe_amount
from tracking.models.conversions import Conversion
from tracking.models.shops import ShopOrder
from tracking.money import ZERO


def apply_target(
    order: ShopOrder,
    conversion: Conversion,
    refunds: Sequence[Refund],
    target: Target,
    *,
    reason: str,
    at: datetime,
) -> list[str]:
    """Change the sale of an order to what is left of it; return what was done.

    `refunds` are those of the conversion that are stored, by ID.

    Each line changes by the difference to what the shop said before, so that a
    correction of staff stays. Of a sale of which nothing is left the conversion is
    removed, and put back if a refund is canceled. The caller has locked the connection.
    Raises `RefundOfFinalCommission`.
    """
    account = order.account
    known = {it.external_id: it for it in refunds if it.external_id in target.refunded}
    changes = list_refund_changes(known, target)
    left = {line["commission"]: line for line in order.lines}
    differences = {
        pk: target.left[line["type"]] - Decimal(line["target"]) for pk, line in left.items()
    }
    if not changes and not any(differences.values()):
        return []
    is_removed_here = order.removed_at is not None
    if conversion.deleted_at is not None and not (
        is_removed_here and order.removed_at == conversion.deleted_at
    ):
        return ["The sale was removed by hand before, so nothing changed."]
    ensure_none_final(conversion)
    currency = conversion.currency
    effects: list[str] = []
    if target.total == ZERO:
        if conversion.deleted_at is None:
            delete_conversion(account, conversion_id=conversion.pk, at=at)
            order.update_row(removed_at=at)
            effects.append("Nothing is left of the sale, so it was removed.")
    else:
        if is_removed_here:
            conversion = restore_conversion(account, conversion_id=conversion.pk, at=at)
            order.update_row(removed_at=None)
            effects.append("The sale was put back.")
        change_lines(conversion, differences, at=at)
        lines = [{**it, "target": str(target.left[it["type"]])} for it in order.lines]
        order.update_row(lines=lines)
    refunded, restored = record_refunds(
        conversion,
        refunds,
        changes,
        is_full=target.total == ZERO,
        reason=reason,
        at=at,
    )
    if refunded:
        effects.append(f"Refunded {describe_amount(refunded, currency)}.")
    if restored:
        effects.append(f"Put back {describe_amount(restored, currency)}.")
    return effects or ["The amount of the sale changed."]


def get_conversion_of(order: ShopOrder) -> Conversion:
    """Return the conversion of an order as it is now, deleted or not."""
    rows = order.account.conversions.select_related("program", "affiliate")
    return rows.get(pk=order.conversion_id or 0)


def ensure_none_final(conversion: Conversion) -> None:
    """Raise `RefundOfFinalCommission` if a commission is approved for good."""
    for row in list_existing_commissions(conversion):
        row.account = conversion.account
        if row.is_finalized:
            raise RefundOfFinalCommission(commission=row.pk)


def list_refund_changes(known: Mapping[str, Refund], target: Target) -> Amounts:
    """Return the new amounts of refunds that differ from the stored ones, by ID."""
    old = {key: row.amount for key, row in known.items()}
    refunded = target.refunded.items()
    return {key: amount for key, amount in refunded if amount != old.get(key, ZERO)}


def change_lines(
    conversion: Conversion, differences: Mapping[int, Decimal], *, at: datetime
) -> None:
    """Add the differences to the sub-amounts of lines; the conversion follows.

    A fixed commission is earned while something of its line is left.
    """
    account = conversion.account
    rows = list_existing_commissions(conversion)
    new: dict[int, Decimal] = {}
    for row in rows:
        old = row.sub_amount or ZERO
        new[row.pk] = max(old + differences.get(row.pk, ZERO), ZERO)
    for row in rows:
        line = row.base_commission_id or row.pk
        changes: dict[str, Any] = {}
        if differences.get(row.pk) and new[row.pk] != row.sub_amount:
            changes["sub_amount"] = new[row.pk]
        if row.rate_kind == RateKind.FIXED and differences.get(line):
            changes |= get_fixed_amount(row, new[line])
        if changes:
            update_commission(account, commission_id=row.pk, changes=changes, at=at)


def get_fixed_amount(commission: Commission, sub_amount: Decimal) -> dict[str, Any]:
    """Return the change of a fixed commission when its line ends or comes back."""
    if sub_amount == ZERO and commission.amount:
        return {"amount": ZERO}
    if sub_amount and not commission.amount:
        return {"amount": commission.rate}
    return {}


def record_refunds(
    conversion: Conversion,
    refunds: Sequence[Refund],
    changes: Amounts,
    *,
    is_full: bool,
    reason: str,
    at: datetime,
) -> tuple[Decimal, Decimal]:
    """Store the new amounts of refunds; return what was refunded and put back."""
    account, currency = conversion.account, conversion.currency
    refunded = restored = ZERO
    rows = list(refunds)
    known = {row.external_id: row for row in rows}
    for key, amount in sorted(changes.items()):
        row = known.get(key)
        difference = amount - (row.amount if row else ZERO)
        if difference > ZERO:
            refunded += difference
        else:
            restored -= difference
        if row is not None:
            row.update_row(amount=amount, canceled_at=None if amount else at)
        else:
            row = account.refunds.create(
                conversion=conversion,
                external_id=key,
                amount=amount,
                currency=currency,
                is_full=False,
                reason=reason[:MAX_REASON_LENGTH],
                actor=get_actor().name,
                created_at=at,
            )
            rows.append(row)
    last = next((row for row in reversed(rows) if row.amount), None)
    for row in rows:
        if row.is_full != (is_full and row is last):
            row.update_row(is_full=not row.is_full)
    if refunded:
        text = f"{format_decimal(refunded)} {currency}"
        log_event(account, "conversion.refunded", conversion, at=at, refunded=text)
    if restored:
        text = f"{format_decimal(restored)} {currency}"
        log_event(account, "conversion.refund_canceled", conversion, at=at, restored=text)
    return refunded, restored
