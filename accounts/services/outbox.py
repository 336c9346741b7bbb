"""The outbox: what each endpoint is to be told, in the story's own transaction."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import quote

from django.conf import settings
from django.db import models
from django.utils.module_loading import import_string

from accounts.ids import new_id
from accounts.models.accounts import Account
from accounts.models.events import Event
from accounts.models.webhooks import (
    EVENTS,
    POSTBACK_EVENTS,
    Delivery,
    WebhookEndpoint,
)

AT_ONCE = 1000  # rows of one statement: PostgreSQL takes 65,535 values
MACRO = re.compile(r"\$\{([^{}]*)\}")


@dataclass(frozen=True)
class Telling:
    """A changed thing as others hear of it: its bytes as the API shows it, whose it
    is, and what the macros of that affiliate's postbacks stand for."""

    body: bytes
    affiliate: str = ""
    macros: Mapping[str, str] = field(default_factory=dict)


Render = Callable[[Account, Sequence[models.Model]], list[Telling]]


def announce(
    account: Account,
    kind: str,
    events: Sequence[Event],
    subjects: Sequence[models.Model],
    *,
    at: datetime,
) -> None:
    """Write a delivery of each event for each endpoint that listens to its kind.

    What is told is the subject as it stands at this moment.
    """
    if not account.uses_webhooks or kind not in EVENTS or not events:
        return
    endpoints = account.webhook_endpoints.listening()
    webhooks = [it for it in endpoints.of_the_account() if it.hears(kind)]
    postbacks = endpoints.exclude(affiliate="") if kind in POSTBACK_EVENTS else None
    if not webhooks and (postbacks is None or not postbacks.exists()):
        return
    render: Render = import_string(settings.EVENT_BODY)
    tellings = render(account, subjects)
    listeners = webhooks + _own(postbacks, tellings, kind)
    deliveries = [
        Delivery(
            account=account,
            endpoint=endpoint,
            event=event,
            webhook_id=webhook_id,
            url=with_macros(endpoint.url, telling.macros) if endpoint.affiliate else "",
            body=b"" if endpoint.affiliate else telling.body,
            created_at=at,
            due_at=at,
        )
        for event, telling in zip(events, tellings, strict=True)
        for webhook_id in [new_id("evt")]
        for endpoint in listeners
        if endpoint.affiliate in ("", telling.affiliate)
    ]
    account.deliveries.bulk_create(deliveries, batch_size=AT_ONCE)


def with_macros(url: str, values: Mapping[str, str]) -> str:
    """A URL with its `${…}` replaced, percent-encoded; unknown ones become empty."""
    return MACRO.sub(lambda macro: quote(values.get(macro[1], ""), safe=""), url)


def _own(
    postbacks: models.QuerySet[WebhookEndpoint] | None,
    tellings: Sequence[Telling],
    kind: str,
) -> list[WebhookEndpoint]:
    """The postbacks of the affiliates whose things these are."""
    if postbacks is None:
        return []
    whose = {telling.affiliate for telling in tellings} - {""}
    return [it for it in postbacks.filter(affiliate__in=whose) if it.hears(kind)]
