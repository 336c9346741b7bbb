"""Pages about one object: headline, facts, tables and history instead of columns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from django.db.models import Q
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode

from accounts.models.audit_log import AuditLogEntry
from affiliate_site.backoffice.audit_sentences import (
    describe_actor,
    find_names,
    render_action,
)
from affiliate_site.backoffice.form_pages import FormPagesMixin
from affiliate_site.backoffice.formatters import (
    STATUS_COLORS,
    format_datetime,
)
from affiliate_site.backoffice.object_pages import find_neighbors
from payouts.models.commissions import Commission

FILTERS_VAR = "_changelist_filters"
Posting = tuple[datetime, str, str | None]  # its time, its text, who caused it
LINK_TEMPLATE = '<a class="details-link" href="{}">{}</a>'


@dataclass(frozen=True)
class Column:
    """A column of a table; amounts are aligned to the right."""

    title: str
    is_amount: bool = False


@dataclass(frozen=True)
class Section:
    """A titled part of a page: notes, facts without empty values, and a table."""

    title: str
    facts: Sequence[tuple[str, Any]] = ()
    notes: Sequence[str] = ()
    columns: Sequence[Column] = ()
    rows: Sequence[Sequence[Any]] = ()
    lines: str = ""  # lines of text as HTML

    @property
    def cells(self) -> list[list[tuple[Column, Any]]]:
        """The rows, each value with its column."""
        return [list(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class Details:
    """The content of a page about one object."""

    headline: str
    labels: Sequence[tuple[str, str]] = ()  # texts and colors
    is_removed: bool = False
    sections: Sequence[Section] = field(default_factory=list)


class DetailsMixin(FormPagesMixin):
    """Shows `get_details` on the page of an object, with buttons and neighbors."""

    change_form_template = "admin/conversions/details.html"
    fields: ClassVar[tuple[str, ...]] = ()
    readonly_fields: ClassVar[tuple[str, ...]] = ()

    def get_details(self, request, row) -> Details:
        """The content of the page."""
        raise NotImplementedError

    def find_neighbors(self, row) -> tuple:
        """The objects before and after this one in the list, or None."""
        return find_neighbors(
            row, type(row)._base_manager.filter(account=row.account_id)
        )

    def change_view(self, request, object_id, form_url="", extra_context=None):
        """Add the content and the links to the neighbors."""
        context = dict(extra_context or {})
        row = self.get_object(request, object_id)
        if row is not None and self.has_view_permission(request, row):
            context["details"] = self.get_details(request, row)
            context["neighbors"] = link_neighbors(
                self.find_neighbors(row), request.GET.get(FILTERS_VAR, "")
            )
        return super().change_view(request, object_id, form_url, context)


def link_to(row, text: Any = "") -> str:
    """A link to the page of a row; empty without a row."""
    if row is None:
        return ""
    opts = row._meta
    name = f"admin:{opts.app_label}_{opts.model_name}_change"
    return format_html(LINK_TEMPLATE, reverse(name, args=[row.pk]), text or row)


def label_status(status: str) -> tuple[str, str]:
    """A coloured label."""
    return status, STATUS_COLORS.get(status, "")


def link_neighbors(neighbors, filters: str = "") -> list[tuple[str, str]]:
    """Texts and URLs of the links to the next newer and older object, which keep the
    filters of the list that the page leads back to."""
    query = f"?{urlencode({FILTERS_VAR: filters})}" if filters else ""
    return [
        (
            text,
            reverse(
                f"admin:{row._meta.app_label}_{row._meta.model_name}_change",
                args=[row.pk],
            )
            + query,
        )
        for text, row in zip(("Newer", "Older"), neighbors, strict=True)
        if row is not None
    ]


def build_history(
    request, subjects: Iterable[Any], postings: Iterable[Posting] = ()
) -> Section:
    """Who did what to some objects, with postings to the ledger, oldest first.

    The log names the removal of a conversion only, not those of its commissions.
    """
    rows = list(subjects)
    conversions = [row.conversion_id for row in rows if isinstance(row, Commission)]
    entries = AuditLogEntry.objects.filter(
        Q(subject__in=[f"{row._meta.model_name}:{row}" for row in rows])
        | Q(
            subject__in=[f"conversion:{pk}" for pk in conversions],
            kind="conversion.deleted",
        ),
        account=rows[0].account_id,
    ).order_by("id")
    lines = list(postings)
    names = find_names(request.user, entries, [actor for *_, actor in lines])
    lines[:0] = [
        (entry.created_at, render_action(entry, names, is_line=True), entry.actor)
        for entry in entries
    ]
    lines.sort(key=lambda line: line[0])
    return Section(
        "History",
        columns=(Column("Time"), Column("What"), Column("Who")),
        rows=[
            (format_datetime(at), text, describe_actor(actor, names))
            for at, text, actor in lines
        ],
    )
