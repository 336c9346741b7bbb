"""Base classes of the back office; the only module that imports the theme (Unfold)."""

from datetime import timedelta
from functools import partial, wraps
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.admin import ShowFacets
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ORDER_VAR, PAGE_VAR
from django.contrib.auth import authenticate
from django.core.exceptions import BadRequest, PermissionDenied, ValidationError
from django.core.paginator import InvalidPage
from django.db import DataError
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.response import SimpleTemplateResponse, TemplateResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.text import capfirst
from django.views.decorators.debug import sensitive_variables
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import action, display
from unfold.forms import AuthenticationForm
from unfold.paginator import InfinitePaginator
from unfold.sites import UnfoldAdminSite
from unfold.templatetags import unfold_list
from unfold.views import ChangeList

from accounts import replica
from accounts.actor import set_actor
from accounts.models.accounts import Account
from accounts.services.staff import log_password_change
from accounts.tenant_admin import ReadOnlyTenantAdmin, TenantInline
from affiliate_site.backoffice.account.account_pages import AccountSettingsPage
from affiliate_site.backoffice.account.invitation_pages import invitation_view
from affiliate_site.backoffice.audit_sentences import LOGGED_MODELS
from affiliate_site.backoffice.dashboard.onboarding import dismiss_view
from affiliate_site.backoffice.empty_states import EMPTY_STATES
from affiliate_site.backoffice.formatters import EMPTY_VALUE, format_datetime
from affiliate_site.backoffice.lists.chips import list_chips
from affiliate_site.backoffice.lists.exports import export_csv
from affiliate_site.backoffice.lists.long_lists import (
    RowNumber,
    count_rows,
    find_index_order,
    list_page_numbers,
    sum_amounts,
)
from affiliate_site.backoffice.lists.saved_views import SavedViewsMixin
from affiliate_site.backoffice.lists.xlsx_exports import export_xlsx
from affiliate_site.backoffice.theme import list_navigation
from affiliate_site.http_errors import render_error_page
from affiliate_site.operations.logs import log_refused_filter
from affiliate_site.throttling import count_sign_in_attempt

__all__ = [
    "BackOfficeAdminSite",
    "BackOfficeInline",
    "ReadOnlyBackOfficeAdmin",
    "SignInForm",
    "action",
    "display",
    "throttle_sign_in",
]

# The theme's class names fill 500 bytes of each cell; the rules of these are in
# backoffice.css.
unfold_list.ROW_CLASSES[:] = ["cell"]
unfold_list.CHECKBOX_CLASSES[:] = ["action-checkbox", "cell"]
unfold_list.LINK_CLASSES.clear()

HTTP_FOUND = 302  # the response to a form that was accepted
TOO_MANY_SIGN_INS_MESSAGE = "Too many sign-in attempts. Wait a minute and try again."
ACCOUNT_COOKIE_NAME = "account"
ACCOUNT_COOKIE_AGE = timedelta(days=365)


class SignInForm(AuthenticationForm):
    """The sign-in form: account, e-mail address and password.

    The account is prefilled from the URL or from the last sign-in of the browser.
    """

    error_messages = AuthenticationForm.error_messages | {
        "invalid_login": (
            "Please enter the correct account, email and password. The account and the"
            " password are case-sensitive."
        )
    }

    account = forms.CharField(
        required=False,
        max_length=64,
        help_text="The short name of your company's account; operators leave it empty.",
        widget=forms.TextInput({"autocomplete": "organization"}),
    )

    def __init__(self, request=None, *args, **kwargs):
        super().__init__(request, *args, **kwargs)
        css_class = self.fields["username"].widget.attrs["class"]
        self.fields["account"].widget.attrs["class"] = css_class
        if request is not None:
            last_account = request.COOKIES.get(ACCOUNT_COOKIE_NAME, "")
            self.initial["account"] = request.GET.get("account", last_account)

    @sensitive_variables()
    def clean(self):
        """Authenticate as Django's form does, with the account."""
        credentials = {
            name: self.cleaned_data.get(name)
            for name in ("account", "username", "password")
        }
        if None not in credentials.values():
            self.user_cache = authenticate(self.request, **credentials)
            if self.user_cache is None:
                raise self.get_invalid_login_error()
            self.confirm_login_allowed(self.user_cache)
        return self.cleaned_data


