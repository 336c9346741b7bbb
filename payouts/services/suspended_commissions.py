"""The commissions that the end of a dispute approves again: `ShopOrder.suspended`."""

from collections.abc import Collection

from payouts.models.commissions import Commission
from tracking.models.conversions import Conversion


def remember_suspended(conversion: Conversion, pks: Collection[int]) -> None:
    """Remember commissions that only the dispute keeps from being approved."""
    orders = conversion.account.shop_orders.filter(conversion=conversion)
    for order in orders.order_by("id")[:1] if pks else ():
        order.update_row(suspended=[*order.suspended, *pks])


def forget_suspended(commission: Commission) -> None:
    """Forget a commission that somebody has decided about during the dispute."""
    orders = commission.account.shop_orders.filter(conversion=commission.conversion_id)
    for order in orders.order_by("id"):
        if commission.pk in order.suspended:
            order.update_row(suspended=[pk for pk in order.suspended if pk != commission.pk])
