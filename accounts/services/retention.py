"""Retention: delete expired rows in batches, each in a transaction of its own."""

from datetime import datetime, timedelta
from typing import Any

from django.contrib.sessions.models import Session
from django.db import models
from django.db.models import Q

from accounts.db_compat import get_database_time
from accounts.models.accounts import Account
from accounts.models.api_keys import RateWindow
from accounts.services.idempotency import RESPONSE_RETENTION

DELETE_BATCH_SIZE = 1000
DELIVERY_RETENTION = timedelta(days=30)
INVITATION_RETENTION = timedelta(days=30)
MAX_RATE_WINDOW = timedelta(days=1)  # the longest window of any rate limit


def delete_expired_rate_windows(*, at: datetime, dry_run: bool) -> int:
    """Delete rate limit windows that are over, by the clock of the database or `at`."""
    before = min(at, get_database_time()) - MAX_RATE_WINDOW
    expired = RateWindow.objects.filter(started_at__lte=before)
    return delete_in_batches(expired, dry_run=dry_run)


def delete_expired_idempotency_keys(account: Account, *, at: datetime, dry_run: bool) -> int:
    """Delete stored responses whose idempotency key is free again."""
    expired = account.idempotency_keys.filter(created_at__lte=at - RESPONSE_RETENTION)
    return delete_in_batches(expired, dry_run=dry_run)


def delete_expired_invitations(account: Account, *, at: datetime, dry_run: bool) -> int:
    """Delete invitations some time after their link stopped working."""
    expired = account.invitations.filter(expires_at__lte=at - INVITATION_RETENTION)
    return delete_in_batches(expired, dry_run=dry_run)


def delete_expired_sessions(*, at: datetime, dry_run: bool) -> int:
    """Delete back office sessions that have expired."""
    return delete_in_batches(Session.objects.filter(expire_date__lte=at), dry_run=dry_run)


def delete_expired_deliveries(account: Account, *, at: datetime, dry_run: bool) -> int:
    """Delete old deliveries that are finished, or of an endpoint disabled long ago.

    Deliveries that are due to an enabled endpoint, or to one that was disabled less
    than `DELIVERY_RETENTION` ago, are kept.
    """
    before = at - DELIVERY_RETENTION
    finished = Q(due_at=None, attempted_at__lte=before)
    undeliverable = Q(endpoint__disabled_at__lte=before)
    old = account.deliveries.filter(created_at__lte=before)
    return delete_in_batches(old.filter(finished | undeliverable), dry_run=dry_run)


def delete_in_batches(rows: models.QuerySet[Any], *, dry_run: bool) -> int:
    """Delete rows in batches, or only count them (`dry_run`); return their number."""
    if dry_run:
        return rows.count()
    total = 0
    while batch := list(rows.values_list("pk", flat=True)[:DELETE_BATCH_SIZE]):
        deleted, _ = rows.filter(pk__in=batch).delete()
        total += deleted
        if not deleted:
            break  # a concurrent process deletes the same rows
    return total
