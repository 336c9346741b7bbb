"""The stored orders of a shop, by the IDs that its events have for them."""

from collections.abc import Sequence
from datetime import datetime

from payouts.services.conversion_updates import delete_conversion
from payouts.services.shop_refunds import get_conversion_of
from payouts.shop_facts import Sale, get_time, merge_order_facts
from tracking.models.shops import Connection, ShopOrder, ShopOrderReason, ShopReference
from tracking.services.shop_erasure import list_reference_names


def get_or_create_order(
    connection: Connection, references: Sequence[str], *, at: datetime
) -> ShopOrder:
    """Return the order that has these IDs; several that are one order are joined."""
    account = connection.account
    names = {name: it for it in references for name in list_reference_names(it)}
    rows = account.shop_references.filter(connection=connection, reference__in=names)
    # Two queries: PostgreSQL scans all orders for one, until it has statistics.
    known = {names[name]: pk for name, pk in rows.values_list("reference", "order")}
    orders = list(account.shop_orders.filter(pk__in=known.values())) if known else []
    if not orders:
        orders = [account.shop_orders.create(connection=connection, created_at=at)]
    # One that has a conversion stays, else the oldest.
    first, *others = sorted(orders, key=lambda it: (it.conversion_id is None, it.pk))
    for other in others:
        if other.conversion_id not in (None, first.conversion_id):
            end_double_sale(other, at=at)
        first.update_row(
            facts=merge_order_facts(first.facts, other.facts),
            customer_key=first.customer_key or other.customer_key,
            settings=other.settings if first.settings is None else first.settings,
            suspended=[*first.suspended, *other.suspended],
            name=first.name or other.name,
        )
        account.shop_references.filter(order=other).update(order=first)
        account.shop_events.filter(order=other).update(order=first)
        account.shop_orders.filter(pk=other.pk).delete()
    account.shop_references.bulk_create(
        ShopReference(account=account, connection=connection, reference=reference, order=first)
        for reference in dict.fromkeys(references)
        if reference not in known
    )
    return first


def end_double_sale(order: ShopOrder, *, at: datetime) -> None:
    """Remove the sale of an order that turns out to be another one, counted already."""
    conversion = get_conversion_of(order)
    if order.is_adopted or conversion.deleted_at is not None:
        return
    conversion.update_row(disputed_at=None)
    delete_conversion(order.account, conversion_id=conversion.pk, at=at)


def list_orders_without_sale(
    connection: Connection, customer_key: str, *, but: ShopOrder | None
) -> list[ShopOrder]:
    """Return the orders of a customer that nobody was known to have referred."""
    rows = connection.account.shop_orders.filter(
        connection=connection,
        customer_key=customer_key,
        conversion=None,
        reason=ShopOrderReason.NO_REFERRAL,
    )
    return [row for row in rows.order_by("id") if but is None or row.pk != but.pk]


def describe_sale(connection: Connection, order: ShopOrder, sale: Sale) -> str:
    """What the shop calls the sale: `invoice in_1, renewal 3`."""
    if not sale["is_renewal"]:
        return sale["label"]
    rows = connection.account.shop_orders.filter(
        connection=connection, customer_key=sale["customer"]
    )
    sales = [each.facts.get("sale") for each in rows.exclude(pk=order.pk)]
    earlier = [
        each
        for each in sales
        if each
        and each["is_renewal"]
        and each["subscription"] == sale["subscription"]
        and get_time(each) < get_time(sale)
    ]
    return f"{sale['label']}, renewal {len(earlier) + 1}"
