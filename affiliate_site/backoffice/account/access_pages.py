"""Forms that create API keys, signing secrets and staff users."""

from django import forms
from django.conf import settings
from django.contrib import messages
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode

from accounts.models.api_keys import PROXY, ApiKey, Role, SigningSecret
from accounts.models.users import Invitation, User
from accounts.services.api_keys import create_api_key, create_signing_secret
from accounts.services.invitations import create_invitation
from accounts.services.notifications import can_send_mail, send_invitation
from accounts.services.staff import create_staff_user
from accounts.tenant_admin import get_user
from affiliate_site.backoffice.form_pages import AddPage
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.secret_page import render_secret
from affiliate_site.page_proxies import KEY_HEADER, list_snippets

NOT_SENT_MESSAGE = (
    "The mail server did not accept the invitation. Check the address and invite again;"
    " if it happens again, tell your operator."
)
KEY_ROLE_CHOICES = (
    (Role.VIEWER, "Viewer: reads everything"),
    (Role.MANAGER, "Manager: also tracks, creates, edits and approves"),
    (Role.OWNER, "Owner: also pays, and manages keys, webhooks and staff"),
)
PROXY_CHOICE = (PROXY, "Page proxy: only passes calls of your pages on")
FINANCE_CHOICE = (Role.FINANCE, "Finance: reads everything, pays, edits payout methods")
ROLE_CHOICES = (*KEY_ROLE_CHOICES[:-1], FINANCE_CHOICE, KEY_ROLE_CHOICES[-1])


class AddApiKeyPage(AddPage):
    model = ApiKey
    title = button = "Create API key"
    service = staticmethod(create_api_key)

    class Form(ServiceForm):
        name = forms.CharField(
            label="Label", required=False, help_text="Where the key is used, e.g. shop."
        )
        role = forms.ChoiceField(
            choices=(*KEY_ROLE_CHOICES, PROXY_CHOICE),
            initial=Role.VIEWER,
            help_text="Every role but that of a page proxy reads all affiliates with their"
            " whole bank details.",
        )

    def respond(self, form, result):
        key, secret = result
        name = f" “{key.name}”" if key.name else ""
        is_proxy = key.role == PROXY
        header = KEY_HEADER if is_proxy else "X-Api-Key"
        return render_secret(
            self.model_admin,
            self.request,
            title="New API key",
            secret=secret,
            explanation=(
                f"This is the API key{name} with the role {key.role}."
                f" Your server sends it in the header {header} of each call."
            ),
            snippets=list_snippets(secret) if is_proxy else (),
        )


class AddSigningSecretPage(AddPage):
    model = SigningSecret
    title = button = "Create signing secret"
    explanation = (
        "Your server signs with it what its pages report. It is shown once. A second"
        " secret can be valid beside the first one while you change over; then revoke"
        " the old one."
    )
    service = staticmethod(create_signing_secret)

    def respond(self, form, signing_secret):
        return render_secret(
            self.model_admin,
            self.request,
            title="New signing secret",
            secret=signing_secret.secret,
            explanation=(
                "This is a signing secret for calls of your pages. Your server signs"
                " with it the sales and customers that your pages report."
            ),
        )


class AddStaffUserPage(AddPage):
    """Invite a person, or create a staff user and show the password once."""

    model = User

    class Form(ServiceForm):
        email = forms.CharField(label="E-mail")
        role = forms.ChoiceField(choices=ROLE_CHOICES, initial=Role.VIEWER)
        send_invitation = forms.BooleanField(
            label="Invite by e-mail",
            required=False,
            initial=True,
            help_text=(
                "The person gets a link and chooses a password within 48 hours. Off: you"
                " see a password once, and give it to the person."
            ),
        )

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            if not can_send_mail():
                del self.fields["send_invitation"]

    def get_explanation(self):
        if can_send_mail():
            return ""
        return "You see a password once, and give it to the person."

    def save(self, form, at):
        values = form.values | {"by": get_user(self.request)}
        if values.pop("send_invitation", False):
            return create_invitation(self.account, **values, at=at)
        return create_staff_user(self.account, **values, password=None, at=at)

    def respond(self, form, result):
        """Send the invitation that was stored, or show the password."""
        row, secret = result
        if not isinstance(row, Invitation):
            return render_secret(
                self.model_admin,
                self.request,
                title=f"Password for {row}",
                secret=secret,
                explanation=explain_password(row),
                sign_in_url=get_sign_in_url(self.account),
            )
        if send_invitation(row, url=build_invitation_url(secret)):
            messages.success(self.request, f"{row} was invited.")
        else:
            messages.error(self.request, NOT_SENT_MESSAGE)
        return redirect("admin:accounts_invitation_changelist")


def explain_password(user) -> str:
    """What the password of a staff user is for."""
    return (
        f"This is the password of {user}, who signs in to the back office with it. Give"
        " it to nobody else."
    )


def build_invitation_url(token: str) -> str:
    """The link of an invitation."""
    query = urlencode({"token": token})
    return f"{settings.PUBLIC_URL}{reverse('admin:invitation')}?{query}"


def get_sign_in_url(account) -> str:
    """The address of the sign-in page with the account filled in."""
    return f"{settings.PUBLIC_URL}{get_sign_in_path(account)}"


def get_sign_in_path(account) -> str:
    """The same without scheme and host."""
    query = urlencode({"account": account.slug if account else ""})
    return f"{reverse('admin:login')}?{query}"
