"""The diary: one line for every change, in the transaction of the change."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import models

from accounts.actor import present_actor
from accounts.models.accounts import Account
from accounts.models.events import Event
from accounts.services.days import mark_changed
from accounts.services.outbox import AT_ONCE, announce

# Things that are counted by the day: customer.updated, payment.canceled, …
COUNTED = ("customer", "conversion", "commission", "payment")


def note(
    account: Account,
    kind: str,
    subject: models.Model,
    *,
    at: datetime,
    telling: models.Model | None = None,
    **facts: Any,
) -> None:
    """Write down that this happened to this subject, and for whom to tell it.

    Facts are plain JSON values: rules and states, from and to; never a personal one.
    Those who listen hear of the subject, or of `telling`, as it stands now: a story
    notes what it changed once that is written, and what it removes before.
    """
    told = None if telling is None else [telling]
    note_each(account, kind, [subject], at=at, telling=told, **facts)


def note_each(
    account: Account,
    kind: str,
    subjects: Sequence[models.Model],
    *,
    at: datetime,
    telling: Sequence[models.Model] | None = None,
    **facts: Any,
) -> None:
    """Write one line for each subject, a thousand in one statement; what was counted
    of their days is to be counted again."""
    actor = present_actor()
    lines = [
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
    ]
    events = account.events.bulk_create(lines, batch_size=AT_ONCE)
    if kind.partition(".")[0] in COUNTED:
        mark_changed(account, subjects, at=at)
    announce(account, kind, events, subjects if telling is None else telling, at=at)
