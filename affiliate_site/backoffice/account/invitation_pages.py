"""The page behind the link of an invitation: the invited person sets a password."""

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods

from accounts.errors import DomainError
from accounts.services.invitations import accept_invitation, find_open_invitation
from affiliate_site.backoffice.account.access_pages import get_sign_in_path
from affiliate_site.backoffice.fields import PASSWORD
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.throttling import count_sign_in_attempt

HTTP_NOT_FOUND = 404
HTTP_TOO_MANY_REQUESTS = 429
JOINED_MESSAGE = "Your password is set. Sign in with your e-mail address and password."
DIFFERENT_PASSWORDS_MESSAGE = "The two passwords differ."
THROTTLED_MESSAGE = "Too many attempts. Wait a minute and try again."


class SetPasswordForm(ServiceForm):
    """The new password, twice."""

    password = forms.CharField(
        widget=PASSWORD({"autocomplete": "new-password"}),
        strip=False,
        help_text=f"{settings.MIN_PASSWORD_LENGTH} characters at least, and no common"
        " word or number.",
    )
    repeated = forms.CharField(
        label="Password again",
        widget=PASSWORD({"autocomplete": "new-password"}),
        strip=False,
    )

    def clean(self):
        """Compare the two passwords."""
        values = super().clean()
        if not self.errors and values["password"] != values["repeated"]:
            self.add_error("repeated", DIFFERENT_PASSWORDS_MESSAGE)
        return values


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters()
@sensitive_variables()
def invitation_view(request, site):
    """Show the form, which works once; programs that follow links in mails use GET."""
    token = request.POST.get("token", "") or request.GET.get("token", "")
    invitation = find_open_invitation(token, at=timezone.now())
    form = SetPasswordForm(
        request.POST if request.method == "POST" else None,
        account=invitation.account if invitation else None,
    )
    status = 200 if invitation else HTTP_NOT_FOUND
    if request.method == "POST":
        name = f"invitation {invitation.pk if invitation else 0}"
        if count_sign_in_attempt(request, name):  # colleagues share an IP
            form.add_error(None, THROTTLED_MESSAGE)
            status = HTTP_TOO_MANY_REQUESTS
        elif invitation and form.is_valid():
            try:
                user = accept_invitation(
                    token,
                    password=form.cleaned_data["password"],
                    at=timezone.now(),
                )
            except DomainError as error:
                form.add_domain_error(error)
            else:
                logout(request)  # of the user who is signed in with this browser
                messages.success(request, JOINED_MESSAGE)
                return redirect(get_sign_in_path(user.account))
    context = {
        **site.each_context(request),
        "title": "Invitation",
        "invitation": invitation,
        "form": form,
        "token": token,
    }
    return TemplateResponse(request, "admin/invitation.html", context, status=status)
