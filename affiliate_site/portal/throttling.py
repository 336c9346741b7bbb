"""Rate limits of the portal."""

from django.utils.translation import gettext_lazy as _

from affiliate_site.throttling import count_sign_in_attempt

TOO_MANY_ATTEMPTS = _("Too many attempts. Try again in a minute.")


def is_sign_in_throttled(request, account, email: str) -> bool:
    """Count one attempt to sign in, or to ask for a link; is a limit exceeded?

    Call it once per form that was sent, before the service. The limits are those of
    staff, counted apart from them.
    """
    return count_sign_in_attempt(
        request, email, group="portal-sign-ins", account=account.slug
    )
