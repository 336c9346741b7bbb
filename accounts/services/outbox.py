"""The outbox: create webhook deliveries in the transaction of the change."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import quote

import orjson
from django.conf import settings
from django.db import models
from django.utils.module_loading import import_string

from accounts.errors import TooManyMacros, UnknownMacro
from accounts.exact_json import serialize_exact_json
from accounts.ids import generate_public_id
from accounts.models.accounts import Account
from accounts.models.audit_log import AuditLogEntry
from accounts.models.webhooks import (
    POSTBACK_EVENTS,
    WEBHOOK_EVENTS,
    Delivery,
    WebhookEndpoint,
)

MACRO_PATTERN = re.compile(r"\$\{([^{}]*)\}")
POSTBACK_MACROS = (
    "click_subid",
    "commission_amount",
    "currency",
    "conversion.id",
    "conversion.external_id",
    "conversion.amount",
    "conversion.commissions",
    "customer.id",
)
LIST_MACRO = "conversion.commissions"  # the only value that grows with the sale
MAX_MACROS = 20  # in an address
MAX_VALUE_LENGTH = 8_000  # characters of a value, percent-encoded
MAX_VALUES_LENGTH = 2 * MAX_VALUE_LENGTH  # of all values in an address
CLICK_MACRO = "conversion.click.meta_data[{key}]"  # with any key
CLICK_MACRO_PATTERN = re.compile(r"conversion\.click\.meta_data\[[^\[\]]+\]")


@dataclass(frozen=True)
class EventPayload:
    """The content of a webhook event.

    `body` is the changed object as the API shows it, `affiliate` the ID of the
    affiliate it belongs to, `macros` the values for that affiliate's postback URLs.
    """

    body: bytes
    affiliate: str = ""
    macros: Mapping[str, str] = field(default_factory=dict)


Render = Callable[[Account, Sequence[models.Model]], list[EventPayload]]


_is_publishing = ContextVar("is_publishing", default=True)


@contextmanager
def publish_no_events() -> Iterator[None]:
    """Send no webhooks and postbacks about the changes within the block.

    For an import and its undoing: its changes happened long ago, somewhere else.
    """
    token = _is_publishing.set(False)
    try:
        yield
    finally:
        _is_publishing.reset(token)


def publish_events(
    account: Account,
    kind: str,
    entries: Sequence[AuditLogEntry],
    payload_rows: Sequence[models.Model],
    *,
    at: datetime,
) -> None:
    """Enqueue a delivery of each event to each endpoint that subscribes to its kind.

    `entries` are the events in the audit log; `payload_rows` are the rows that their
    bodies show, as they are now, one for each event.
    """
    if not (account.uses_webhooks and _is_publishing.get()):
        return
    if kind not in WEBHOOK_EVENTS or not entries:
        return
    enabled = account.webhook_endpoints.enabled().order_by("pk")
    webhooks = [each for each in enabled.account_webhooks() if each.subscribes_to(kind)]
    postbacks = enabled.postbacks() if kind in POSTBACK_EVENTS else enabled.none()
    if not webhooks and not postbacks.exists():
        return
    payloads = render_payloads(account, payload_rows)
    endpoints = webhooks + _filter_postbacks(postbacks, payloads, kind)
    deliveries: list[Delivery] = []
    for entry, payload in zip(entries, payloads, strict=True):
        message_id = generate_public_id("evt")
        deliveries += [
            Delivery(
                account=account,
                endpoint=endpoint,
                event=entry,
                message_id=message_id,
                body=serialize_content(endpoint, payload),
                created_at=at,
                due_at=at,
            )
            for endpoint in endpoints
            if endpoint.affiliate in ("", payload.affiliate)
        ]
    account.deliveries.bulk_create(deliveries)


def validate_macros(url: str) -> None:
    """Raise `UnknownMacro` for the first macro that no event fills in, and
    `TooManyMacros` if the values could make the address too long."""
    used = MACRO_PATTERN.findall(url)
    if len(used) > MAX_MACROS or used.count(LIST_MACRO) > 1:
        raise TooManyMacros(limit=MAX_MACROS)
    for name in used:
        if name not in POSTBACK_MACROS and not CLICK_MACRO_PATTERN.fullmatch(name):
            names = [*POSTBACK_MACROS, CLICK_MACRO]
            raise UnknownMacro(name=name, names=", ".join(names))


def render_payloads(account: Account, rows: Sequence[models.Model]) -> list[EventPayload]:
    """Render the content of events that show these rows, all of one model."""
    render: Render = import_string(settings.EVENT_PAYLOAD_RENDERER)
    return render(account, rows)


def serialize_content(endpoint: WebhookEndpoint, payload: EventPayload) -> bytes:
    """Return the body of a delivery: the event, or the values that the address of a
    postback shows, without those that are too long for it."""
    if not endpoint.affiliate:
        return payload.body
    values = {
        name: payload.macros.get(name, "")
        for name in MACRO_PATTERN.findall(endpoint.url)[:MAX_MACROS]
    }
    return serialize_exact_json(
        {key: text for key, text in values.items() if len(text) <= MAX_VALUE_LENGTH}
    )


def build_url(delivery: Delivery) -> str:
    """Return the address of a delivery, with the macros of a postback filled in.

    Releases before stored the filled address of a postback, and no body.
    """
    endpoint = delivery.endpoint
    if delivery.url or not endpoint.affiliate:
        return delivery.url or endpoint.url
    return fill_macros(endpoint.url, orjson.loads(bytes(delivery.body)))


def fill_macros(url: str, values: Mapping[str, str]) -> str:
    """Replace each `${…}` by its percent-encoded value, which may be missing.

    A value that is too long becomes empty, and so does what exceeds the limits of
    `validate_macros`: an address that is older than these has more macros.
    """
    used: list[str] = []
    room = MAX_VALUES_LENGTH

    def fill(match: re.Match[str]) -> str:
        nonlocal room
        name = match[1]
        is_surplus = len(used) >= MAX_MACROS or (name == LIST_MACRO and name in used)
        used.append(name)
        # A moved-in account's file may have other values than texts.
        value = "" if is_surplus else str(values.get(name, ""))
        # Encoding makes a value longer, never shorter.
        is_short = len(value) <= MAX_VALUE_LENGTH
        encoded = quote(value, safe="") if is_short else ""
        if len(encoded) > min(MAX_VALUE_LENGTH, room):
            return ""
        room -= len(encoded)
        return encoded

    return MACRO_PATTERN.sub(fill, url)


def _filter_postbacks(
    postbacks: models.QuerySet[WebhookEndpoint],
    payloads: Sequence[EventPayload],
    kind: str,
) -> list[WebhookEndpoint]:
    """List the subscribed postbacks of the affiliates in the payloads."""
    affiliates = {payload.affiliate for payload in payloads} - {""}
    return [
        postback
        for postback in postbacks.filter(affiliate__in=affiliates)
        if postback.subscribes_to(kind)
    ]
