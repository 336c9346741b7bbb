"""What an event of a shop does: to its customer, its sale, and the refunds of that.

The facts of the event are merged into those of the order and the customer, then the
books are made to agree with all that is known. So events may come in any order, and
more than once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from django.db import transaction

from payouts.calculation import (
    DEFAULT_COMMISSION_TYPE,
    LineItem,
    allocate_proportionally,
)
from payouts.models.commissions import Commission
from payouts.services.conversion_creation import ConversionData, create_conversion
from payouts.services.conversion_updates import delete_conversion
from payouts.services.disputes import hold_new_commissions
from payouts.services.refunds import list_lines, list_refundable_commissions
from payouts.services.shop_customers import (
    apply_customer,
    merge_customer,
    read_customer,
    store_email,
)
from payouts.services.shop_disputes import apply_disputes
from payouts.services.shop_referrals import (
    REFUSALS,
    add_prefix,
    find_parameters,
    refuse,
)
from payouts.services.shop_refunds import apply_target, get_conversion_of
from payouts.shop_facts import (
    Amounts,
    CustomerFacts,
    EventFacts,
    OrderFacts,
    Sale,
    Target,
    calculate_target,
    describe_amount,
    get_time,
    group_lines,
    is_canceled,
    is_disputed,
    merge_facts,
    waits_for_sale,
)
from tracking.attribution import TrackingParameters
from tracking.errors import (
    MissingTrackingParameter,
    OrderOfAnotherShop,
    ShopCurrencyChanged,
)
from tracking.models.conversions import Conversion
from tracking.models.shops import Connection, ShopEventState, ShopOrder
from tracking.money import ROUNDING_CONTEXT, ZERO, round_amount
from tracking.services.inbox import AGAIN

CONNECTION_ACTOR = "connection "  # how the names of actors begin that are shops
NO_REFERRAL = "Nobody referred this customer."
NOTHING_TO_EARN = "The sale has no amount."
CANCELED = "The order was canceled before it earned anything."
REMOVED_BEFORE = "The sale was removed before. To count it, process the event again."
# Why an order earns nothing so far; other reasons are final.
REASONS_OF_NOW = ("", AGAIN, NO_REFERRAL, NOTHING_TO_EARN, CANCELED)
WAITS = "The sale is not known yet: this is applied when it arrives."


@dataclass
class Outcome:
    """What an event did, as sentences, and the order that it is about."""

    state: ShopEventState = ShopEventState.DONE
    effects: list[str] = field(default_factory=list)
    order: ShopOrder | None = None
    customer_key: str = ""


def apply_event(connection: Connection, facts: EventFacts, *, at: datetime) -> Outcome:
    """Apply the facts of an event, in one transaction that locks the connection.

    Raises the errors of the services that create and change sales.
    """
    outcome = Outcome(customer_key=facts.customer_key)
    if facts.ignored:
        outcome.state, outcome.effects = ShopEventState.IGNORED, [facts.ignored]
        return outcome
    account = connection.account
    with transaction.atomic():
        rows = account.connections.filter(pk=connection.pk)
        list(rows.select_for_update(no_key=True).values_list("pk"))
        orders: list[ShopOrder] = []
        if facts.references:
            order = get_or_create_order(connection, facts.references, at=at)
            merged = merge_facts(order.facts, facts.order)
            key = facts.customer_key or order.customer_key
            order.update_row(facts=merged, customer_key=key)
            outcome.order = order
            orders = [order]
        customer: CustomerFacts = {}
        if key := facts.customer_key:
            customer = merge_customer(connection, key, facts.customer)
            outcome.effects += apply_customer(connection, key, customer, at=at)
        elif orders and orders[0].customer_key:
            customer = read_customer(connection, orders[0].customer_key)
        if key and customer.get("referral"):
            orders += list_orders_without_sale(connection, key, but=outcome.order)
        for order in orders:
            effects = apply_order(connection, order, customer, at=at)
            outcome.effects += effects
    if outcome.order is not None:
        outcome.state = get_state(outcome.order)
    return outcome


def get_state(order: ShopOrder) -> ShopEventState:
    """Return the state of the events of an order."""
    if order.conversion_id is not None:
        return ShopEventState.DONE
    if waits_for_sale(order.facts):
        return ShopEventState.WAITING
    return ShopEventState.NO_REFERRAL if order.reason else ShopEventState.DONE


def get_or_create_order(
    connection: Connection, references: Sequence[str], *, at: datetime
) -> ShopOrder:
    """Return the order that has these IDs; several that are one order are joined."""
    account = connection.account
    known = account.shop_references.filter(
        connection=connection, reference__in=references
    )
    found = account.shop_orders.filter(pk__in=known.values("order"))
    # One that has a conversion stays, else the oldest.
    orders = sorted(found, key=lambda each: (each.conversion_id is None, each.pk))
    if not orders:
        orders = [account.shop_orders.create(connection=connection, created_at=at)]
    first, *others = orders
    for other in others:
        if other.conversion_id not in (None, first.conversion_id):
            end_double_sale(other, at=at)
        first.update_row(
            facts=merge_facts(first.facts, other.facts),
            customer_key=first.customer_key or other.customer_key,
        )
        account.shop_references.filter(order=other).update(order=first)
        account.shop_events.filter(order=other).update(order=first)
        account.shop_orders.filter(pk=other.pk).delete()
    names = set(account.shop_references.filter(order=first).values_list("reference"))
    for reference in dict.fromkeys(references):
        if (reference,) not in names:
            account.shop_references.create(
                connection=connection, reference=reference, order=first
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
        reason=NO_REFERRAL,
    )
    return [row for row in rows.order_by("id") if but is None or row.pk != but.pk]


def apply_order(
    connection: Connection, order: ShopOrder, customer: CustomerFacts, *, at: datetime
) -> list[str]:
    """Make the sale, its refunds and its disputes agree with what is known."""
    facts: OrderFacts = order.facts
    if "sale" not in facts:
        return [WAITS] if waits_for_sale(facts) else []
    types: dict[str, str] = connection.settings.get("commission_types", {})
    gross = group_lines(facts["sale"]["lines"], types)
    effects: list[str] = []
    if order.conversion_id is None and order.reason not in REASONS_OF_NOW:
        return [order.reason]  # decided; staff can process the event again
    if order.conversion_id is None:
        effects += create_sale(connection, order, customer, gross, at=at)
        if order.conversion_id is None:
            return effects
    conversion = get_conversion_of(order)
    if conversion.currency != facts["sale"]["currency"]:
        raise ShopCurrencyChanged(
            old=conversion.currency, new=facts["sale"]["currency"]
        )
    skipped = list_refunds_of_others(conversion)
    if order.is_adopted:
        target = scale_target(order, calculate_target(gross, facts, types, skipped))
    else:
        fitted = fit_lines(order, gross)
        target = calculate_target(fitted, facts, types, skipped)
    reason = f"{connection.name}: {order.label}"
    effects += apply_target(order, target, reason=reason, at=at)
    return effects + apply_disputes(order, facts, at=at)


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


def create_sale(
    connection: Connection,
    order: ShopOrder,
    customer: CustomerFacts,
    gross: Amounts,
    *,
    at: datetime,
) -> list[str]:
    """Create the conversion of an order, or say why there is none."""
    account, sale = connection.account, order.facts["sale"]
    order.update_row(label=describe_sale(connection, order, sale))
    if not any(gross.values()):
        order.update_row(reason=NOTHING_TO_EARN)
        return [NOTHING_TO_EARN]
    external_id = add_prefix(connection, sale["order_id"])
    known = account.conversions.not_deleted().filter(external_id=external_id)
    reported = known.first()
    if reported is not None and reported.claim_status is None:
        types: dict[str, str] = connection.settings.get("commission_types", {})
        skipped = list_refunds_of_others(reported)
        left = calculate_target(gross, order.facts, types, skipped)
        return adopt_conversion(order, reported, left)
    if is_canceled(order.facts):
        order.update_row(reason="")
        return [CANCELED]
    removed = account.conversions.filter(
        external_id=external_id, deleted_at__isnull=False
    )
    if reported is None and order.reason != AGAIN and removed.exists():
        order.update_row(reason=REMOVED_BEFORE)
        return [REMOVED_BEFORE]
    parameters = find_parameters(connection, sale, customer)
    if parameters is None and reported is not None:
        # A page claims the sale, and knows who referred the customer.
        customer_id = add_prefix(connection, sale["customer"])
        parameters = TrackingParameters(customer_id=customer_id or None)
    if parameters is None:
        refuse(account, external_id, MissingTrackingParameter())
        order.update_row(reason=NO_REFERRAL)
        return [NO_REFERRAL]
    data = ConversionData(
        parameters=parameters,
        line_items=[
            LineItem(amount, None if name == DEFAULT_COMMISSION_TYPE else name)
            for name, amount in gross.items()
        ],
        external_id=external_id,
        currency=sale["currency"],
        occurred_at=datetime.fromisoformat(get_time(sale)),
        is_disputed=is_disputed(order.facts),
    )
    try:
        conversion = create_conversion(account, data=data, at=at)
    except REFUSALS as error:
        refuse(account, external_id, error)
        order.update_row(reason=f"{error.text}.")
        return [f"{error.text}."]
    rows = list_refundable_commissions(conversion)
    store_lines(order, conversion, dict(zip(gross, list_lines(rows), strict=True)))
    hold_new_commissions(conversion, rows)
    store_email(connection, conversion.customer, customer, at=at)
    amount = describe_amount(conversion.amount, conversion.currency)
    return [f"A sale of {amount} was created."]


def list_refunds_of_others(conversion: Conversion) -> set[str]:
    """Return the IDs of refunds that the API or staff have applied to a sale."""
    rows = conversion.account.refunds.filter(conversion=conversion)
    rows = rows.exclude(actor__startswith=CONNECTION_ACTOR).exclude(external_id=None)
    return {str(key) for key in rows.values_list("external_id", flat=True)}


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


def adopt_conversion(
    order: ShopOrder, conversion: Conversion, target: Target
) -> list[str]:
    """Use the conversion that was reported in another way, with its own amounts.

    If it stands at what the shop says is left, its refunds were applied there, too.
    Raises `OrderOfAnotherShop` if another connection reported it.
    """
    others = order.account.shop_orders.filter(conversion=conversion)
    if others.exclude(connection=order.connection_id).exists():
        raise OrderOfAnotherShop(order=conversion.external_id)
    rows = list_lines(list_refundable_commissions(conversion))
    store_lines(order, conversion, {str(row.pk): row for row in rows}, is_adopted=True)
    refunded = sum(target.refunded.values(), ZERO)
    if refunded and conversion.amount == target.total:
        share = ROUNDING_CONTEXT.divide(target.total + refunded, target.total)
        lines = [
            {**it, "gross": str(Decimal(it["gross"]) * share)} for it in order.lines
        ]
        order.update_row(lines=lines)
    return ["The sale was reported before: refunds are applied to that conversion."]


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
