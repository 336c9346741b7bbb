"""The page of the audit log: who changed what, and when.

Entries name users and affiliates by the IDs of their rows; a page looks up the e-mail
addresses and the affiliates' IDs with one query each.
"""

import re

from django.contrib import admin

from accounts.models.audit_log import AuditLogEntry
from accounts.models.users import User
from accounts.tenant_admin import filter_for_user
from affiliate_site.backoffice.audit_sentences import (
    ACTOR_PATTERN,
    find_named_rows,
    render_sentence,
)
from affiliate_site.backoffice.base import (
    ReadOnlyBackOfficeAdmin,
    display,
)
from affiliate_site.backoffice.filters import DateFilter
from affiliate_site.backoffice.formatters import format_key_values
from tracking.models.affiliates import Affiliate

AFFILIATE_PATTERN = re.compile(r"affiliate:([0-9]+)")
AFFILIATE_PREFIX = "affiliate:"


@admin.register(AuditLogEntry)
class AuditLogEntryAdmin(ReadOnlyBackOfficeAdmin):
    """One row per change."""

    list_display = ("created_at", "sentence")
    export_columns = (
        "created_at",
        "kind",
        "named_subject",
        "named_actor",
        "formatted_details",
    )
    list_filter = (DateFilter,)
    search_fields = ("subject__exact",)
    search_help_text = "Search by exact subject, e.g. affiliate:adastone"
    ordering = ("-id",)
    fields = readonly_fields = ("sentence", *export_columns, "trace_id")

    def get_object(self, request, object_id, from_field=None):
        entry = super().get_object(request, object_id, from_field)
        if entry is not None:
            self.prepare_rows(request, [entry])
        return entry

    def prepare_rows(self, request, rows):
        """Look up the users and affiliates that the entries name."""
        emails = find_names(User, "email", request.user, list_user_ids(rows))
        slugs = find_names(Affiliate, "slug", request.user, list_affiliate_ids(rows))
        named_rows = find_named_rows(request.user, rows)
        for entry in rows:
            entry.emails, entry.slugs, entry.named_rows = emails, slugs, named_rows
            if pks := get_affiliate_change(entry):
                entry.details["affiliate"] = [slugs.get(pk, pk) for pk in pks]

    def get_search_results(self, request, queryset, search_term):
        """Find the entries of an affiliate by its ID."""
        prefix, separator, slug = search_term.strip().partition(":")
        if f"{prefix}{separator}" != AFFILIATE_PREFIX:
            return super().get_search_results(request, queryset, search_term)
        rows = filter_for_user(Affiliate.objects.filter(slug=slug), request.user)
        pks = rows.values_list("pk", flat=True)
        return queryset.filter(
            subject__in=[f"{AFFILIATE_PREFIX}{pk}" for pk in pks]
        ), False

    @display(description="What happened")
    def sentence(self, entry):
        return render_sentence(entry, entry.named_rows, entry.emails)

    @display(description="Subject")
    def named_subject(self, entry):
        pk = parse_id(AFFILIATE_PATTERN, entry.subject)
        slug = entry.slugs.get(pk)
        return f"{AFFILIATE_PREFIX}{slug}" if slug else entry.subject

    @display(description="Actor")
    def named_actor(self, entry):
        email = entry.emails.get(parse_id(ACTOR_PATTERN, entry.actor))
        return f"{email} ({entry.actor})" if email else entry.actor

    @display(description="Details")
    def formatted_details(self, entry):
        names = {"user_id": entry.emails, "parent": entry.slugs}
        return format_key_values(
            {
                key: names[key].get(value, value) if key in names else value
                for key, value in entry.details.items()
            }
        )


def find_names(model, column: str, user, ids) -> dict[int, str]:
    """Map the IDs of rows that the user may see to the values of this column."""
    rows = filter_for_user(model.objects.filter(pk__in=set(ids) - {None}), user)
    return dict(rows.values_list("pk", column))


def list_user_ids(entries) -> list[int | None]:
    """The IDs of all users whom the entries name."""
    return [
        pk
        for entry in entries
        for pk in (parse_id(ACTOR_PATTERN, entry.actor), entry.details.get("user_id"))
    ]


def list_affiliate_ids(entries) -> list[int | None]:
    """The IDs of all affiliates whom the entries name."""
    return [
        pk
        for entry in entries
        for pk in (
            parse_id(AFFILIATE_PATTERN, entry.subject),
            entry.details.get("parent"),
            *(pk for pk in get_affiliate_change(entry) if isinstance(pk, int)),
        )
    ]


def get_affiliate_change(entry) -> list:
    """The affiliates before and after, if the entry says that another one has it."""
    pks = entry.details.get("affiliate")
    return pks if isinstance(pks, list) else []


def parse_id(pattern: re.Pattern[str], text: str) -> int | None:
    """The row ID in a name like `staff 17`, or None."""
    match = pattern.fullmatch(text)
    return int(match[1]) if match else None
