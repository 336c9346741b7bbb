"""The seam: the only module that knows the theme. Leaving it is a day's work here."""

from django.contrib import messages
from django.contrib.admin import register as register_page
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import BadRequest, PermissionDenied
from django.core.paginator import InvalidPage
from django.db import DataError
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils import timezone
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import action, display
from unfold.forms import AuthenticationForm as SignInForm
from unfold.paginator import InfinitePaginator
from unfold.sites import UnfoldAdminSite
from unfold.views import ChangeList

from accounts.actor import known_as
from accounts.errors import DomainError
from accounts.services.staff import note_own_password
from accounts.tenant_admin import ReadOnlyTenantAdmin, TenantAdmin, TenantInline
from affiliate_site.backoffice.exports import csv_of
from affiliate_site.backoffice.nothing_yet import NOTHING_YET
from affiliate_site.backoffice.spreadsheets import xlsx_of
from affiliate_site.floods import too_many_sign_ins

__all__ = [
    "Inline",
    "Page",
    "ReadOnlyPage",
    "SignInForm",
    "StaffSite",
    "action",
    "display",
    "refuse_too_many",
    "register",
]

REDIRECT = 302  # the form was taken
TOO_MANY = "Too many sign-ins from here. Wait a minute, then try again."


class StaffSite(UnfoldAdminSite):
    """The back office: who signs in is counted, and who acts is known to the diary."""

    index_title = "Dashboard"

    def login(self, request, extra_context=None):
        """A wrong password is a wrong password; too many of them wait."""
        if request.method == "POST":
            email = request.POST.get("username", "")
            if refusal := refuse_too_many(request, email):
                return refusal
        return super().login(request, extra_context)

    def password_change(self, request, extra_context=None):
        """Guessing the old one is guessing too; a new one is noted."""
        guesses = request.method == "POST"
        if guesses and (refusal := refuse_too_many(request, request.user.email)):
            return refusal
        response = super().password_change(request, extra_context)
        if request.method == "POST" and response.status_code == REDIRECT:
            note_own_password(request.user, at=timezone.now())
        return response

    def admin_view(self, view, cacheable=False):  # noqa: FBT002 - Django's own signature
        """Whoever signed in is the actor of what happens inside."""

        def known(request, *args, **kwargs):
            known_as(f"staff {request.user}")
            try:
                return view(request, *args, **kwargs)
            except (DataError, OverflowError, InvalidPage):
                raise BadRequest("No row can be like that") from None

        known.__dict__.update(view.__dict__)
        return super().admin_view(known, cacheable)


def refuse_too_many(request, email: str) -> HttpResponse | None:
    """Count one guess of who somebody is; the answer, where there were too many."""
    if not too_many_sign_ins(request, email):
        return None
    return HttpResponse(TOO_MANY, status=429, content_type="text/plain")


class Rows(ChangeList):
    """The rows of a list, each with what the page has to say of it besides."""

    def get_results(self, request):
        super().get_results(request)
        self.model_admin.complete(request, list(self.result_list))


class Themed(ModelAdmin):
    """How our lists behave: no counting of all rows, filters side by side."""

    paginator = InfinitePaginator
    list_filter_submit = True
    list_fullwidth = True
    list_before_template = "admin/export_link.html"
    warn_unsaved_form = True
    compressed_fields = True

    def get_changelist(self, request, **kwargs):
        return Rows

    def complete(self, request, rows):
        """Give these rows, of one page of a list, what its columns need besides."""

    @property
    def empty(self) -> str:
        """What the list says while it has no row at all."""
        return NOTHING_YET[self.opts.label]

    def get_urls(self):
        """The list's own addresses, and its exports."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_export"
        as_csv, as_xlsx = map(self.admin_site.admin_view, (self.export, self.sheet))
        return [
            path("export/", as_csv, name=name),
            path("export/xlsx/", as_xlsx, name=f"{name}_xlsx"),
            *super().get_urls(),
        ]

    def changelist_view(self, request, extra_context=None):
        """An action that somebody may not do is refused, not passed over."""
        named = set(request.POST.getlist("action")) - {""}
        if named - set(self.get_actions(request)):
            raise PermissionDenied
        return super().changelist_view(request, extra_context)

    def export(self, request):
        """The rows that the list shows with these filters, as CSV."""
        return self._exported(request, csv_of)

    def sheet(self, request):
        """The same rows for a spreadsheet."""
        return self._exported(request, xlsx_of)

    def _exported(self, request, into):
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            return into(self, request)
        except IncorrectLookupParameters:
            raise BadRequest("The list has no such filter") from None


class Page(TenantAdmin, Themed):
    """A page over one model of an account, whose rows a service makes."""

    def add_view(self, request, form_url="", extra_context=None):
        """What the service refuses is told, and the form is there again."""
        try:
            return super().add_view(request, form_url, extra_context)
        except DomainError as refusal:
            self.message_user(request, refusal.text, level=messages.ERROR)
            return redirect(request.get_full_path())


class ReadOnlyPage(ReadOnlyTenantAdmin, Themed):
    """A page on which nothing is edited by hand."""


class Inline(TenantInline, TabularInline):
    """Rows of the account below another one of its rows."""


def register(*models):
    """Give these models a page in the back office."""
    return register_page(*models)
