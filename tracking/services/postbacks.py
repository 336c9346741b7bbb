"""Postbacks of affiliates: of staff, and those that affiliates set up in the portal."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Q

from accounts.errors import WebhookNotFound
from accounts.models.accounts import Account
from accounts.models.webhooks import (
    INTENTIONAL_REASONS,
    Delivery,
    PostbackMethod,
    WebhookEndpoint,
)
from accounts.services.webhooks import create_postback_endpoint, disable_webhook
from tracking.errors import TooManyPostbacks
from tracking.models.affiliates import Affiliate
from tracking.services.affiliates import get_affiliate
from tracking.services.concurrency import retry_on_conflict


def create_postback(
    account: Account,
    *,
    affiliate_id: str,
    url: str,
    method: str,
    events: Sequence[str],
    at: datetime,
) -> WebhookEndpoint:
    """Create a postback that calls `url` on these events of the affiliate."""
    with transaction.atomic():
        affiliate = get_affiliate(account, affiliate_id, lock=True)
        return create_postback_endpoint(
            account,
            affiliate=affiliate.slug,
            url=url,
            method=method,
            events=events,
            at=at,
        )


MAX_POSTBACKS = 5  # enabled, of an affiliate


def list_own_postbacks(affiliate: Affiliate) -> list[WebhookEndpoint]:
    """Return the enabled postbacks of an affiliate, then those that failed too long."""
    rows = affiliate.account.webhook_endpoints.filter(affiliate=affiliate.slug)
    failed = ~Q(disabled_because__in=INTENTIONAL_REASONS)
    rows = rows.filter(Q(disabled_at=None) | failed).order_by("-disabled_at", "-pk")
    enabled = [row for row in rows if row.disabled_at is None]
    return [*enabled, *(row for row in rows if row.disabled_at)][:MAX_POSTBACKS]


def list_last_deliveries(postback: WebhookEndpoint, *, limit: int) -> Sequence[Delivery]:
    """Return the last calls of a postback, newest first, without what was sent."""
    rows = postback.account.deliveries.filter(endpoint=postback).without_content()
    return list(rows.select_related("event").order_by("-event")[:limit])


def create_own_postback(
    affiliate: Affiliate, *, url: str, events: Sequence[str], at: datetime
) -> WebhookEndpoint:
    """Create a postback that calls `url` with GET.

    Raises `TooManyPostbacks`, and what `create_postback_endpoint` raises.
    """
    account = affiliate.account
    with transaction.atomic():
        locked = get_affiliate(account, affiliate.slug, lock=True)
        own = account.webhook_endpoints.enabled().filter(affiliate=locked.slug)
        if own.count() >= MAX_POSTBACKS:
            raise TooManyPostbacks(limit=MAX_POSTBACKS)
        return create_postback_endpoint(
            account,
            affiliate=locked.slug,
            url=url,
            method=PostbackMethod.GET,
            events=events,
            at=at,
        )


def get_own_postback(affiliate: Affiliate, public_id: str) -> WebhookEndpoint:
    """Return a postback of an affiliate that is enabled; raise `WebhookNotFound`."""
    rows = affiliate.account.webhook_endpoints.enabled().select_related("account")
    own = rows.filter(affiliate=affiliate.slug, public_id=public_id).first()
    if own is None:
        raise WebhookNotFound(webhook=public_id)
    return own


@retry_on_conflict
def remove_own_postback(affiliate: Affiliate, public_id: str, *, at: datetime) -> None:
    """Disable a postback of an affiliate, and delete it if it was never called.

    Raises `WebhookNotFound`.
    """
    with transaction.atomic():
        postback = get_own_postback(affiliate, public_id)
        disable_webhook(postback, at=at)
        if not affiliate.account.deliveries.filter(endpoint=postback).exists():
            affiliate.account.webhook_endpoints.filter(pk=postback.pk).delete()
