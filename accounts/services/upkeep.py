"""Upkeep: rows that have done their work, deleted in batches, each a transaction."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.contrib.sessions.models import Session
from django.db import models
from django.db.models import Q

from accounts.models.accounts import Account
from accounts.models.keys import RateWindow
from accounts.services.idempotency import KEPT_FOR

BATCH = 1000
DELIVERIES_KEPT_FOR = timedelta(days=30)
LONGEST_WINDOW = timedelta(minutes=15)  # of any rate limit; a spent one counts nothing


def prune_windows(*, at: datetime, dry_run: bool) -> int:
    """Forget rate windows that are over."""
    spent = RateWindow.objects.filter(started__lte=at - LONGEST_WINDOW)
    return delete_in_batches(spent, dry_run=dry_run)


def prune_kept_answers(
    accounts: Iterable[Account], *, at: datetime, dry_run: bool
) -> int:
    """Forget kept answers whose key is free again."""
    return sum(
        delete_in_batches(
            account.idempotency_keys.filter(created_at__lte=at - KEPT_FOR),
            dry_run=dry_run,
        )
        for account in accounts
    )


def prune_sign_ins(*, at: datetime, dry_run: bool) -> int:
    """Forget sign-ins to the back office that have ended."""
    return delete_in_batches(
        Session.objects.filter(expire_date__lte=at), dry_run=dry_run
    )


def prune_deliveries(
    accounts: Iterable[Account], *, at: datetime, dry_run: bool
) -> int:
    """Forget deliveries that are done, or wait for an endpoint disabled long ago."""
    before = at - DELIVERIES_KEPT_FOR
    done = Q(due_at=None, attempted_at__lte=before)
    forlorn = Q(endpoint__disabled_at__lte=before)
    return sum(
        delete_in_batches(
            account.deliveries.filter(done | forlorn, created_at__lte=before),
            dry_run=dry_run,
        )
        for account in accounts
    )


def delete_in_batches(rows: models.QuerySet[Any], *, dry_run: bool) -> int:
    """Delete these rows, some at a time; how many, or how many there are to delete."""
    if dry_run:
        return rows.count()
    deleted = 0
    while some := list(rows.values_list("pk", flat=True)[:BATCH]):
        gone, _ = rows.filter(pk__in=some).delete()
        deleted += gone
        if not gone:
            break  # somebody else is at it
    return deleted
