"""The page of clicks, newest first; searched by ID only, as there are millions."""

from django.contrib import admin

from affiliate_site.backoffice.base import (
    ReadOnlyBackOfficeAdmin,
    display,
)
from affiliate_site.backoffice.filters import (
    AffiliateFilter,
    DateFilter,
    ProgramFilter,
)
from affiliate_site.backoffice.formatters import EMPTY_VALUE, format_key_values
from affiliate_site.user_agents import parse_user_agent
from tracking.models.clicks import Click


@admin.register(Click)
class ClickAdmin(ReadOnlyBackOfficeAdmin):
    """Clicks on affiliate links, with referrer, landing page and browser."""

    list_display = (
        "created_at",
        "affiliate",
        "program",
        "referrer",
        "landing_page",
        "browser",
    )
    list_select_related = ("affiliate", "program")
    list_filter = (ProgramFilter, AffiliateFilter, DateFilter)
    search_fields = ("public_id__exact",)
    search_help_text = "Search by click ID"
    ordering = ("-created_at", "-id")
    exclude = ("dedup_key", "meta_data")
    readonly_fields = ("browser", "formatted_meta_data")

    def browser(self, click):
        return parse_user_agent(click.user_agent or "")["browser"] or EMPTY_VALUE

    @display(description="Metadata")
    def formatted_meta_data(self, click):
        return format_key_values(click.meta_data)
