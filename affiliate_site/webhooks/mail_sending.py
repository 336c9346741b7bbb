"""One mail of the outbox, as the operator's mail server takes it."""

from contextlib import suppress
from email.utils import formataddr, parseaddr
from http import HTTPStatus
from importlib.util import find_spec
from smtplib import (
    SMTPException,
    SMTPNotSupportedError,
    SMTPRecipientsRefused,
    SMTPResponseException,
)

from css_inline import CSSInliner
from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.template.loader import render_to_string

from accounts.email_addresses import (
    clean_sender_name,
    encode_domain,
    has_other_spellings,
)
from tracking.models.mails import Mail
from tracking.services.mails import NO_CONNECTION, MailResult, write_in_one_line

TEMPORARY = REFUSED = range(400, 500)  # by SMTP; by HTTP
INLINER = CSSInliner(load_remote_stylesheets=False)
PROVIDER_ERRORS: tuple[type[Exception], ...] = ()
if find_spec("anymail"):
    from anymail.exceptions import AnymailError

    PROVIDER_ERRORS = (AnymailError,)
NO_ANSWER = "the mail server gave no answer, so it may have arrived"


def send_mail(mail: Mail) -> MailResult:
    """Send a mail, without any database query.

    It can be tried again if the server was not reached, or refused it for now. Without
    an answer nobody knows, so it is not.
    """
    if has_other_spellings(mail.recipient):
        return MailResult("this address cannot be written to: it is encoded or quoted")
    connection = get_connection()
    message = EmailMultiAlternatives(
        mail.subject,
        mail.text,
        format_sender(mail.sender_name or mail.account.name),
        headers={"Auto-Submitted": "auto-generated"},
    )
    message.attach_alternative(render_html(mail), "text/html")
    try:
        message.to = [encode_domain(mail.recipient)]
        try:
            connection.open()
        except (OSError, SMTPException) as error:
            return MailResult(f"{NO_CONNECTION}: {describe(error)}", can_retry=True)
        connection.send_messages([message])
    except SMTPRecipientsRefused as error:
        return read_smtp_error(*next(iter(error.recipients.values())))
    except SMTPResponseException as error:
        return read_smtp_error(error.smtp_code, error.smtp_error)
    except PROVIDER_ERRORS as error:
        return read_provider_error(error)
    except (ValueError, SMTPNotSupportedError) as error:
        return MailResult(f"this address cannot be written to: {describe(error)}")
    except (OSError, SMTPException) as error:
        return MailResult(f"{NO_ANSWER}: {describe(error)}")
    finally:
        with suppress(OSError, SMTPException):
            connection.close()
    return MailResult()


def render_html(mail: Mail) -> str:
    """The text of a mail under the name and in the color of the account.

    Mail programs ignore style sheets: each element carries its styles.
    """
    return INLINER.inline(render_to_string("mails/mail.html", {"mail": mail}))


def read_provider_error(error: Exception) -> MailResult:
    """What an error of a provider's API means; its text quotes the mail."""
    name, status = type(error).__name__, getattr(error, "status_code", None)
    if name == "AnymailRecipientsRefused":
        return MailResult(f"refused: {name}")
    if status is None or status not in REFUSED:
        return MailResult(f"{NO_ANSWER}: {name} {status or ''}".strip())
    can_retry = status == HTTPStatus.TOO_MANY_REQUESTS
    return MailResult(f"refused: {name} {status}", can_retry=can_retry)


def format_sender(name: str) -> str:
    """The configured sender, under the name of an account."""
    _, address = parseaddr(settings.DEFAULT_FROM_EMAIL)
    return formataddr((clean_sender_name(write_in_one_line(name)), address))


def read_smtp_error(code: int, text: bytes | str) -> MailResult:
    """The server answered a command with an error: it has not taken the mail."""
    reason = text.decode(errors="replace") if isinstance(text, bytes) else text
    answer = write_in_one_line(f"{code} {reason}")
    if code < min(TEMPORARY):
        return MailResult(f"{NO_ANSWER}: {answer}")
    return MailResult(f"refused: {answer}", can_retry=code in TEMPORARY)


def describe(error: Exception) -> str:
    return write_in_one_line(f"{type(error).__name__} {error}")
