"""Notes about an affiliate: create, update and delete."""

from datetime import datetime

from django.db import transaction

from accounts.ids import generate_public_id
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from tracking.errors import NoteNotFound
from tracking.models.affiliates import Affiliate, Note
from tracking.services.affiliates import get_affiliate


def create_note(account: Account, *, affiliate: Affiliate, text: str, at: datetime) -> Note:
    """Create a note; raise `AffiliateNotFound` if the affiliate was removed."""
    with transaction.atomic():
        # The lock keeps a concurrent erasure from leaving the note behind.
        affiliate = get_affiliate(account, affiliate.slug, lock=True)
        note = account.notes.create(
            public_id=generate_public_id("no"),
            affiliate=affiliate,
            note=text,
            created_at=at,
        )
        log_event(account, "note.created", note, at=at)
    return note


def update_note(
    account: Account,
    *,
    affiliate: Affiliate,
    note_id: str,
    text: str | None,
    at: datetime,
) -> Note:
    """Set the text of a note; None leaves it unchanged."""
    with transaction.atomic():
        note = get_note(account, affiliate, note_id)
        if text is not None and text != note.note:
            if not note.update_row(note=text):
                raise NoteNotFound  # deleted concurrently
            log_event(account, "note.updated", note, at=at)
    return note


def delete_note(account: Account, *, affiliate: Affiliate, note_id: str, at: datetime) -> None:
    """Delete a note permanently."""
    with transaction.atomic():
        note = get_note(account, affiliate, note_id)
        deleted_count, _ = account.notes.filter(pk=note.pk).delete()
        if not deleted_count:
            raise NoteNotFound
        log_event(account, "note.deleted", note, at=at)


def get_note(account: Account, affiliate: Affiliate, public_id: str) -> Note:
    """Get the affiliate's note with this id; raise `NoteNotFound`."""
    notes = account.notes.filter(affiliate=affiliate)
    return get_or_raise(notes, NoteNotFound, public_id=public_id)
