"""What an event of a shop does: to its customer, its sale, and the refunds of that.

The facts of the event are merged into those of the order and the customer, then the
books are made to agree with all that is known. So events may come in any order, and
more than once.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction

from accounts.actor import ActorKind, parse_actor
from accounts.errors import DomainError, get_error_code
from payouts.calculation import (
    DEFAULT_COMMISSION_TYPE,
    LineItem,
)
from payouts.models.refunds import Refund
from payouts.services.conversion_creation import ConversionData, create_conversion
from payouts.services.disputes import suspend_new_commissions
from payouts.services.refunds import list_existing_commissions, list_lines
from payouts.services.shop_customers import (
    REFUSALS,
    add_prefix,
    apply_customer,
    explain_no_referral,
    find_parameters,
    merge_customer,
    read_customer,
    record_refusal,
    store_email,
)
from payouts.services.shop_order_rows import (
    CONFIRMED,
    describe_sale,
    find_claim_refusal,
    fit_lines,
    forget_claimed_sale,
    get_or_create_order,
    list_orders_without_sale,
    lock_balances_of,
    scale_target,
    store_lines,
)
from payouts.services.shop_refunds import apply_disputes, apply_target, get_conversion_of
from payouts.shop_amounts import (
    Amounts,
    Target,
    calculate_target,
    describe_amount,
    group_lines,
    is_canceled,
    is_disputed,
    list_unclear,
    waits_for_sale,
)
from payouts.shop_facts import (
    CustomerFacts,
    EventFacts,
    OrderFacts,
    Sale,
    get_time,
    is_claimed,
    merge_order_facts,
)
from tracking.attribution import TrackingParameters
from tracking.claims import Trust
from tracking.errors import (
    MissingTrackingParameter,
    OrderOfAnotherShop,
    ShopCurrencyChanged,
)
from tracking.models.conversions import Conversion
from tracking.models.shops import Connection, ShopEventState, ShopOrder, ShopOrderReason
from tracking.money import ROUNDING_CONTEXT, ZERO
from tracking.search import normalize_order_name
from tracking.services.connections import pick_pricing, with_pricing
from tracking.services.inbox import Effect

CANCELED = "The order was canceled before it earned anything."
# Why an order earns nothing so far; other reasons are final.
REASONS_OF_NOW = (
    "",
    ShopOrderReason.PROCESSED_AGAIN,
    ShopOrderReason.NO_REFERRAL,
    ShopOrderReason.NO_AMOUNT,
)
UNCLEAR = (
    "{amounts} went back ({key}), but the sale is in {currency}, and the shop does not"
    " say that it was all of it: nothing was taken off. Find out which part of the sale"
    " it is, and refund that by hand. If the sale is disputed, end the dispute then."
)
OTHER_CURRENCY = "The program is in {own}, and this sale is in {currency}: so are its commissions."
EARLIER_FAILED = "An earlier order of this customer could not be counted, {order}: {reason}"
CREATED = "A sale of {amount} was created."
CLAIMED = "A sale of {amount} was claimed: approve or disapprove it."
WAITS = "The sale is not known yet: this is applied when it arrives."


@dataclass
class OrderOutcome:
    """What an event did, and the order that it is about."""

    state: ShopEventState = ShopEventState.DONE
    effects: list[Effect] = field(default_factory=list)
    order: ShopOrder | None = None
    customer_key: str = ""


def apply_event(
    connection: Connection,
    facts: EventFacts,
    *,
    reread: Callable[[Connection], EventFacts],
    at: datetime,
) -> OrderOutcome:
    """Apply the facts of an event, in one transaction that locks the connection.

    `reread` reads the event again by the settings of a connection: an order keeps those
    that it was first recorded with. Raises the errors of the services that create and
    change sales.
    """
    if facts.ignored:
        state, key = ShopEventState.IGNORED, facts.customer_key
        return OrderOutcome(state, [facts.ignored], customer_key=key)
    outcome = OrderOutcome(customer_key=facts.customer_key)
    with transaction.atomic():
        rows = connection.account.connections.filter(pk=connection.pk)
        list(rows.select_for_update(no_key=True).values_list("pk"))
        orders: list[ShopOrder] = []
        if facts.references:
            order = get_or_create_order(connection, facts.references, at=at)
            facts = store_facts(connection, order, facts, reread)
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
        lock_balances_of(connection, orders, customer, at=at)
        email = facts.customer.get("email", {}).get("email", "")
        values = {"email": email, "is_claim": facts.is_claim, "at": at}
        failures = apply_orders(connection, orders, customer, outcome, **values)
    if outcome.order is not None:
        failures += describe_unclear(outcome.order, facts.order)
        outcome.state = get_state(outcome.order)
    if failures:
        outcome.effects += failures
        outcome.state = ShopEventState.FAILED
    return outcome


def apply_orders(
    connection: Connection,
    orders: Iterable[ShopOrder],
    customer: CustomerFacts,
    outcome: OrderOutcome,
    **values: Any,
) -> list[str]:
    """Apply the order of an event, then earlier ones of its customer.

    Returns which of the earlier ones failed, and why: that undoes no other order.
    """
    failures: list[str] = []
    for order in orders:
        if order is outcome.order:
            outcome.effects += apply_order(connection, order, customer, **values)
            continue
        try:
            with transaction.atomic():
                outcome.effects += apply_order(connection, order, customer, **values)
        except DomainError as error:
            failures.append(EARLIER_FAILED.format(order=order.label, reason=error.text))
    return failures


def describe_unclear(order: ShopOrder, new: OrderFacts) -> list[str]:
    """Return what staff have to correct because of new facts of a sale."""
    if order.conversion_id is None:
        return []
    sale = order.facts["sale"]
    if not list_unclear({"sale": sale, **new}):
        return []
    refunds = order.account.refunds.filter(conversion=order.conversion_id)
    unclear = list_unclear(order.facts, list_refunds_of_others(refunds))
    return [
        UNCLEAR.format(key=key, amounts=amounts, currency=sale["currency"])
        for key, amounts in unclear.items()
    ]


def store_facts(
    connection: Connection,
    order: ShopOrder,
    facts: EventFacts,
    reread: Callable[[Connection], EventFacts],
) -> EventFacts:
    """Store what an event says of an order; return it as the order's settings read it.

    If the event is processed again and there is no sale yet, the present settings count
    from now on, unless refunds are known already: they are stored as the earlier
    settings read them.
    """
    present, known = pick_pricing(connection.settings), order.facts
    sale = known.get("sale")
    if facts.is_claim and sale and not is_claimed(sale):
        return facts
    is_again = order.reason == ShopOrderReason.PROCESSED_AGAIN and order.conversion_id is None
    settings = order.settings
    if settings is None or (is_again and not known.get("refunds")):
        settings = present
    if settings != present:
        facts = reread(with_pricing(connection, settings))
    if is_again and is_as_new(known, facts.order):
        known = {name: fact for name, fact in known.items() if name != "sale"}
    merged = merge_order_facts(known, facts.order)
    label = order.label
    if "sale" in merged and order.conversion_id is None:
        label = describe_sale(connection, order, merged["sale"])
    order.update_row(
        facts=merged,
        label=label,
        name=normalize_order_name(merged.get("sale", {}).get("name", "")) or order.name,
        customer_key=facts.customer_key or order.customer_key,
        settings=settings,
        reason="" if is_signed_now(sale, merged) else order.reason,
    )
    return facts


def is_signed_now(sale: Sale | None, merged: OrderFacts) -> bool:
    """Whether a sale that was claimed has a signature, so that all is decided again."""
    return bool(sale and is_claimed(sale) and not is_claimed(merged["sale"]))


def is_as_new(known: OrderFacts, new: OrderFacts) -> bool:
    """Whether a sale is known no later than the new facts have it."""
    return "sale" in known and "sale" in new and new["sale"]["at"] >= known["sale"]["at"]


def get_types(connection: Connection, order: ShopOrder) -> dict[str, str]:
    """Return the commission types by product that count for an order."""
    settings = connection.settings if order.settings is None else order.settings
    types: dict[str, str] = settings.get("commission_types", {})
    return types


def get_state(order: ShopOrder) -> ShopEventState:
    """Return the state of the events of an order."""
    if order.conversion_id is not None:
        return ShopEventState.DONE
    if waits_for_sale(order.facts):
        return ShopEventState.WAITING
    if order.reason == ShopOrderReason.NO_AMOUNT:
        return ShopEventState.IGNORED
    return ShopEventState.NO_REFERRAL if order.reason else ShopEventState.DONE


def apply_order(
    connection: Connection,
    order: ShopOrder,
    customer: CustomerFacts,
    *,
    email: str,
    is_claim: bool,
    at: datetime,
) -> list[Effect]:
    """Make the sale, its refunds and its disputes agree with what is known.

    `email` is the buyer's, if the event has it; an affiliate may be the buyer. What an
    event says that `is_claim` changes no confirmed sale.
    """
    account, facts = order.account, order.facts
    if "sale" not in facts:
        return [WAITS] if waits_for_sale(facts) else []
    types = get_types(connection, order)
    gross = group_lines(facts["sale"]["lines"], types)
    effects: list[Effect] = []
    forget_claimed_sale(order)
    if order.conversion_id is None and order.reason not in REASONS_OF_NOW:
        return [order.get_reason_display()]  # decided; staff can process the event again
    if order.conversion_id is None:
        effects += create_sale(connection, order, customer, gross, email=email, at=at)
        if order.conversion_id is None:
            return effects
    conversion = get_conversion_of(order)
    if conversion.currency != facts["sale"]["currency"]:
        raise ShopCurrencyChanged(old=conversion.currency, new=facts["sale"]["currency"])
    if (is_claim or is_claimed(facts["sale"])) and conversion.claim_status is None:
        return [*effects, CONFIRMED]
    refunds = list(account.refunds.filter(conversion=conversion).order_by("id"))
    skipped = list_refunds_of_others(refunds)
    if order.is_adopted:
        target = scale_target(order, calculate_target(gross, facts, types, skipped))
    else:
        fitted = fit_lines(order, gross)
        target = calculate_target(fitted, facts, types, skipped)
    reason = f"{connection.name}: {order.label}"
    effects += apply_target(order, conversion, refunds, target, reason=reason, at=at)
    return effects + apply_disputes(order, conversion, facts, at=at)


def create_sale(
    connection: Connection,
    order: ShopOrder,
    customer: CustomerFacts,
    gross: Amounts,
    *,
    email: str,
    at: datetime,
) -> Sequence[Effect]:
    """Create the conversion of an order, or say why there is none."""
    account, sale = connection.account, order.facts["sale"]
    if not any(gross.values()):
        order.update_row(reason=ShopOrderReason.NO_AMOUNT)
        return add_note(order.get_reason_display(), sale)
    external_id = add_prefix(connection, sale["order_id"])
    known = account.conversions.not_deleted().filter(external_id=external_id)
    reported = known.first()
    if reason := find_claim_refusal(connection, sale, reported):
        order.update_row(reason=reason)
        return [order.get_reason_display()]
    if reported is not None and reported.claim_status is None:
        types = get_types(connection, order)
        refunds = account.refunds.filter(conversion=reported)
        skipped = list_refunds_of_others(refunds)
        left = calculate_target(gross, order.facts, types, skipped)
        return adopt_conversion(order, reported, left)
    if is_canceled(order.facts):
        order.update_row(reason="")
        return [CANCELED]
    removed = account.conversions.filter(external_id=external_id, deleted_at__isnull=False)
    if reported is None and order.reason != ShopOrderReason.PROCESSED_AGAIN and removed.exists():
        order.update_row(reason=ShopOrderReason.REMOVED)
        return [order.get_reason_display()]
    parameters = find_sale_parameters(connection, sale, customer, reported)
    if parameters is None:
        record_refusal(account, external_id, MissingTrackingParameter())
        order.update_row(reason=ShopOrderReason.NO_REFERRAL)
        return [explain_no_referral(connection, sale, customer)]
    data = build_sale_data(connection, order, gross, parameters, email=email)
    try:
        conversion = create_conversion(account, data=data, at=at)
    except REFUSALS as error:
        record_refusal(account, external_id, error)
        order.update_row(reason=ShopOrderReason(get_error_code(error)))
        return [order.get_reason_display()]
    rows = list_existing_commissions(conversion)
    store_lines(order, conversion, dict(zip(gross, list_lines(rows), strict=True)))
    suspend_new_commissions(conversion, rows)
    is_claim = is_claimed(sale)
    store_email(connection, conversion.customer, customer, is_claim=is_claim, at=at)
    return describe_created(conversion, sale)


def describe_created(conversion: Conversion, sale: Sale) -> list[str]:
    """Return that a sale was created, and what staff should know of it."""
    amount = describe_amount(conversion.amount, conversion.currency)
    done = CREATED if conversion.claim_status is None else CLAIMED
    effects = add_note(done.format(amount=amount), sale)
    if conversion.currency != (own := conversion.program.currency):
        effects.append(OTHER_CURRENCY.format(own=own, currency=conversion.currency))
    return effects


def add_note(effect: str, sale: Sale) -> list[str]:
    """Return what was done, and what staff should know of the lines of the sale."""
    note = sale.get("note")
    return [effect, note] if note else [effect]


def find_sale_parameters(
    connection: Connection,
    sale: Sale,
    customer: CustomerFacts,
    reported: Conversion | None,
) -> TrackingParameters | None:
    """Return who referred a sale, or the customer of what a page claims of it."""
    parameters = find_parameters(connection, sale, customer)
    if parameters is None and reported is not None:
        # The page knows who referred the customer.
        customer_id = add_prefix(connection, sale["customer"])
        return TrackingParameters(customer_id=customer_id or None)
    return parameters


def build_sale_data(
    connection: Connection,
    order: ShopOrder,
    gross: Amounts,
    parameters: TrackingParameters,
    *,
    email: str,
) -> ConversionData:
    """Return the sale of an order as the service that creates it takes it."""
    sale = order.facts["sale"]
    is_claim = is_claimed(sale)
    return ConversionData(
        parameters=parameters,
        line_items=[
            LineItem(amount, None if name == DEFAULT_COMMISSION_TYPE else name)
            for name, amount in gross.items()
        ],
        external_id=add_prefix(connection, sale["order_id"]),
        currency=sale["currency"],
        occurred_at=datetime.fromisoformat(get_time(sale)),
        is_disputed=is_disputed(order.facts),
        locks_balances=True,  # refunds may follow, and further orders
        email=email,
        trust=Trust.CLAIM if is_claim else Trust.FACT,
        is_browser_sale=is_claim,
    )


def list_refunds_of_others(refunds: Iterable[Refund]) -> set[str]:
    """Return the IDs of refunds that the API or staff have applied to a sale."""
    return {
        refund.external_id
        for refund in refunds
        if refund.external_id and parse_actor(refund.actor).kind != ActorKind.CONNECTION
    }


def adopt_conversion(order: ShopOrder, conversion: Conversion, target: Target) -> list[str]:
    """Use the conversion that was reported in another way, with its own amounts.

    If it stands at what the shop says is left, its refunds were applied there, too.
    Raises `OrderOfAnotherShop` if another connection reported it.
    """
    others = order.account.shop_orders.filter(conversion=conversion)
    if others.exclude(connection=order.connection_id).exists():
        raise OrderOfAnotherShop(order=conversion.external_id)
    rows = list_lines(list_existing_commissions(conversion))
    store_lines(order, conversion, {str(row.pk): row for row in rows}, is_adopted=True)
    refunded = sum(target.refunded.values(), ZERO)
    if refunded and conversion.amount == target.total:
        share = ROUNDING_CONTEXT.divide(target.total + refunded, target.total)
        lines = [{**it, "gross": str(Decimal(it["gross"]) * share)} for it in order.lines]
        order.update_row(lines=lines)
    return ["The sale was reported before: refunds are applied to that conversion."]
