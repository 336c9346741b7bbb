"""The page of notes about affiliates, and who wrote them."""

from django.contrib import admin

from accounts.models.audit_log import AuditLogEntry
from accounts.tenant_admin import filter_for_user
from affiliate_site.backoffice.affiliates.note_pages import NOTE_PAGES
from affiliate_site.backoffice.audit_sentences import describe_actor, find_names
from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin
from affiliate_site.backoffice.formatters import EMPTY_VALUE
from affiliate_site.backoffice.lists.columns import AFFILIATE
from affiliate_site.backoffice.lists.date_filters import DateFilter
from affiliate_site.backoffice.lists.filters import AffiliateFilter
from affiliate_site.backoffice.lists.search import (
    AFFILIATE_SEARCH_HELP,
    AffiliateSearchMixin,
)
from affiliate_site.backoffice.navigation import MenuEntry
from affiliate_site.backoffice.object_pages import ObjectPageMixin
from affiliate_site.columns import Column
from tracking.models.affiliates import Note


def find_authors(request, notes) -> dict[int, str]:
    """Who wrote notes, according to the audit log."""
    entries = AuditLogEntry.objects.filter(
        account__in={note.account_id for note in notes},
        subject__in=[f"note:{note.public_id}" for note in notes],
        kind="note.created",
    )
    found = list(filter_for_user(entries, request.user))
    names = find_names(request.user, found)
    actors = {(entry.account_id, entry.subject): entry.actor for entry in found}
    return {
        note.pk: describe_actor(actors.get((note.account_id, f"note:{note.public_id}")), names)
        for note in notes
    }


@admin.register(Note)
class NoteAdmin(AffiliateSearchMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    menu = (MenuEntry("Affiliates", 80, "sticky_note_2"),)
    empty_state = (
        "No notes yet. Choose “Add note” to write down what your team should know about"
        " an affiliate."
    )
    row_pages = NOTE_PAGES

    columns = (
        AFFILIATE,
        "note",
        Column(
            "Written by",
            lambda note, author: author or EMPTY_VALUE,
            name="author",
            load=find_authors,
        ),
        "created_at",
    )
    list_filter = (AffiliateFilter, DateFilter)
    search_fields = ("affiliate__slug__exact",)
    search_help_text = AFFILIATE_SEARCH_HELP
    ordering = ("-created_at", "-id")
