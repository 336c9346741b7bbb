"""Retention: delete expired attempts and visitors, anonymize old visitor data."""

import ipaddress
from datetime import datetime, timedelta
from typing import Any

from django.db import models, transaction
from django.db.models import Q

from accounts.models.accounts import Account
from accounts.services.retention import DELETE_BATCH_SIZE, delete_in_batches

ATTEMPT_RETENTION = timedelta(days=30)  # affiliates ask why a sale is missing
FAILED_PAGE_CALL_RETENTION = timedelta(days=90)
# Longer than a cookie of the browser script lives (365 days), the longest cookie time.
VISITOR_RETENTION = timedelta(days=400)
CLAIM_RETENTION = VISITOR_RETENTION  # of one that was not confirmed
ANONYMIZED_PREFIX_LENGTHS = {4: 24, 6: 48}
# Anonymized addresses, like 198.51.100.0 and 2001:db8:1::
NETWORK_ADDRESS_PATTERN = r"^[0-9.]+[.]0$|^(:|([0-9a-f]+:){1,3}):$"


def delete_expired_attempts(account: Account, *, at: datetime, dry_run: bool) -> int:
    """Delete failed attempts older than `ATTEMPT_RETENTION`; return their number."""
    expired = account.conversion_attempts.filter(failed_at__lte=at - ATTEMPT_RETENTION)
    return delete_in_batches(expired, dry_run=dry_run)


def delete_expired_failed_page_calls(account: Account, *, at: datetime, dry_run: bool) -> int:
    """Delete failed page calls older than `FAILED_PAGE_CALL_RETENTION`."""
    before = (at - FAILED_PAGE_CALL_RETENTION).date()
    expired = account.failed_page_calls.filter(day__lt=before)
    return delete_in_batches(expired, dry_run=dry_run)


def delete_expired_visitors(account: Account, *, at: datetime, dry_run: bool) -> int:
    """Delete visitors whose tracking id was issued `VISITOR_RETENTION` ago or earlier.

    No browser has such an id any more, since each visit through a link issues a new
    one, and its click, which is as old or older, cannot decide any more. Clicks,
    conversions and attribution records are kept. Returns the number of rows.
    """
    expired = account.visitors.filter(created_at__lte=at - VISITOR_RETENTION)
    return delete_in_batches(expired, dry_run=dry_run)


def delete_refused_claims(account: Account, *, at: datetime, dry_run: bool) -> int:
    """Delete unconfirmed claims whose contest ended `CLAIM_RETENTION` ago or earlier.

    The conversion keeps its own values, and the claim that was confirmed stays.
    """
    before = at - CLAIM_RETENTION
    refused = account.conversion_claims.filter(confirmed_at=None, decided_at__lte=before)
    return delete_in_batches(refused, dry_run=dry_run)


def anonymize_visitor_data(account: Account, *, at: datetime, dry_run: bool) -> int:
    """Anonymize addresses and remove user agents older than the account's setting.

    Covers clicks, customers and conversions; returns the number of rows.
    """
    before = at - timedelta(days=account.visitor_data_days)
    tables = (account.clicks.all(), account.customers.all(), account.conversions.all())
    return sum(_anonymize_rows(rows, before=before, dry_run=dry_run) for rows in tables)


def anonymize_ip(address: str) -> str:
    """Truncate an address to its /24 network, or /48 for IPv6."""
    ip = ipaddress.ip_address(address)
    prefix_length = ANONYMIZED_PREFIX_LENGTHS[ip.version]
    network = ipaddress.ip_network(f"{ip}/{prefix_length}", strict=False)
    return str(network.network_address)


def _anonymize_rows(rows: models.QuerySet[Any], *, before: datetime, dry_run: bool) -> int:
    """Anonymize in one pass from the newest row, by the index of the lists.

    Each batch is a transaction that locks its rows.
    """
    has_full_ip = Q(ip__isnull=False) & ~Q(ip__regex=NETWORK_ADDRESS_PATTERN)
    expired = rows.filter(has_full_ip | Q(user_agent__isnull=False), created_at__lte=before)
    if dry_run:
        return expired.count()
    count, remaining = 0, expired.order_by("-created_at", "-id")
    columns = ("account_id", "created_at", "ip", "user_agent")
    while True:
        with transaction.atomic():
            locked = remaining.select_for_update(no_key=True).only(*columns)
            batch = list(locked[:DELETE_BATCH_SIZE])
            for row in batch:
                row.ip = anonymize_ip(row.ip) if row.ip else None
                row.user_agent = None
            rows.bulk_update(batch, ["ip", "user_agent"])
        count += len(batch)
        if len(batch) < DELETE_BATCH_SIZE:
            return count
        last = batch[-1]
        remaining = expired.order_by("-created_at", "-id").filter(
            Q(created_at__lt=last.created_at) | Q(pk__lt=last.pk),
            created_at__lte=last.created_at,
        )
