"""One mail: what the answers of the mail server mean, and what it gets."""

import pytest
from anymail.exceptions import (
    AnymailAPIError,
    AnymailRecipientsRefused,
    AnymailRequestsAPIError,
)
from anymail.signals import AnymailTrackingEvent, tracking
from django.core.mail.backends.locmem import EmailBackend

from accounts.models.accounts import Account
from affiliate_site.webhooks.mail_sending import NO_ANSWER, format_sender, send_mail
from tests.conftest import NOW
from tests.factories.tracking import AffiliateFactory
from tests.mail_server import GREETING, MESSAGE, run_mail_server
from tracking.models.mails import Mail
from tracking.services.mails import MailResult, queue_mail


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


def test_sends_text_and_html_by_the_name_of_the_account(mail_server):
    assert send_mail(build_mail()).error == ""
    (message,) = mail_server.messages
    assert message.get_content_type() == "multipart/alternative"
    text, page = message.iter_parts()
    assert message["Subject"] == "Harbor paid you 20.00 €"
    assert message["To"] == "mina@notes.example.org"
    (sender,) = message["From"].addresses
    assert (sender.display_name, sender.addr_spec) == (
        "Harbor & Söhne, Bcc: x",
        "affiliates@example.net",
    )
    assert message["Bcc"] is None
    assert message["Auto-Submitted"] == "auto-generated"
    assert "Hello Mina Keßler,\r\n" in text.get_content()
    assert "Hello Mina Keßler," in page.get_content()


def test_html_has_the_color_of_the_account_and_no_markup_of_others(mail_server):
    text = "Hello <b>,\n\nhttps://aff.example.net/partners/harbor/ is yours.\n"
    assert send_mail(build_mail(text=text)).error == ""
    (message,) = mail_server.messages
    page = message.get_body(("html",)).get_content()
    assert "border-top: 4px solid #000000" in page
    assert "<style" not in page
    assert "Hello &lt;b&gt;," in page
    assert '<a href="https://aff.example.net/partners/harbor/"' in page


@pytest.mark.parametrize(
    ("error", "text", "can_retry"),
    [
        (AnymailRecipientsRefused(), "refused: AnymailRecipientsRefused", False),
        (AnymailAPIError(status_code=422), "refused: AnymailAPIError 422", False),
        (AnymailAPIError(status_code=429), "refused: AnymailAPIError 429", True),
        (AnymailAPIError(status_code=503), f"{NO_ANSWER}: AnymailAPIError 503", False),
        (AnymailRequestsAPIError(), f"{NO_ANSWER}: AnymailRequestsAPIError", False),
    ],
)
def test_reads_the_answers_of_a_provider(monkeypatch, error, text, can_retry):
    def refuse(backend, messages):
        raise error

    monkeypatch.setattr(EmailBackend, "send_messages", refuse)
    assert send_mail(build_mail()) == MailResult(text, can_retry=can_retry)


def test_the_sender_may_have_no_name(settings):
    settings.DEFAULT_FROM_EMAIL = "affiliates@example.net"
    assert format_sender("Harbor") == "Harbor <affiliates@example.net>"


@pytest.mark.parametrize(
    "name",
    ["=?utf-8?q?evil=40x.test?=", "evil@x.test", "Har\u202ebor", "a\r\nBcc: b@c"],
)
def test_every_name_of_a_sender_can_be_sent(mail_server, name):
    result = send_mail(build_mail(name=name))
    assert result.error == ""
    assert len(mail_server.messages) == 1
    sender = format_sender(name)
    assert sender.count("@") == 1
    assert "\u202e" not in sender
    assert "=?utf-8?q?evil" not in sender


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
def test_tries_again_only_what_was_not_accepted(mail_server, command, answer, error, can_retry):
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


@pytest.mark.parametrize(
    "recipient",
    [
        *("mina@", "a@b\nBcc: c@d", "=?utf-8?q?b=6Fmb?=@x.test"),
        *(r'"b\omb"@x.test', "bomb@[10.0.0.1]"),
    ],
)
def test_an_address_that_cannot_be_written_to(mail_server, recipient):
    result = send_mail(build_mail(recipient=recipient))
    assert result.error.startswith("this address cannot be written to: ")
    assert mail_server.messages == []
    assert not result.can_retry


@pytest.mark.django_db
@pytest.mark.parametrize(("event_type", "has_bounced"), [("bounced", True), ("delivered", False)])
def test_a_provider_reports_bounces(account, event_type, has_bounced):
    affiliate = AffiliateFactory(account=account, email="mina@notes.example.org")
    mail = {"kind": "payment", "about": "pa_1", "subject": "Paid", "text": "Paid"}
    queue_mail(affiliate, **mail, at=NOW)
    event = AnymailTrackingEvent(event_type=event_type, recipient=affiliate.email)
    tracking.send(sender=None, event=event, esp_name="Postmark")
    affiliate.refresh_from_db()
    assert affiliate.has_bounced == has_bounced


def test_writes_the_domain_in_ascii(mail_server):
    assert send_mail(build_mail(recipient="Mina@MÜNCHEN.example")).error == ""
    (message,) = mail_server.messages
    assert message["To"] == "Mina@xn--mnchen-3ya.example"
