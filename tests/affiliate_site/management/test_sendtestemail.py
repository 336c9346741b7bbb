"""`sendtestemail`: an exit code tells whether mail goes out."""

from django.core import mail

from tests.command_line import run_command, run_failing_command


def test_fails_where_no_mail_is_sent(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"

    assert "EMAIL_URL" in run_failing_command("sendtestemail", "ops@example.org")


def test_sends(settings):
    text = run_command("sendtestemail", "ops@example.org")

    assert text == "The mail server has taken the message.\n"
    assert [message.to for message in mail.outbox] == [["ops@example.org"]]
