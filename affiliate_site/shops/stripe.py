"""Stripe: checkouts, invoices, refunds, disputes and subscriptions.

An order is an invoice or, without one, a checkout; refunds and disputes name its charge
or payment intent. Older and newer versions of Stripe's API are read.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from affiliate_site.shops.base import (
    NO_PARAMETERS,
    Body,
    Headers,
    OddValue,
    Reader,
    Shop,
    WrongSignature,
    build_customer,
    build_referral,
    build_sale,
    ensure_recent,
    format_unix_time,
    list_referral_values,
    parse_unix_time,
    pick_attributes,
    read_currency,
    read_minor_units,
    show_value,
)
from affiliate_site.shops.stripe_invoices import (
    EXPONENTS,
    count_earning,
    list_discounts,
    list_ids,
    read_invoice,
    read_invoice_payment,
    read_units,
)
from payouts.shop_facts import (
    EventFacts,
    Line,
    OrderFacts,
    RefundFact,
    RefundTotal,
)
from tracking.errors import UnreadableEvent
from tracking.models.shops import Connection, ConnectionKind, ConnectionMode
from tracking.services.connections import REFERENCE_MAY_BE_CODE
from tracking.services.inbox import Envelope

SUBSCRIPTION_STATES: dict[str, Any] = {
    "trialing": "trial",
    "active": "active",
    "past_due": "active",
    "paused": "active",
    "unpaid": "canceled",
    "canceled": "canceled",
    "incomplete_expired": "canceled",
}
# An appeal reopens the dispute.
DISPUTE_STATES: dict[str, Any] = {
    "warning_needs_response": "inquiry",
    "warning_under_review": "inquiry",
    "warning_closed": "won",
    "prevented": "won",
    "needs_response": "open",
    "under_review": "open",
    "appeal_needs_response": "open",
    "appeal_under_review": "open",
    "won": "won",
    "lost": "lost",
}
CANCELED_REFUNDS = ("failed", "canceled")
TEST_EVENT = "A test event: a live connection takes only events of live mode."
UNPAID = "The payment is not complete yet."
THIN_EVENT = (
    "A thin event has no amounts: in Stripe, choose snapshot payloads for this destination."
)


def read_checkout(body: Body, connection: Connection) -> EventFacts:
    """A checkout: a sale once it is paid, and who referred the customer."""
    session, at = body["data"]["object"], format_unix_time(body["created"])
    customer = session.get("customer") or ""
    reference = [session.get("client_reference_id")]
    values = list_referral_values(connection, session.get("metadata") or {})
    coupons = list_discounts(session)
    # It may be the shop's own ID of a customer, which happens to be a referral code.
    if connection.settings.get(REFERENCE_MAY_BE_CODE, True):
        referral = build_referral(at, [*reference, *values], coupons)
    else:
        referral = build_referral(at, values, coupons, tracking_ids=reference)
    facts = build_customer(at, referral, (session.get("customer_details") or {}).get("email"))
    references = list_ids(session, "id", "invoice", "payment_intent")
    if session["mode"] != "payment":
        return EventFacts(customer_key=customer, customer=facts)
    if session["payment_status"] == "unpaid":
        return EventFacts(references=references, customer_key=customer, customer=facts)
    currency = read_currency(session["currency"])
    paid = read_minor_units(session["amount_total"], currency, EXPONENTS)
    totals = session.get("total_details") or {}
    shipping = session.get("shipping_cost") or {"amount_total": totals.get("amount_shipping")}
    tax = read_units(totals.get("amount_tax"), currency)
    total = count_earning(paid, tax, shipping, currency, connection)
    line: Line = {
        "id": "",
        "products": list_ids(session, "payment_link"),
        "amount": str(total),
    }
    sale = build_sale(
        at,
        list_ids(session, "invoice", "payment_intent", "id")[0],
        label=f"checkout {session['id']}",
        currency=currency,
        lines=[line],
        paid=paid,
        customer=customer,
        referral=referral,
        attributes=pick_attributes(connection, session.get("metadata") or {}),
    )
    return EventFacts(references, {"sale": sale}, customer, facts)


def read_charge(body: Body, connection: Connection) -> EventFacts:
    """A refunded charge: how much of it was refunded in all."""
    charge, at = body["data"]["object"], format_unix_time(body["created"])
    currency = read_currency(charge["currency"])
    amount = read_minor_units(charge["amount_refunded"], currency, EXPONENTS)
    references = list_ids(charge, "id", "payment_intent", "invoice")
    total: RefundTotal = {
        "at": at,
        "amount": str(amount),
        "currency": currency,
        "is_full": bool(charge.get("refunded")),
        "payment": "".join(list_ids(charge, "payment_intent")),
    }
    return EventFacts(references, {"refund_totals": {charge["id"]: total}})


def read_refund(body: Body, connection: Connection) -> EventFacts:
    """A refund by itself; one that failed or was canceled gives the money back."""
    refund, at = body["data"]["object"], format_unix_time(body["created"])
    currency = read_currency(refund["currency"])
    amount = read_minor_units(refund["amount"], currency, EXPONENTS)
    references = list_ids(refund, "charge", "payment_intent")
    fact: RefundFact = {
        "at": at,
        "amount": str(amount),
        "currency": currency,
        "lines": {},
        "is_canceled": refund["status"] in CANCELED_REFUNDS,
        "charge": references[0],
    }
    if len(references) > 1:
        fact["payment"] = references[1]
    return EventFacts(references, {"refunds": {refund["id"]: fact}})


def read_dispute(body: Body, connection: Connection) -> EventFacts:
    """A dispute, or what became of it."""
    dispute, at = body["data"]["object"], format_unix_time(body["created"])
    currency = read_currency(dispute["currency"])
    amount = read_minor_units(dispute["amount"], currency, EXPONENTS)
    if (status := dispute["status"]) not in DISPUTE_STATES:
        raise OddValue(f"{show_value(status)} is no known state of a dispute")
    order: OrderFacts = {
        "disputes": {
            dispute["id"]: {
                "at": at,
                "amount": str(amount),
                "currency": currency,
                "state": DISPUTE_STATES[status],
            }
        }
    }
    return EventFacts(list_ids(dispute, "charge", "payment_intent"), order)


def read_subscription(body: Body, connection: Connection) -> EventFacts:
    """A subscription: on trial, active or canceled, and who referred its customer."""
    subscription, at = body["data"]["object"], format_unix_time(body["created"])
    state = SUBSCRIPTION_STATES.get(subscription["status"])
    if state is None:
        return EventFacts(ignored=UNPAID)
    values = list_referral_values(connection, subscription.get("metadata") or {})
    referral = build_referral(at, values, list_discounts(subscription))
    facts = build_customer(at, referral)
    facts["subscriptions"] = {subscription["id"]: {"at": at, "state": state}}
    return EventFacts(customer_key=subscription["customer"], customer=facts)


def read_removed_customer(body: Body, connection: Connection) -> EventFacts:
    """A customer that the shop removed."""
    at = format_unix_time(body["created"])
    customer = body["data"]["object"]["id"]
    return EventFacts(customer_key=customer, customer={"removal": {"at": at}})


def read_customer_discount(body: Body, connection: Connection) -> EventFacts:
    """A discount of a customer, which names who referred them."""
    discount, at = body["data"]["object"], format_unix_time(body["created"])
    referral = build_referral(at, [], list_discounts({"discount": discount}))
    (customer,) = list_ids(discount, "customer")
    return EventFacts(customer_key=customer, customer=build_customer(at, referral))


class StripeShop(Shop):
    """Stripe, whose library verifies the signature."""

    kind = ConnectionKind.STRIPE
    readers: ClassVar[Mapping[str, Reader]] = {
        "checkout.session.completed": read_checkout,
        "checkout.session.async_payment_succeeded": read_checkout,
        "invoice.paid": read_invoice,
        "invoice_payment.paid": read_invoice_payment,
        "charge.refunded": read_charge,
        "refund.created": read_refund,
        "refund.updated": read_refund,
        "refund.failed": read_refund,
        "charge.refund.updated": read_refund,
        "charge.dispute.created": read_dispute,
        "charge.dispute.updated": read_dispute,
        "charge.dispute.closed": read_dispute,
        "charge.dispute.funds_withdrawn": read_dispute,
        "charge.dispute.funds_reinstated": read_dispute,
        "customer.subscription.created": read_subscription,
        "customer.subscription.updated": read_subscription,
        "customer.subscription.deleted": read_subscription,
        "customer.discount.created": read_customer_discount,
        "customer.deleted": read_removed_customer,
    }
    ignored: ClassVar[Mapping[str, str]] = {
        "charge.succeeded": "The invoice or checkout of this charge counts.",
        "payment_intent.succeeded": "The invoice or checkout of this payment counts.",
        "invoice.payment_succeeded": "The event invoice.paid counts.",
        "credit_note.created": "What it pays back is an event of its own.",
        "credit_note.updated": "What it pays back is an event of its own.",
        "credit_note.voided": "What it pays back is an event of its own.",
        "checkout.session.async_payment_failed": "Nothing was paid.",
        "checkout.session.expired": "Nothing was paid.",
        "customer.created": "A customer counts with its first sale or trial.",
        "customer.updated": "Nothing that counts has changed.",
    }

    def verify(
        self, connection, headers: Headers, raw: bytes, *, at, parameters=NO_PARAMETERS
    ) -> None:
        # It takes 20 MB, which only those who use Stripe should pay.
        from stripe import SignatureVerificationError, WebhookSignature  # noqa: PLC0415

        header = headers.get("Stripe-Signature", "")
        if not header.isascii():
            raise WrongSignature("The signature has characters that no signature has.")
        if header.count("t=") > 1:
            raise WrongSignature("The signature has more than one time.")
        timestamp = dict(part.split("=", 1) for part in header.split(",") if "=" in part).get(
            "t", ""
        )
        ensure_recent(timestamp, at=at)
        for secret in connection.secrets:
            try:
                WebhookSignature.verify_header(raw.decode(), header, secret)
            except (SignatureVerificationError, UnicodeDecodeError):
                continue
            return
        raise WrongSignature("The signature does not match the signing secret of this connection.")

    def identify(self, connection, headers, body: Body, raw: bytes, *, at) -> Envelope:
        if body.get("object") == "v2.core.event":
            raise UnreadableEvent(what=THIN_EVENT)
        occurred_at = parse_unix_time(body["created"])
        return Envelope(str(body["id"]), str(body["type"]), occurred_at, raw.decode())

    def read(self, kind: str, body: Body, connection: Connection, *, at=None) -> EventFacts:
        is_live = connection.mode == ConnectionMode.LIVE
        if is_live and not body.get("livemode") and not connection.settings.get("takes_tests"):
            return EventFacts(ignored=TEST_EVENT)
        return super().read(kind, body, connection)
