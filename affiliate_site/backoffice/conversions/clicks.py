"""The page of clicks, newest first; searched by ID only, as there are millions."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import lookup_field

from affiliate_site.backoffice.base import (
    ReadOnlyBackOfficeAdmin,
    display,
)
from affiliate_site.backoffice.formatters import EMPTY_VALUE, format_key_values
from affiliate_site.backoffice.lists.date_filters import DateFilter
from affiliate_site.backoffice.lists.filters import (
    AffiliateFilter,
    AffiliateGroupFilter,
    ProgramFilter,
)
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
        "program_title",
        "referrer",
        "landing_page",
        "browser",
    )
    list_select_related = ("affiliate", "program")
    list_filter = (ProgramFilter, AffiliateFilter, AffiliateGroupFilter, DateFilter)
    export_sources = {
        "affiliate": "affiliate__slug",
        "program": "program__slug",
        "browser": (get_browser, "user_agent"),
    }
    search_fields = ("public_id__exact",)
    search_help_text = "Search by click ID"
    extra_lookups = ("affiliate_id",)
    ordering = ("-created_at", "-id")
    exclude = ("dedup_key", "meta_data", "enrollment", "user_agent")
    readonly_fields = ("browser", "full_user_agent", "formatted_meta_data")

    def get_fields(self, request, obj=None):
        """Those that this click has."""
        names: Any = super().get_fields(request, obj)  # no groups of fields
        return [name for name in names if obj is None or self.has_value(obj, name)]

    def has_value(self, click, name: str) -> bool:
        """Whether a field or a column of the page is not empty."""
        value = lookup_field(name, click, self)[2]
        return value not in (None, "", EMPTY_VALUE)

    @display(description="User agent")
    def full_user_agent(self, click):
        return click.user_agent

    def browser(self, click):
        return get_browser(click.user_agent)

    @display(description="Metadata")
    def formatted_meta_data(self, click):
        return format_key_values(click.meta_data)
