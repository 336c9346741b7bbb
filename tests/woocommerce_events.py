"""Bodies of WooCommerce's webhooks, after its published schema; made-up values."""

import hashlib
import hmac
import json
from base64 import b64encode
from datetime import timedelta

from tests.program_scenario import CONVERSION_CREATED_AT

SECRET = "wc-7Qm2xK9vTz4LpR1b"
HOUR = timedelta(hours=1)


def format_gmt(hours):
    return (CONVERSION_CREATED_AT + hours * HOUR).strftime("%Y-%m-%dT%H:%M:%S")


def build_line(key, total, tax="0.00", *, product=93, sku="", **values):
    """A line of an order, after discounts and without tax."""
    return {
        "id": key,
        "name": "Desk lamp",
        "product_id": product,
        "variation_id": 0,
        "quantity": 1,
        "tax_class": "",
        "subtotal": total,
        "subtotal_tax": tax,
        "total": total,
        "total_tax": tax,
        "taxes": [],
        "meta_data": [],
        "sku": sku,
        "price": float(total),
    } | values


def build_refunds(*amounts):
    """The refunds of an order: ID and amount of each."""
    return [{"id": key, "reason": "", "total": f"-{amount}"} for key, amount in amounts]


def build_refund(key, total, **lines):
    """A refund as the plugin describes it: amount and tax by line and its ID."""
    return {
        "id": key,
        "reason": "",
        "total": f"-{total}",
        **{
            name: [
                {
                    "id": 900 + number,
                    "total": total,
                    "total_tax": tax,
                    "meta_data": [{"key": "_refunded_item_id", "value": str(line)}],
                }
                for number, (line, total, tax) in enumerate(items)
            ]
            for name, items in lines.items()
        },
    }


def build_order(hours=0, status="processing", *, meta=None, refunds=(), **values):
    """An order of 100 EUR, 19 tax and 5.95 for shipping, changed after `hours`."""
    return {
        "id": 723,
        "parent_id": 0,
        "number": "723",
        "order_key": "wc_order_58d2d042d1d",
        "created_via": "checkout",
        "version": "9.4.2",
        "status": status,
        "currency": "EUR",
        "date_created": format_gmt(1),
        "date_created_gmt": format_gmt(0),
        "date_modified": format_gmt(hours + 1),
        "date_modified_gmt": format_gmt(hours),
        "date_paid_gmt": None,
        "discount_total": "0.00",
        "discount_tax": "0.00",
        "shipping_total": "5.00",
        "shipping_tax": "0.95",
        "cart_tax": "19.00",
        "total": "124.95",
        "total_tax": "19.95",
        "prices_include_tax": False,
        "customer_id": 26,
        "customer_note": "",
        "billing": {
            "first_name": "Jo",
            "last_name": "Vance",
            "email": "jo@buyers.example.org",
        },
        "payment_method": "bacs",
        "transaction_id": "",
        "meta_data": [
            {"id": 13106 + number, "key": key, "value": value}
            for number, (key, value) in enumerate((meta or {}).items())
        ],
        "line_items": [build_line(315, "100.00", "19.00")],
        "tax_lines": [],
        "shipping_lines": [
            {
                "id": 317,
                "method_title": "Flat rate",
                "method_id": "flat_rate",
                "total": "5.00",
                "total_tax": "0.95",
                "taxes": [],
                "meta_data": [],
            }
        ],
        "fee_lines": [],
        "coupon_lines": [],
        "refunds": [it if isinstance(it, dict) else build_refunds(it)[0] for it in refunds],
    } | values


def build_deletion(hours):
    """A deleted order, as it is stored: its ID, and when that arrived."""
    return {"id": "723", "received_at": f"{format_gmt(hours)}+00:00"}


def build_headers(body, topic="order.updated", *, secret=SECRET, delivery="d1"):
    """The headers of a delivery, for Django's test client."""
    digest = hmac.new(secret.encode(), body, hashlib.sha256).digest()
    return {
        "X-WC-Webhook-Source": "https://shop.example.net/",
        "X-WC-Webhook-Topic": topic,
        "X-WC-Webhook-Resource": "order",
        "X-WC-Webhook-Event": topic.split(".")[-1],
        "X-WC-Webhook-Signature": b64encode(digest).decode(),
        "X-WC-Webhook-ID": "142",
        "X-WC-Webhook-Delivery-ID": delivery,
    }


def build_request(body, topic="order.updated", **options):
    """The body as bytes, and the headers."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return raw, build_headers(raw, topic, **options)
