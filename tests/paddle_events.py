"""Events of Paddle Billing, after its published schema; the values are made up."""

import hashlib
import hmac
from datetime import timedelta

from tests.program_scenario import CONVERSION_CREATED_AT

SECRET = "pdl_ntfset_01jq4n8t2w7r5x9c3v6b1m0k4h"
HOUR = timedelta(hours=1)
CUSTOMER = "ctm_01jq4n9d6s8f2g5h7j9k1l3m5n"
SUBSCRIPTION = "sub_01jq4nb7x3z5c7v9b2n4m6q8w0"


def build_event(kind, data, *, hours=0, key=None):
    """A notification, `hours` after the first sale of the scenario."""
    return {
        "event_id": key or f"evt_{kind.replace('.', '_')}_{hours}_{data['id']}",
        "event_type": kind,
        "occurred_at": format_hours(hours),
        "notification_id": f"ntf_{hours}_{data['id']}",
        "data": data,
    }


def format_hours(hours):
    """The time as Paddle writes it."""
    at = CONVERSION_CREATED_AT + hours * HOUR
    return at.strftime("%Y-%m-%dT%H:%M:%S.52Z")


def build_totals(subtotal, *, discount=0, tax=19):
    """Totals with so much per cent tax."""
    taxed = (subtotal - discount) * tax // 100
    return {
        "subtotal": str(subtotal),
        "discount": str(discount),
        "tax": str(taxed),
        "total": str(subtotal - discount + taxed),
    }


def build_transaction(
    hours=0,
    *,
    key="txn_1",
    lines=((10000, "pri_1", "pro_1"),),
    discount=0,
    tax=19,
    currency="EUR",
    **values,
):
    """A completed transaction of 100 EUR and 19 tax; the first line is discounted."""
    line_items = [
        {
            "id": f"txnitm_{key}_{number}",
            "price_id": price,
            "quantity": 1,
            "proration": None,
            "tax_rate": str(tax / 100),
            "totals": build_totals(amount, discount=0 if number else discount, tax=tax),
            "unit_totals": build_totals(amount, tax=tax),
            "product": {"id": product, "name": "Plan", "tax_category": "saas"},
        }
        for number, (amount, price, product) in enumerate(lines)
    ]
    sums = {
        name: str(sum(int(line["totals"][name]) for line in line_items))
        for name in ("subtotal", "discount", "tax", "total")
    }
    data = {
        "id": key,
        "status": "completed",
        "customer_id": CUSTOMER,
        "address_id": "add_01jq4nc2",
        "business_id": None,
        "custom_data": None,
        "currency_code": currency,
        "origin": "web",
        "subscription_id": None,
        "invoice_id": f"inv_{key}",
        "invoice_number": "871-10042",
        "collection_mode": "automatic",
        "discount_id": None,
        "billing_details": None,
        "items": [
            {
                "price": {
                    "id": price,
                    "product_id": product,
                    "unit_price": {"amount": str(amount), "currency_code": currency},
                },
                "quantity": 1,
                "proration": None,
            }
            for amount, price, product in lines
        ],
        "details": {
            "tax_rates_used": [{"tax_rate": str(tax / 100), "totals": sums}],
            "totals": sums
            | {
                "credit": "0",
                "credit_to_balance": "0",
                "balance": "0",
                "grand_total": sums["total"],
                "fee": "645",
                "earnings": "9355",
                "currency_code": currency,
            },
            "line_items": line_items,
        },
        "payments": [],
        "created_at": format_hours(hours),
        "billed_at": format_hours(hours),
        "updated_at": format_hours(hours),
        "revised_at": None,
    } | values
    return build_event("transaction.completed", data, hours=hours)


def build_renewal(hours, *, key, **values):
    """The completed transaction of a renewal."""
    renewal = {"origin": "subscription_recurring", "subscription_id": SUBSCRIPTION}
    return build_transaction(hours, key=key, **(renewal | values))


def build_adjustment(
    key,
    subtotal,
    hours=0,
    *,
    action="refund",
    status="approved",
    transaction="txn_1",
    line=0,
    is_update=False,
    tax=19,
    created=None,
    **values,
):
    """An adjustment of `subtotal` cents and their tax, of one line of a transaction."""
    totals = build_totals(subtotal, tax=tax)
    del totals["discount"]
    data = {
        "id": key,
        "action": action,
        "type": "partial",
        "transaction_id": transaction,
        "subscription_id": None,
        "customer_id": CUSTOMER,
        "reason": "requested_by_customer",
        "credit_applied_to_balance": None,
        "currency_code": "EUR",
        "status": status,
        "items": [
            {
                "id": f"adjitm_{key}",
                "item_id": f"txnitm_{transaction}_{line}",
                "type": "partial",
                "amount": totals["total"],
                "proration": None,
                "totals": totals,
            }
        ],
        "totals": totals
        | {
            "fee": "0",
            "retained_fee": "0",
            "earnings": totals["subtotal"],
            "currency_code": "EUR",
        },
        "created_at": format_hours(hours if created is None else created),
        "updated_at": format_hours(hours) if is_update else None,
    } | values
    kind = "adjustment.updated" if is_update else "adjustment.created"
    return build_event(kind, data, hours=hours)


def build_subscription(kind="created", hours=0, status="active", **values):
    """A subscription of the customer."""
    data = {
        "id": SUBSCRIPTION,
        "status": status,
        "customer_id": CUSTOMER,
        "currency_code": "EUR",
        "custom_data": None,
        "discount": None,
        "collection_mode": "automatic",
        "scheduled_change": None,
        "items": [{"status": status, "quantity": 1, "price": {"id": "pri_1"}}],
        "created_at": format_hours(0),
        "updated_at": format_hours(hours),
    } | values
    return build_event(f"subscription.{kind}", data, hours=hours)


def sign_event(raw, *, at, secrets=(SECRET,)):
    """The header `Paddle-Signature` of a body."""
    timestamp = str(int(at.timestamp()))
    signatures = [
        hmac.new(secret.encode(), f"{timestamp}:".encode() + raw, hashlib.sha256).hexdigest()
        for secret in secrets
    ]
    return ";".join([f"ts={timestamp}", *(f"h1={each}" for each in signatures)])