class BackOfficeAdminSite(UnfoldAdminSite):
    """The admin site: limits sign-in attempts and sets the actor of the audit log."""

    index_title = "Dashboard"
    login_form = SignInForm

    def get_urls(self):
        """Add the settings of the account, and the pages that belong to no model."""
        model_admin = ThemedModelAdmin(Account, self)
        settings_view = AccountSettingsPage.as_view(model_admin=model_admin)
        views = {
            "account_settings": ("settings/", settings_view),
            "dismiss_onboarding": ("onboarding/dismiss/", dismiss_view),
        }
        return [
            *(
                path(route, self.admin_view(view), name=name)
                for name, (route, view) in views.items()
            ),
            path("invitation/", invitation_view, {"site": self}, name="invitation"),
            *super().get_urls(),
        ]

    def get_app_list(self, request, app_label=None):
        """The models of one app; pages that list all have the sidebar instead."""
        return super().get_app_list(request, app_label) if app_label else []

    def get_sidebar_list(self, request):
        """The groups of the sidebar; the theme compares all links with all tabs."""
        groups = list_navigation(request)
        for item in [item for group in groups for item in group["items"]]:
            is_allowed = item.get("permission")
            item["has_permission"] = is_allowed is None or is_allowed(request)
            item["active"] = request.path == item["link"] or request.path.startswith(
                item.get("paths", ())
            )
        return groups

    def _search_apps(self, app_list, search_term):
        """Leave the pages to the command palette, which knows their titles."""
        return []

    def login(self, request, extra_context=None):
        """Sign in, unless there were too many attempts."""
        if request.method != "POST":
            return super().login(request, extra_context)
        email = request.POST.get("username", "")
        if too_many_requests := throttle_sign_in(request, email):
            return too_many_requests
        response = super().login(request, extra_context)
        if response.status_code == HTTP_FOUND:
            remember_account(request, response)
            warn_about_password_reset(request)
        return response

    def password_change(self, request, extra_context=None):
        """Change the password and log it; attempts count as sign-in attempts."""
        if request.method == "POST" and (
            too_many_requests := throttle_sign_in(request, request.user.email)
        ):
            return too_many_requests
        response = super().password_change(request, extra_context)
        if request.method == "POST" and response.status_code == HTTP_FOUND:
            log_password_change(request.user, at=timezone.now())
        return response

    def admin_view(self, view, cacheable=False):  # noqa: FBT002 - Django's own signature
        """Set the signed-in user as the actor, and the time zone of the account; answer
        400 to an invalid filter. Lists and the dashboard may come from a replica."""

        @wraps(view)
        def view_with_actor(request, *args, **kwargs):
            def build_page():
                response = view(request, *args, **kwargs)
                if isinstance(response, SimpleTemplateResponse):
                    response.render()  # while the time zone is set
                return response

            set_actor(request.user.actor_name)
            with timezone.override(get_time_zone(request.user)):
                try:
                    if may_read_replica(request):
                        build_page = partial(replica.read_page, build_page)
                    return build_page()
                except (DataError, OverflowError, InvalidPage) as error:
                    if request.method == "POST" or not request.GET:
                        raise
                    log_refused_filter(request, error)
                    raise BadRequest("Invalid filter or page") from None

        return super().admin_view(view_with_actor, cacheable)


def may_read_replica(request) -> bool:
    """Whether the page is a list or the dashboard."""
    name = request.resolver_match.url_name or ""  # an unknown page has none
    return request.method == "GET" and (name == "index" or name.endswith("_changelist"))


def get_time_zone(user) -> ZoneInfo:
    """The time zone of the user's account; operators see all accounts, in UTC."""
    return ZoneInfo(user.account.time_zone if user.account else "UTC")


