"""Create, change, enable and disable webhooks and postbacks; rotate their secrets."""

import base64
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from accounts.errors import (
    DuplicateWebhook,
    PostbackNotEditable,
    PostbackNotSigned,
    UnknownEventName,
    WebhookNotFound,
    WebhookOwnerDeleted,
)
from accounts.ids import generate_public_id
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.models.webhooks import (
    DISABLED_AFFILIATE_DELETED,
    DISABLED_MANUALLY,
    POSTBACK_EVENTS,
    WEBHOOK_EVENTS,
    PostbackMethod,
    WebhookEndpoint,
)
from accounts.services.accounts import validate_length
from accounts.services.changes import log_event
from accounts.services.outbox import MACRO_PATTERN, validate_macros
from accounts.url_safety import parse_url

MAX_WEBHOOK_URL_LENGTH = 2000
SECRET_PREFIX = "whsec_"  # noqa: S105 - only the prefix of a secret
SECRET_BYTES = 32
OLD_SECRET_VALIDITY = timedelta(hours=24)


def create_webhook(
    account: Account, *, url: str, events: Sequence[str] = (), at: datetime
) -> WebhookEndpoint:
    """Create a webhook that sends signed events to a URL; without `events`, all."""
    validate_url(url)
    validate_event_names(events, allowed=WEBHOOK_EVENTS)
    return _create_endpoint(account, url=url, events=events, secret=generate_secret(), at=at)


def create_postback_endpoint(
    account: Account,
    *,
    affiliate: str,
    url: str,
    method: str = PostbackMethod.GET,
    events: Sequence[str] = (),
    at: datetime,
) -> WebhookEndpoint:
    """Create an affiliate postback: a URL with macros that is called for events.

    `affiliate` is the ID of the affiliate; the caller has checked that it exists.
    """
    # Macros are not allowed in the host: "!" makes it invalid.
    validate_url(MACRO_PATTERN.sub("!", url))
    validate_macros(url)
    validate_event_names(events, allowed=POSTBACK_EVENTS)
    return _create_endpoint(
        account, url=url, events=events, affiliate=affiliate, method=method, at=at
    )


def update_webhook(
    account: Account, *, webhook: str, url: str, events: Sequence[str], at: datetime
) -> WebhookEndpoint:
    """Change URL and events of a webhook; its secret and pending deliveries stay.

    Deliveries to a new URL begin at once, without the pause after failures of the old
    one. The audit log has no URL, as it may hold a secret.
    """
    validate_url(url)
    validate_event_names(events, allowed=WEBHOOK_EVENTS)
    kinds = sorted(set(events))
    with transaction.atomic():
        endpoint = get_webhook(account, webhook, lock=True)
        if endpoint.affiliate:
            raise PostbackNotEditable(webhook=webhook)
        if endpoint.disabled_at is None:
            ensure_unique(account, url=url, kinds=kinds, but=endpoint)
        changes: dict[str, Any] = {}
        if kinds != endpoint.events:
            changes["events"] = [endpoint.events, kinds]
        if is_moved := url != endpoint.url:
            changes["is_url_changed"] = True
        if changes:
            endpoint.update_row(url=url, events=kinds)
            log_event(account, "webhook.updated", endpoint, at=at, **changes)
        if is_moved:
            endpoint.update_row(failing_since=None, backoff_until=None)
    return endpoint


def rotate_secret(account: Account, *, webhook: str, at: datetime) -> WebhookEndpoint:
    """Replace the secret of a webhook; the old one also signs for 24 hours."""
    with transaction.atomic():
        endpoint = get_webhook(account, webhook, lock=True)
        if endpoint.affiliate:
            raise PostbackNotSigned(webhook=webhook)
        endpoint.update_row(
            secret=generate_secret(),
            old_secret=endpoint.secret,
            old_secret_until=at + OLD_SECRET_VALIDITY,
        )
        log_event(account, "webhook.secret_rotated", endpoint, at=at)
    return endpoint


