"""Forms of the notes about affiliates."""

from django import forms

from affiliate_site.api.resources.notes import NoteInputSerializer
from affiliate_site.backoffice.affiliates.affiliate_pages import (
    AffiliatePage,
    get_tab_url,
)
from affiliate_site.backoffice.fields import MULTI_LINE
from affiliate_site.backoffice.form_pages import EditPage, FormPage, RemovePage
from affiliate_site.backoffice.forms import ServiceForm
from tracking.models.affiliates import Note
from tracking.services.notes import create_note, delete_note, update_note


class NoteForm(ServiceForm):
    """The text of a note."""

    serializer_class = NoteInputSerializer

    note = forms.CharField(
        widget=MULTI_LINE({"rows": 6}),
        help_text="At most 5,000 characters. Affiliates do not see it.",
    )


class AddNotePage(AffiliatePage):
    name = "note"
    title = "Add note"
    permission = "tracking.add_note"
    form_class = NoteForm
    done_message = "The note was saved."

    def save(self, form, at):
        return create_note(self.account, affiliate=self.row, text=form.values["note"], at=at)

    def get_back_url(self):
        return get_tab_url(self.row.pk, "notes")


class NotePage(FormPage):
    model = Note
    subject = "about {row.affiliate}"

    @classmethod
    def is_offered(cls, note):
        return note.affiliate.deleted_at is None

    def get_row_arguments(self):
        return {"affiliate": self.row.affiliate, "note_id": self.row.public_id}

    def get_back_url(self):
        return get_tab_url(self.row.affiliate_id, "notes")


class EditNotePage(NotePage, EditPage):
    title = "Edit note"
    form_class = NoteForm
    service = staticmethod(update_note)

    def get_values(self, form):
        return {"text": form.values["note"]}


class RemoveNotePage(NotePage, RemovePage):
    title = button = "Delete note"
    service = staticmethod(delete_note)
    done_message = "The note was deleted."

    def get_explanation(self):
        return f"This text is deleted for good:\n\n{self.row.note}"


NOTE_PAGES = (EditNotePage, RemoveNotePage)
