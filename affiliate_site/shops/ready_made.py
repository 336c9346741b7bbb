"""Ready-made mappings of other shops: a table each, to begin with.

`tracking.services.shop_mappings` describes a mapping. None of the shops is connected
here: `proof` says how far a mapping is known to be right.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracking.services.connections import DEFAULT_REFERRAL_FIELDS

FROM_DOCUMENTATION = "made from the vendor's documentation, not yet tried with a shop"
FROM_SDK = "made from the vendor's own software for developers, not yet tried"
FROM_CODE = "made from examples of other developers, not yet tried with a shop"

Condition = dict[str, Any]


@dataclass(frozen=True)
class ReadyMade:
    """A mapping of a vendor, how far it is proven, and what to do at the vendor."""

    title: str
    proof: str
    steps: Sequence[str]
    mapping: Mapping[str, Any]


def one_of(path: str, *values: str) -> Condition:
    """The condition that a path leads to one of several values."""
    conditions = [{"path": path, "equals": value} for value in values]
    return {"any": conditions} if len(conditions) > 1 else conditions[0]


def none_of(path: str, value: str) -> Condition:
    return {"path": path, "differs": value}


def list_fields(*templates: str) -> list[str]:
    """The paths of all fields that hold a referral, whose name replaces `{}`."""
    names = DEFAULT_REFERRAL_FIELDS
    return [template.format(name) for template in templates for name in names]


def build_lemon_squeezy_conditions(order_event: str, invoice_event: str):
    order = {"path": "meta.event_name", "equals": order_event}
    invoice = {"path": "meta.event_name", "equals": invoice_event}
    later = one_of("data.attributes.billing_reason", "renewal", "updated")["any"]
    return [{"any": [order, invoice]}, {"any": [order, *later]}]


LEMON_SQUEEZY = ReadyMade(
    title="Lemon Squeezy",
    proof=FROM_SDK,
    steps=(
        "In Lemon Squeezy, open Settings, Webhooks, and add one with this address.",
        "Enter a secret of 8 to 40 characters, and the same here, under “Set signing secret”.",
        "Choose order_created, order_refunded, subscription_payment_success and"
        " subscription_payment_refunded.",
        "Give the click to the checkout: checkout[custom][click_id]=… in its address.",
    ),
    mapping={
        "signature": {"kind": "hmac", "header": "X-Signature"},
        "event": {"kind": "meta.event_name", "time": "data.attributes.updated_at"},
        "sale": {
            "when": [
                *build_lemon_squeezy_conditions("order_created", "subscription_payment_success"),
                none_of("data.attributes.status", "pending"),
                none_of("data.attributes.status", "failed"),
                none_of("data.attributes.test_mode", "true"),
            ],
            "order_id": 'data.type + "-" + data.id',
            "amount": "data.attributes.total - data.attributes.tax",
            "paid": "data.attributes.total",
            "currency": "data.attributes.currency",
            "customer": "data.attributes.customer_id",
            "email": "data.attributes.user_email",
            "referral": list_fields("meta.custom_data.{}"),
            "unit": "minor",
        },
        "refund": {
            "when": build_lemon_squeezy_conditions(
                "order_refunded", "subscription_payment_refunded"
            ),
            "order_id": 'data.type + "-" + data.id',
            "refund_id": 'data.type + "-" + data.id + "-refunded"',
            "amount": "data.attributes.refunded_amount",
        },
    },
)
POLAR = ReadyMade(
    title="Polar",
    proof=FROM_SDK,
    steps=(
        "In Polar, open Settings, Webhooks, and add an endpoint with the address above"
        " and the format Raw.",
        "Choose order.paid, refund.created and refund.updated.",
        "Polar shows a secret. Enter it here, under “Set signing secret”.",
        "Give the click to the checkout as metadata click_id.",
    ),
    mapping={
        "signature": {"kind": "standard_webhooks"},
        "event": {"kind": "type", "time": "timestamp"},
        "sale": {
            "when": [one_of("type", "order.paid")],
            "order_id": "data.id",
            "amount": "data.net_amount",
            "currency": "data.currency",
            "customer": "data.customer_id",
            "email": "data.customer.email",
            "referral": list_fields("data.metadata.{}"),
            "coupons": ["data.discount.code"],
            "unit": "minor",
        },
        "refund": {
            "when": [
                one_of("type", "refund.created", "refund.updated"),
                one_of("data.status", "succeeded", "failed", "canceled"),
            ],
            "order_id": "data.order_id",
            "refund_id": "data.id",
            "amount": "data.amount",  # without tax, as the amount of the sale
            "is_canceled": one_of("data.status", "failed", "canceled"),
        },
    },
)
CHARGEBEE = ReadyMade(
    title="Chargebee",
    proof=FROM_DOCUMENTATION,
    steps=(
        "In Chargebee, open Settings, Configure Chargebee, Webhooks, and add one with"
        " the address above and API version 2.",
        "Protect it with basic authentication, and enter user and password here as"
        " user:password, under “Set signing secret”.",
        "Choose payment_succeeded, invoice_generated, invoice_updated,"
        " credit_note_created, credit_note_updated and credit_note_deleted.",
        "Store the click with the subscription, as meta data click_id or the custom"
        " field cf_click_id.",
    ),
    mapping={
        "signature": {"kind": "basic"},
        "event": {"id": "id", "kind": "event_type", "time": "occurred_at"},
        "sale": {
            "when": [
                one_of(
                    "event_type",
                    "payment_succeeded",
                    "invoice_generated",
                    "invoice_updated",
                ),
                one_of("content.invoice.status", "paid"),
            ],
            "order_id": "content.invoice.id",
            "amount": "content.invoice.total - content.invoice.tax",
            "paid": "content.invoice.total",
            "currency": "content.invoice.currency_code",
            "customer": "content.invoice.customer_id",
            "email": "content.customer.email",
            "referral": list_fields(
                "content.subscription.meta_data.{}", "content.subscription.cf_{}"
            ),
            "coupons": [
                "content.invoice.discounts.*.entity_id",
                "content.subscription.coupons.*.coupon_id",
            ],
            "unit": "minor",
        },
        "refund": {
            "when": [
                one_of(
                    "event_type",
                    "credit_note_created",
                    "credit_note_updated",
                    "credit_note_deleted",
                ),
                none_of("content.credit_note.type", "store"),
            ],
            "order_id": "content.credit_note.reference_invoice_id",
            "refund_id": "content.credit_note.id",
            "amount": "content.credit_note.total",
            "currency": "content.credit_note.currency_code",
            "is_canceled": {
                "any": [
                    {"path": "content.credit_note.status", "equals": "voided"},
                    {"path": "content.credit_note.deleted", "equals": "true"},
                ]
            },
        },
    },
)
SHOPWARE = ReadyMade(
    title="Shopware 6",
    proof=FROM_CODE,
    steps=(
        "In the manifest of an app of your shop, add webhooks with this address for"
        " state_enter.order_transaction.state.paid and"
        " state_enter.order_transaction.state.refunded, and the permission order:read.",
        "Enter the app's secret of this shop here, under “Set signing secret”.",
        "Let links to your shop have affiliateCode= and the referral code: orders keep it.",
        "Partial refunds have no amount in Shopware: refund those by hand. Where prices"
        " are shown without tax, remove the condition of taxStatus and the last part of"
        " the amount.",
    ),
    mapping={
        "signature": {"kind": "hmac", "header": "shopware-shop-signature"},
        "event": {"id": "source.eventId", "kind": "data.event", "time": "timestamp"},
        "sale": {
            "when": [
                one_of("data.event", "state_enter.order_transaction.state.paid"),
                none_of("data.payload.order.taxStatus", "net"),
            ],
            "order_id": "data.payload.order.orderNumber",
            "amount": "data.payload.order.amountNet"
            " - data.payload.order.shippingCosts.totalPrice"
            " + data.payload.order.shippingCosts.calculatedTaxes.*.tax",
            "paid": "data.payload.order.amountTotal",
            "currency": "data.payload.order.currency.isoCode",
            "customer": "data.payload.order.orderCustomer.customerId",
            "email": "data.payload.order.orderCustomer.email",
            "referral": [
                "data.payload.order.affiliateCode",
                *list_fields("data.payload.order.customFields.{}"),
            ],
            "coupons": ["data.payload.order.lineItems.*.payload.code"],
        },
        "refund": {
            "when": [one_of("data.event", "state_enter.order_transaction.state.refunded")],
            "order_id": "data.payload.order.orderNumber",
            "refund_id": 'data.payload.order.orderNumber + "-refunded"',
            "amount": "data.payload.order.amountTotal",
        },
    },
)
GUMROAD = ReadyMade(
    title="Gumroad",
    proof=FROM_DOCUMENTATION,
    steps=(
        "Gumroad cannot sign. Make up a secret of 20 or more letters and digits, and"
        " enter it here, under “Set signing secret”.",
        "In Gumroad, open Settings, Advanced, and enter as Ping endpoint the address"
        " above with this secret instead of YOUR-SECRET. Only resource subscriptions of"
        " its API (refund, dispute, dispute_won) report refunds.",
        "Links to your products have ref= or click_id=, which Gumroad hands through.",
        "Sales are claims: they earn once you approve them. The program has their currency.",
    ),
    mapping={
        "signature": {"kind": "address"},
        "event": {"kind": "resource_name"},
        "sale": {
            "when": [none_of("test", "true")],
            "order_id": "sale_id",
            "amount": "price",
            "currency": "currency",
            "customer": "subscription_id",
            "email": "email",
            "referral": list_fields("url_params[{}]"),
            "coupons": ["offer_code"],
            "unit": "minor",
        },
        "refund": {
            "when": [
                {
                    "any": [
                        {"path": "refunded", "equals": "true"},
                        {"path": "disputed", "equals": "true"},
                    ]
                },
                none_of("test", "true"),
            ],
            "order_id": "sale_id",
            "refund_id": 'sale_id + "-refunded"',
            "amount": "price",
            "is_canceled": one_of("resource_name", "dispute_won"),
        },
    },
)
DIGISTORE24 = ReadyMade(
    title="Digistore24",
    proof=FROM_DOCUMENTATION,
    steps=(
        "In Digistore24, open Settings, Integrations (IPN), and add a generic one"
        " with this address.",
        "Choose payment, refund and chargeback, and enter a passphrase. Enter the same"
        " here, under “Set signing secret”.",
        "Links to the order form have custom= and the click ID or referral code.",
        "Refund a test order, and see that its amount and order are those of the sale.",
    ),
    mapping={
        "signature": {"kind": "sorted_parameters", "parameter": "sha_sign"},
        "answer": "OK",
        "event": {"kind": "event"},
        "sale": {
            "when": [one_of("event", "on_payment"), none_of("api_mode", "test")],
            # One order may have several items, and an item several payments.
            "order_id": 'order_id + "-" + order_item_id + "-" + pay_sequence_no',
            "amount": "amount_netto",
            "paid": "amount_brutto",
            "currency": "currency",
            "customer": "buyer_id",
            "email": "email",
            "referral": ["custom", "campaignkey"],
            "coupons": ["coupon_code"],
        },
        "refund": {
            "when": [
                one_of("event", "on_refund", "on_chargeback"),
                none_of("api_mode", "test"),
            ],
            "order_id": 'order_id + "-" + order_item_id + "-" + pay_sequence_no',
            "refund_id": "transaction_id",
            "amount": "amount_brutto",
        },
    },
)
READY_MADE: Mapping[str, ReadyMade] = {
    "lemon_squeezy": LEMON_SQUEEZY,
    "polar": POLAR,
    "chargebee": CHARGEBEE,
    "shopware": SHOPWARE,
    "gumroad": GUMROAD,
    "digistore24": DIGISTORE24,
}


def build_settings(name: str) -> dict[str, Any]:
    """The settings of a connection that begins with a ready-made mapping."""
    return {"other": READY_MADE[name].mapping, "ready_made": name}
