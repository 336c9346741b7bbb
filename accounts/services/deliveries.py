"""Deliveries: claimed by whoever sends them, recorded, tried again, sent by hand."""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from accounts.errors import UnknownDelivery, WebhookDisabled
from accounts.models.accounts import Account
from accounts.models.webhooks import Delivery, WebhookEndpoint
from accounts.services.notices import tell_owners
from accounts.services.webhooks import disable, webhook_named

# Contract 6.3.
RETRY_AFTER = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=24),
)
JITTER = 0.1  # of each pause, either way
LEASE = timedelta(minutes=1)  # longer than a call may take, its name's lookup included
REST = RETRY_AFTER[0]  # a receiver that failed is left alone so long
GONE = 410
LONGEST_TROUBLE = 255
LOG_LENGTH = 100


@dataclass(frozen=True)
class Outcome:
    """How a call went: the answer's status and beginning; `trouble`: why it failed."""

    status: int | None = None
    answer: str = ""
    trouble: str = ""


def due_endpoints(*, at: datetime) -> list[WebhookEndpoint]:
    """Endpoints of all accounts that have something to hear now."""
    rows = WebhookEndpoint.objects.with_something_due(at=at)
    return list(rows.select_related("account"))


def claim(
    endpoint: WebhookEndpoint, *, most: int, due: datetime, at: datetime
) -> list[Delivery]:
    """Take what an endpoint was to hear by then, so that nobody else sends it.

    What is not recorded within the lease is anybody's again.
    """
    waiting = endpoint.account.deliveries.filter(endpoint=endpoint, due_at__lte=due)
    with transaction.atomic():
        rows = waiting.select_for_update(skip_locked=True, no_key=True, of=("self",))
        taken = list(rows.select_related("event").order_by("due_at", "id")[:most])
        numbers = [delivery.pk for delivery in taken]
        waiting.filter(pk__in=numbers).update(due_at=at + LEASE)
    for delivery in taken:
        delivery.due_at, delivery.endpoint = at + LEASE, endpoint
    return taken


def record(delivery: Delivery, outcome: Outcome, *, at: datetime) -> None:
    """Write down how a call went, when the next one is, and what it says of the
    endpoint: disabled after the last retry, or when it says that it is gone."""
    attempts = delivery.attempts + 1
    failed, gone = bool(outcome.trouble), outcome.status == GONE
    next_at = retry_at(attempts, at=at) if failed and not gone else None
    with transaction.atomic():
        if not delivery.change(
            expecting={"due_at": delivery.due_at},
            attempts=attempts,
            attempted_at=at,
            status=outcome.status,
            answer=outcome.answer,
            trouble=outcome.trouble[:LONGEST_TROUBLE],
            delivered_at=None if failed else at,
            due_at=next_at,
        ):
            return  # the lease was over, or it is to be sent again by hand
        endpoint = delivery.endpoint
        if failed:
            since = endpoint.failing_since or at
            endpoint.change(failing_since=since, rests_until=at + REST)
        elif endpoint.failing_since is not None:
            endpoint.change(failing_since=None, rests_until=None)
        if failed and next_at is None:
            tries = "the receiver is gone" if gone else f"{attempts} tries failed"
            because = f"{tries}: {outcome.trouble}"[:LONGEST_TROUBLE]
            disable(endpoint, because=because, at=at)
            tell_owners(
                endpoint.account,
                subject=f"The webhook {endpoint} is disabled",
                text=f"{endpoint.url}\n\n{because}\n\nWhat waits for it is kept for 30"
                " days, and sent once it is enabled again. What happens until then"
                " is not kept for it.\n",
            )


def retry_at(attempts: int, *, at: datetime) -> datetime | None:
    """When to try again after so many tries; None: never."""
    if attempts > len(RETRY_AFTER):
        return None
    spread = random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - no secret
    return at + RETRY_AFTER[attempts - 1] * spread


def still_waiting() -> int:
    """How many deliveries of all accounts are to be sent, now or later."""
    return Delivery.objects.filter(
        due_at__isnull=False, endpoint__disabled_at=None
    ).count()


def log_of(account: Account, *, webhook: str, failed: bool) -> list[dict[str, Any]]:
    """The newest deliveries to a webhook, those whose last try failed alone."""
    endpoint = webhook_named(account, webhook)
    rows = account.deliveries.filter(endpoint=endpoint).newest_first()
    if failed:
        rows = rows.exclude(trouble="")
    return list(rows.as_told()[:LOG_LENGTH])


def send_again(account: Account, *, number: int, at: datetime) -> Delivery:
    """Send a delivery once more, with all its retries, whatever became of it."""
    rows = account.deliveries.select_related("endpoint").filter(pk=number)
    delivery = rows.first()
    if delivery is None:
        raise UnknownDelivery(number=number)
    if delivery.endpoint.disabled_at is not None:
        raise WebhookDisabled(webhook=delivery.endpoint.public_id)
    delivery.change(due_at=at, attempts=0, delivered_at=None)
    return delivery
