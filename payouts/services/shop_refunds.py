"""Refunds and disputes of a shop's orders, as the shop has them now."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction

from accounts.actor import get_actor
from accounts.exact_json import format_decimal
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from payouts.errors import CommissionUnfunded, NoOpenDispute
from payouts.models.commission_types import RateKind
from payouts.models.commissions import Commission, CommissionStatus
from payouts.models.refunds import MAX_REASON_LENGTH, Refund
from payouts.services.commissions import approve_commission
from payouts.services.conversion_updates import (
    delete_conversion,
    lock_commissions,
    lock_conversion,
    restore_conversion,
    update_commission,
)
from payouts.services.disputes import suspend_commissions
from payouts.services.refunds import ensure_none_final, list_existing_commissions
from payouts.shop_amounts import Amounts, Target, describe_amount, is_disputed, is_open_dispute
from payouts.shop_facts import OrderFacts
from tracking.models.conversions import Conversion
from tracking.models.shops import ShopOrder
from tracking.money import ZERO

WAITS_FOR_END = "Its commissions wait for the end of the dispute."
DISPUTE_ENDED = "The dispute is over: its commissions are approved again."
NOT_COVERED = "The payout balance does not cover all of them: approve the rest later."


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
    changed = {pk for pk, difference in differences.items() if difference}
    is_whole = target.total == ZERO
    ensure_none_final(list_existing_commissions(conversion), None if is_whole else changed)
    currency = conversion.currency
    effects: list[str] = []
    if is_whole:
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
        is_full=is_whole,
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
        if row.has_fixed_part and differences.get(line):
            changes |= get_fixed_amount(row, new[line])
        if changes:
            update_commission(account, commission_id=row.pk, changes=changes, at=at)


def get_fixed_amount(commission: Commission, sub_amount: Decimal) -> dict[str, Any]:
    """Return the change of a commission with a fixed part when its line ends or comes back."""
    if sub_amount == ZERO and commission.amount:
        return {"amount": ZERO}
    if sub_amount and not commission.amount and commission.rate_kind == RateKind.FIXED:
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


def apply_disputes(
    order: ShopOrder, conversion: Conversion, facts: OrderFacts, *, at: datetime
) -> list[str]:
    """Hold the commissions while a dispute is open, and approve them when it ends.

    Those that a payment pays stay paid; a lost dispute takes the money back anyway.
    """
    account, is_known = order.account, bool(conversion.disputed_at or order.suspended)
    if not is_disputed(facts) and not is_known:
        return []
    rows = account.conversions.filter(pk=conversion.pk)
    list(rows.select_for_update(no_key=True).values_list("pk"))
    conversion = get_conversion_of(order)
    orders = list(account.shop_orders.filter(conversion=conversion).order_by("id"))
    if any(is_disputed(each.facts) for each in orders):
        return begin_dispute(order, conversion, at=at)
    if conversion.disputed_at is not None:
        conversion.update_row(disputed_at=None)
        log_event(account, "conversion.dispute_ended", conversion, at=at)
    if conversion.deleted_at is not None:
        return []  # a removed sale may come back, and its commissions with it
    with lock_commissions(conversion, at=at):  # all balances, before one changes
        return approve_suspended(orders, at=at)


def end_dispute(account: Account, *, conversion_id: int, at: datetime) -> Conversion:
    """End the disputes of a sale whose shop has not said that they ended.

    The buyer got nothing back. What the shop says later counts. Raises `NoOpenDispute`
    and `ConversionNotFound`.
    """
    with transaction.atomic():
        rows = account.shop_orders.filter(conversion=conversion_id).order_by("id")
        shops = account.connections.filter(pk__in=rows.values("connection"))
        list(shops.order_by("id").select_for_update(no_key=True).values_list("pk"))
        conversion = lock_conversion(account, conversion_id)
        if conversion.disputed_at is None:
            raise NoOpenDispute
        orders = list(rows)
        for order in orders:
            disputes = order.facts.get("disputes", {})
            for dispute in disputes.values():
                if is_open_dispute(dispute, order.facts):
                    dispute["state"] = "won"  # as of then: a later event overrides it
            order.update_row(facts=order.facts)
        apply_disputes(orders[0], conversion, orders[0].facts, at=at)
    return conversion


def begin_dispute(order: ShopOrder, conversion: Conversion, *, at: datetime) -> list[str]:
    """Hold what is approved; nobody can approve the rest."""
    is_new = conversion.disputed_at is None
    if is_new:
        conversion.update_row(disputed_at=at)
        log_event(order.account, "conversion.disputed", conversion, at=at)
    if conversion.deleted_at is not None:
        return []
    with lock_commissions(conversion, at=at) as (ledger, commissions):
        suspend_commissions(conversion, commissions, ledger=ledger, at=at)
    return [WAITS_FOR_END] if is_new else []


def approve_suspended(orders: Sequence[ShopOrder], *, at: datetime) -> list[str]:
    """Approve what the dispute kept from it, and staff has not decided meanwhile."""
    account = orders[0].account
    suspended = {pk for order in orders for pk in order.suspended}
    rows = account.commissions.not_deleted().filter(
        pk__in=suspended, status=CommissionStatus.PENDING
    )
    approved, unfunded = 0, 0
    for (pk,) in rows.order_by("id").values_list("pk"):
        try:
            approve_commission(account, commission_id=pk, at=at)
            approved += 1
        except CommissionUnfunded:
            unfunded += 1
    for order in orders:
        order.update_row(suspended=[])
    effects = [DISPUTE_ENDED] if approved else []
    return [*effects, NOT_COVERED] if unfunded else effects
