"""Paddle Billing: transactions, adjustments and subscriptions.

An order is a transaction; adjustments (refunds, credits, chargebacks) name it. Amounts
are texts in the lowest unit of the currency. The sandbox signs with other secrets.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from affiliate_site.shops.base import (
    NO_PARAMETERS,
    Body,
    Headers,
    Reader,
    Shop,
    WrongSignature,
    build_referral,
    build_sale,
    ensure_recent,
    ensure_signed,
    format_iso_time,
    list_referral_values,
    parse_iso_time,
    pick_attributes,
    read_currency,
    read_minor_units,
    sign,
)
from affiliate_site.shops.lines import build_lines
from payouts.shop_facts import CustomerFacts, EventFacts, Line, OrderFacts, Referral
from tracking.errors import UnreadableEvent
from tracking.models.shops import Connection, ConnectionKind
from tracking.services.inbox import Envelope

RENEWAL = "subscription_recurring"
SUBSCRIPTION_STATES: dict[str, Any] = {
    "trialing": "trial",
    "active": "active",
    "past_due": "active",
    "paused": "active",
    "canceled": "canceled",
}
# A credit reduces what its transaction earned; what it pays later earns in full.
REFUNDS = ("refund", "credit")
FULL = "full"  # of all that a transaction charged
# By action, the state of the dispute about a transaction.
DISPUTE_STATES: dict[str, Any] = {
    "chargeback_warning": "open",
    "chargeback_warning_reverse": "won",
    "chargeback": "lost",
    "chargeback_reverse": "won",
}
PENDING = "Paddle has not approved this adjustment yet."
CREDIT_REVERSED = "The update of the credit itself says that it is reversed."
UNKNOWN_ACTION = "This kind of adjustment moves no money of a sale."
NO_TIME = "The occurred_at of the event is no time."
NO_SIGNATURE = "The header Paddle-Signature is missing or has no h1."


def read_transaction(body: Body, connection: Connection) -> EventFacts:
    """A completed transaction: a first payment, a renewal, or any other sale."""
    transaction, at = body["data"], format_iso_time(body["occurred_at"])
    currency = read_currency(transaction["currency_code"])
    details = transaction["details"]
    total = read_minor_units(details["totals"]["total"], currency)
    units = count_units(details["totals"], connection)
    earning = read_minor_units(units, currency, is_signed=True)
    lines = [read_line(line, currency, connection) for line in details["line_items"]]
    attributes = transaction.get("custom_data") or {}
    referral = read_referral(transaction, at, connection)
    customer = transaction.get("customer_id") or ""
    sale = build_sale(
        at,
        transaction["id"],
        label=f"transaction {transaction['id']}",
        currency=currency,
        lines=build_lines(lines, earning, currency),
        paid=total,
        customer=customer,
        referral=referral,
        attributes=pick_attributes(connection, attributes),
        subscription=transaction.get("subscription_id") or "",
        is_renewal=transaction.get("origin") == RENEWAL,
        name=transaction.get("invoice_number"),
    )
    facts = build_customer(referral) if customer else CustomerFacts()
    return EventFacts([transaction["id"]], {"sale": sale}, customer, facts)


def count_units(totals: Mapping[str, Any], connection: Connection) -> int:
    """Return the units that earn commissions, after discounts."""
    has_tax = connection.settings.get("includes_tax")
    return read_units(totals["total"]) - (0 if has_tax else read_units(totals["tax"]))


def read_units(value: Any) -> int:
    """Return whole units, which a proration may take below zero."""
    return int(str(value))


def read_line(line: Mapping[str, Any], currency: str, connection: Connection) -> Line:
    """Return a line as it earns commissions."""
    units = count_units(line["totals"], connection)
    ids = (line.get("price_id"), (line.get("product") or {}).get("id"))
    return {
        "id": str(line["id"]),
        "products": [str(each) for each in ids if each],
        "amount": str(read_minor_units(units, currency, is_signed=True)),
    }


def read_adjustment(body: Body, connection: Connection) -> EventFacts:
    """A refund, credit or chargeback of a transaction, or its end."""
    adjustment = body["data"]
    action, status = adjustment["action"], adjustment["status"]
    if action == "credit_reverse":
        return EventFacts(ignored=CREDIT_REVERSED)
    if action not in REFUNDS and action not in DISPUTE_STATES:
        return EventFacts(ignored=UNKNOWN_ACTION)
    if status == "pending_approval":
        return EventFacts(ignored=PENDING)
    is_canceled = status != "approved"
    if action in REFUNDS:
        order = read_refund(body, connection, is_canceled=is_canceled)
    else:
        order = read_dispute(body, is_canceled=is_canceled)
    return EventFacts([adjustment["transaction_id"]], order)


def read_refund(body: Body, connection: Connection, *, is_canceled: bool) -> OrderFacts:
    """Return a refund or credit, by line if it names the lines."""
    adjustment, at = body["data"], format_iso_time(body["occurred_at"])
    currency = read_currency(adjustment["currency_code"])
    units: dict[str, int] = {}
    for item in adjustment.get("items") or []:
        name = str(item["item_id"])
        units[name] = units.get(name, 0) + count_units(item["totals"], connection)
    amount = adjustment["totals"]["total"] if not units else 0
    return {
        "refunds": {
            adjustment["id"]: {
                "at": at,
                "amount": str(read_minor_units(amount, currency)),
                "currency": currency,
                "is_full": adjustment.get("type") == FULL,
                "lines": {
                    name: str(read_minor_units(value, currency, is_signed=True))
                    for name, value in units.items()
                },
                "is_canceled": is_canceled,
            }
        }
    }


def read_dispute(body: Body, *, is_canceled: bool) -> OrderFacts:
    """Return the state of the dispute about a transaction.

    A reversal is another adjustment, which does not name the one that it reverses; so
    all of a transaction are one dispute, whose newest state counts.
    """
    adjustment = body["data"]
    currency = read_currency(adjustment["currency_code"])
    amount = read_minor_units(adjustment["totals"]["total"], currency)
    # Whatever else is updated later is no news of an approved one.
    changed_at = body["occurred_at"] if is_canceled else adjustment["created_at"]
    return {
        "disputes": {
            f"{adjustment['transaction_id']} chargeback": {
                "at": format_iso_time(changed_at),
                "amount": str(amount),
                "currency": currency,
                "is_full": adjustment.get("type") == FULL,
                "state": "won" if is_canceled else DISPUTE_STATES[adjustment["action"]],
            }
        }
    }


def read_subscription(body: Body, connection: Connection) -> EventFacts:
    """A subscription: on trial, active or canceled, and who referred its customer."""
    subscription, at = body["data"], format_iso_time(body["occurred_at"])
    facts = build_customer(read_referral(subscription, at, connection))
    state = SUBSCRIPTION_STATES[subscription["status"]]
    facts["subscriptions"] = {subscription["id"]: {"at": at, "state": state}}
    return EventFacts(customer_key=subscription["customer_id"], customer=facts)


def read_referral(source: Mapping[str, Any], at: str, connection: Connection) -> Referral | None:
    values = list_referral_values(connection, source.get("custom_data") or {})
    discount = source.get("discount") or {}
    return build_referral(at, values, [source.get("discount_id"), discount.get("id")])


def build_customer(referral: Referral | None) -> CustomerFacts:
    """Return what is known of a customer."""
    return {"referral": referral} if referral else {}


def read_text(body: Body, name: str) -> str:
    """Return a text of the envelope; raise `UnreadableEvent` if there is none."""
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise UnreadableEvent(what=f"The event has no {name}.")
    return value


class PaddleShop(Shop):
    """Paddle Billing, which signs the time and the body."""

    kind = ConnectionKind.PADDLE
    readers: ClassVar[Mapping[str, Reader]] = {
        "transaction.completed": read_transaction,
        "adjustment.created": read_adjustment,
        "adjustment.updated": read_adjustment,
        "subscription.created": read_subscription,
        "subscription.imported": read_subscription,
        "subscription.trialing": read_subscription,
        "subscription.activated": read_subscription,
        "subscription.updated": read_subscription,
        "subscription.past_due": read_subscription,
        "subscription.paused": read_subscription,
        "subscription.resumed": read_subscription,
        "subscription.canceled": read_subscription,
    }
    ignored: ClassVar[Mapping[str, str]] = {
        "customer.created": "A customer counts with its first sale or trial.",
        "customer.imported": "A customer counts with its first sale or trial.",
        "customer.updated": "Nothing that counts has changed.",
        "transaction.created": "Nothing was paid yet.",
        "transaction.ready": "Nothing was paid yet.",
        "transaction.billed": "Nothing was paid yet.",
        "transaction.past_due": "Nothing was paid yet.",
        "transaction.payment_failed": "Nothing was paid.",
        "transaction.canceled": "Nothing was paid.",
        "transaction.paid": "The event transaction.completed counts.",
        "transaction.updated": "The event transaction.completed counts.",
        "transaction.revised": "The amounts of a transaction do not change.",
    }

    def verify(
        self, connection, headers: Headers, raw: bytes, *, at, parameters=NO_PARAMETERS
    ) -> None:
        parts = headers.get("Paddle-Signature", "").split(";")
        pairs = [part.strip().split("=", 1) for part in parts if "=" in part]
        signatures = [value for name, value in pairs if name == "h1"]
        if not signatures:
            raise WrongSignature(NO_SIGNATURE)
        timestamp = dict(pairs).get("ts", "")
        ensure_recent(timestamp, at=at)
        signed = timestamp.encode() + b":" + raw
        ensure_signed(connection.secrets, signatures, lambda secret: sign(secret, signed).hex())

    def identify(self, connection, headers, body: Body, raw: bytes, *, at) -> Envelope:
        try:
            occurred_at = parse_iso_time(read_text(body, "occurred_at"))
        except ValueError as error:
            raise UnreadableEvent(what=NO_TIME) from error
        key, kind = read_text(body, "event_id"), read_text(body, "event_type")
        return Envelope(key, kind, occurred_at, raw.decode())
