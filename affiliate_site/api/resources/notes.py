"""Notes about an affiliate: `/affiliates/{id}/notes/`."""

from accounts.services.usage import Rate
from affiliate_site.api.fields import Text
from affiliate_site.api.filters import ListFilter
from affiliate_site.api.inputs import Input
from affiliate_site.api.shapes.people import NoteShape, note_shape
from affiliate_site.api.viewsets import TenantViewSet
from tracking.errors import NoteNotFound
from tracking.models.affiliates import Note
from tracking.services.affiliates import affiliate_named
from tracking.services.notes import change_note, note_named, tear_up, write_note

LONGEST_NOTE = 5000


class NoteInput(Input):
    """A note."""

    note = Text(max_length=LONGEST_NOTE)


class NoteChange(Input):
    """Another text for a note."""

    note = Text(required=False, filled=True, max_length=LONGEST_NOTE)


class NoteViewSet(TenantViewSet):
    """Contract 2.4.7."""

    thing = Note
    rates = Rate(300, minutes=15)
    reads = {"create": NoteInput, "partial_update": NoteChange}
    filters = {"list": ListFilter}
    answers = {
        "list": NoteShape(many=True),
        "create": NoteShape,
        "retrieve": NoteShape,
        "partial_update": NoteShape,
        "destroy": None,
    }

    def list(self, request, affiliate_id):
        """The notes about an affiliate, newest first."""
        affiliate = affiliate_named(self.account, affiliate_id)
        rows = self.account.notes.filter(affiliate=affiliate)
        return self.page(note_shape, rows.newest_first())

    def create(self, request, affiliate_id):
        """Keep a note about an affiliate."""
        affiliate = affiliate_named(self.account, affiliate_id)
        text = self.read()["note"]
        note = write_note(self.account, affiliate=affiliate, text=text, at=self.at)
        return self.shown(affiliate, note.public_id)

    def retrieve(self, request, affiliate_id, note_id):
        """One note."""
        return self.shown(affiliate_named(self.account, affiliate_id), note_id)

    def partial_update(self, request, affiliate_id, note_id):
        """Give a note another text."""
        affiliate = affiliate_named(self.account, affiliate_id)
        note_named(self.account, affiliate, note_id)
        text = self.read().get("note")
        change_note(
            self.account, affiliate=affiliate, note_id=note_id, text=text, at=self.at
        )
        return self.shown(affiliate, note_id)

    def destroy(self, request, affiliate_id, note_id):
        """Tear a note up."""
        affiliate = affiliate_named(self.account, affiliate_id)
        tear_up(self.account, affiliate=affiliate, note_id=note_id, at=self.at)
        return self.nothing()

    def shown(self, affiliate, note_id):
        rows = self.account.notes.filter(affiliate=affiliate, public_id=note_id)
        return self.answer(note_shape(self.found(rows, NoteNotFound)))
