"""Claim webhook deliveries, record their results, retry and resend them.

See docs/api-contract.md, section 6.3, and docs/reliability.md, section 6.
"""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import models, transaction

from accounts.errors import DeliveryNotFound, PostbackNotTestable, WebhookDisabled
from accounts.exact_json import serialize_exact_json
from accounts.ids import generate_public_id
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.models.webhooks import TEST_EVENT, Delivery, WebhookEndpoint
from accounts.services.changes import log_event
from accounts.services.notifications import send_to_owners
from accounts.services.queues import claim_due_rows, find_retry_time
from accounts.services.webhooks import disable_webhook, get_webhook

RETRY_DELAYS = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=24),
)
JITTER = 0.1  # each delay varies by ±10 %
# Longer than a request may take, name resolution included.
LEASE_DURATION = timedelta(minutes=1)
ENDPOINT_BACKOFF = RETRY_DELAYS[0]  # pause for an endpoint after a failure
HTTP_GONE = 410
MAX_ERROR_LENGTH = 255
MAX_LOG_ENTRIES = 100


@dataclass(frozen=True)
class DeliveryResult:
    """The result of a request: HTTP status, start of the response body, or an error."""

    status: int | None = None
    response_body: str = ""
    error: str = ""


def list_due_endpoints(*, at: datetime) -> list[WebhookEndpoint]:
    """List the endpoints of all accounts that have deliveries due now."""
    endpoints = WebhookEndpoint.objects.across_accounts().with_due_deliveries(at=at)
    return list(endpoints.select_related("account"))


def claim_deliveries(
    endpoint: WebhookEndpoint, *, limit: int, due_before: datetime, at: datetime
) -> list[Delivery]:
    """Lease an endpoint's oldest deliveries due by `due_before` to one worker.

    A delivery whose result is not recorded before the lease ends is due again.
    """
    rows = endpoint.account.deliveries.filter(endpoint=endpoint)
    claimed = claim_due_rows(
        rows.select_related("event"),
        limit=limit,
        due_before=due_before,
        next_attempt=at + LEASE_DURATION,
    )
    for delivery in claimed:
        delivery.endpoint = endpoint
    return claimed


def record_delivery_result(delivery: Delivery, result: DeliveryResult, *, at: datetime) -> None:
    """Record the result of an attempt, and schedule a retry if it failed.

    The endpoint is disabled after the last retry, or when it answers 410. A test event
    is sent once, and its failure does not count against the endpoint.
    """
    attempts = delivery.attempts + 1
    is_failed, is_gone = bool(result.error), result.status == HTTP_GONE
    is_test = delivery.event.kind == TEST_EVENT
    can_retry = is_failed and not is_gone and not is_test
    factor = random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - no secret
    retry_at = find_retry_time(RETRY_DELAYS, attempts, at=at, factor=factor) if can_retry else None
    with transaction.atomic():
        if not delivery.update_row(
            expected={"due_at": delivery.due_at},
            attempts=attempts,
            attempted_at=at,
            status=result.status,
            response_body=result.response_body,
            error=result.error[:MAX_ERROR_LENGTH],
            delivered_at=None if is_failed else at,
            due_at=retry_at,
        ):
            return  # the lease has expired, or the delivery was resent
        endpoint = delivery.endpoint
        if is_failed and is_test:
            return
        if is_failed:
            # Other deliveries may have failed or succeeded since the endpoint was read.
            endpoint.update_row(expected={"failing_since": None}, failing_since=at)
            endpoint.update_row(backoff_until=at + ENDPOINT_BACKOFF)
        elif endpoint.failing_since is not None:
            endpoint.update_row(failing_since=None, backoff_until=None)
        if is_failed and retry_at is None:
            cause = "the receiver is gone" if is_gone else f"{attempts} tries failed"
            reason = f"{cause}: {result.error}"[:MAX_ERROR_LENGTH]
            disable_webhook(endpoint, reason=reason, at=at)
            send_to_owners(
                endpoint.account,
                subject=f"The webhook {endpoint} is disabled",
                text=f"{endpoint.url}\n\n{reason}\n\nPending deliveries are kept for 30"
                " days and sent when the webhook is enabled again. Events that occur"
                " while it is disabled are not sent.\n",
            )


def count_pending_deliveries() -> int:
    """Count the deliveries of all accounts that are due now or later."""
    return (
        Delivery.objects.across_accounts()
        .filter(due_at__isnull=False, endpoint__disabled_at=None)
        .count()
    )


def get_oldest_due_time() -> datetime | None:
    """Return since when the oldest delivery of all accounts is due, or None."""
    waiting = (
        Delivery.objects.across_accounts()
        .filter(due_at__isnull=False, endpoint__disabled_at=None)
        .aggregate(oldest=models.Min("due_at"))
    )
    oldest: datetime | None = waiting["oldest"]
    return oldest


def has_enabled_endpoints() -> bool:
    """Return whether any account has a webhook or postback that is enabled."""
    return WebhookEndpoint.objects.across_accounts().enabled().exists()


def list_deliveries(account: Account, *, webhook: str, only_failed: bool) -> list[dict[str, Any]]:
    """List the newest deliveries of a webhook, or only those whose last attempt failed.

    Returns the columns of `DeliveryQuerySet.for_delivery_log`.
    """
    endpoint = get_webhook(account, webhook)
    rows = account.deliveries.filter(endpoint=endpoint).newest_first()
    if only_failed:
        rows = rows.exclude(error="")
    return list(rows.for_delivery_log()[:MAX_LOG_ENTRIES])


def send_test_event(account: Account, *, webhook: str, at: datetime) -> Delivery:
    """Send an event to a webhook whose body says that it is a test."""
    with transaction.atomic():
        endpoint = get_webhook(account, webhook, lock=True)
        if endpoint.affiliate:
            raise PostbackNotTestable(webhook=webhook)
        if endpoint.disabled_at is not None:
            raise WebhookDisabled(webhook=webhook)
        event = log_event(account, TEST_EVENT, endpoint, at=at)
        body = {
            "test": True,
            "message": "This is a test event. Nothing has changed.",
            "webhook": endpoint.public_id,
            "created_at": at,
        }
        return account.deliveries.create(
            endpoint=endpoint,
            event=event,
            message_id=generate_public_id("evt"),
            body=serialize_exact_json(body),
            created_at=at,
            due_at=at,
        )


def resend_delivery(account: Account, *, delivery_id: int, at: datetime) -> Delivery:
    """Resend a delivery, with all its retries, regardless of its status."""
    rows = account.deliveries.without_content().select_related("endpoint")
    missing = DeliveryNotFound(delivery_id=delivery_id)
    delivery = get_or_raise(rows, missing, pk=delivery_id)
    if delivery.endpoint.disabled_at is not None:
        raise WebhookDisabled(webhook=delivery.endpoint.public_id)
    delivery.update_row(due_at=at, attempts=0, delivered_at=None)
    return delivery
