"""Who is signed in, and a new password."""

from django.contrib.auth.password_validation import password_validators_help_texts
from django.utils import timezone
from django.utils.translation import gettext as _

from affiliate_site.portal.access import (
    portal_page,
    show,
    start_session,
    translate_error,
)
from affiliate_site.portal.forms import ChangePasswordForm
from affiliate_site.portal.throttling import TOO_MANY_ATTEMPTS, is_sign_in_throttled
from tracking.errors import WeakPassword, WrongPassword
from tracking.services.portal_access import change_portal_password


@portal_page("GET", "HEAD", "POST")
def profile(request):
    """Who is signed in; a new password; sign out everywhere."""
    form, status = ChangePasswordForm(request.POST or None), 200
    email = request.affiliate.email or request.affiliate.slug
    if request.method != "POST" or not form.is_valid():
        pass
    elif is_sign_in_throttled(request, request.account, email):
        form.add_error(None, TOO_MANY_ATTEMPTS)
        status = 429
    else:
        try:
            token = change_portal_password(
                request.affiliate, **form.cleaned_data, at=timezone.now()
            )
        except WrongPassword as error:
            form.add_error("old_password", translate_error(error))
        except WeakPassword as error:
            form.add_error("password", translate_error(error))
        else:
            return start_session(request.account, token)
    context = {
        "title": _("Profile"),
        "form": form,
        "rules": password_validators_help_texts(),
    }
    return show(request, "profile", context, status=status)
