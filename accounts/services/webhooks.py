"""Webhooks: made, given another secret, disabled, enabled again."""

import base64
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from accounts.errors import (
    UnknownEventName,
    UnknownWebhook,
    WebhookExists,
    WebhookForlorn,
    WebhookUnsigned,
)
from accounts.ids import new_id
from accounts.models.accounts import Account
from accounts.models.webhooks import (
    AFFILIATE_REMOVED,
    BY_HAND,
    EVENTS,
    POSTBACK_EVENTS,
    Method,
    WebhookEndpoint,
)
from accounts.services.accounts import refuse_long
from accounts.services.events import note
from accounts.services.outbox import MACRO
from accounts.targets import target_of

LONGEST_URL = 2000
SECRET_BEGINNING = "whsec_"  # noqa: S105 - what a secret begins with
SECRET_BYTES = 32
BOTH_SIGN_FOR = timedelta(hours=24)


def add_webhook(
    account: Account, *, url: str, events: Sequence[str] = (), at: datetime
) -> WebhookEndpoint:
    """Tell this URL of these events (none named: of all) from now on, signed."""
    refuse_url(url)
    refuse_unknown(events, among=EVENTS)
    return _add(account, url=url, events=events, secret=new_secret(), at=at)


def add_postback(
    account: Account,
    *,
    affiliate: str,
    url: str,
    method: str = Method.GET,
    events: Sequence[str] = (),
    at: datetime,
) -> WebhookEndpoint:
    """Call this URL when something of the affiliate's happens, its macros filled in.

    `affiliate` is its id; whoever calls has seen that there is one.
    """
    # A macro may stand for anything, so not for a part of the host.
    refuse_url(MACRO.sub("!", url))
    refuse_unknown(events, among=POSTBACK_EVENTS)
    return _add(
        account, url=url, events=events, affiliate=affiliate, method=method, at=at
    )


def rotate_secret(account: Account, *, webhook: str, at: datetime) -> WebhookEndpoint:
    """Give a webhook another secret; for a day the old one signs as well."""
    with transaction.atomic():
        endpoint = webhook_named(account, webhook, lock=True)
        if endpoint.affiliate:
            raise WebhookUnsigned(webhook=webhook)
        endpoint.change(
            secret=new_secret(),
            old_secret=endpoint.secret,
            old_secret_until=at + BOTH_SIGN_FOR,
        )
        note(account, "webhook.secret_rotated", endpoint, at=at)
    return endpoint


def disable(endpoint: WebhookEndpoint, *, because: str = BY_HAND, at: datetime) -> None:
    """Tell a webhook nothing more; what waits for it waits until it is enabled."""
    with transaction.atomic():
        if endpoint.change(
            expecting={"disabled_at": None}, disabled_at=at, disabled_because=because
        ):
            note(endpoint.account, "webhook.disabled", endpoint, at=at, because=because)


def disable_postbacks(account: Account, *, affiliate: str, at: datetime) -> None:
    """Call nothing more for an affiliate that is gone."""
    for postback in account.webhook_endpoints.listening().filter(affiliate=affiliate):
        disable(postback, because=AFFILIATE_REMOVED, at=at)


def enable(account: Account, *, webhook: str, at: datetime) -> WebhookEndpoint:
    """Tell a webhook again what happens, and what waited for it."""
    endpoint = webhook_named(account, webhook)
    if endpoint.disabled_because == AFFILIATE_REMOVED:
        raise WebhookForlorn(webhook=webhook)
    if endpoint.disabled_at is not None:
        with transaction.atomic():
            endpoint.change(
                disabled_at=None,
                disabled_because="",
                failing_since=None,
                rests_until=None,
            )
            note(account, "webhook.enabled", endpoint, at=at)
    return endpoint


def webhook_named(
    account: Account, public_id: str, *, lock: bool = False
) -> WebhookEndpoint:
    """The account's endpoint with this id."""
    rows = account.webhook_endpoints.select_related("account")
    if lock:
        rows = rows.select_for_update(no_key=True, of=("self",))
    endpoint = rows.filter(public_id=public_id).first()
    if endpoint is None:
        raise UnknownWebhook(webhook=public_id)
    return endpoint


def refuse_url(url: str) -> None:
    """Stop here at a URL that would never be called, or does not fit its column."""
    refuse_long("The URL", url, LONGEST_URL)
    target_of(url, excused=settings.WEBHOOK_ALLOWED_HOSTS)


def refuse_unknown(events: Sequence[str], *, among: Sequence[str]) -> None:
    """Stop here at a name that is no event's."""
    for name in events:
        if name not in among:
            raise UnknownEventName(name=name, names=", ".join(among))


def new_secret() -> str:
    """`whsec_` and 32 random bytes, as Standard Webhooks writes them."""
    return (
        SECRET_BEGINNING + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()
    )


def _add(
    account: Account, *, url: str, events: Sequence[str], at: datetime, **values: str
) -> WebhookEndpoint:
    kinds = sorted(set(events))
    twins = account.webhook_endpoints.listening().filter(
        url=url, affiliate=values.get("affiliate", "")
    )
    for twin in twins:
        if twin.events == kinds:
            raise WebhookExists(webhook=twin.public_id)
    with transaction.atomic():
        Account.objects.filter(pk=account.pk).update(uses_webhooks=True)
        account.uses_webhooks = True
        endpoint = account.webhook_endpoints.create(
            public_id=new_id("we"), url=url, events=kinds, created_at=at, **values
        )
        note(account, "webhook.added", endpoint, at=at, events=kinds)
    return endpoint
