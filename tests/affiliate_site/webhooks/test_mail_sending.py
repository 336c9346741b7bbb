"""One mail: what the answers of the mail server mean, and what it gets."""

import pytest

from accounts.models.accounts import Account
from affiliate_site.webhooks.mail_sending import NO_ANSWER, format_sender, send_mail
from tests.mail_server import GREETING, MESSAGE, run_mail_server
from tracking.models.mails import Mail


@pytest.fixture
def mail_server(settings):
    with run_mail_server() as server:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        settings.DEFAULT_FROM_EMAIL = "Affiliates <affiliates@example.net>"
        yield server


def build_mail(**values):
    account = Account(name=values.pop("name", "Harbor & Söhne, \r\nBcc: x"))
    values = {
        "recipient": "mina@notes.example.org",
        "subject": "Harbor paid you 20.00 €",
        "text": "Hello Mina Keßler,\n.\n20.00 EUR\n",
    } | values
    return Mail(account=account, **values)


def test_sends_plain_text_by_the_name_of_the_account(mail_server):
    assert send_mail(build_mail()).error == ""
    (message,) = mail_server.messages
    assert message.get_content_type() == "text/plain"
    assert message["Subject"] == "Harbor paid you 20.00 €"
    assert message["To"] == "mina@notes.example.org"
    (sender,) = message["From"].addresses
    assert (sender.display_name, sender.addr_spec) == (
        "Harbor & Söhne, Bcc: x",
        "affiliates@example.net",
    )
    assert message["Bcc"] is None
    assert message["Auto-Submitted"] == "auto-generated"
    assert "Hello Mina Keßler,\r\n" in message.get_content()


def test_the_sender_may_have_no_name(settings):
    settings.DEFAULT_FROM_EMAIL = "affiliates@example.net"
    assert format_sender("Harbor") == "Harbor <affiliates@example.net>"


@pytest.mark.parametrize(
    ("command", "answer", "error", "can_retry"),
    [
        (GREETING, "421 busy", "no connection: SMTPConnectError", True),
        ("MAIL", "451 later", "refused: 451 later", True),
        ("MAIL", "550 not you", "refused: 550 not you", False),
        ("RCPT", "450 busy", "refused: 450 busy", True),
        ("RCPT", "550 no such user", "refused: 550 no such user", False),
        ("DATA", "421 closing", "refused: 421 closing", True),
        (MESSAGE, "452 disk full", "refused: 452 disk full", True),
        (MESSAGE, "554 spam", "refused: 554 spam", False),
        (MESSAGE, "", NO_ANSWER, False),
        (MESSAGE, "what?", NO_ANSWER, False),
    ],
)
def test_tries_again_only_what_was_not_accepted(
    mail_server, command, answer, error, can_retry
):
    mail_server.answers[command] = answer
    result = send_mail(build_mail())
    assert result.error.startswith(error)
    assert result.can_retry == can_retry
    assert mail_server.messages == []


def test_a_failure_to_say_goodbye_is_none(mail_server):
    mail_server.answers["QUIT"] = ""
    assert send_mail(build_mail()).error == ""


def test_tries_again_without_a_connection(mail_server, settings):
    settings.EMAIL_PORT = 1  # nobody listens
    result = send_mail(build_mail())
    assert result.error.startswith("no connection: ConnectionRefusedError")
    assert result.can_retry


@pytest.mark.parametrize("recipient", ["mina@", "a@b\nBcc: c@d"])
def test_an_address_that_cannot_be_written_to(mail_server, recipient):
    result = send_mail(build_mail(recipient=recipient))
    assert result.error.startswith("this address cannot be written to: ")
    assert mail_server.messages == []
    assert not result.can_retry
