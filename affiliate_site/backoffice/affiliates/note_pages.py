"""Forms of the notes about affiliates."""

from django import forms
from django.urls import reverse

from affiliate_site.api.resources.notes import NoteInputSerializer, NoteUpdateSerializer
from affiliate_site.backoffice.affiliates.affiliate_pages import AffiliatePage
from affiliate_site.backoffice.form_pages import FormPage
from affiliate_site.backoffice.forms import MULTI_LINE, ServiceForm
from tracking.services.notes import create_note, delete_note, update_note


class NoteForm(ServiceForm):
    """A new note."""

    serializer_class: type = NoteInputSerializer

    note = forms.CharField(
        widget=MULTI_LINE({"rows": 6}),
        help_text="At most 5,000 characters. Affiliates do not see it.",
    )


class NoteUpdateForm(NoteForm):
    """Changes of a note."""

    serializer_class = NoteUpdateSerializer


class AddNotePage(AffiliatePage):
    """Write a note about an affiliate."""

    name = "note"
    title = "Add note"
    permission = "tracking.add_note"
    form_class = NoteForm
    done_message = "The note was saved."

    def save(self, form, at):
        return create_note(
            self.account, affiliate=self.row, text=form.validated["note"], at=at
        )

    def get_done_url(self, note):
        return get_notes_url(self.row.pk)


class NotePage(FormPage):
    """A form page of a note about an affiliate that is not removed."""

    subject = "about {row.affiliate}"

    @classmethod
    def is_offered(cls, note):
        return note.affiliate.deleted_at is None

    def get_done_url(self, note):
        return get_notes_url(self.row.affiliate_id)


class EditNotePage(NotePage):
    """Change the text of a note."""

    name = "edit"
    title = "Edit note"
    permission = "tracking.change_note"
    form_class = NoteUpdateForm
    done_message = "The note was saved."

    def get_unlocked_initial(self, note):
        return {"note": note.note}

    def save(self, form, at):
        return update_note(
            self.account,
            affiliate=self.row.affiliate,
            note_id=self.row.public_id,
            text=form.validated["note"],
            at=at,
        )


class RemoveNotePage(NotePage):
    """Delete a note."""

    name = "remove"
    title = button = "Delete note"
    permission = "tracking.delete_note"
    is_dangerous = True
    done_message = "The note was deleted."

    def get_explanation(self):
        return f"This text is deleted for good:\n\n{self.row.note}"

    def save(self, form, at):
        delete_note(
            self.account,
            affiliate=self.row.affiliate,
            note_id=self.row.public_id,
            at=at,
        )


NOTE_PAGES = (EditNotePage, RemoveNotePage)


def get_notes_url(affiliate_id: int) -> str:
    """The notes on the page of an affiliate."""
    return (
        f"{reverse('admin:tracking_affiliate_change', args=[affiliate_id])}?tab=notes"
    )
