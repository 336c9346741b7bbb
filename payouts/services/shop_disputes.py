"""What a dispute of a shop's order does: its commissions are on hold until it ends."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from accounts.models.accounts import Account
from accounts.services.changes import log_event
from payouts.errors import CommissionUnfunded, NoOpenDispute
from payouts.models.commissions import CommissionStatus
from payouts.services.commissions import approve_commission
from payouts.services.conversion_updates import lock_commissions, lock_conversion
from payouts.services.disputes import suspend_commissions
from payouts.services.shop_refunds import get_conversion_of
from payouts.shop_amounts import is_disputed, is_open_dispute
from payouts.shop_facts import OrderFacts
from tracking.models.conversions import Conversion
from tracking.models.shops import ShopOrder

WAITS_FOR_END = "Its commissions wait for the end of the dispute."
DISPUTE_ENDED = "The dispute is over: its commissions are approved again."
NOT_COVERED = "The payout balance does not cover all of them: approve the rest later."


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
