"""The form of a mapping: where the events of any other shop have what.

`tracking.services.shop_mappings` describes and validates the mapping.
"""

from collections.abc import Mapping
from typing import Any

from django import forms

from accounts.errors import DomainError
from affiliate_site.backoffice.connections.event_body import PATHS_ID
from affiliate_site.backoffice.connections.event_pages import NO_SAMPLE, SampleForm
from affiliate_site.backoffice.fields import FIELD_WIDGETS, MULTI_LINE
from affiliate_site.backoffice.forms import PATH_SEPARATOR, FieldSets
from affiliate_site.shops.base import Body, parse_body
from affiliate_site.shops.other import format_value
from tracking.dotted_paths import MAX_EXPRESSION_LENGTH, MAX_PATH_LENGTH
from tracking.errors import InvalidMapping
from tracking.services.shop_mappings import (
    MAX_CONDITIONS,
    MAX_PATHS,
    MAX_PREFIX_LENGTH,
    MAX_VALUE_LENGTH,
    validate_mapping,
)

EQUALS = "="
NOT = "!"  # before the sign
OR = " or "
CONDITION_LENGTH = MAX_PATH_LENGTH + MAX_VALUE_LENGTH + 3
CONDITION_LISTS = ("sale__when", "refund__when")
CONDITION = "refund__is_canceled"
PATH_LISTS = ("sale__referral", "sale__coupons")
SAMPLE = ("event", "body")
PREVIEW = "_preview"  # the button that shows what would happen
# What a kind of signature does not use.
UNUSED = {
    "standard_webhooks": ("header", "encoding", "prefix", "parameter"),
    "header": ("encoding", "parameter"),
    "hmac": ("parameter",),
    "basic": ("header", "encoding", "prefix", "parameter"),
    "sorted_parameters": ("header", "encoding", "prefix"),
    "address": ("header", "encoding", "prefix", "parameter"),
}
DEFAULTS = {"unit": "major", "encoding": "hex"}


def build_text_field(label: str, help_text: str, length: int, **attributes: str):
    """A line of text."""
    widget = FIELD_WIDGETS[forms.CharField]({"spellcheck": "false", **attributes})
    return forms.CharField(
        label=label,
        help_text=help_text,
        required=False,
        max_length=length,
        widget=widget,
    )


def build_path_field(label: str, help_text: str):
    """A path; browsers offer those of the sample."""
    return build_text_field(label, help_text, MAX_PATH_LENGTH, list=PATHS_ID, autocapitalize="none")


def build_expression_field(label: str, help_text: str):
    """Paths, joined by signs."""
    return build_text_field(
        label,
        help_text,
        MAX_EXPRESSION_LENGTH,
        list=PATHS_ID,
        autocapitalize="none",
    )


def build_lines_field(label: str, help_text: str, length: int):
    """Paths or conditions, one per line."""
    return forms.CharField(
        label=label,
        help_text=help_text,
        required=False,
        max_length=length,
        widget=MULTI_LINE({"rows": 2, "spellcheck": "false", "autocapitalize": "none"}),
    )


def build_condition_field(label: str, help_text: str):
    """Conditions, one per line."""
    return build_lines_field(label, help_text, CONDITION_LENGTH * MAX_CONDITIONS)


