"""The site of the back office: signing in, and what all its pages have in common."""

from collections.abc import Mapping
from datetime import timedelta
from functools import partial, wraps
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import authenticate
from django.contrib.auth.views import PasswordChangeView
from django.core.exceptions import BadRequest
from django.core.paginator import InvalidPage
from django.db import DataError
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.response import SimpleTemplateResponse, TemplateResponse
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables
from unfold.forms import AdminOwnPasswordChangeForm, AuthenticationForm
from unfold.sites import UnfoldAdminSite

from accounts import replica
from accounts.actor import set_actor
from accounts.errors import PasswordNotChanged
from accounts.models.accounts import Account
from accounts.services.rate_limits import RateLimit, count_request
from accounts.services.staff import set_password
from affiliate_site.backoffice.account.account_pages import AccountSettingsPage
from affiliate_site.backoffice.account.invitation_pages import invitation_view
from affiliate_site.backoffice.affiliates.portal_pages import PortalSettingsPage
from affiliate_site.backoffice.base import ThemedModelAdmin
from affiliate_site.backoffice.dashboard.onboarding import dismiss_view
from affiliate_site.backoffice.form_pages import SettingsPage
from affiliate_site.backoffice.formatters import format_datetime
from affiliate_site.backoffice.imports.upload_page import template_view
from affiliate_site.backoffice.navigation import fold_group, list_navigation
from affiliate_site.backoffice.payouts.document_pages import SelfBillingPage
from affiliate_site.backoffice.payouts.payer_settings_page import PayerSettingsPage
from affiliate_site.backoffice.payouts.payment_mails_page import PaymentMailsPage
from affiliate_site.backoffice.watches.settings_page import WatchesPage
from affiliate_site.http_errors import render_error_page
from affiliate_site.operations.logs import log_refused_filter
from affiliate_site.throttling import count_sign_in_attempt

HTTP_FOUND = 302  # the response to a form that was accepted
PROOFS = RateLimit(20, minutes=60)  # of a user: a stolen session guesses no password
TOO_MANY_PROOFS_MESSAGE = "You entered your password or a code many times. Try again in an hour."
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
            name: self.cleaned_data.get(name) for name in ("account", "username", "password")
        }
        if None not in credentials.values():
            self.user_cache = authenticate(self.request, **credentials)
            if self.user_cache is None:
                raise self.get_invalid_login_error()
            self.confirm_login_allowed(self.user_cache)
        return self.cleaned_data


class OwnPasswordForm(AdminOwnPasswordChangeForm):
    """The present password and a new one; Django's form would store the whole row."""

    def save(self, commit=True):  # noqa: FBT002 - Django's own signature
        """Store the password, unless the user may no longer sign in."""
        set_password(self.user, self.cleaned_data["new_password1"], at=timezone.now())
        return self.user


class BackOfficeAdminSite(UnfoldAdminSite):
    """The admin site: limits sign-in attempts and sets the actor of the audit log."""

    index_title = "Dashboard"
    login_form = SignInForm
    settings_pages: Mapping[str, type[SettingsPage]] = {
        "settings/": AccountSettingsPage,
        "payer-settings/": PayerSettingsPage,
        "self-billing/": SelfBillingPage,
        "payment-mails/": PaymentMailsPage,
        "portal-settings/": PortalSettingsPage,
        "watches/": WatchesPage,
    }

    def get_urls(self):
        """Add the settings of the account, and the pages that belong to no model."""
        model_admin = ThemedModelAdmin(Account, self)
        return [
            *(
                path(
                    route,
                    self.admin_view(page.as_view(model_admin=model_admin)),
                    name=page.url_name,
                )
                for route, page in self.settings_pages.items()
            ),
            path("onboarding/dismiss/", self.admin_view(dismiss_view), name="dismiss_onboarding"),
            path(
                "table-templates/<slug:kind>.csv",
                self.admin_view(template_view),
                name="table_template",
            ),
            path("invitation/", invitation_view, {"site": self}, name="invitation"),
            *super().get_urls(),
        ]

    def each_context(self, request):
        """Add the place of a page in the sidebar, which its breadcrumbs begin with."""
        context = super().each_context(request)
        places = (
            (group.get("title"), item)
            for group in context["sidebar_navigation"]
            for item in group["items"]
            if item["active"]
        )
        return {**context, "place": next(places, None)}

    def get_app_list(self, request, app_label=None):
        """The models of one app; pages that list all have the sidebar instead."""
        return super().get_app_list(request, app_label) if app_label else []

    def get_sidebar_list(self, request):
        """The groups of the sidebar; the theme compares all links with all tabs."""
        groups = list_navigation(request)
        for item in [item for group in groups for item in group["items"]]:
            is_allowed = item.get("permission")
            item["has_permission"] = is_allowed is None or is_allowed(request)
            is_here = request.path == item["link"] or request.path.startswith(item.get("paths", ()))
            # Two entries lead to the commissions: one of them to those to check.
            item["active"] = is_here and item.get("is_active", True)
        return [fold_group(group) for group in groups]

    def search(self, request, extra_context=None):
        """Count what the command palette found, without links to more rows."""
        response = super().search(request, extra_context)
        if isinstance(response, TemplateResponse):
            context: Any = response.context_data
            context["row_count"] = sum(row.is_row for row in context["results"])
        return response

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
        """Change the password; attempts count as sign-in attempts and as proofs.

        Who may no longer sign in is led to the sign-in page.
        """
        if request.method == "POST" and (too_many_requests := throttle_proof(request)):
            return too_many_requests
        view = PasswordChangeView.as_view(
            form_class=OwnPasswordForm,
            success_url=reverse("admin:password_change_done"),
            extra_context={**self.each_context(request), **(extra_context or {})},
        )
        try:
            return view(request)
        except PasswordNotChanged:
            return redirect(request.path)

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
    return user.account.zone if user.account else ZoneInfo("UTC")


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
    by = "an operator" if user.password_reset_by.is_superuser else user.password_reset_by
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


def throttle_proof(request) -> HttpResponse | None:
    """Count a password or code of who is signed in; the 429 response if there were too
    many of the client or, from anywhere, of the user, else None."""
    if too_many_requests := throttle_sign_in(request, request.user.email):
        return too_many_requests
    if not count_request(f"staff-proofs {request.user.pk}", PROOFS).is_exceeded:
        return None
    return render_error_page(request, 429, TOO_MANY_PROOFS_MESSAGE)
