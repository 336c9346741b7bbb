"""WooCommerce: orders, each event with all of its order and the refunds of it.

A refund that the order no longer has was deleted. Amounts are texts; those of lines are
without tax and after discounts.
"""

import hashlib
import json
from collections.abc import Mapping
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
)
from affiliate_site.shops.lines import (
    build_lines,
    build_refund,
    scale_refund,
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
REFUNDED_LINE = "_refunded_item_id"
REFUNDED_LINES = ("line_items", "fee_lines", "shipping_lines")
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
    refunds = read_refunds(body, paid, at, currency, connection)
    attributes = {str(it["key"]): it["value"] for it in read_list(body.get("meta_data"))}
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
    left = paid - add_up_refunds(body)
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
    body: Body, paid: Decimal, at: str, currency: str, connection: Connection
) -> dict[str, RefundFact]:
    """Return the refunds of an order by ID; the last one takes the rest if all was."""
    found = {
        read_id(refund["id"]): read_refund(refund, at, currency, connection)
        for refund in read_list(body.get("refunds"))
    }
    if found and add_up_refunds(body) >= paid:
        found[max(found)]["amount"] = str(paid)
    return found


def add_up_refunds(body: Body) -> Decimal:
    """Return what was paid back of an order, with tax and shipping."""
    refunds = read_list(body.get("refunds"))
    return sum((abs(read_signed(it["total"])) for it in refunds), ZERO)


def read_refund(
    refund: Mapping[str, Any], at: str, currency: str, connection: Connection
) -> RefundFact:
    """Return a refund; its amounts are below zero.

    Only the plugin adds what it is of. What was given on top of the lines is a part of
    what was paid; who got less back loses that part of each line.
    """
    has_tax = bool(connection.settings.get("includes_tax"))
    has_shipping = bool(connection.settings.get("includes_shipping"))
    total, value = abs(read_signed(refund["total"])), ZERO
    lines: dict[str, Decimal] = {}
    for name in REFUNDED_LINES:
        for item in read_list(refund.get(name)):
            net = -read_signed(item["total"])
            tax = -read_signed(item.get("total_tax") or 0)
            value += net + tax
            amount = net + tax if has_tax else net
            if amount > ZERO and (has_shipping or name != "shipping_lines"):
                line = find_refunded_line(item)
                lines[line] = lines.get(line, ZERO) + amount
    if total < value:
        lines = scale_refund(lines, total, value, currency)
    return build_refund(at, max(total - value, ZERO), lines, currency)


def find_refunded_line(item: Mapping[str, Any]) -> str:
    """Return the ID of the line of an order that a refund is of; empty if unknown."""
    fields = {it["key"]: it["value"] for it in read_list(item.get("meta_data"))}
    return str(fields.get(REFUNDED_LINE, ""))


def read_lines(body: Body, paid: Decimal, currency: str, connection: Connection) -> list[Line]:
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
