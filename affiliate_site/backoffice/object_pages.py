"""Pages about one object: its content, its buttons, and links to its neighbors."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.http import urlencode

from accounts.models.audit_log import AuditLogEntry
from affiliate_site.backoffice.audit_sentences import (
    describe_actor,
    find_names,
    render_action,
)
from affiliate_site.backoffice.form_pages import FormPage, TitledObject
from affiliate_site.backoffice.formatters import Label, format_datetime
from affiliate_site.backoffice.theme import get_object_url
from affiliate_site.columns import Column, Table
from payouts.models.commissions import Commission

FILTERS_VAR = "_changelist_filters"
PAGE_SIZE = 25  # rows of a section
Posting = tuple[datetime, str, str | None]  # its time, its text, who caused it
LINK_TEMPLATE = '<a class="details-link" href="{}">{}</a>'


@dataclass(frozen=True, kw_only=True)
class Section(Table):
    """A titled part of a page: notes, facts without empty values, and a table."""

    facts: Sequence[tuple[str, Any]] = ()
    lines: str = ""  # lines of text as HTML


@dataclass(frozen=True)
class Details:
    """The content of a page about one object."""

    headline: str
    labels: Sequence[Label] = ()
    is_removed: bool = False
    alerts: Sequence[str] = ()  # what staff must not overlook
    sections: Sequence[Section] = field(default_factory=list)


class ObjectPageMixin(ModelAdmin):
    """A page about an object, and the form pages that create and change objects.

    The page shows `get_details`, else the `fields` of Django; a page with a
    `change_form_template` of its own gives it what `get_object_context` returns. All
    have `page_buttons`, the form pages that the user may open now with their URLs, and
    `page_urls`, all these URLs by the names of the pages.
    """

    add_page: type[FormPage] | None = None
    row_pages: tuple[type[FormPage], ...] = ()
    details: Any = None  # a function of a request and a row
    title_field = ""  # of the name of an object, which is its text by default
    has_neighbors = True  # in the order of time

    def get_object_title(self, row) -> str:
        """The name of an object in breadcrumbs and the title of its page."""
        return str(getattr(row, self.title_field) if self.title_field else row)

    def get_details(self, request, row) -> Details | None:
        """The content of the page."""
        return self.details(request, row) if self.details else None

    def find_neighbors(self, row) -> tuple:
        """The objects before and after this one in the list, or None."""
        if not self.has_neighbors:
            return None, None
        return find_neighbors(row, type(row)._base_manager.filter(account=row.account_id))

    def get_object_context(self, request, row) -> dict[str, Any]:
        """What the template shows of an object."""
        details = self.get_details(request, row)
        if details is None:
            return {}
        filters = request.GET.get(FILTERS_VAR, "")
        neighbors = link_neighbors(self.find_neighbors(row), filters)
        return {"details": details, "neighbors": neighbors}

    def render_change_form(self, request, context, *args, **kwargs):
        """Add what the templates of objects show."""
        row = context["original"]
        title = self.get_object_title(row)
        links = list_page_links(request.user, row)
        context |= {
            "original": TitledObject(row, title),
            "subtitle": title,
            "page_buttons": [(page, url) for page, url in links if page.has_button],
            "page_urls": {page.name: url for page, url in links},
            **self.get_object_context(request, row),
        }
        return super().render_change_form(request, context, *args, **kwargs)

    def has_add_permission(self, request, obj=None):
        """Operators have no account to add to."""
        return (
            self.add_page is not None
            and request.user.account_id is not None
            and self.add_page.is_allowed(request.user)
        )

    def get_actions(self, request):
        """Leave out the actions of pages that the user may not open."""
        actions: Any = super().get_actions(request)
        pages = {name: getattr(function, "page", None) for name, (function, *_) in actions.items()}
        return {
            name: actions[name]
            for name, page in pages.items()
            if page is None or page.is_allowed(request.user)
        }

    def add_view(self, request, form_url="", extra_context=None):
        if self.add_page is None:
            raise PermissionDenied
        return self.add_page.as_view(model_admin=self)(request)

    def get_urls(self):
        """Add the pages of an object."""
        return [
            path(
                f"<int:object_id>/{page.name}/",
                self.admin_site.admin_view(page.as_view(model_admin=self)),
                name=f"{self.opts.app_label}_{self.opts.model_name}_{page.name}",
            )
            for page in self.row_pages
        ] + super().get_urls()


def list_page_links(user, row) -> list[tuple[type[FormPage], str]]:
    """The pages on which this user may change an object, with their URLs."""
    prefix = f"admin:{row._meta.app_label}_{row._meta.model_name}"
    model_admin = admin.site.get_model_admin(type(row))
    return [
        (page, reverse(f"{prefix}_{page.name}", args=[row.pk]))
        for page in getattr(model_admin, "row_pages", ())
        if page.is_allowed(user) and page.is_offered(row)
    ]


def link_to(row, text: Any = "") -> str:
    """A link to the page of a row; empty without a row."""
    if row is None:
        return ""
    return format_html(LINK_TEMPLATE, get_object_url(row), text or row)


def link_to_sale(commission) -> str:
    """A link to the conversion of a commission, named after the order; empty for a
    bonus."""
    conversion = commission.conversion
    return link_to(conversion, conversion.external_id) if conversion else ""


def find_neighbors(row, rows, moment: str = "created_at") -> tuple:
    """The rows before and after this one by a moment, newest first, or None."""
    at = getattr(row, moment)
    newer = Q((f"{moment}__gt", at)) | Q(pk__gt=row.pk)
    older = Q((f"{moment}__lt", at)) | Q(pk__lt=row.pk)
    # The conditions with `gte` and `lte` say nothing new, but an index answers them.
    newer_rows = rows.filter(newer, (f"{moment}__gte", at)).order_by(moment, "id")
    older_rows = rows.filter(older, (f"{moment}__lte", at)).order_by(f"-{moment}", "-id")
    return newer_rows.first(), older_rows.first()


def link_neighbors(neighbors, filters: str = "") -> list[tuple[str, str]]:
    """Texts and URLs of the links to the next newer and older object, which keep the
    filters of the list that the page leads back to."""
    query = f"?{urlencode({FILTERS_VAR: filters})}" if filters else ""
    return [
        (text, get_object_url(row) + query)
        for text, row in zip(("Newer", "Older"), neighbors, strict=True)
        if row is not None
    ]


def build_history(
    request,
    subjects: Iterable[Any],
    postings: Iterable[Posting] = (),
    reasons: Iterable[Posting] = (),
) -> Section:
    """Who did what to some objects, with postings to the ledger, oldest first.

    The log names the removal of a conversion only, not those of its commissions. Of
    `reasons` it shows those of moments in which something else happened.
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
    lines, given = list(postings), list(reasons)
    names = find_names(request.user, entries, [actor for *_, actor in [*lines, *given]])
    # The page of one object need not name it, nor lead to itself.
    own = f"{rows[0]._meta.model_name}:{rows[0]}" if len(rows) == 1 else None
    this = f"this {rows[0]._meta.verbose_name}"
    lines[:0] = [
        (
            entry.created_at,
            render_action(
                entry,
                names,
                is_line=True,
                subject=this if entry.subject == own else "",
            ),
            entry.actor,
        )
        for entry in entries
    ]
    moments = {at for at, *_ in lines}
    lines += [reason for reason in given if reason[0] in moments]
    lines.sort(key=lambda line: line[0])
    return Section(
        "History",
        columns=(
            Column("Time", lambda line: format_datetime(line[0])),
            Column("What", lambda line: line[1]),
            Column("Who", lambda line: describe_actor(line[2], names)),
        ),
        rows=lines,
    )


class RowPage:
    """One page of rows, newest first, with the URLs of the pages beside it."""

    def __init__(self, request, rows, size: int = PAGE_SIZE) -> None:
        number = request.GET.get("page", "")
        self.number = int(number) if number.isdecimal() and len(number) < 6 else 1
        self.number = max(self.number, 1)
        offset = (self.number - 1) * size
        found = list(rows[offset : offset + size + 1])
        self.rows = found[:size]
        self.newer_url = self._build_url(request, -1) if self.number > 1 else ""
        self.older_url = self._build_url(request, 1) if len(found) > size else ""

    def _build_url(self, request, step: int) -> str:
        query = {"tab": request.GET.get("tab", ""), "page": self.number + step}
        return f"?{urlencode(query)}#sections"
