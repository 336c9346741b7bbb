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


def get_browser(user_agent: str | None) -> str:
    """The name of the browser."""
    return parse_user_agent(user_agent or "")["browser"] or EMPTY_VALUE


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
    export_sources = {
        "affiliate": "affiliate__slug",
        "program": "program__slug",
        "browser": (get_browser, "user_agent"),
    }
    search_fields = ("public_id__exact",)
    search_help_text = "Search by click ID"
    extra_lookups = ("affiliate_id",)
    ordering = ("-created_at", "-id")
    exclude = ("dedup_key", "meta_data", "enrollment")
    readonly_fields = ("browser", "formatted_meta_data")

    def browser(self, click):
        return get_browser(click.user_agent)

    @display(description="Metadata")
    def formatted_meta_data(self, click):
        return format_key_values(click.meta_data)
