"""Stripe: checkouts, invoices, refunds, disputes and subscriptions.

An order is an invoice or, without one, a checkout; refunds and disputes name its charge
or payment intent. Older and newer versions of Stripe's API are read.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, ClassVar

from affiliate_site.shops.base import (
    Body,
    Headers,
    Reader,
    Shop,
    WrongSignature,
    build_customer,
    build_lines,
    build_referral,
    build_sale,
    ensure_recent,
    format_unix_time,
    list_referral_values,
    parse_unix_time,
    pick_attributes,
    read_currency,
    read_minor_units,
    read_texts,
)
from payouts.shop_facts import EventFacts, Line, OrderFacts, RefundFact, RefundTotal
from tracking.models.shops import Connection, ConnectionKind, ConnectionMode
from tracking.money import ROUNDING_CONTEXT, round_amount
from tracking.services.inbox import Envelope

# What Stripe calls zero-decimal differs from ISO 4217 for these.
EXPONENTS = {"ISK": 2, "UGX": 2, "MGA": 0}
SUBSCRIPTION_STATES: dict[str, Any] = {
    "trialing": "trial",
    "active": "active",
    "past_due": "active",
    "paused": "active",
    "unpaid": "canceled",
    "canceled": "canceled",
    "incomplete_expired": "canceled",
}
# An inquiry moves no money; it may become a dispute, which is another event.
DISPUTE_STATES: dict[str, Any] = {
    "needs_response": "open",
    "under_review": "open",
    "lost": "lost",
}
CANCELED_REFUNDS = ("failed", "canceled")
CODE_NAMES = ("code", "name", "id")
PRICE_NAMES = ("id", "price", "product")
RENEWAL = "subscription_cycle"
TEST_EVENT = "A test event: a live connection takes only events of live mode."
UNPAID = "The payment is not complete yet."


def read_checkout(body: Body, connection: Connection) -> EventFacts:
    """A checkout: a sale once it is paid, and who referred the customer."""
    session, at = body["data"]["object"], format_unix_time(body["created"])
    customer = session.get("customer") or ""
    values = [
        session.get("client_reference_id"),
        *list_referral_values(connection, session.get("metadata") or {}),
    ]
    referral = build_referral(at, values, list_discounts(session))
    facts = build_customer(
        at, referral, (session.get("customer_details") or {}).get("email")
    )
    references = list_ids(session, "id", "invoice", "payment_intent")
    if session["mode"] != "payment":
        return EventFacts(customer_key=customer, customer=facts)
    if session["payment_status"] == "unpaid":
        return EventFacts(references=references, customer_key=customer, customer=facts)
    currency = read_currency(session["currency"])
    totals = session.get("total_details") or {}
    paid = read_minor_units(session["amount_total"], currency, EXPONENTS)
    left_out = [
        totals.get(name) or 0
        for name, setting in (
            ("amount_tax", "includes_tax"),
            ("amount_shipping", "includes_shipping"),
        )
        if not connection.settings.get(setting)
    ]
    total = paid - sum(read_minor_units(it, currency, EXPONENTS) for it in left_out)
    line: Line = {
        "id": "",
        "products": list_ids(session, "payment_link"),
        "amount": str(max(total, Decimal(0))),
    }
    sale = build_sale(
        at,
        session.get("invoice") or session.get("payment_intent") or session["id"],
        label=f"checkout {session['id']}",
        currency=currency,
        lines=[line],
        paid=paid,
        customer=customer,
        referral=referral,
        attributes=pick_attributes(connection, session.get("metadata") or {}),
    )
    return EventFacts(references, {"sale": sale}, customer, facts)


def read_invoice(body: Body, connection: Connection) -> EventFacts:
    """A paid invoice: the first payment of a subscription, a renewal, or any other."""
    invoice, at = body["data"]["object"], format_unix_time(body["created"])
    currency = read_currency(invoice["currency"])
    parent = (invoice.get("parent") or {}).get("subscription_details") or {}
    subscription = invoice.get("subscription") or parent.get("subscription") or ""
    older = invoice.get("subscription_details") or {}
    attributes = {
        **read_texts(parent.get("metadata") or older.get("metadata")),
        **read_texts(invoice.get("metadata")),
    }
    values = list_referral_values(connection, attributes)
    referral = build_referral(at, values, list_discounts(invoice))
    customer = invoice.get("customer") or ""
    paid, lines = read_invoice_lines(invoice, currency, connection)
    sale = build_sale(
        at,
        invoice["id"],
        label=f"invoice {invoice['id']}",
        currency=currency,
        lines=lines,
        paid=paid,
        customer=customer,
        referral=referral,
        attributes=pick_attributes(connection, attributes),
        subscription=subscription,
        is_renewal=invoice.get("billing_reason") == RENEWAL,
    )
    facts = build_customer(at, referral, invoice.get("customer_email"))
    return EventFacts(list_invoice_references(invoice), {"sale": sale}, customer, facts)


def read_invoice_lines(
    invoice: Mapping[str, Any], currency: str, connection: Connection
) -> tuple[Decimal, list[Line]]:
    """Return what was paid, and the lines as they earn commissions.

    What a credit balance of the customer paid earns nothing: it did when it was paid.
    """

    def read(value: Any) -> Decimal:
        return read_minor_units(value or 0, currency, EXPONENTS)

    paid, total = read(invoice["amount_paid"]), read(max(invoice["total"], 0))
    if not total or not paid:
        return paid, []
    taxes = invoice.get("total_taxes") or invoice.get("total_tax_amounts") or []
    tax = sum((read(it["amount"]) for it in taxes), Decimal(0))
    shipping_cost = invoice.get("shipping_cost") or {}
    shipping = read(shipping_cost.get("amount_subtotal"))
    earning = total
    if not connection.settings.get("includes_tax"):
        earning -= tax
    else:
        shipping += read(shipping_cost.get("amount_tax"))
    if not connection.settings.get("includes_shipping"):
        earning -= shipping
    lines = [read_invoice_line(it, currency) for it in invoice["lines"]["data"]]
    if paid < total:
        product = ROUNDING_CONTEXT.multiply(earning, paid)
        earning = round_amount(ROUNDING_CONTEXT.divide(product, total), currency)
    return paid, build_lines(lines, max(earning, Decimal(0)))


def read_invoice_line(line: Mapping[str, Any], currency: str) -> Line:
    """Return a line after discounts and without tax that its amount includes."""
    amount = int(line["amount"])
    amount -= sum(int(it["amount"]) for it in line.get("discount_amounts") or [])
    for tax in line.get("taxes") or line.get("tax_amounts") or []:
        if tax.get("tax_behavior") == "inclusive" or tax.get("inclusive"):
            amount -= int(tax["amount"])
    value = read_minor_units(abs(amount), currency, EXPONENTS)
    return {
        "id": str(line["id"]),
        "products": list_products(line),
        "amount": str(value if amount >= 0 else -value),
    }


def list_products(line: Mapping[str, Any]) -> list[str]:
    """Return the IDs of price and product of a line of an invoice."""
    price = line.get("price") or line.get("plan") or {}
    details = (line.get("pricing") or {}).get("price_details") or {}
    ids = (
        price.get("id"),
        price.get("product"),
        details.get("price"),
        details.get("product"),
    )
    return [str(each) for each in dict.fromkeys(ids) if each]


def list_invoice_references(invoice: Mapping[str, Any]) -> list[str]:
    """Return the IDs of an invoice, its charge and its payment intents."""
    payments = ((invoice.get("payments") or {}).get("data")) or []
    paid = [
        list_ids(each.get("payment") or {}, "payment_intent", "charge")
        for each in payments
    ]
    return [
        *list_ids(invoice, "id", "charge", "payment_intent"),
        *(reference for each in paid for reference in each),
    ]


def read_invoice_payment(body: Body, connection: Connection) -> EventFacts:
    """The payment of an invoice: newer invoices do not name it themselves."""
    payment = body["data"]["object"]
    details = payment.get("payment") or {}
    return EventFacts(
        [payment["invoice"], *list_ids(details, "payment_intent", "charge")]
    )


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
    order: OrderFacts = {
        "disputes": {
            dispute["id"]: {
                "at": at,
                "amount": str(amount),
                "currency": currency,
                "state": DISPUTE_STATES.get(dispute["status"], "won"),
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


def list_ids(source: Mapping[str, Any], *names: str) -> list[str]:
    """Return the IDs under these names; an expanded object has its ID inside."""
    found = [source.get(name) for name in names]
    return [str(it["id"] if isinstance(it, Mapping) else it) for it in found if it]


def list_discounts(source: Mapping[str, Any]) -> list[str]:
    """Return the IDs and codes of promotion codes and coupons."""
    discounts = [*(source.get("discounts") or []), source.get("discount")]
    parts = [
        discount.get(name)
        for discount in discounts
        if isinstance(discount, Mapping)
        for name in ("promotion_code", "coupon")
    ]
    found: list[Any] = []
    for part in parts:
        if isinstance(part, Mapping):
            found += [part.get(name) for name in CODE_NAMES]
        else:
            found.append(part)
    return [str(each) for each in found if each]


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
        "charge.dispute.closed": read_dispute,
        "customer.subscription.created": read_subscription,
        "customer.subscription.updated": read_subscription,
        "customer.subscription.deleted": read_subscription,
        "customer.deleted": read_removed_customer,
    }
    ignored: ClassVar[Mapping[str, str]] = {
        "charge.succeeded": "The invoice or checkout of this charge counts.",
        "payment_intent.succeeded": "The invoice or checkout of this payment counts.",
        "invoice.payment_succeeded": "The event invoice.paid counts.",
        "charge.dispute.updated": "The outcome of the dispute counts.",
        "charge.dispute.funds_withdrawn": "The outcome of the dispute counts.",
        "charge.dispute.funds_reinstated": "The outcome of the dispute counts.",
        "checkout.session.async_payment_failed": "Nothing was paid.",
        "checkout.session.expired": "Nothing was paid.",
        "customer.created": "A customer counts with its first sale or trial.",
        "customer.updated": "Nothing that counts has changed.",
    }

    def verify(self, connection, headers: Headers, raw: bytes, *, at) -> None:
        # Imported here: it takes 20 MB, which only those who use Stripe should pay.
        from stripe import SignatureVerificationError, WebhookSignature

        header = headers.get("Stripe-Signature", "")
        if not header.isascii():
            raise WrongSignature("The signature has characters that no signature has.")
        if header.count("t=") > 1:
            raise WrongSignature("The signature has more than one time.")
        timestamp = dict(
            part.split("=", 1) for part in header.split(",") if "=" in part
        ).get("t", "")
        ensure_recent(timestamp, at=at)
        for secret in connection.secrets:
            try:
                WebhookSignature.verify_header(raw.decode(), header, secret)
            except (SignatureVerificationError, UnicodeDecodeError):
                continue
            return
        raise WrongSignature(
            "The signature does not match the signing secret of this connection."
        )

    def identify(self, connection, headers, body: Body, raw: bytes, *, at) -> Envelope:
        occurred_at = parse_unix_time(body["created"])
        return Envelope(str(body["id"]), str(body["type"]), occurred_at, raw.decode())

    def read(
        self, kind: str, body: Body, connection: Connection, *, at=None
    ) -> EventFacts:
        is_live = connection.mode == ConnectionMode.LIVE
        if (
            is_live
            and not body.get("livemode")
            and not connection.settings.get("takes_tests")
        ):
            return EventFacts(ignored=TEST_EVENT)
        return super().read(kind, body, connection)
