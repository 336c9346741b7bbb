"""Pages about one object: headline, facts, tables and history instead of columns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from django.db.models import Q
from django.urls import reverse
from django.utils.html import format_html

from accounts.models.audit_log import AuditLogEntry
from accounts.models.users import User
from affiliate_site.backoffice.audit_log import (
    find_names,
    list_user_ids,
    parse_id,
)
from affiliate_site.backoffice.audit_sentences import ACTOR_PATTERN
from affiliate_site.backoffice.form_pages import FormPagesMixin
from affiliate_site.backoffice.formatters import (
    STATUS_COLORS,
    format_datetime,
)

LINK_TEMPLATE = '<a class="details-link" href="{}">{}</a>'
# Names of logged fields on the screens.
FIELD_NAMES = {
    "amount": "amount",
    "comment": "comment",
    "customer_id": "customer ID",
    "external_id": "order ID",
    "meta_data": "metadata",
    "payout": "payment",
    "sub_amount": "amount that earns",
}


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

    def find_neighbors(self, row) -> list[tuple[str, str]]:
        """Links to the objects beside it in the list."""
        return find_neighbors(
            row, type(row)._base_manager.filter(account=row.account_id)
        )

    def change_view(self, request, object_id, form_url="", extra_context=None):
        """Add the content and the links to the neighbors."""
        context = dict(extra_context or {})
        row = self.get_object(request, object_id)
        if row is not None and self.has_view_permission(request, row):
            context["details"] = self.get_details(request, row)
            context["neighbors"] = self.find_neighbors(row)
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


def find_neighbors(row, rows, moment: str = "created_at") -> list[tuple[str, str]]:
    """Links to the next newer and older of some rows by a moment: texts and URLs."""
    opts, at = row._meta, getattr(row, moment)
    newer = rows.filter(
        Q((f"{moment}__gt", at)) | Q(pk__gt=row.pk), (f"{moment}__gte", at)
    ).order_by(moment, "id")
    older = rows.filter(
        Q((f"{moment}__lt", at)) | Q(pk__lt=row.pk), (f"{moment}__lte", at)
    ).order_by(f"-{moment}", "-id")
    return [
        (text, reverse(f"admin:{opts.app_label}_{opts.model_name}_change", args=[pk]))
        for text, found in (("Newer", newer), ("Older", older))
        for pk in found.values_list("pk", flat=True)[:1]
    ]


def build_history(
    request, subjects: Iterable[Any], postings: Iterable[tuple[datetime, str]] = ()
) -> Section:
    """Who did what to some objects, with other events, oldest first."""
    rows = {f"{row._meta.model_name}:{row}": row for row in subjects}
    account_id = next(iter(rows.values())).account_id
    entries = list(
        AuditLogEntry.objects.filter(account=account_id, subject__in=rows).order_by(
            "id"
        )
    )
    emails = find_names(User, "email", request.user, list_user_ids(entries))
    lines = [
        (
            entry.created_at,
            format_html(
                "{} {}", name_subject(rows[entry.subject]), describe_entry(entry)
            ),
            emails.get(parse_id(ACTOR_PATTERN, entry.actor) or 0) or entry.actor,
        )
        for entry in entries
    ] + [(at, text, "") for at, text in postings]
    lines.sort(key=lambda line: line[0])
    return Section(
        "History",
        columns=(Column("Time"), Column("What"), Column("Who")),
        rows=[(format_datetime(at), text, who) for at, text, who in lines],
    )


def name_subject(row) -> str:
    """`commission 84`, as a link."""
    return link_to(row, f"{row._meta.verbose_name} {row}")


def describe_entry(entry) -> str:
    """What an entry of the audit log says, without its subject."""
    action = entry.kind.rpartition(".")[2]
    changes = []
    for name, value in entry.details.items():
        if name == "fields":
            names = [FIELD_NAMES.get(each, each) for each in value]
            names = [each for each in names if each not in entry.details]
            changes += [f"{each} changed" for each in names]
        elif isinstance(value, list) and len(value) == 2:
            before, after = value
            name = "" if name == "status" else f"{FIELD_NAMES.get(name, name)} "
            changes.append(f"{name}{before} → {after}")
    if action == "updated" and changes:
        return ", ".join(changes)
    return ": ".join([action, *filter(None, [", ".join(changes)])])
