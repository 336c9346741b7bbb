"""Notes about an affiliate: written, changed, torn up."""

from datetime import datetime

from django.db import transaction

from accounts.ids import new_id
from accounts.models.accounts import Account
from accounts.services.events import note as note_in_diary
from tracking.errors import NoteNotFound
from tracking.models.affiliates import Affiliate, Note


def write_note(
    account: Account, *, affiliate: Affiliate, text: str, at: datetime
) -> Note:
    """Keep a note."""
    with transaction.atomic():
        note = account.notes.create(
            public_id=new_id("no"), affiliate=affiliate, note=text, created_at=at
        )
        note_in_diary(account, "note.written", note, at=at)
    return note


def change_note(
    account: Account,
    *,
    affiliate: Affiliate,
    note_id: str,
    text: str | None,
    at: datetime,
) -> Note:
    """Give a note another text; None: it stays as it is."""
    with transaction.atomic():
        note = note_named(account, affiliate, note_id)
        if text is not None and text != note.note:
            if not note.change(note=text):
                raise NoteNotFound  # torn up at this moment
            note_in_diary(account, "note.changed", note, at=at)
    return note


def tear_up(
    account: Account, *, affiliate: Affiliate, note_id: str, at: datetime
) -> None:
    """Remove a note for good."""
    with transaction.atomic():
        note = note_named(account, affiliate, note_id)
        gone, _ = account.notes.filter(pk=note.pk).delete()
        if not gone:
            raise NoteNotFound
        note_in_diary(account, "note.torn_up", note, at=at)


def note_named(account: Account, affiliate: Affiliate, public_id: str) -> Note:
    """The note of this affiliate with this id."""
    note = account.notes.filter(affiliate=affiliate, public_id=public_id).first()
    if note is None:
        raise NoteNotFound
    return note
