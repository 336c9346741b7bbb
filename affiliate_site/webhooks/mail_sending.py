"""One mail of the outbox, as the operator's mail server takes it."""

from contextlib import suppress
from email.utils import formataddr, parseaddr
from smtplib import (
    SMTPException,
    SMTPNotSupportedError,
    SMTPRecipientsRefused,
    SMTPResponseException,
)

from django.conf import settings
from django.core.mail import EmailMessage, get_connection

from tracking.models.mails import Mail
from tracking.services.mails import MailResult, write_in_one_line

TEMPORARY = range(400, 500)
NO_ANSWER = "the mail server gave no answer, so it may have arrived"


def send_mail(mail: Mail) -> MailResult:
    """Send a mail, without any database query.

    It can be tried again if the server was not reached, or refused it for now. Without
    an answer nobody knows, so it is not.
    """
    connection = get_connection()
    message = EmailMessage(
        mail.subject,
        mail.text,
        format_sender(mail.account.name),
        [mail.recipient],
        headers={"Auto-Submitted": "auto-generated"},
    )
    try:
        try:
            connection.open()
        except (OSError, SMTPException) as error:
            return MailResult(f"no connection: {describe(error)}", can_retry=True)
        connection.send_messages([message])
    except SMTPRecipientsRefused as error:
        return refuse(*next(iter(error.recipients.values())))
    except SMTPResponseException as error:
        return refuse(error.smtp_code, error.smtp_error)
    except (ValueError, SMTPNotSupportedError) as error:
        return MailResult(f"this address cannot be written to: {describe(error)}")
    except (OSError, SMTPException) as error:
        return MailResult(f"{NO_ANSWER}: {describe(error)}")
    finally:
        with suppress(OSError, SMTPException):
            connection.close()
    return MailResult()


def format_sender(name: str) -> str:
    """The configured sender, under the name of an account."""
    _, address = parseaddr(settings.DEFAULT_FROM_EMAIL)
    return formataddr((write_in_one_line(name), address))


def refuse(code: int, text: bytes | str) -> MailResult:
    """The server answered a command with an error: it has not taken the mail."""
    reason = text.decode(errors="replace") if isinstance(text, bytes) else text
    answer = write_in_one_line(f"{code} {reason}")
    if code < min(TEMPORARY):
        return MailResult(f"{NO_ANSWER}: {answer}")
    return MailResult(f"refused: {answer}", can_retry=code in TEMPORARY)


def describe(error: Exception) -> str:
    """An error in one line."""
    return write_in_one_line(f"{type(error).__name__} {error}")
