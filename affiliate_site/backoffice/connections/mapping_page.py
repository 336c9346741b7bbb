"""The page of a mapping: a form beside a sample, and what would happen."""

from collections.abc import Mapping
from copy import copy
from decimal import Decimal
from itertools import islice
from typing import Any

from affiliate_site.backoffice.connections.event_body import (
    MAX_LISTED_PATHS,
    PATHS_ID,
    list_paths,
)
from affiliate_site.backoffice.connections.event_pages import PreviewPage, preview_body
from affiliate_site.backoffice.connections.mapping_form import (
    PREVIEW,
    SAMPLE,
    MappingForm,
    format_mapping,
)
from affiliate_site.backoffice.formatters import format_datetime
from affiliate_site.shops.base import Body, parse_body
from affiliate_site.shops.other import DEFAULT_KIND, find_time, format_value
from affiliate_site.shops.processing import read_event
from payouts.shop_facts import EventFacts
from tracking.dotted_paths import find_value
from tracking.models.shops import Connection, ConnectionKind
from tracking.services.connections import update_connection

Fact = tuple[str, object]
NO_ID = "none: equal bodies are one event"
HEADER_ID = "the header webhook-id or svix-id"
NO_TIME = "when it arrives"
NONE = "none"


class MappingPage(PreviewPage):
    """Enter where the events of any other shop have what."""

    name = "mapping"
    title = "Mapping"
    permission = "tracking.change_connection"
    row_argument = ("connection_id", "public_id")
    template_name = "admin/connections/mapping.html"
    form_class = MappingForm
    service = staticmethod(update_connection)
    explanation = (
        "First enter how the shop signs and save, then let it send an event: it is"
        " stored and shown here. Enter the paths of its values, and see what would"
        " happen before you save."
    )
    done_message = (
        "The mapping was saved. It is for new events: process earlier ones again that should count."
    )
    preview = PREVIEW
    preview_button = "See what would happen"
    paths_id = PATHS_ID

    @classmethod
    def is_offered(cls, connection):
        return connection.kind == ConnectionKind.OTHER

    def get_unlocked_initial(self, connection):
        return format_mapping(connection.settings.get("other", {}))

    def get_values(self, form):
        settings = self.row.settings | {"other": form.mapping}
        return {"changes": {"settings": settings}}

    def perform(self, form, at):
        """Save the mapping, or try it without a change."""
        if PREVIEW not in form.data:
            return self.save(form, at)
        return preview_body(
            build_draft(self.row, form), DEFAULT_KIND, form.find_sample_text(), at=at
        )

    def respond(self, form, result):
        if PREVIEW not in form.data:
            return super().respond(form, result)
        return self.show(form, result)

    def list_facts(self, form):
        draft, text = build_draft(self.row, form), form.find_sample_text()
        facts = read_event(draft, DEFAULT_KIND, text)
        return [
            *list_event_facts(parse_body(text), form.mapping),
            *list_sale_facts(facts),
            *list_refund_facts(facts),
        ]

    def get_context_data(self, **kwargs):
        """Add the sample with its paths."""
        context = super().get_context_data(**kwargs)
        form = context["form"]
        sample = form.find_sample()
        paths = list(islice(list_paths(sample), MAX_LISTED_PATHS)) if sample else []
        return context | {
            "sample_fields": [form[name] for name in SAMPLE],
            "paths": paths,
            "has_personal_paths": any(it.shown_text != it.text for it in paths),
        }


def build_draft(connection: Connection, form: MappingForm) -> Connection:
    draft = copy(connection)
    draft.settings = connection.settings | {"other": form.mapping}
    return draft


def list_event_facts(body: Body, mapping: Mapping[str, Any]) -> list[Fact]:
    """ID, kind and time of an event, or what is used instead."""
    paths = mapping.get("event", {})
    key, kind = (format_value(find_value(body, paths.get(name, ""))) for name in ("id", "kind"))
    at = format_datetime(find_time(body, mapping), timespec="seconds")
    is_standard = mapping["signature"]["kind"] == "standard_webhooks"
    return [
        ("Event ID", key or (HEADER_ID if is_standard else NO_ID)),
        ("Kind", kind or DEFAULT_KIND),
        ("Time", at or NO_TIME),
    ]


def list_sale_facts(facts: EventFacts) -> list[Fact]:
    """What an event says of a sale."""
    sale = facts.order.get("sale")
    if sale is None:
        return []
    currency, lines = sale["currency"], sale["lines"]
    amount = sum(Decimal(line["amount"]) for line in lines)
    texts = [f"{', '.join(it['products'])} {it['amount']} {currency}" for it in lines]
    return [
        ("Order ID", sale["order_id"]),
        ("Amount", f"{amount} {currency}"),
        ("Paid", f"{sale['paid']} {currency}"),
        ("Customer", sale["customer"] or NONE),
        ("Referral", "\n".join(sale["referral"]["values"]) or NONE),
        ("Coupons", "\n".join(sale["referral"]["coupons"]) or NONE),
        ("Lines", "\n".join(texts) if any(it["products"] for it in lines) else ""),
    ]


def list_refund_facts(facts: EventFacts) -> list[Fact]:
    """What an event says of a refund."""
    return [
        fact
        for key, refund in facts.order.get("refunds", {}).items()
        for fact in (
            ("Order ID", facts.references[0]),
            ("Refund ID", key),
            ("Amount", refund["amount"]),
            ("Canceled", "yes" if refund["is_canceled"] else "no"),
        )
    ]
