"""Record a change: log it, mark daily statistics as stale, publish it to webhooks.

Services call `log_event` for changes that are neither a webhook event nor counted in
statistics.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from django.db import models

from accounts.actor import get_actor
from accounts.days import CLOSING_DELAY, list_days_anywhere
from accounts.events import EVENT_SENTENCES
from accounts.models.accounts import Account
from accounts.models.audit_log import AuditLogEntry
from accounts.models.row_counts import DailyCountedRow, StaleDay
from accounts.services.outbox import publish_events

Change = tuple[str, models.Model]  # the kind of an event, and its subject


def log_event(
    account: Account,
    kind: str,
    subject: models.Model,
    /,
    *,
    at: datetime,
    **details: Any,
) -> AuditLogEntry:
    """Log an event of this kind about the subject.

    Details are JSON values, e.g. the old and the new status; never personal data, as
    entries cannot be deleted. People are named by the IDs of their rows.
    """
    (entry,) = log_events(account, [(kind, subject)], at=at, **details)
    return entry


def log_events(
    account: Account,
    events: Sequence[Change],
    /,
    *,
    at: datetime,
    row_details: Sequence[dict[str, Any]] | None = None,
    **details: Any,
) -> list[AuditLogEntry]:
    """Log events of several kinds in one statement, each with its subject.

    `row_details` are further details, one mapping for each event. A kind that
    `EVENT_SENTENCES` does not declare is a `ValueError`.
    """
    undeclared = {kind for kind, _ in events} - EVENT_SENTENCES.keys()
    if undeclared:
        raise ValueError(f"Declare in accounts/events.py: {sorted(undeclared)}")
    actor = get_actor()
    further: Sequence[dict[str, Any]] = row_details or [{}] * len(events)
    entries = [
        AuditLogEntry(
            account=account,
            kind=kind,
            # `str` of a model is its ID, unless that may be made of a person's name.
            subject=f"{subject._meta.model_name}:{getattr(subject, 'log_id', subject)}",
            details=details | each,
            actor=actor.name,
            trace_id=actor.trace_id,
            created_at=at,
        )
        for (kind, subject), each in zip(events, further, strict=True)
    ]
    return account.audit_log.bulk_create(entries)


def mark_stale(account: Account, rows: Iterable[DailyCountedRow], at: datetime) -> None:
    """Mark the days on which these rows were created as stale."""
    mark_days_stale(account, (row.created_at for row in rows), at)


def mark_days_stale(account: Account, moments: Iterable[datetime], at: datetime) -> None:
    """Mark the days of these moments as stale, in all time zones.

    Moments just before the change at `at` need no mark: it is committed before any of
    their days is closed.
    """
    quarters = {
        moment.replace(minute=moment.minute // 15 * 15, second=0, microsecond=0)
        for moment in moments
        if at - moment >= CLOSING_DELAY / 2
    }
    marks = [
        StaleDay(account=account, day=day, quarter=quarter)
        for quarter in sorted(quarters)
        for day in list_days_anywhere(quarter)
    ]
    if marks:
        account.stale_days.bulk_create(marks)


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
    record_changes(account, kind, [subject], at=at, payload_rows=payload_rows, **details)


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

    `row_details` are further details, one mapping for each row.
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
    changes: Sequence[Change],
    /,
    *,
    at: datetime,
    payload_rows: Sequence[models.Model] | None = None,
    row_details: Sequence[dict[str, Any]] | None = None,
    **details: Any,
) -> None:
    """Record changes of several kinds, as pairs of kind and subject.

    Changes of one kind are neighbors. The other arguments are those of
    `record_changes`.
    """
    entries = log_events(account, changes, at=at, row_details=row_details, **details)
    subjects = [subject for _, subject in changes]
    counted = [row for row in subjects if isinstance(row, DailyCountedRow)]
    mark_stale(account, counted, at)
    rows = subjects if payload_rows is None else payload_rows
    logged = zip(changes, entries, rows, strict=True)
    for kind, group in groupby(logged, key=lambda each: each[0][0]):
        _, kind_entries, kind_rows = zip(*group, strict=True)
        publish_events(account, kind, kind_entries, kind_rows, at=at)
