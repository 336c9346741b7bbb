"""Shopify: orders with all of their refunds, refunds, and requests to erase data.

Amounts are texts in the currency of the shop. The lines of an order are those before
refunds; whatever was removed from it later is a refund, too.
"""

import hashlib
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, ClassVar

from affiliate_site.shops.base import (
    BUYS_GIFT_CARDS,
    NO_PARAMETERS,
    PAID_BY_GIFT_CARDS,
    Body,
    Headers,
    OddValue,
    Reader,
    Shop,
    build_customer,
    build_referral,
    build_sale,
    ensure_signed_base64,
    format_iso_time,
    list_link_values,
    list_referral_values,
    parse_iso_time,
    pick_attributes,
    read_amount,
    read_currency,
    read_id,
)
from affiliate_site.shops.lines import take_from_sale
from affiliate_site.shops.shopify_refunds import (
    SHIPPING,
    TEST_ORDER,
    add_up,
    adjust_tax,
    read_refund,
    read_refunds,
    refuses_tests,
)
from payouts.shop_facts import EventFacts, Line, OrderFacts, ShopErasure
from tracking.errors import UnreadableEvent
from tracking.models.shops import Connection, ConnectionKind
from tracking.money import ROUNDING_CONTEXT, ZERO
from tracking.services.inbox import Envelope

PAID = ("paid", "partially_refunded", "refunded")
ENDED_UNPAID = ("voided", "expired")
# The sources of orders that subscriptions make; the first order is one of a checkout.
RENEWALS = ("subscription_contract", "subscription_contract_checkout_one")
GIFT_CARD = "gift_card"  # a name of a gateway
PAID_IN_PART = "A part was paid by a gift card. Shopify does not say how much, so all of it earns."
NOT_PAID = "The order is not paid yet."
NO_TOPIC = "The event has no topic: send it by a webhook of Shopify."
DATA_REQUEST = (
    "A customer asks for a copy of their data: send it to them within 30 days."
    " The command export_person prints what is kept of customer {customer}."
)


def read_order(body: Body, connection: Connection) -> EventFacts:
    """An order: a sale once it is paid, with all refunds that it has now."""
    at, order_id = format_iso_time(body["updated_at"]), read_id(body["id"])
    created_at = format_iso_time(body["created_at"])
    currency, status = read_currency(body["currency"]), body["financial_status"]
    buyer = body.get("customer") or {}
    # A customer may have no ID, such as that of a test notification.
    customer = read_id(buyer["id"]) if buyer.get("id") is not None else ""
    is_canceled = bool(body.get("cancelled_at")) or status in ENDED_UNPAID
    if status not in PAID and not is_canceled:
        return EventFacts(customer_key=customer, ignored=NOT_PAID)
    attributes = read_attributes(body)
    values = [
        *list_referral_values(connection, attributes),
        *list_link_values(connection, body.get("landing_site")),
    ]
    coupons = [it["code"] for it in body.get("discount_codes") or []]
    referral = build_referral(created_at, values, coupons)
    email = body.get("email") or buyer.get("email")
    sale = build_sale(
        at,
        order_id,
        label=f"order {body.get('name') or order_id}",
        currency=currency,
        lines=read_lines(body, connection),
        paid=read_amount(body["total_price"]),
        customer=customer,
        referral=referral,
        attributes=pick_attributes(connection, attributes),
        is_renewal=body.get("source_name") in RENEWALS,
        is_canceled=is_canceled,
        occurred_at=created_at,
        note=describe_gift_cards(body, connection),
        name=body.get("name"),
    )
    refunds = read_refunds(body, at, connection)
    order: OrderFacts = {"sale": sale, "refunds": refunds}
    facts = build_customer(at, referral, email)
    return EventFacts([order_id], order, customer, facts)


def read_attributes(body: Body) -> dict[str, Any]:
    """Return the attributes of an order and of its lines; the order's come first."""
    lines = [it for line in body["line_items"] for it in line.get("properties") or []]
    own = body.get("note_attributes") or []
    return {str(it["name"]): it["value"] for it in [*lines, *own]}


def read_lines(body: Body, connection: Connection) -> list[Line]:
    """Return the lines as they earn: after discounts, by default without tax."""
    has_tax = connection.settings.get("includes_tax")
    is_tax_included = bool(body.get("taxes_included"))
    has_cards = connection.settings.get("includes_gift_cards")
    is_paid_by_cards = has_cards and find_gift_cards(body) == "all"
    lines: list[Line] = []
    for source in body["line_items"]:
        quantity, price = read_amount(source["quantity"]), read_amount(source["price"])
        amount = ROUNDING_CONTEXT.multiply(price, quantity)
        amount -= add_up(source.get("discount_allocations"), "amount")
        tax = add_up(source.get("tax_lines"), "price")
        amount = adjust_tax(amount, tax, has_tax=has_tax, is_included=is_tax_included)
        ids = [source.get(name) for name in ("sku", "variant_id", "product_id")]
        line: Line = {
            "id": read_id(source["id"]),
            "products": [str(each) for each in ids if each],
            "amount": str(max(amount, ZERO)),
        }
        is_card = source.get("gift_card") and not has_cards
        lines.append(take_from_sale(line) if is_card or is_tip(source) else line)
    if connection.settings.get("includes_shipping"):
        amount = tax = ZERO
        for source in body.get("shipping_lines") or []:
            name = "discounted_price" if "discounted_price" in source else "price"
            amount += read_amount(source[name])
            tax += add_up(source.get("tax_lines"), "price")
        amount = adjust_tax(amount, tax, has_tax=has_tax, is_included=is_tax_included)
        lines.append({"id": SHIPPING, "products": [], "amount": str(amount)})
    return list(map(take_from_sale, lines)) if is_paid_by_cards else lines


