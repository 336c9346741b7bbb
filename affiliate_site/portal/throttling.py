"""Rate limits of the portal."""

import hashlib

from django.utils.translation import gettext_lazy as _

from accounts.services.rate_limits import RateLimit, count_request
from affiliate_site.throttling import count_sign_in_attempt

APPLICATIONS = RateLimit(300, minutes=60)  # of an account
MISSING_SALES = RateLimit(10, minutes=60)  # of an affiliate: nobody guesses order IDs
# Of an affiliate, from all addresses: only who has the password or a session counts.
CODES = RateLimit(20, minutes=60)
PDF_FILES = RateLimit(20, minutes=60)  # of an affiliate: each keeps a worker busy
TOO_MANY_ATTEMPTS = _("Too many attempts. Try again in a minute.")
TOO_MANY_CODES = _("Too many codes. Try again in an hour.")
TOO_MANY_MISSING_SALES = _("You asked for many orders. Try again in an hour.")

TOO_MANY_PDF_FILES = _("You opened many PDF files. Try again in an hour.")


def is_sign_in_throttled(request, account, email: str) -> bool:
    """Count one attempt to sign in, or to ask for a link; is a limit exceeded?

    Call it once per form that was sent, before the service. The limits are those of
    staff, counted apart from them.
    """
    return count_sign_in_attempt(
        request, email, group="portal-sign-ins", account=account.slug
    )


def is_code_throttled(affiliate) -> bool:
    """Count one code of the second factor; is the limit exceeded?"""
    subject = f"portal-codes {affiliate.account_id} {affiliate.pk}"
    return count_request(subject, CODES).is_exceeded


def is_missing_sale_throttled(affiliate) -> bool:
    """Count one look-up of a missing sale; is the limit exceeded?"""
    subject = f"missing-sales {affiliate.account_id} {affiliate.pk}"
    return count_request(subject, MISSING_SALES).is_exceeded


def is_pdf_throttled(affiliate) -> bool:
    """Count one PDF that is made for the affiliate; is the limit exceeded?"""
    subject = f"portal-pdf {affiliate.account_id} {affiliate.pk}"
    return count_request(subject, PDF_FILES).is_exceeded


def is_application_throttled(request, account, email: str) -> bool:
    """Count one application; is a limit of the address or the account exceeded?"""
    if count_sign_in_attempt(
        request, email, group="portal-applications", account=account.slug
    ):
        return True
    digest = hashlib.sha256(f"portal-applications {account.slug}".encode()).hexdigest()
    return count_request(digest, APPLICATIONS).is_exceeded
