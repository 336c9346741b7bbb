"""Rate limits of the portal."""

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.services.rate_limits import RateLimit, add_hits, count_request
from accounts.services.recovery_codes import is_recovery_code
from affiliate_site.throttling import count_application, count_sign_in_attempt
from tracking.services.second_factor import queue_guess_warning

MISSING_SALES = RateLimit(10, minutes=60)  # of an affiliate: nobody guesses order IDs
# Of an affiliate, from all addresses: only who has the password or a session counts.
# A guess is right in 3 of a million cases; recovery codes are not counted.
CODES = RateLimit(5, minutes=60)
PASSWORDS = RateLimit(20, minutes=60)  # of an affiliate: they confirm changes
CODE_CHOICES = RateLimit(20, minutes=60)  # of an affiliate: refused ones name a code
PDF_FILES = RateLimit(20, minutes=60)  # of an affiliate: each keeps a worker busy
CHANGES = RateLimit(60, minutes=60)  # of an affiliate: each leaves rows
TOO_MANY_ATTEMPTS = _("Too many attempts. Try again in a minute.")
TOO_MANY_APPLICATIONS = _("Too many applications. Try again in an hour.")
TOO_MANY_CODES = _("Too many codes. Use a recovery code, or try again in an hour.")
TOO_MANY_PASSWORDS = _("You entered your password many times. Try again in an hour.")
TOO_MANY_MISSING_SALES = _("You asked for many orders. Try again in an hour.")
TOO_MANY_CODE_CHOICES = _("You tried many codes. Try again in an hour.")
TOO_MANY_CHANGES = _("You sent many forms. Try again in an hour.")
TOO_MANY_PDF_FILES = _("You opened many PDF files. Try again in an hour.")


def is_sign_in_throttled(request, account, email: str) -> bool:
    """Count one attempt to sign in, or to ask for a link; is a limit exceeded?

    Call it once per form that was sent, before the service. The limits are those of
    staff, counted apart from them.
    """
    return count_sign_in_attempt(request, email, group="portal-sign-ins", account=account.slug)


def is_code_throttled(affiliate, code: str) -> bool:
    """Count one code of the second factor; is the limit exceeded?

    Who knows the password uses up the limit, and the affiliate gets a mail. Recovery
    codes are never refused: nobody guesses them, and the affiliate needs one then.
    """
    if is_recovery_code(code):
        return False
    if not count_request(name_codes(affiliate), CODES).is_exceeded:
        return False
    queue_guess_warning(affiliate, at=timezone.now())
    return True


def forget_right_code(affiliate, code: str) -> None:
    """Take back what `is_code_throttled` counted: wrong ones use up the limit."""
    if not is_recovery_code(code):
        add_hits(name_codes(affiliate), hits=-1)


def name_codes(affiliate) -> str:
    """The subject of the limit."""
    return f"portal-codes {affiliate.account_id} {affiliate.pk}"


def find_password_limit(affiliate) -> str:
    """Count a password that confirms a change of who is signed in; return the text of
    the limit that is exceeded, empty if none is."""
    is_exceeded = count_request(name_passwords(affiliate), PASSWORDS).is_exceeded
    return str(TOO_MANY_PASSWORDS) if is_exceeded else ""


def forget_right_password(affiliate) -> None:
    """Take back what `find_password_limit` counted: wrong ones use up the limit."""
    add_hits(name_passwords(affiliate), hits=-1)


def name_passwords(affiliate) -> str:
    """The subject of the limit."""
    return f"portal-passwords {affiliate.account_id} {affiliate.pk}"


def is_missing_sale_throttled(affiliate) -> bool:
    """Count one look-up of a missing sale; is the limit exceeded?"""
    subject = f"missing-sales {affiliate.account_id} {affiliate.pk}"
    return count_request(subject, MISSING_SALES).is_exceeded


def is_change_throttled(affiliate) -> bool:
    """Count one form that an affiliate sends; is the limit exceeded?"""
    subject = f"portal-changes {affiliate.account_id} {affiliate.pk}"
    return count_request(subject, CHANGES).is_exceeded


def is_pdf_throttled(affiliate) -> bool:
    """Count one PDF that is made for the affiliate; is the limit exceeded?"""
    subject = f"portal-pdf {affiliate.account_id} {affiliate.pk}"
    return count_request(subject, PDF_FILES).is_exceeded


def is_application_throttled(request, account) -> bool:
    """Count one application of a client; is its limit exceeded?

    The limit of the account is that of `send_application`.
    """
    return count_application(request, account.slug)


def find_code_choice_limit(affiliate) -> str:
    """Count a code that an affiliate wants; return the text of the limit that is
    exceeded, empty if it is not."""
    subject = f"portal-code-choices {affiliate.account_id} {affiliate.pk}"
    is_exceeded = count_request(subject, CODE_CHOICES).is_exceeded
    return str(TOO_MANY_CODE_CHOICES) if is_exceeded else ""
