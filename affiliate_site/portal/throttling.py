"""Rate limits of the portal."""

import hashlib

from accounts.services.rate_limits import RateLimit, count_request
from affiliate_site.throttling import count_sign_in_attempt

APPLICATIONS = RateLimit(300, minutes=60)  # of an account
TOO_MANY_ATTEMPTS = "Too many attempts. Try again in a minute."


def is_sign_in_throttled(request, account, email: str) -> bool:
    """Count one attempt to sign in, or to ask for a link; is a limit exceeded?

    Call it once per form that was sent, before the service. The limits are those of
    staff, counted apart from them.
    """
    return count_sign_in_attempt(
        request, email, group="portal-sign-ins", account=account.slug
    )


def is_application_throttled(request, account, email: str) -> bool:
    """Count one application; is a limit of the address or the account exceeded?"""
    if count_sign_in_attempt(
        request, email, group="portal-applications", account=account.slug
    ):
        return True
    digest = hashlib.sha256(f"portal-applications {account.slug}".encode()).hexdigest()
    return count_request(digest, APPLICATIONS).is_exceeded
