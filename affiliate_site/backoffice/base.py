"""Base classes of the pages of the back office, with the theme (Unfold)."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.contrib.admin import ShowFacets
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ORDER_VAR, PAGE_VAR
from django.core.exceptions import BadRequest, PermissionDenied, ValidationError
from django.db.models import Q
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.text import capfirst
from unfold.admin import ModelAdmin
from unfold.decorators import action, display
from unfold.paginator import InfinitePaginator
from unfold.templatetags import unfold_list
from unfold.views import ChangeList

from accounts.tenant_admin import TenantAdmin
from affiliate_site.backoffice.audit_sentences import LOGGED_MODELS
from affiliate_site.backoffice.formatters import EMPTY_VALUE
from affiliate_site.backoffice.lists.columns import ACCOUNT, as_column
from affiliate_site.backoffice.lists.exports import export_list
from affiliate_site.backoffice.lists.filters import list_chips
from affiliate_site.backoffice.lists.long_lists import (
    RowNumber,
    count_rows,
    find_index_order,
    list_page_numbers,
    sum_amounts,
)
from affiliate_site.backoffice.lists.saved_views import SavedViewsMixin
from affiliate_site.backoffice.navigation import ListAction, MenuEntry, SubList
from affiliate_site.columns import Column, load_columns

__all__ = [
    "ReadOnlyBackOfficeAdmin",
    "action",
    "display",
]

# The theme's class names fill 500 bytes of each cell; the rules of these are in
# backoffice.css.
unfold_list.ROW_CLASSES[:] = ["cell"]
unfold_list.CHECKBOX_CLASSES[:] = ["action-checkbox", "cell"]
unfold_list.LINK_CLASSES.clear()

IMPORT_PERMISSION = "tracking.add_tableimport"


class PreparedChangeList(ChangeList):
    """A list whose columns look up what they show of its rows."""

    is_order_ignored = False  # the rows are too many for it

    def __init__(self, request, *args, **kwargs):
        self.request = request
        super().__init__(request, *args, **kwargs)
        self.title = capfirst(self.opts.verbose_name_plural)

    def get_results(self, request):
        super().get_results(request)
        columns = [it for it in self.list_display if isinstance(it, Column)]
        rows = list(self.result_list)
        load_columns(columns, request, rows)
        self.count_on_page = len(rows)

    def get_ordering_field(self, field_name):
        """Call the function of a column only for the list that is sorted by it."""
        field = super().get_ordering_field(field_name)
        is_sorted = callable(field) and self.params.get(ORDER_VAR)
        return field(self.request) if is_sorted else field

    def get_queryset(self, request, exclude_parameters=None):
        """Sort a long list by columns with an index only (list_order.py)."""
        rows = super().get_queryset(request, exclude_parameters)
        default = self.model_admin.get_ordering(request)
        of_long_list = self.model_admin.ordering_of_long_list
        ordering = [name for name in rows.query.order_by if name != "-pk"]
        chosen = ordering[: -len(default)]  # the default order comes last
        if not chosen and not of_long_list:
            return rows
        order = find_index_order(self.model, chosen)
        if order and request.user.account:  # indexes begin with the account
            return rows.order_by(*order)
        rows_of_long_list = rows.order_by(*(of_long_list or default))
        self.row_number = count_rows(rows_of_long_list, request.user.account)
        if not self.row_number.is_long:
            return rows
        self.params.pop(ORDER_VAR, None)
        self.is_order_ignored = True
        return rows_of_long_list

    @cached_property
    def chips(self):
        """The filters that are set, each with a link that removes it."""
        return list_chips(self, self.request)

    @cached_property
    def row_number(self) -> RowNumber:
        number = self.count_on_page
        if self.page_num == 1 and number < self.list_per_page:
            return RowNumber(number)
        return count_rows(self.queryset, self.request.user.account)

    @cached_property
    def sums(self) -> tuple[str, str]:
        """The sums of the amounts of all pages, and of which rows; empty if the rows
        are too many."""
        number = self.row_number
        if not self.model_admin.amount_column or not number.number or number.is_long:
            return "", ""
        left_out = {
            word: others
            for word, column, others in self.model_admin.left_out_of_sums
            if not any(name.startswith(column) for name in self.request.GET)
        }
        rows = self.queryset.filter(*left_out.values())
        text, summed = self.model_admin.format_sums(rows)
        is_all = summed == number.number or not left_out
        words = "" if is_all else f"{summed:,} without {' and '.join(left_out)} ones"
        return text, words

    @property
    def page_links(self) -> list[tuple[str, str]]:
        """The numbers and queries of pages; `…` has no query."""
        numbers = list_page_numbers(self.row_number, self.page_num, self.list_per_page)
        return [(str(n), self.build_page_query(n) if isinstance(n, int) else "") for n in numbers]

    @property
    def import_url(self) -> str:
        """The page that imports rows of this list from a file, for owners."""
        user, kind = self.request.user, self.model_admin.import_kind
        if not kind or not user.account or not user.has_perm(IMPORT_PERMISSION):
            return ""
        return f"{reverse('admin:tracking_tableimport_add')}?kind={kind}"

    @property
    def previous_query(self) -> str:
        return self.build_page_query(self.page_num - 1)

    @property
    def next_query(self) -> str:
        return self.build_page_query(self.page_num + 1)

    def build_page_query(self, number: int) -> str:
        return self.get_query_string({PAGE_VAR: number})


class ThemedModelAdmin(SavedViewsMixin, ModelAdmin):
    """Defaults of all pages: lists with exports, and without counting all rows."""

    paginator = InfinitePaginator
    amount_column = ""  # whose sums the list shows
    # Rows that the sums leave out: the word for them, the column that the list is
    # filtered by if staff ask for them, and the condition of all others.
    left_out_of_sums: tuple[tuple[str, str | tuple[str, ...], Q], ...] = ()
    # Columns of an index, if none has the default order.
    ordering_of_long_list: tuple[str, ...] = ()
    list_filter_submit = True
    show_facets = ShowFacets.NEVER  # they count all rows
    list_fullwidth = True
    list_before_template = "admin/list_notes.html"
    warn_unsaved_form = True
    compressed_fields = True
    empty_value_display = EMPTY_VALUE
    columns: tuple[str | Column, ...] = ()  # of the list and of exports
    # Of a list without rows: what it shows, and how the first row comes. The page adds the
    # button of the list, if the user may use it.
    empty_state = ""
    menu: tuple[MenuEntry, ...] = ()  # of the sidebar; the first one leads to the list
    sub_list: SubList | None = None  # in place of an entry
    tabs: dict[str, str] = {}  # titles and filters
    list_actions: tuple[ListAction, ...] = ()
    reports: tuple[Any, ...] = ()  # `ReportPage`s of what the list shows
    import_kind = ""  # of a table whose rows the list would show
    add_title = ""  # of the button that adds a row, by default “Add …”
    manage_permission = ""  # for actions with `permissions=["manage"]`

    def get_changelist(self, request, **kwargs):
        return PreparedChangeList

    def get_tabs(self, request) -> dict[str, str]:
        return self.tabs

    def has_manage_permission(self, request):
        return request.user.has_perm(self.manage_permission)

    def get_columns(self, request) -> Sequence[str | Column]:
        """The columns of the list and of exports, without the account."""
        return self.columns

    def get_list_select_related(self, request):
        """The relations that columns show, and those that the page names."""
        names = dict.fromkeys(self.list_select_related or ())  # type: ignore[arg-type]
        for column in map(as_column, self.get_columns(request)):
            names |= dict.fromkeys(column.select)
            if not column.show and is_relation(self.opts, column.name):
                names[column.name] = None
        return list(names)

    def get_list_display(self, request):
        """The columns of the list as Django expects them: names and functions."""
        columns = map(as_column, self.get_columns(request))
        return [it if it.show else it.name for it in columns if it.is_listed]

    def get_export_columns(self, request) -> list[Column]:
        account = [ACCOUNT] if request.user.is_superuser else []
        columns = map(as_column, self.get_columns(request))
        return [*account, *(it for it in columns if it.is_exported)]

    @display(description="Select")
    def action_checkbox(self, obj):
        """The checkbox that selects a row, without the theme's classes."""
        return format_html(
            '<input type="checkbox" name="{}" value="{}" class="action-select"'
            ' aria-label="Select {}">',
            ACTION_CHECKBOX_NAME,
            obj.pk,
            self.name_row(obj),
        )

    def name_row(self, row) -> str:
        """What the label of the checkbox of a row calls it."""
        return str(row)

    def format_sums(self, rows) -> tuple[str, int]:
        """The sums of the amounts of these rows per currency, and their number."""
        return sum_amounts(rows, self.amount_column)

    @property
    def list_title(self) -> str:
        """What the sidebar and tabs call the list."""
        return str(capfirst(str(self.opts.verbose_name_plural)))

    def get_urls(self):
        """Add the exports, and the reports."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_export"
        csv_view, xlsx_view = (
            self.admin_site.admin_view(partial(self.export, it)) for it in ("csv", "xlsx")
        )
        return [
            path("export/", csv_view, name=name),
            path("export/xlsx/", xlsx_view, name=f"{name}_xlsx"),
            *(
                path(
                    f"{report.name.replace('_', '-')}/",
                    self.admin_site.admin_view(report.as_view(model_admin=self)),
                    name=report.name,
                )
                for report in self.reports
            ),
            *super().get_urls(),
        ]

    def history_view(self, request, object_id, extra_context=None):
        """Lead to the entries of the audit log about this object."""
        row = self.get_object(request, unquote(object_id))
        if row is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        url = reverse("admin:accounts_auditlogentry_changelist")
        query = urlencode({"q": f"{self.opts.model_name}:{row}"})
        return redirect(f"{url}?{query}")

    def render_change_form(self, request, context, *args, **kwargs):
        """Offer the history of objects that the audit log names."""
        context["show_history"] = self.opts.model_name in LOGGED_MODELS
        return super().render_change_form(request, context, *args, **kwargs)

    def changelist_view(self, request, extra_context=None):
        """Deny actions without permission; Django would ignore them."""
        requested = set(request.POST.getlist("action")) - {""}
        if requested - set(self.get_actions(request)):
            raise PermissionDenied
        if request.method == "GET" and "" in request.GET.values():
            return redirect(f"{request.path}?{remove_empty_values(request.GET)}")
        try:
            return super().changelist_view(request, extra_context)
        except BadRequest as error:
            return self._render_invalid_filter(request, error)

    def _render_invalid_filter(self, request, error):
        """The page that says what is wrong with the value of a filter."""
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Invalid filter",
            "error": error,
        }
        template = "admin/invalid_filter.html"
        return TemplateResponse(request, template, context, status=400)

    def response_action(self, request, queryset):  # type: ignore[override]
        """Answer 400 to a selected row whose id is none."""
        pk = self.opts.pk
        try:
            for selected in request.POST.getlist(ACTION_CHECKBOX_NAME):
                pk.run_validators(pk.to_python(selected))  # numbers that are too large
        except ValidationError:
            raise BadRequest("Invalid selection") from None
        return super().response_action(request, queryset)

    def export(self, file_format: str, request):
        """The filtered list as a file."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            return export_list(file_format, self, request)
        except IncorrectLookupParameters:
            raise BadRequest("Unknown filter") from None


def is_relation(opts, name: str) -> bool:
    """Whether a model has a field of this name that leads to another row."""
    return any(field.name == name and field.many_to_one for field in opts.concrete_fields)


def remove_empty_values(query) -> str:
    """A query without the fields of a filter form that were left empty."""
    return urlencode([(name, value) for name, value in query.items() if value])


class ReadOnlyBackOfficeAdmin(TenantAdmin, ThemedModelAdmin):
    """A page without forms; rows change through actions only."""