class MappingForm(SampleForm):
    """A mapping, and a sample to try it with; names are paths in the mapping."""

    signature__kind = forms.ChoiceField(
        label="How the shop signs",
        choices=[
            ("", "Choose…"),
            ("hmac", "HMAC SHA-256 of the body, in a header"),
            ("header", "The secret itself, in a header"),
            ("standard_webhooks", "Standard Webhooks: headers webhook-… or svix-…"),
            ("basic", "User and password in the address (basic authentication)"),
            ("sorted_parameters", "SHA-512 of the fields of a form, sorted"),
            ("address", "Not at all: the address has a secret, sales wait for staff"),
        ],
        help_text="The settings or the documentation of webhooks in the shop say it."
        " User and password are entered as the secret, as user:password. If the shop"
        " cannot sign, add ?secret= and the secret to the address: addresses stand in"
        " logs, so its sales are claims, which earn once staff approve them.",
    )
    signature__header = build_text_field(
        "Header", "With the HMAC or the secret, such as X-Signature.", 64
    )
    signature__parameter = build_text_field(
        "Field", "Of a form, with the SHA-512, such as sha_sign.", 64
    )
    signature__encoding = forms.ChoiceField(
        label="Encoding of the HMAC",
        choices=[
            ("hex", "Hexadecimal, such as 9f86d0…"),
            ("base64", "Base64, such as n4bQgY…="),
        ],
        required=False,
    )
    signature__prefix = build_text_field(
        "Before the signature",
        "What the header has before it, such as sha256=. Mostly nothing.",
        MAX_PREFIX_LENGTH,
    )
    answer = build_text_field(
        "Answer",
        "What the shop expects to be answered, such as OK. Mostly nothing.",
        64,
    )
    event__id = build_expression_field(
        "Event ID",
        "Such as id. Unique for each event, so not the ID of the order. Without it,"
        " equal bodies are one event.",
    )
    event__kind = build_expression_field("Kind", "Such as type. Shown in lists.")
    event__time = build_path_field("Time", "Such as created. Without it, when the event arrived.")
    sale__when = build_condition_field(
        "Conditions",
        "Such as type = order.paid, one per line; all must be met. A line may have"
        " several with or: type = order.paid or type = order.renewed. With != the value"
        " must differ: test != true. Without any, each event that is no refund is a"
        " sale.",
    )
    sale__order_id = build_expression_field(
        "Order ID",
        "Such as data.order.id. Join several with +, and texts in quotes:"
        ' order + "-" + payment_number',
    )
    sale__amount = build_expression_field(
        "Amount",
        "What earns commissions, mostly without tax and shipping: such as"
        " data.order.net, or data.order.total - data.order.tax, with spaces around + or"
        " -. With * it is the sum: data.items.*.net",
    )
    sale__paid = build_expression_field(
        "Paid",
        "Such as data.order.total. Refunds are a part of it. Without it, the amount.",
    )
    sale__currency = build_expression_field(
        "Currency",
        'Such as data.order.currency. If events do not have it, write it in quotes: "EUR"',
    )
    sale__unit = forms.ChoiceField(
        label="Unit of amounts",
        choices=[("major", "49.90"), ("minor", "4990, in cents")],
        required=False,
        help_text="Also of refunds.",
    )
    sale__customer = build_expression_field(
        "Customer",
        "Such as data.customer.id. Renewals are known by it.",
    )
    sale__email = build_expression_field(
        "E-mail address",
        "Such as data.customer.email. Only kept if the settings say so.",
    )
    sale__referral = build_lines_field(
        "Referral",
        "Such as data.metadata.ref: where click IDs, tracking IDs or referral codes"
        " are. One per line. Of a landing page, data.landing_page?ref is the parameter"
        " ref, and data.landing_page?* is each that names a referral.",
        (MAX_PATH_LENGTH + 2) * MAX_PATHS,
    )
    sale__coupons = build_lines_field(
        "Coupons",
        "Such as data.discounts.*.code, where * is each item of a list. One per line.",
        (MAX_PATH_LENGTH + 2) * MAX_PATHS,
    )
    sale__lines__items = build_path_field(
        "Lines",
        "Such as data.items: a list. Only needed if products have commission types of their own.",
    )
    sale__lines__amount = build_text_field(
        "Amount of a line",
        "Within a line, such as net, or price - tax",
        MAX_EXPRESSION_LENGTH,
    )
    sale__lines__product = build_text_field(
        "Product of a line", "Within a line, such as sku", MAX_PATH_LENGTH
    )
    refund__when = build_condition_field(
        "Conditions", "Such as type = order.refunded, one per line; all must be met."
    )
    refund__order_id = build_expression_field(
        "Order ID", "Such as data.refund.order. The same as that of the sale."
    )
    refund__refund_id = build_expression_field(
        "Refund ID", "Such as data.refund.id. Without it, each event is a refund."
    )
    refund__amount = build_expression_field(
        "Amount",
        "Such as data.refund.amount. A part of what was paid; below zero is the same.",
    )
    refund__currency = build_expression_field(
        "Currency", "Only if it is elsewhere than the currency of a sale."
    )
    refund__is_canceled = build_text_field(
        "Canceled if",
        "Such as data.refund.status = failed: then the refund does not count.",
        CONDITION_LENGTH * MAX_CONDITIONS,
    )

    fieldsets: FieldSets = (
        (
            "Signature",
            (
                *("signature__kind", "signature__header"),
                *("signature__encoding", "signature__prefix"),
                *("signature__parameter", "answer"),
            ),
        ),
        ("Event", ("event__id", "event__kind", "event__time")),
        (
            "Sale",
            (
                *("sale__when", "sale__order_id", "sale__amount", "sale__paid"),
                *("sale__currency", "sale__unit", "sale__customer", "sale__email"),
                *("sale__referral", "sale__coupons", "sale__lines__items"),
                *("sale__lines__amount", "sale__lines__product"),
            ),
        ),
        (
            "Refund",
            (
                *("refund__when", "refund__order_id", "refund__refund_id"),
                *("refund__amount", "refund__currency", "refund__is_canceled"),
            ),
        ),
    )
    mapping: Mapping[str, Any]

    def __init__(self, *args, **kwargs):
        """Let the sample stand beside the form; at first it is the newest event."""
        super().__init__(*args, **kwargs)
        event, body = (self.fields[name] for name in SAMPLE)
        newest = self.list_events()[:1]
        event.initial = newest[0][0] if newest else ""
        body.widget.attrs["rows"] = 4
        for field in (event, body):
            field.widget.attrs["form"] = "connection_form"

    def clean(self):
        """Validate the mapping, and that there is a sample to show."""
        values = super().clean()
        try:
            self.mapping = build_mapping(values)
            validate_mapping(self.mapping)
        except DomainError as error:
            self.add_domain_error(error)
        is_needed = PREVIEW in self.data or values.get("body")
        if is_needed and self.find_sample() is None:
            self.add_error("body", NO_SAMPLE)
        return values

    def find_field(self, path):
        """The field of a path in the mapping; errors of amounts name a currency."""
        return super().find_field("sale.currency" if path == "currency" else path)

    def find_sample(self) -> Body | None:
        """The event to look at: the one that was pasted or chosen, else the newest."""
        text = self.find_sample_text()
        try:
            return parse_body(text) if text else None
        except ValueError:
            return None

    def find_sample_text(self) -> str:
        """The body of that event; empty without one."""
        if not self.is_bound:
            chosen = self.fields["event"].initial
        elif body := self.cleaned_data.get("body"):
            return body
        else:
            chosen = self.cleaned_data.get("event")
        if not chosen:
            return ""
        return self.account.shop_events.get(pk=chosen).body