def disable_webhook(
    endpoint: WebhookEndpoint, *, reason: str = DISABLED_MANUALLY, at: datetime
) -> None:
    """Disable an endpoint; its pending deliveries are kept until it is enabled.

    The audit log has no details of errors of a postback, whose host may be named after
    its affiliate.
    """
    logged_reason = reason.partition(": ")[0] if endpoint.affiliate else reason
    with transaction.atomic():
        if endpoint.update_row(
            expected={"disabled_at": None}, disabled_at=at, disabled_because=reason
        ):
            log_event(
                endpoint.account,
                "webhook.disabled",
                endpoint,
                at=at,
                reason=logged_reason,
            )


def disable_postbacks(account: Account, *, affiliate: str, at: datetime) -> None:
    """Disable the postbacks of an affiliate that is deleted."""
    postbacks = account.webhook_endpoints.enabled().filter(affiliate=affiliate)
    for postback in postbacks.order_by("pk"):
        disable_webhook(postback, reason=DISABLED_AFFILIATE_DELETED, at=at)


def enable_webhook(account: Account, *, webhook: str, at: datetime) -> WebhookEndpoint:
    """Enable a webhook and send its pending deliveries."""
    endpoint = get_webhook(account, webhook)
    if endpoint.disabled_because == DISABLED_AFFILIATE_DELETED:
        raise WebhookOwnerDeleted(webhook=webhook)
    if endpoint.disabled_at is not None:
        with transaction.atomic():
            endpoint.update_row(
                disabled_at=None,
                disabled_because="",
                failing_since=None,
                backoff_until=None,
            )
            log_event(account, "webhook.enabled", endpoint, at=at)
    return endpoint


def get_webhook(account: Account, public_id: str, *, lock: bool = False) -> WebhookEndpoint:
    """Return the account's endpoint with this ID."""
    rows = account.webhook_endpoints.select_related("account")
    missing = WebhookNotFound(webhook=public_id)
    return get_or_raise(rows, missing, lock=lock, public_id=public_id)


def validate_url(url: str) -> None:
    """Raise if a URL is too long, malformed or not allowed."""
    validate_length("The URL", url, MAX_WEBHOOK_URL_LENGTH, path="url")
    parse_url(url, allowed_hosts=settings.WEBHOOK_ALLOWED_HOSTS)


def validate_event_names(events: Sequence[str], *, allowed: Sequence[str]) -> None:
    """Raise `UnknownEventName` at the first name that is not in `allowed`."""
    for name in events:
        if name not in allowed:
            raise UnknownEventName(name=name, names=", ".join(allowed))


def generate_secret() -> str:
    """Return a Standard Webhooks secret: `whsec_` and 32 random bytes in base64."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def ensure_unique(
    account: Account,
    *,
    url: str,
    kinds: list[str],
    affiliate: str = "",
    but: WebhookEndpoint | None = None,
) -> None:
    """Raise `DuplicateWebhook` if another enabled endpoint has this URL and events."""
    same_url = account.webhook_endpoints.enabled().filter(url=url, affiliate=affiliate)
    for existing in same_url.order_by("pk"):
        if existing.events == kinds and existing != but:
            raise DuplicateWebhook(webhook=existing.public_id)


def _create_endpoint(
    account: Account, *, url: str, events: Sequence[str], at: datetime, **values: Any
) -> WebhookEndpoint:
    kinds = sorted(set(events))
    ensure_unique(account, url=url, kinds=kinds, affiliate=values.get("affiliate", ""))
    with transaction.atomic():
        Account.objects.filter(pk=account.pk).update(uses_webhooks=True)
        account.uses_webhooks = True
        endpoint = account.webhook_endpoints.create(  # type: ignore[misc]  # stubs: a `**` is no value
            public_id=generate_public_id("we"),
            url=url,
            events=kinds,
            created_at=at,
            **values,
        )
        log_event(account, "webhook.created", endpoint, at=at, events=kinds)
    return endpoint
