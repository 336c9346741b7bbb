"""Affiliates' own postbacks: what they want to be told of what they brought."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from accounts.models.accounts import Account
from accounts.models.webhooks import WebhookEndpoint
from accounts.services.webhooks import add_postback
from tracking.services.affiliates import affiliate_named


def call_for(
    account: Account,
    *,
    affiliate_id: str,
    url: str,
    method: str,
    events: Sequence[str],
    at: datetime,
) -> WebhookEndpoint:
    """Call this URL from now on when something of the affiliate's happens."""
    with transaction.atomic():
        affiliate = affiliate_named(account, affiliate_id, lock=True)
        return add_postback(
            account,
            affiliate=affiliate.slug,
            url=url,
            method=method,
            events=events,
            at=at,
        )
