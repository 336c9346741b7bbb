"""The stored orders of a shop with their lines, claimed sales and locked balances.

A shop only claims if its address has a secret and no signature. Such a sale waits for
staff (`tracking.claims`). It takes nothing from what was reported in another way.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from decimal import Decimal

from accounts.errors import DomainError
from payouts.calculation import allocate_proportionally
from payouts.models.commissions import BalanceKey, Commission
from payouts.services.calculation_input import list_ancestors
from payouts.services.conversion_updates import delete_conversion
from payouts.services.ledger import open_ledger_session
from payouts.services.shop_customers import (
    add_prefix,
    find_parameters,
)
from payouts.services.shop_refunds import get_conversion_of
from payouts.shop_amounts import (
    Amounts,
    Target,
)
from payouts.shop_facts import (
    CustomerFacts,
    Sale,
    get_time,
    is_claimed,
    merge_order_facts,
)
from tracking.attribution import REST_CONVERSION_ORDER
from tracking.models.conversions import Conversion
from tracking.models.shops import (
    Connection,
    ShopOrder,
    ShopOrderReason,
    ShopReference,
)
from tracking.money import ROUNDING_CONTEXT, ZERO, round_amount
from tracking.services.attribution import attribute
from tracking.services.shop_erasure import list_reference_names

CONFIRMED = (
    "The sale is confirmed, and the address of this shop has a secret only: what it"
    " reports is a claim, which changes nothing. If it is right, change the sale by"
    " hand."
)


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


def forget_claimed_sale(order: ShopOrder) -> None:
    """Let a sale that the shop has signed now be created, which confirms the claim."""
    if order.conversion_id is None or is_claimed(order.facts["sale"]):
        return
    conversion = get_conversion_of(order)
    if conversion.claim_status is not None and conversion.deleted_at is None:
        order.update_row(conversion=None, is_adopted=False, lines=[], suspended=[], reason="")


def find_claim_refusal(
    connection: Connection, sale: Sale, reported: Conversion | None
) -> ShopOrderReason | None:
    """Return why a claim of a sale is not stored; None if it is, or is a fact."""
    if not is_claimed(sale):
        return None
    if reported is not None:
        return ShopOrderReason.KNOWN_ALREADY
    return ShopOrderReason.NEEDS_SIGNATURE if connection.account.require_signatures else None


def lock_balances_of(
    connection: Connection,
    orders: Sequence[ShopOrder],
    customer: CustomerFacts,
    *,
    at: datetime,
) -> None:
    """Lock what several orders may change, in one order of rows.

    Each of them locks its own; one after the other, two events could wait for each
    other. Who earns a new sale is found as it will be found then.
    """
    account = connection.account
    sales: list[Sale] = [it.facts["sale"] for it in orders if "sale" in it.facts]
    if len(sales) < 2:
        return
    named = {add_prefix(connection, sale["customer"]) for sale in sales}
    customers = account.customers.filter(customer_id__in=named - {""}).order_by("id")
    list(customers.select_for_update(no_key=True).values_list("pk"))
    ids = [add_prefix(connection, sale["order_id"]) for sale in sales]
    known = account.conversions.filter(external_id__in=ids).order_by("id")
    pks = list(known.select_for_update(no_key=True).values_list("pk", flat=True))
    rows = account.commissions.filter(conversion__in=pks)
    keys: set[BalanceKey] = set(rows.values_list("affiliate", "currency"))
    for sale in sales:
        with suppress(DomainError):  # which is raised again when the order is applied
            keys |= find_balances(connection, sale, customer, at=at)
    with open_ledger_session(account, keys, at=at, is_locked=True):
        pass


def find_balances(
    connection: Connection, sale: Sale, customer: CustomerFacts, *, at: datetime
) -> set[BalanceKey]:
    """Return the balances of who would earn a new sale, without a change."""
    parameters = find_parameters(connection, sale, customer)
    if parameters is None:
        return set()
    attribution = attribute(
        connection.account,
        parameters=parameters,
        order=REST_CONVERSION_ORDER,
        at=datetime.fromisoformat(get_time(sale)),
        ignore_cookie_age=False,
    )
    if attribution.result.rejection_reason or attribution.prospect:
        return set()
    conversion = Conversion(
        account=connection.account,
        program=attribution.program,
        affiliate=attribution.affiliate,
    )
    earners = {it.affiliate_id for it in list_ancestors(conversion)}
    return {(pk, sale["currency"]) for pk in earners | {attribution.affiliate.pk}}


def fit_lines(order: ShopOrder, gross: Amounts) -> Amounts:
    """Return the amounts of the lines that the sale has.

    A line that came later, of another commission type, counts as part of the first.
    """
    names = [line["type"] for line in order.lines]
    amounts = {name: gross.get(name, ZERO) for name in names}
    further = sum((gross[name] for name in gross if name not in amounts), ZERO)
    if further and names:
        amounts[names[0]] += further
    return amounts


def scale_target(order: ShopOrder, target: Target) -> Target:
    """Return the same share of an adopted sale as is left of the shop's order."""
    currency = get_conversion_of(order).currency
    gross = {line["type"]: Decimal(line["gross"]) for line in order.lines}
    total, left = sum(gross.values(), ZERO), target.total
    before = left + sum(target.refunded.values(), ZERO)
    if not before:
        return target
    product = ROUNDING_CONTEXT.multiply(total, left)
    new_total = round_amount(ROUNDING_CONTEXT.divide(product, before), currency)
    amounts = allocate_proportionally(
        list(gross.values()),
        old_total=total,
        new_total=new_total,
        currency=currency,
        is_complete=True,
    )
    taken = round_amount(total, currency) - new_total
    refunded = allocate_proportionally(
        list(target.refunded.values()),
        old_total=before - left,
        new_total=taken,
        currency=currency,
        is_complete=True,
    )
    return Target(
        dict(zip(gross, amounts, strict=True)),
        dict(zip(target.refunded, refunded, strict=True)),
    )


def store_lines(
    order: ShopOrder,
    conversion: Conversion,
    lines: Mapping[str, Commission],
    *,
    is_adopted: bool = False,
) -> None:
    """Store the conversion of an order with its lines, by commission type."""
    order.update_row(
        conversion=conversion,
        is_adopted=is_adopted,
        reason="",
        lines=[
            {
                "commission": row.pk,
                "type": name,
                "gross": str(row.sub_amount),
                "target": str(row.sub_amount),
            }
            for name, row in lines.items()
        ],
    )
