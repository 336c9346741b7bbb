"""Affiliates' own postbacks, which report their conversions and customers."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from accounts.models.accounts import Account
from accounts.models.webhooks import WebhookEndpoint
from accounts.services.webhooks import create_postback_endpoint
from tracking.services.affiliates import get_affiliate


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
