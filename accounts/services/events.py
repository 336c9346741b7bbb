"""The diary: one line for every change, in the transaction of the change."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import models

from accounts.actor import present_actor
from accounts.models.accounts import Account
from accounts.models.events import Event


def note(
    account: Account, kind: str, subject: models.Model, *, at: datetime, **facts: Any
) -> None:
    """Write down that this happened to this subject.

    Facts are plain JSON values: rules and states, from and to; never a personal one.
    """
    note_each(account, kind, [subject], at=at, **facts)


def note_each(
    account: Account,
    kind: str,
    subjects: Iterable[models.Model],
    *,
    at: datetime,
    **facts: Any,
) -> None:
    """Write one line for each subject, in one statement."""
    actor = present_actor()
    account.events.bulk_create(
        Event(
            account=account,
            kind=kind,
            subject=f"{subject._meta.model_name}:{subject}",
            facts=facts,
            actor=actor.name,
            trace_id=actor.trace_id,
            created_at=at,
        )
        for subject in subjects
    )
