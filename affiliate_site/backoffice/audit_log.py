"""The page of the audit log: who changed what, and when."""

from django.contrib import admin

from accounts.models.audit_log import AuditLogEntry
from affiliate_site.backoffice.base import (
    ReadOnlyBackOfficeAdmin,
    display,
)
from affiliate_site.backoffice.formatters import format_key_values


@admin.register(AuditLogEntry)
class AuditLogEntryAdmin(ReadOnlyBackOfficeAdmin):
    """One row per change."""

    list_display = ("created_at", "kind", "subject", "actor", "formatted_details")
    search_fields = ("subject__exact",)
    search_help_text = "Search by exact subject, e.g. affiliate:adastone"
    ordering = ("-id",)
    exclude = ("details",)
    readonly_fields = ("formatted_details",)

    @display(description="Details")
    def formatted_details(self, entry):
        return format_key_values(entry.details)
