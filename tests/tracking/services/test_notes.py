"""Concurrent changes of notes (docs/api-contract.md, section 2.4.7)."""

import pytest

from tests.ledger_checks import assert_unchanged
from tests.program_scenario import CONVERSION_CREATED_AT
from tracking.errors import NoteNotFound
from tracking.services import notes
from tracking.services.notes import create_note, delete_note, get_note, update_note


@pytest.fixture
def note(account, scenario):
    return create_note(
        account, affiliate=scenario.mina.affiliate, text="x", at=CONVERSION_CREATED_AT
    )


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [(update_note, {"text": "y"}), (delete_note, {})],
    ids=["update", "delete"],
)
def test_does_not_find_a_note_deleted_concurrently(
    account, scenario, note, monkeypatch, operation, arguments
):
    def get_note_and_delete_it(*args):
        note = get_note(*args)
        account.notes.all().delete()
        return note

    monkeypatch.setattr(notes, "get_note", get_note_and_delete_it)
    event_count = account.audit_log.count()

    with pytest.raises(NoteNotFound):
        operation(
            account,
            affiliate=scenario.mina.affiliate,
            note_id=note.public_id,
            at=CONVERSION_CREATED_AT,
            **arguments,
        )

    assert account.audit_log.count() == event_count


@pytest.mark.parametrize("text", ["x", None], ids=["unchanged", "none"])
def test_writes_nothing_if_nothing_changes(account, scenario, note, text):
    with assert_unchanged(account):
        update_note(
            account,
            affiliate=scenario.mina.affiliate,
            note_id=note.public_id,
            text=text,
            at=CONVERSION_CREATED_AT,
        )
