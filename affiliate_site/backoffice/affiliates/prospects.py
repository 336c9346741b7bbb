"""The page of prospects: people who may become affiliates."""

from django.contrib import admin

from affiliate_site.backoffice.affiliates.affiliate_detail import get_full_name
from affiliate_site.backoffice.affiliates.personal_data_pages import PERSONAL_DATA_PAGES
from affiliate_site.backoffice.affiliates.prospect_pages import (
    PROSPECT_PAGES,
    AddProspectPage,
    build_prospect_context,
)
from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin
from affiliate_site.backoffice.formatters import REMOVED, format_datetime, format_labels
from affiliate_site.backoffice.lists.columns import DELETED_AT, PROGRAM_TITLE
from affiliate_site.backoffice.lists.date_filters import DateFilter
from affiliate_site.backoffice.lists.filters import GroupFilter, ProgramFilter
from affiliate_site.backoffice.lists.state_filters import DeletedFilter, PromotedFilter
from affiliate_site.backoffice.navigation import MenuEntry
from affiliate_site.backoffice.object_pages import ObjectPageMixin
from affiliate_site.columns import Column
from tracking.models.prospects import Prospect


def label_creation(prospect) -> str:
    """When it was created, or that it was removed."""
    if prospect.deleted_at:
        return format_labels([REMOVED])
    return format_datetime(prospect.created_at)


@admin.register(Prospect)
class ProspectAdmin(ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    """People who may become affiliates."""

    menu = (MenuEntry("Affiliates", 60, "person_add"),)
    empty_state = (
        "No prospects yet. Choose “Add prospect” for a person who may become an"
        " affiliate: the first sale through their link makes them one."
    )
    change_form_template = "admin/affiliates/prospect.html"
    add_page = AddProspectPage
    row_pages = (*PROSPECT_PAGES, *PERSONAL_DATA_PAGES)

    columns = (
        *("firstname", "lastname", "email"),
        PROGRAM_TITLE,
        "signup_source",
        Column(
            "Created at", label_creation, name="created", order="created_at", export="created_at"
        ),
        "promoted_at",
        DELETED_AT,
    )
    list_filter = (
        "signup_source",
        ProgramFilter,
        GroupFilter,
        PromotedFilter,
        DeletedFilter,
        DateFilter,
    )
    search_fields = ("public_id__exact", "email_folded__exact")
    search_help_text = "Search by ID or e-mail"
    ordering = ("-created_at", "-id")

    class Media:
        js = ("backoffice/copy.js",)

    def get_object_title(self, row):
        return get_full_name(row)

    def get_object_context(self, request, row):
        return build_prospect_context(row)
