"""The page of the audit log: who changed what, and when."""

import re

from django.contrib import admin

from accounts.models.audit_log import AuditLogEntry
from accounts.tenant_admin import filter_for_user
from affiliate_site.backoffice.audit_sentences import (
    find_names,
    group_actions,
    name_details,
    parse_actor_id,
    render_actions,
)
from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin, display
from affiliate_site.backoffice.formatters import format_key_values
from affiliate_site.backoffice.lists.columns import ListColumn
from affiliate_site.backoffice.lists.date_filters import DateFilter
from tracking.models.affiliates import Affiliate

AFFILIATE_PREFIX = "affiliate:"
SUBJECT_SEPARATOR_PATTERN = re.compile(r"\s*:\s*|\s+")
DETAILS = ("kind", "named_subject", "named_actor", "formatted_details")


@admin.register(AuditLogEntry)
class AuditLogEntryAdmin(ReadOnlyBackOfficeAdmin):
    """One row per change."""

    columns = (
        "created_at",
        ListColumn("sentence", is_exported=False),
        *(ListColumn(name, is_listed=False) for name in DETAILS),
    )
    list_filter = (DateFilter,)
    search_fields = ("subject__exact",)
    search_help_text = "Search by kind and ID, such as affiliate adastone"
    ordering = ("-id",)
    fields = readonly_fields = ("sentence", "created_at", *DETAILS, "trace_id")

    def get_object(self, request, object_id, from_field=None):
        entry = super().get_object(request, object_id, from_field)
        if entry is not None:
            self.prepare_rows(request, [entry])
        return entry

    def prepare_rows(self, request, rows):
        """Look up what the entries name, and fold those of one action into one row."""
        names = find_names(request.user, rows)
        for first, *others in group_actions(rows, names):
            first.names, first.others = names, others
            for entry in others:
                entry.names, entry.others, entry.is_folded = names, [], True

    def get_search_results(self, request, queryset, search_term):
        """Find the entries of an object by its kind and ID, `commission 84`."""
        term = SUBJECT_SEPARATOR_PATTERN.sub(":", search_term.strip(), count=1)
        prefix, separator, slug = term.partition(":")
        prefix = prefix.lower() + separator
        if prefix != AFFILIATE_PREFIX:
            return super().get_search_results(request, queryset, prefix + slug)
        rows = filter_for_user(Affiliate.objects.filter(slug=slug), request.user)
        pks = rows.values_list("pk", flat=True)
        return queryset.filter(
            subject__in=[f"{AFFILIATE_PREFIX}{pk}" for pk in pks]
        ), False

    @display(description="What happened")
    def sentence(self, entry):
        return render_actions([entry, *entry.others], entry.names)

    @display(description="Subject")
    def named_subject(self, entry):
        row = entry.names.rows.get(tuple(entry.subject.split(":", 1)))
        is_affiliate = isinstance(row, Affiliate)
        return f"{AFFILIATE_PREFIX}{row.slug}" if is_affiliate else entry.subject

    @display(description="Actor")
    def named_actor(self, entry):
        email = entry.names.emails.get(parse_actor_id(entry.actor))
        return f"{email} ({entry.actor})" if email else entry.actor

    @display(description="Details")
    def formatted_details(self, entry):
        return format_key_values(name_details(entry, entry.names))