def build_mapping(values: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping that was entered, without empty fields and parts."""
    mapping: dict[str, Any] = {}
    for name in MappingForm.base_fields:
        text = values.get(name, "").strip()
        *parents, key = name.split(PATH_SEPARATOR)
        if not text or text == DEFAULTS.get(key):
            continue
        target = mapping
        for parent in parents:
            target = target.setdefault(parent, {})
        target[key] = parse_entry(name, text)
    signature = mapping.get("signature", {})
    for key in UNUSED.get(signature.get("kind"), ()):
        signature.pop(key, None)
    return mapping


def parse_entry(name: str, text: str) -> Any:
    """The value of a field in the mapping; raises `InvalidMapping`."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if name in PATH_LISTS:
        return lines
    if name in CONDITION_LISTS:
        return [parse_condition(name, line) for line in lines]
    return parse_condition(name, text) if name == CONDITION else text


def parse_condition(name: str, text: str) -> dict[str, Any]:
    """`type = order.paid or live != false` as a condition; raises `InvalidMapping`."""
    parts = [parse_comparison(name, part) for part in text.split(OR)]
    return {"any": parts} if len(parts) > 1 else parts[0]


def parse_comparison(name: str, text: str) -> dict[str, str]:
    """`type = order.paid` as a condition; raises `InvalidMapping`."""
    path, separator, value = (part.strip() for part in text.partition(EQUALS))
    if not separator:
        what = f"Write {text[:80]} as path = value, such as type = order.paid."
        raise InvalidMapping(what=what, path=name.replace(PATH_SEPARATOR, "."))
    if path.endswith(NOT):
        return {"path": path.removesuffix(NOT).strip(), "differs": value}
    return {"path": path, "equals": value}


def format_mapping(mapping: Mapping[str, Any]) -> dict[str, str]:
    return {name: format_entry(name, mapping) for name in MappingForm.base_fields}


def format_entry(name: str, mapping: Mapping[str, Any]) -> str:
    """The text of one field."""
    value: Any = mapping
    for key in name.split(PATH_SEPARATOR):
        value = value.get(key, DEFAULTS.get(key, "")) if value else ""
    if name in PATH_LISTS:
        return "\n".join(value)
    if name in CONDITION_LISTS:
        return "\n".join(map(format_condition, value))
    return format_condition(value) if name == CONDITION and value else value


def format_condition(condition: Mapping[str, Any]) -> str:
    """A condition as `parse_condition` reads it."""
    if "any" in condition:
        return OR.join(map(format_condition, condition["any"]))
    is_negated = "differs" in condition
    value = format_value(condition["differs" if is_negated else "equals"])
    return f"{condition['path']} {NOT if is_negated else ''}{EQUALS} {value}"