def remember_account(request, response) -> None:
    """Set the cookie that prefills the account at the next sign-in."""
    account = request.user.account
    response.set_cookie(
        ACCOUNT_COOKIE_NAME,
        account.slug if account else "",
        max_age=ACCOUNT_COOKIE_AGE,
        path=reverse("admin:login"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def warn_about_password_reset(request) -> None:
    """Show who reset the password, at each sign-in until the user changes it."""
    user = request.user
    if user.password_reset_by is None:
        return
    by = (
        "an operator" if user.password_reset_by.is_superuser else user.password_reset_by
    )
    messages.warning(
        request,
        f"On {format_datetime(user.password_reset_at)} your password was reset by {by},"
        " who saw the new one. Change it to end this notice. If you did not ask for the"
        " reset, look at the audit log and tell an owner.",
    )


def throttle_sign_in(request, email: str) -> HttpResponse | None:
    """Count a sign-in attempt; the 429 response if there were too many, else None."""
    if not count_sign_in_attempt(request, email):
        return None
    return render_error_page(request, 429, TOO_MANY_SIGN_INS_MESSAGE)


class PreparedChangeList(ChangeList):
    """A list whose page prepares its rows before they are rendered."""

    is_order_ignored = False  # the rows are too many for it

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.title = capfirst(self.opts.verbose_name_plural)

    def get_results(self, request):
        self.request = request
        super().get_results(request)
        self.model_admin.prepare_rows(request, list(self.result_list))

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

    def get_ordering_field(self, field_name):
        """What a column is sorted by; rows of a relation would repeat those of the
        list."""
        field = super().get_ordering_field(field_name)
        related = {
            relation.get_accessor_name() for relation in self.opts.related_objects
        }
        return None if field in related else field

    @cached_property
    def chips(self):
        """The filters that are set, each with a link that removes it."""
        return list_chips(self, self.request)

    @cached_property
    def row_number(self) -> RowNumber:
        """The number of rows of all pages."""
        number = len(self.result_list)
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
        return [
            (str(n), self.build_page_query(n) if isinstance(n, int) else "")
            for n in numbers
        ]

    @property
    def previous_query(self) -> str:
        return self.build_page_query(self.page_num - 1)

    @property
    def next_query(self) -> str:
        return self.build_page_query(self.page_num + 1)

    def build_page_query(self, number: int) -> str:
        """The query of a page."""
        return self.get_query_string({PAGE_VAR: number})


class ThemedModelAdmin(SavedViewsMixin, ModelAdmin):
    """Defaults of all pages: lists with exports, and without counting all rows."""

    paginator = InfinitePaginator
    amount_column = ""  # whose sums the list shows
    # Rows that the sums leave out: the word for them, the column that the list is
    # filtered by if staff ask for them, and the condition of all others.
    left_out_of_sums: tuple[tuple[str, str, Q], ...] = ()
    # Columns of an index, if none has the default order.
    ordering_of_long_list: tuple[str, ...] = ()
    list_filter_submit = True
    show_facets = ShowFacets.NEVER  # they count all rows
    list_fullwidth = True
    list_before_template = "admin/export_links.html"
    warn_unsaved_form = True
    compressed_fields = True
    empty_value_display = EMPTY_VALUE
    export_columns: tuple[str, ...] = ()  # empty: those of the list
    # Where an export finds its columns without instances: see `exports.py`.
    export_sources: dict[str, str | tuple] | None = None

    def get_changelist(self, request, **kwargs):
        return PreparedChangeList

    def get_export_columns(self, request) -> list[str]:
        """The columns of exports, with the account for operators."""
        columns: list[Any] = list(self.get_list_display(request))
        if not self.export_columns:  # other programs may use IDs, not titles
            return ["program" if it == "program_title" else it for it in columns]
        return [*[name for name in columns if name == "account"], *self.export_columns]

    @display(description="Select")
    def action_checkbox(self, obj):
        """The checkbox that selects a row, without the theme's classes."""
        return format_html(
            '<input type="checkbox" name="{}" value="{}" class="action-select"'
            ' aria-label="Select {}">',
            ACTION_CHECKBOX_NAME,
            obj.pk,
            obj,
        )

    @display(description="Program", ordering="program")
    def program_title(self, row):
        """The title of the program of a row."""
        return row.program.title if row.program else EMPTY_VALUE

    def format_sums(self, rows) -> tuple[str, int]:
        """The sums of the amounts of these rows per currency, and their number."""
        return sum_amounts(rows, self.amount_column)

    def prepare_rows(self, request, rows):
        """Add to the rows of one page what their columns need; overridden by pages."""

    @property
    def empty_state(self) -> str:
        """The text of a list that has no rows."""
        return EMPTY_STATES[self.opts.label]

    def get_urls(self):
        """Add the exports."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_export"
        csv_view, xlsx_view = map(
            self.admin_site.admin_view, (self.export_csv, self.export_xlsx)
        )
        return [
            path("export/", csv_view, name=name),
            path("export/xlsx/", xlsx_view, name=f"{name}_xlsx"),
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

    def export_csv(self, request):
        """Export the filtered list as CSV."""
        return self._export(request, export_csv)

    def export_xlsx(self, request):
        """Export the filtered list as XLSX."""
        return self._export(request, export_xlsx)

    def _export(self, request, export):
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            return export(self, request)
        except IncorrectLookupParameters:
            raise BadRequest("Unknown filter") from None


def remove_empty_values(query) -> str:
    """A query without the fields of a filter form that were left empty."""
    return urlencode([(name, value) for name, value in query.items() if value])


class ReadOnlyBackOfficeAdmin(ReadOnlyTenantAdmin, ThemedModelAdmin):
    """A page without forms; rows change through actions only."""


class BackOfficeInline(TenantInline, TabularInline):
    """Related rows of the same account, shown on the page of another row."""
