"""Record a change: log it, mark daily statistics as stale, publish it to webhooks.

Services call `log_event` for changes that are neither a webhook event nor counted in
statistics.
"""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from django.db import models

from accounts.models.accounts import Account
from accounts.models.daily_stats import DailyCountedRow
from accounts.services.audit_log import log_all_events
from accounts.services.daily_stats import mark_stale
from accounts.services.outbox import publish_events


def record_change(
    account: Account,
    kind: str,
    subject: models.Model,
    *,
    at: datetime,
    payload_row: models.Model | None = None,
    **details: Any,
) -> None:
    """Record one change, within the transaction that makes it.

    Webhook bodies show `payload_row`, by default the subject, in its current state:
    call this after an update and before a deletion.
    """
    payload_rows = None if payload_row is None else [payload_row]
    record_changes(
        account, kind, [subject], at=at, payload_rows=payload_rows, **details
    )


def record_changes(
    account: Account,
    kind: str,
    subjects: Sequence[models.Model],
    *,
    at: datetime,
    payload_rows: Sequence[models.Model] | None = None,
    row_details: Sequence[dict[str, Any]] | None = None,
    **details: Any,
) -> None:
    """Record the same change of several rows in a fixed number of statements.

    `row_details` are further details, those of each row.
    """
    changes = [(kind, subject) for subject in subjects]
    record_all_changes(
        account,
        changes,
        at=at,
        payload_rows=payload_rows,
        row_details=row_details,
        **details,
    )


def record_all_changes(
    account: Account,
    changes: Sequence[tuple[str, models.Model]],
    /,
    *,
    at: datetime,
    payload_rows: Sequence[models.Model] | None = None,
    row_details: Sequence[dict[str, Any]] | None = None,
    **details: Any,
) -> None:
    """Record changes of several kinds, those of one kind together."""
    entries = log_all_events(
        account, changes, at=at, row_details=row_details, **details
    )
    subjects = [subject for _, subject in changes]
    counted = [row for row in subjects if isinstance(row, DailyCountedRow)]
    mark_stale(account, counted, at)
    rows = subjects if payload_rows is None else payload_rows
    logged = zip(changes, entries, rows, strict=True)
    for kind, group in groupby(logged, key=lambda each: each[0][0]):
        _, kind_entries, kind_rows = zip(*group, strict=True)
        publish_events(account, kind, kind_entries, kind_rows, at=at)
