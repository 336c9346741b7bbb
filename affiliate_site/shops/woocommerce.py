"""WooCommerce: orders, each event with all of its order and the refunds of it.

A refund that the order no longer has was deleted. Amounts are texts; those of lines are
without tax and after discounts.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar

from affiliate_site.shops.base import (
    BUYS_GIFT_CARDS,
    NO_PARAMETERS,
    PAID_BY_GIFT_CARDS,
    Body,
    Headers,
    Reader,
    Shop,
    build_customer,
    build_lines,
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
    read_list,
    read_signed,
    take_from_sale,
)
from payouts.shop_facts import EventFacts, Line, OrderFacts, RefundFact
from tracking.errors import UnreadableEvent
from tracking.models.shops import Connection, ConnectionKind
from tracking.money import ZERO, round_amount
from tracking.services.inbox import Envelope

PAID = ("processing", "completed")
# What a status comes after within one second.
RANKS = {
    name: rank
    for rank, name in enumerate(
        ("failed", "processing", "completed", "cancelled", "refunded", "trash"), 1
    )
}
UNPAID = ("pending", "on-hold", "checkout-draft", "auto-draft", "draft")
CANCELED = ("cancelled", "failed", "trash")
REFUNDED = "refunded"
LANDING_PAGES = ("_wc_order_attribution_session_entry", "landing_page")
# How the metadata of lines begins that are gift cards, by plugin: those of
# WooCommerce, PW and YITH.
GIFT_CARD_FIELDS = ("wc_gc_giftcard", "pw_gift_card", "ywgc_")
RENEWAL = "_subscription_renewal"
RECEIVED_AT = "received_at"  # added where the time of the body is not enough
NOT_PAID = "The order is not paid yet."
NO_TOPIC = "The event has no topic: send it by a webhook of WooCommerce."


def read_order(body: Body, connection: Connection) -> EventFacts:
    """An order: a sale once it is paid, with the refunds that it has now."""
    at, order_id = format_iso_time(body["date_modified_gmt"]), read_id(body["id"])
    if RECEIVED_AT in body:  # restored, after the deletion, which has our time, too
        at = max(at, format_iso_time(body[RECEIVED_AT]))
    status, currency = str(body["status"]), read_currency(body["currency"])
    customer = read_id(body.get("customer_id") or "0").removeprefix("0")
    created_at = format_iso_time(body["date_created_gmt"])
    cards = ZERO  # which paid a part that earns, and that the total does not have
    if not connection.settings.get("includes_gift_cards"):
        cards = sum((read_amount(it["amount"]) for it in list_cards(body)), ZERO)
    paid = read_amount(body["total"]) + cards
    refunds = read_refunds(read_list(body.get("refunds")), at, currency)
    attributes = {
        str(it["key"]): it["value"] for it in read_list(body.get("meta_data"))
    }
    values = list_referral_values(connection, attributes)
    for name in LANDING_PAGES:
        values += list_link_values(connection, attributes.get(name))
    coupons = [it["code"] for it in read_list(body.get("coupon_lines"))]
    referral = build_referral(created_at, values, coupons)
    email = (body.get("billing") or {}).get("email")
    facts = build_customer(at, referral, email)
    if not has_ended(body, status):
        return EventFacts(customer_key=customer, ignored=NOT_PAID)
    subscription = str(attributes.get(RENEWAL) or "")
    left = paid - sum((Decimal(it["amount"]) for it in refunds.values()), ZERO)
    sale = build_sale(
        at,
        order_id,
        label=f"order {body.get('number') or order_id}",
        currency=currency,
        lines=read_lines(body, paid, currency, connection),
        paid=paid,
        customer=customer,
        referral=referral,
        attributes=pick_attributes(connection, attributes),
        subscription=subscription,
        is_renewal=bool(subscription),
        is_canceled=status in CANCELED or (status == REFUNDED and left > ZERO),
        occurred_at=created_at,
        rank=RANKS.get(status, 0),
        note=describe_gift_cards(body, connection),
        name=body.get("number"),
    )
    order: OrderFacts = {
        "sale": sale,
        "refunds": refunds,
        "refund_list": {"at": at, "ids": ",".join(sorted(refunds))},
    }
    return EventFacts([order_id], order, customer, facts)


def has_ended(body: Body, status: str) -> bool:
    """Whether an order was paid or canceled.

    One in a status that the shop invented was paid if it has a day of payment.
    """
    if status in (*PAID, *CANCELED, REFUNDED):
        return True
    return status not in UNPAID and bool(body.get("date_paid_gmt"))


def read_refunds(
    refunds: Iterable[Mapping[str, Any]], at: str, currency: str
) -> dict[str, RefundFact]:
    """Return the refunds of an order by ID; their totals are below zero."""
    return {
        read_id(refund["id"]): {
            "at": at,
            "amount": str(abs(read_signed(refund["total"]))),
            "currency": currency,
            "lines": {},
            "is_canceled": False,
        }
        for refund in refunds
    }


def read_lines(
    body: Body, paid: Decimal, currency: str, connection: Connection
) -> list[Line]:
    """Return the lines of products, fees and perhaps shipping, as they earn."""
    has_tax = bool(connection.settings.get("includes_tax"))
    has_shipping = bool(connection.settings.get("includes_shipping"))
    total = paid
    if not has_tax:
        total -= read_amount(body["total_tax"])
    if not has_shipping:
        total -= read_amount(body["shipping_total"])
        total -= read_amount(body.get("shipping_tax") or 0) if has_tax else ZERO
    sources = [*read_list(body["line_items"]), *read_list(body.get("fee_lines"))]
    if has_shipping:
        sources += read_list(body.get("shipping_lines"))
    lines = [read_line(source, currency, has_tax=has_tax) for source in sources]
    lines = build_lines(lines, round_amount(total, currency), currency)
    if connection.settings.get("includes_gift_cards"):
        return lines
    cards = {str(source["id"]) for source in sources if is_gift_card(source)}
    return [take_from_sale(line) if line["id"] in cards else line for line in lines]


def list_cards(body: Body) -> list[Mapping[str, Any]]:
    """Return the gift cards that paid a part of an order, if the plugin lists them."""
    return read_list(body.get("gift_cards"))


def is_gift_card(line: Mapping[str, Any]) -> bool:
    """Whether a line buys a gift card, by the metadata that plugins give it."""
    names = [str(it["key"]).lstrip("_") for it in read_list(line.get("meta_data"))]
    return any(name.startswith(GIFT_CARD_FIELDS) for name in names)


def describe_gift_cards(body: Body, connection: Connection) -> str:
    """Return what staff should know of gift cards that an order buys or is paid by."""
    if not connection.settings.get("includes_gift_cards"):
        lines = read_list(body["line_items"])
        return BUYS_GIFT_CARDS if any(map(is_gift_card, lines)) else ""
    return PAID_BY_GIFT_CARDS if list_cards(body) else ""


def read_line(source: Mapping[str, Any], currency: str, *, has_tax: bool) -> Line:
    """Return a line; a fee below zero is a discount."""
    amount = read_signed(source["total"])
    if has_tax:
        amount += read_signed(source.get("total_tax") or 0)
    ids = [source.get(name) for name in ("sku", "variation_id", "product_id")]
    return {
        "id": str(source["id"]),
        "products": [str(each) for each in ids if each],
        "amount": str(round_amount(amount, currency)),
    }


def read_deletion(body: Body, connection: Connection) -> EventFacts:
    """An order that was deleted or moved to the trash: its body is only its ID.

    The sale, which may come later, is canceled until the order is restored.
    """
    at = format_iso_time(body[RECEIVED_AT])
    return EventFacts([read_id(body["id"])], {"removal": {"at": at}})


class WooCommerceShop(Shop):
    """WooCommerce, which signs the body with the secret of the webhook."""

    kind = ConnectionKind.WOOCOMMERCE
    readers: ClassVar[Mapping[str, Reader]] = {
        "order.created": read_order,
        "order.updated": read_order,
        "order.restored": read_order,
        "order.deleted": read_deletion,
    }
    ignored: ClassVar[Mapping[str, str]] = {
        "coupon.created": "Coupons are mapped in the settings of the connection.",
        "customer.created": "A customer counts with its first order.",
        "customer.updated": "Nothing that counts has changed.",
        "customer.deleted": "Orders stay, so does the customer who made them.",
    }

    def is_ping(self, headers: Headers, raw: bytes) -> bool:
        is_signed = "X-WC-Webhook-Signature" in headers
        return not is_signed and raw.startswith(b"webhook_id=") and len(raw) < 40

    def verify(
        self,
        connection: Connection,
        headers: Headers,
        raw: bytes,
        *,
        at: datetime,
        parameters: Mapping[str, str] = NO_PARAMETERS,
    ) -> None:
        signature = headers.get("X-WC-Webhook-Signature", "")
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
        topic = headers.get("X-WC-Webhook-Topic", "")
        if not topic:
            raise UnreadableEvent(what=NO_TOPIC)
        # Deliveries of one webhook within a second have one ID.
        delivery = headers.get("X-WC-Webhook-Delivery-ID", "")
        key = f"{delivery} {hashlib.sha256(raw).hexdigest()[:32]}"
        text, occurred_at = raw.decode(), at
        if topic == "order.restored":
            text = json.dumps(body | {RECEIVED_AT: at.isoformat()}, default=str)
        if modified_at := body.get("date_modified_gmt"):
            occurred_at = parse_iso_time(modified_at)
        elif topic == "order.deleted":
            deletion = {"id": read_id(body["id"]), RECEIVED_AT: at.isoformat()}
            text = json.dumps(deletion)
        return Envelope(key, topic, occurred_at, text)
