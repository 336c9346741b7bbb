"""Contract 2.4.7: notes, when somebody else was faster."""

import pytest

from tests.proof import everything
from tests.shop import SOLD
from tracking.errors import NoteNotFound
from tracking.services import notes
from tracking.services.notes import change_note, note_named, tear_up, write_note


@pytest.fixture
def note(account, shop):
    return write_note(account, affiliate=shop.mina.affiliate, text="x", at=SOLD)


@pytest.mark.parametrize(
    ("act", "how"),
    [(change_note, {"text": "y"}), (tear_up, {})],
    ids=["change", "tear up"],
)
def test_does_not_know_a_note_that_was_torn_up_meanwhile(
    account, shop, note, monkeypatch, act, how
):
    def overtaken(*about):
        found = note_named(*about)
        account.notes.all().delete()
        return found

    monkeypatch.setattr(notes, "note_named", overtaken)
    events = account.events.count()

    with pytest.raises(NoteNotFound):
        act(
            account,
            affiliate=shop.mina.affiliate,
            note_id=note.public_id,
            at=SOLD,
            **how,
        )

    assert account.events.count() == events


@pytest.mark.parametrize("text", ["x", None], ids=["the same", "none"])
def test_writes_nothing_when_nothing_changes(account, shop, note, text):
    before = everything(account)

    change_note(
        account,
        affiliate=shop.mina.affiliate,
        note_id=note.public_id,
        text=text,
        at=SOLD,
    )

    assert everything(account) == before
