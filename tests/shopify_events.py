"""Bodies of Shopify's webhooks, after its published schema; the values are made up."""

import hashlib
import hmac
import json
from base64 import b64encode
from datetime import timedelta
from decimal import Decimal

from tests.program_scenario import CONVERSION_CREATED_AT

SECRET = "shpss_4f1c0a7be2d9"
HOUR = timedelta(hours=1)
ORDER = 820982911946154508


def format_local(hours):
    """A time as the shop shows it, five hours behind."""
    at = CONVERSION_CREATED_AT + hours * HOUR - 5 * HOUR
    return at.strftime("%Y-%m-%dT%H:%M:%S-05:00")


def build_money(amount, currency="EUR"):
    money = {"amount": amount, "currency_code": currency}
    return {"shop_money": money, "presentment_money": money}


def build_line(key, price, tax="0.00", *, quantity=1, discount="0.00", **values):
    """A line of an order, before discounts."""
    return {
        "id": key,
        "current_quantity": quantity,
        "discount_allocations": [{"amount": discount, "discount_application_index": 0}],
        "gift_card": False,
        "name": "Desk lamp",
        "price": price,
        "product_id": 788032119674292922,
        "properties": [],
        "quantity": quantity,
        "sku": "LAMP-1",
        "taxable": True,
        "tax_lines": [{"price": tax, "rate": 0.19, "title": "VAT"}],
        "title": "Desk lamp",
        "total_discount": "0.00",
        "variant_id": 808950810,
    } | values


def build_order(hours=0, status="paid", **values):
    """An order of 100 EUR, 19 tax and 5.95 for shipping, changed after `hours`."""
    return {
        "id": ORDER,
        "admin_graphql_api_id": f"gid://shopify/Order/{ORDER}",
        "cancel_reason": None,
        "cancelled_at": None,
        "created_at": format_local(0),
        "currency": "EUR",
        "current_subtotal_price": "100.00",
        "current_total_price": "124.95",
        "discount_codes": [],
        "email": "jo@buyers.example.org",
        "financial_status": status,
        "landing_site": "/",
        "name": "#9999",
        "note_attributes": [],
        "order_number": 1234,
        "presentment_currency": "EUR",
        "processed_at": format_local(0),
        "source_name": "web",
        "subtotal_price": "100.00",
        "taxes_included": False,
        "test": False,
        "total_discounts": "0.00",
        "total_price": "124.95",
        "total_price_set": build_money("124.95"),
        "total_shipping_price_set": build_money("5.00"),
        "total_tax": "19.95",
        "updated_at": format_local(hours),
        "customer": {
            "id": 115310627314723954,
            "email": "jo@buyers.example.org",
            "first_name": "Jo",
            "last_name": "Vance",
        },
        "line_items": [build_line(866550311766439020, "100.00", "19.00")],
        "refunds": [],
        "shipping_lines": [
            {
                "id": 271878346596884015,
                "discounted_price": "5.00",
                "price": "5.00",
                "tax_lines": [{"price": "0.95", "rate": 0.19, "title": "VAT"}],
                "title": "Standard",
            }
        ],
    } | values


def build_refund(key, *, hours=1, lines=(), money="", adjustments=(), **values):
    """A refund: line, amount and tax of each; what was paid back; adjustments."""
    transactions = [
        {
            "id": key + 1000,
            "amount": money,
            "currency": "EUR",
            "kind": "refund",
            "status": "success",
            "test": False,
        }
    ]
    return {
        "id": key,
        "order_id": ORDER,
        "created_at": format_local(hours),
        "note": None,
        "processed_at": format_local(hours),
        "restock": False,
        "order_adjustments": [
            {
                "id": key + 2000,
                "order_id": ORDER,
                "refund_id": key,
                "amount": amount,
                "tax_amount": "0.00",
                "kind": kind,
                "reason": kind.replace("_", " ").capitalize(),
            }
            for kind, amount in adjustments
        ],
        "refund_line_items": [
            {
                "id": key + 3000 + number,
                "line_item_id": line,
                "quantity": 1,
                "restock_type": "return",
                "subtotal": subtotal,
                "total_tax": tax,
            }
            for number, (line, subtotal, tax) in enumerate(lines)
        ],
        "transactions": transactions if money else [],
    } | values


def build_amount_refund(key, amount, *, hours=1):
    """A refund of an amount that is not of lines."""
    adjustments = [("refund_discrepancy", str(-Decimal(amount)))]
    return build_refund(key, hours=hours, money=amount, adjustments=adjustments)


def build_headers(body, topic, *, secret=SECRET, event="e1"):
    """The headers of a delivery, for Django's test client."""
    digest = hmac.new(secret.encode(), body, hashlib.sha256).digest()
    return {
        "X-Shopify-Topic": topic,
        "X-Shopify-Hmac-Sha256": b64encode(digest).decode(),
        "X-Shopify-Shop-Domain": "harbor-lamps.myshopify.com",
        "X-Shopify-API-Version": "2025-10",
        "X-Shopify-Webhook-Id": f"webhook-{event}",
        "X-Shopify-Event-Id": event,
        "X-Shopify-Triggered-At": "2026-03-04T09:15:28.000000000Z",
    }


def build_request(body, topic="orders/updated", **options):
    """The body as bytes, and the headers."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return raw, build_headers(raw, topic, **options)