def is_tip(line: Mapping[str, Any]) -> bool:
    """Whether a line is a tip: only those have its gateway, which may be null."""
    return "tip_payment_gateway" in line or "tip_payment_method" in line


def find_gift_cards(body: Body) -> str:
    """Return whether gift cards paid `all` of an order, or a `part`; empty: nothing."""
    gateways = set(body.get("payment_gateway_names") or [])
    if GIFT_CARD not in gateways:
        return ""
    return "part" if gateways - {GIFT_CARD} else "all"


def describe_gift_cards(body: Body, connection: Connection) -> str:
    """Return what staff should know of gift cards that an order buys or is paid by."""
    if not connection.settings.get("includes_gift_cards"):
        is_bought = any(it.get("gift_card") for it in body["line_items"])
        return BUYS_GIFT_CARDS if is_bought else ""
    notes = {"all": PAID_BY_GIFT_CARDS, "part": PAID_IN_PART}
    return notes.get(find_gift_cards(body), "")


def read_erasure(body: Body, connection: Connection) -> EventFacts:
    """A customer whose data the shop wants erased."""
    customer, orders = body["customer"], body["orders_to_redact"]
    key = read_id(customer["id"])
    erasure = ShopErasure(key, [read_id(order) for order in orders or []])
    return EventFacts(customer_key=key, erasure=erasure)


def read_shop_erasure(body: Body, connection: Connection) -> EventFacts:
    """The end of the app in a shop: all personal data is erased."""
    if "customer" in body:
        raise OddValue("it is about one customer")
    read_id(body["shop_id"])
    return EventFacts(erasure=ShopErasure(is_whole_shop=True))


def read_data_request(body: Body, connection: Connection) -> EventFacts:
    """A customer who wants a copy of their data, which staff send."""
    key = read_id(body["customer"]["id"])
    return EventFacts(customer_key=key, ignored=DATA_REQUEST.format(customer=key))


class ShopifyShop(Shop):
    """Shopify, which signs the body with one secret for all webhooks of a shop."""

    kind = ConnectionKind.SHOPIFY
    readers: ClassVar[Mapping[str, Reader]] = {
        "orders/create": read_order,
        "orders/paid": read_order,
        "orders/updated": read_order,
        "orders/cancelled": read_order,
        "refunds/create": read_refund,
        "customers/redact": read_erasure,
        "customers/data_request": read_data_request,
        "shop/redact": read_shop_erasure,
    }
    slow_kinds: ClassVar[Collection[str]] = ("shop/redact",)
    ignored: ClassVar[Mapping[str, str]] = {
        "orders/edited": "It has no amounts: the event orders/updated counts.",
        "orders/fulfilled": "Nothing that counts has changed.",
        "orders/partially_fulfilled": "Nothing that counts has changed.",
        "customers/create": "A customer counts with its first order.",
        "customers/update": "Nothing that counts has changed.",
    }

    def verify(
        self,
        connection: Connection,
        headers: Headers,
        raw: bytes,
        *,
        at: datetime,
        parameters: Mapping[str, str] = NO_PARAMETERS,
    ) -> None:
        signature = headers.get("X-Shopify-Hmac-Sha256", "")
        ensure_signed_base64(connection.secrets, signature, raw)

    def identify(
        self,
        connection: Connection,
        headers: Headers,
        body: Body,
        raw: bytes,
        *,
        at: datetime,
    ) -> Envelope:
        topic = headers.get("X-Shopify-Topic", "")
        event = headers.get("X-Shopify-Event-Id") or headers.get("X-Shopify-Webhook-Id")
        if not topic or not event:
            raise UnreadableEvent(what=NO_TOPIC)
        # One act in the shop can cause events of several topics and orders.
        key = f"{event} {topic} {hashlib.sha256(raw).hexdigest()[:16]}"
        triggered_at = headers.get("X-Shopify-Triggered-At")
        occurred_at = parse_iso_time(triggered_at) if triggered_at else at
        return Envelope(key, topic, occurred_at, raw.decode())

    def read(
        self,
        kind: str,
        body: Body,
        connection: Connection,
        *,
        at: datetime | None = None,
    ) -> EventFacts:
        if body.get("test") and refuses_tests(connection):
            return EventFacts(ignored=TEST_ORDER)
        return super().read(kind, body, connection, at=at)
