"""Events of Stripe, after its published schema; the values are made up."""

import hashlib
import hmac
from datetime import timedelta

from tests.program_scenario import CONVERSION_CREATED_AT

SECRET = "whsec_8Yb3tqK1mZ0nVw5R"
HOUR = timedelta(hours=1)


def build_event(kind, data, *, hours=0, key=None, **values):
    """An event, `hours` after the first sale of the scenario."""
    created = int((CONVERSION_CREATED_AT + hours * HOUR).timestamp())
    return {
        "id": key or f"evt_{kind.replace('.', '_')}_{hours}_{data['id']}",
        "object": "event",
        "api_version": "2025-09-30.clover",
        "created": created,
        "livemode": True,
        "pending_webhooks": 1,
        "request": {"id": None, "idempotency_key": None},
        "type": kind,
        "data": {"object": data},
        **values,
    }


def build_checkout(hours=0, **values):
    """A completed checkout of 119 EUR, of which 19 are tax."""
    session = {
        "id": "cs_live_a1",
        "object": "checkout.session",
        "amount_subtotal": 10000,
        "amount_total": 11900,
        "client_reference_id": None,
        "currency": "eur",
        "customer": "cus_1",
        "customer_details": {"email": "jo@buyers.example.org", "name": "Jo Vance"},
        "invoice": None,
        "metadata": {},
        "mode": "payment",
        "payment_intent": "pi_1",
        "payment_link": "plink_1",
        "payment_status": "paid",
        "status": "complete",
        "subscription": None,
        "total_details": {
            "amount_discount": 0,
            "amount_shipping": 0,
            "amount_tax": 1900,
        },
    } | values
    return build_event("checkout.session.completed", session, hours=hours)


def build_subscription_checkout(hours=0, **values):
    """A completed checkout of a subscription, whose invoice is another event."""
    return build_checkout(
        hours,
        **(
            {
                "mode": "subscription",
                "subscription": "sub_1",
                "invoice": "in_1",
                "payment_intent": None,
            }
            | values
        ),
    )


def build_invoice(hours=0, *, lines=((10000, "price_1", "prod_1"),), tax=1900, **values):
    """A paid invoice of a subscription, 100 EUR and 19 tax."""
    subtotal = sum(amount for amount, _, _ in lines)
    key = values.get("id", "in_1")
    invoice = {
        "id": key,
        "object": "invoice",
        "amount_due": subtotal + tax,
        "amount_paid": subtotal + tax,
        "amount_remaining": 0,
        "billing_reason": "subscription_create",
        "currency": "eur",
        "customer": "cus_1",
        "customer_email": "jo@buyers.example.org",
        "discounts": [],
        "lines": {
            "object": "list",
            "data": [
                {
                    "id": f"il_{key}_{number}",
                    "object": "line_item",
                    "amount": amount,
                    "currency": "eur",
                    "discount_amounts": [],
                    "pricing": {
                        "price_details": {"price": price, "product": product},
                        "type": "price_details",
                        "unit_amount_decimal": str(amount),
                    },
                    "quantity": 1,
                    "taxes": [{"amount": amount * 19 // 100, "tax_behavior": "exclusive"}],
                }
                for number, (amount, price, product) in enumerate(lines)
            ],
        },
        "metadata": {},
        "parent": {
            "type": "subscription_details",
            "subscription_details": {"subscription": "sub_1", "metadata": {}},
        },
        "payments": {
            "object": "list",
            "data": [
                {
                    "id": f"inpay_{key}",
                    "invoice": key,
                    "payment": {
                        "type": "payment_intent",
                        "payment_intent": f"pi_{key}",
                    },
                    "status": "paid",
                }
            ],
        },
        "shipping_cost": None,
        "status": "paid",
        "subtotal": subtotal,
        "total": subtotal + tax,
        "total_excluding_tax": subtotal,
        "total_taxes": [{"amount": tax, "tax_behavior": "exclusive"}] if tax else [],
    } | values
    return build_event("invoice.paid", invoice, hours=hours)


def build_subscription(kind="created", hours=0, status="active", **values):
    """A subscription of the customer."""
    subscription = {
        "id": "sub_1",
        "object": "subscription",
        "customer": "cus_1",
        "discounts": [],
        "metadata": {},
        "status": status,
    } | values
    return build_event(f"customer.subscription.{kind}", subscription, hours=hours)


def build_charge(refunded, hours=0, **values):
    """A charge of which `refunded` cents were refunded in all."""
    charge = {
        "id": "ch_1",
        "object": "charge",
        "amount": 11900,
        "amount_refunded": refunded,
        "currency": "eur",
        "customer": "cus_1",
        "payment_intent": "pi_1",
        "refunded": refunded == 11900,
    } | values
    return build_event("charge.refunded", charge, hours=hours)


def build_refund(key, amount, hours=0, *, status="succeeded", **values):
    """A refund of a charge."""
    refund = {
        "id": key,
        "object": "refund",
        "amount": amount,
        "charge": "ch_1",
        "currency": "eur",
        "payment_intent": "pi_1",
        "reason": "requested_by_customer",
        "status": status,
    } | values
    kind = "refund.failed" if status == "failed" else "refund.updated"
    return build_event(kind, refund, hours=hours)


def build_dispute(status, hours=0, *, amount=11900, **values):
    """A dispute about a charge, or its outcome."""
    dispute = {
        "id": "du_1",
        "object": "dispute",
        "amount": amount,
        "charge": "ch_1",
        "currency": "eur",
        "payment_intent": "pi_1",
        "reason": "fraudulent",
        "status": status,
    } | values
    is_over = status in {"won", "lost", "warning_closed"}
    kind = "closed" if is_over else "created"
    return build_event(f"charge.dispute.{kind}", dispute, hours=hours)


def sign_event(raw, at, secret=SECRET):
    """The header `Stripe-Signature` of a body."""
    timestamp = int(at.timestamp())
    signed = f"{timestamp}.{raw}".encode()
    signature = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return f"t={timestamp},v1={signature}"
