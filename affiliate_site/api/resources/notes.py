"""Notes about an affiliate: `/affiliates/{id}/notes/`."""

from accounts.services.rate_limits import RateLimit
from affiliate_site.api.fields import TextField
from affiliate_site.api.input_serializers import InputSerializer
from affiliate_site.api.representations.affiliates import (
    NoteRepresentation,
    note_by_public_id,
)
from affiliate_site.api.viewsets import TenantViewSet
from tracking.errors import NoteNotFound
from tracking.models.affiliates import Note
from tracking.services.affiliates import get_affiliate
from tracking.services.notes import create_note, delete_note, get_note, update_note

MAX_NOTE_LENGTH = 5000


class NoteInputSerializer(InputSerializer):
    """A new note."""

    note = TextField(max_length=MAX_NOTE_LENGTH)


class NoteUpdateSerializer(InputSerializer):
    """Changes of a note."""

    note = TextField(required=False, reject_blank=True, max_length=MAX_NOTE_LENGTH)


class NoteViewSet(TenantViewSet):
    """Notes (docs/api-contract.md, section 2.4.7)."""

    permission_model = Note
    throttle_rate = RateLimit(300, minutes=15)
    serializer_classes = {
        "create": NoteInputSerializer,
        "partial_update": NoteUpdateSerializer,
    }
    representation = NoteRepresentation

    def list(self, request, affiliate_id):
        """List the notes about an affiliate, newest first."""
        affiliate = get_affiliate(self.account, affiliate_id)
        rows = self.account.notes.filter(affiliate=affiliate)
        return self.list_page(rows.newest_first())

    def create(self, request, affiliate_id):
        """Create a note about an affiliate."""
        affiliate = get_affiliate(self.account, affiliate_id)
        text = self.validate_body()["note"]
        note = create_note(self.account, affiliate=affiliate, text=text, at=self.at)
        return self.render_note(affiliate, note.public_id)

    def retrieve(self, request, affiliate_id, note_id):
        """Retrieve a note."""
        return self.render_note(get_affiliate(self.account, affiliate_id), note_id)

    def partial_update(self, request, affiliate_id, note_id):
        """Update the text of a note."""
        affiliate = get_affiliate(self.account, affiliate_id)
        get_note(self.account, affiliate, note_id)
        text = self.validate_body().get("note")
        update_note(self.account, affiliate=affiliate, note_id=note_id, text=text, at=self.at)
        return self.render_note(affiliate, note_id)

    def destroy(self, request, affiliate_id, note_id):
        """Delete a note."""
        affiliate = get_affiliate(self.account, affiliate_id)
        delete_note(self.account, affiliate=affiliate, note_id=note_id, at=self.at)
        return self.render_no_content()

    def render_note(self, affiliate, note_id):
        return self.render_row(
            self.get_row(note_by_public_id, NoteNotFound, affiliate=affiliate, public_id=note_id)
        )
