"""Write the audit log: one entry per change, in the transaction of the change."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import models

from accounts.actor import get_actor
from accounts.models.accounts import Account
from accounts.models.audit_log import AuditLogEntry


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
    (entry,) = log_events(account, kind, [subject], at=at, **details)
    return entry


def log_events(
    account: Account,
    kind: str,
    subjects: Sequence[models.Model],
    /,
    *,
    at: datetime,
    **details: Any,
) -> list[AuditLogEntry]:
    """Log one event for each subject, all with the same details."""
    events = [(kind, subject) for subject in subjects]
    return log_all_events(account, events, at=at, **details)


def log_all_events(
    account: Account,
    events: Sequence[tuple[str, models.Model]],
    /,
    *,
    at: datetime,
    row_details: Sequence[dict[str, Any]] | None = None,
    **details: Any,
) -> list[AuditLogEntry]:
    """Log events of several kinds in one statement, each with its subject.

    `row_details` are further details, those of each event.
    """
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
