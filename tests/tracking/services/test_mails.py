"""The outbox of mail: one row for each mail, which is sent once at most."""

from datetime import timedelta

import pytest

from accounts.services.queues import count_waiting_rows, list_accounts_with_due_rows
from tests.conftest import NOW
from tests.factories.tracking import AffiliateFactory
from tracking.errors import UnknownPlaceholder
from tracking.models.mails import Mail
from tracking.services.affiliates import update_affiliate
from tracking.services.mails import (
    OUTCOME_UNKNOWN,
    PORTAL_LINK_MAIL,
    RETRY_DELAYS,
    MailResult,
    claim_mail,
    delete_expired_mails,
    fill_placeholders,
    queue_mail,
    record_bounce,
    record_mail_result,
    validate_placeholders,
    withdraw_mail,
)
from tracking.services.portal_settings import update_portal_settings

ENCODED = "a@xn--mnchen-3ya.example"
BUSY = MailResult("busy", can_retry=True)


@pytest.fixture
def affiliate(account):
    return AffiliateFactory(account=account, email="mina@notes.example.org")


def queue(affiliate, about="pa_1", *, at=NOW, subject="You were paid", text="Hello"):
    return queue_mail(affiliate, kind="payment", about=about, subject=subject, text=text, at=at)


def get_mail(account):
    return account.mails.get()


def test_stores_a_mail_once(account, affiliate):
    assert queue(affiliate)
    assert not queue(affiliate, subject="Again")
    mail = get_mail(account)
    assert (mail.recipient, mail.subject) == (affiliate.email, "You were paid")
    assert (mail.due_at, mail.sent_at, mail.attempts) == (NOW, None, 0)


def test_writes_no_more_to_an_address_that_bounced(account, affiliate):
    record_bounce("Mina@notes.example.org")  # nothing was sent there
    queue(affiliate)
    record_bounce("Mina@notes.example.org")
    affiliate.refresh_from_db()
    assert affiliate.has_bounced
    assert not queue(affiliate, about="pa_2")
    link = {"kind": PORTAL_LINK_MAIL, "about": "1", "subject": "Sign in", "text": "x"}
    assert queue_mail(affiliate, **link, at=NOW)

    data = {"email": "mina@new.example.org"}
    update_affiliate(account, affiliate_id=affiliate.slug, changes=data, at=NOW)
    affiliate.refresh_from_db()
    assert queue(affiliate, about="pa_2")


def test_mail_is_sent_by_the_name_that_the_account_chose(account, affiliate):
    queue(affiliate)
    queue(affiliate, about="pa_2")
    assert claim_mail(account, due_before=NOW).sender_name == account.name
    changes = {"sender_name": "Harbor Partner Team"}
    update_portal_settings(account, changes=changes, at=NOW)
    assert claim_mail(account, due_before=NOW).sender_name == "Harbor Partner Team"


def test_no_text_adds_a_header(account, affiliate):
    queue(affiliate, subject="Paid\r\nBcc: x@example.org\u2028\x00" + "x" * 300)
    subject = get_mail(account).subject
    assert subject.startswith("Paid Bcc: x@example.org xxx")
    assert len(subject) == 255


def test_claims_a_mail_once(account, affiliate):
    """Also if the worker is killed: the claim says that the outcome is unknown."""
    queue(affiliate)
    assert claim_mail(account, due_before=NOW - timedelta(seconds=1)) is None
    assert list_accounts_with_due_rows(Mail, due_before=NOW) == [account]
    assert claim_mail(account, due_before=NOW).attempts == 1
    much_later = NOW + timedelta(days=30)
    assert claim_mail(account, due_before=much_later) is None
    assert list_accounts_with_due_rows(Mail, due_before=much_later) == []
    assert (get_mail(account).error, get_mail(account).sent_at) == (
        OUTCOME_UNKNOWN,
        None,
    )


def test_claims_the_mails_of_the_account_in_their_order(account, other_account, affiliate):
    other = AffiliateFactory(account=other_account, email="zz-marker@example.org")
    for about, owner, minutes in (("a", affiliate, 2), ("b", affiliate, 1)):
        queue(owner, about, at=NOW + timedelta(minutes=minutes))
    queue(other, "c")
    later = NOW + timedelta(hours=1)
    claimed = iter(lambda: claim_mail(account, due_before=later), None)
    assert [mail.about for mail in claimed] == ["b", "a"]
    assert count_waiting_rows(Mail) >= 1
    assert list_accounts_with_due_rows(Mail, due_before=later) == [other_account]


def test_records_that_it_was_sent(account, affiliate):
    queue(affiliate)
    record_mail_result(claim_mail(account, due_before=NOW), MailResult(), at=NOW)
    mail = get_mail(account)
    assert (mail.sent_at, mail.due_at, mail.error) == (NOW, None, "")


def test_tries_five_times_with_longer_and_longer_pauses(account, affiliate):
    queue(affiliate)
    at, pauses = NOW, []
    while mail := claim_mail(account, due_before=at):
        record_mail_result(mail, BUSY, at=at)
        due_at = get_mail(account).due_at
        pauses += [due_at - at] if due_at else []
        at = due_at or at
    assert tuple(pauses) == RETRY_DELAYS
    mail = get_mail(account)
    assert (mail.attempts, mail.error, mail.sent_at) == (5, "busy", None)


def test_does_not_try_again_what_may_have_arrived(account, affiliate):
    queue(affiliate)
    mail = claim_mail(account, due_before=NOW)
    record_mail_result(mail, MailResult("550 no such user" + "!" * 300), at=NOW)
    mail = get_mail(account)
    assert (mail.due_at, len(mail.error)) == (None, 255)


@pytest.mark.parametrize(
    ("result", "sent_at", "error"),
    [(BUSY, None, "canceled"), (MailResult(), NOW, "")],
    ids=["failed", "sent"],
)
def test_withdraws_a_mail_that_is_being_sent(account, affiliate, result, sent_at, error):
    queue(affiliate)
    mail = claim_mail(account, due_before=NOW)
    arguments = {"kind": "payment", "about": "pa_1", "reason": "canceled"}
    withdraw_mail(account, **arguments)
    record_mail_result(mail, result, at=NOW)
    withdraw_mail(account, **arguments | {"reason": "too late"} if sent_at else arguments)
    mail = get_mail(account)
    assert (mail.due_at, mail.sent_at, mail.error) == (None, sent_at, error)


def test_deletes_old_mails(account, other_account, affiliate):
    other = AffiliateFactory(account=other_account, email="zz-marker@example.org")
    for about, days in (("a", 90), ("b", 89)):
        queue(affiliate, about, at=NOW - timedelta(days=days))
        queue(other, about, at=NOW - timedelta(days=days))
    assert delete_expired_mails(account, at=NOW, dry_run=True) == 1
    assert delete_expired_mails(account, at=NOW, dry_run=False) == 1
    assert get_mail(account).about == "b"
    assert other_account.mails.count() == 2


def test_fills_placeholders_once_and_in_one_line():
    values = {"name": "{date}\r\nBcc: x", "date": "2026-03-04"}
    text = "{name} {date} {other} {"
    assert fill_placeholders(text, values) == "{date} Bcc: x 2026-03-04 {other} {"


@pytest.mark.parametrize("name", ["other", "", "name.x", "name!r"])
def test_refuses_unknown_placeholders(name):
    with pytest.raises(UnknownPlaceholder) as caught:
        validate_placeholders(f"{{name}} {{{name}}}x{{", names=["name"], path="text")
    assert "You can use {name}." in str(caught.value)
    assert caught.value.path == "text"


def test_accepts_braces_that_name_nothing():
    validate_placeholders("{name} { } }{ :-{", names=["name", " "], path="text")


def test_a_bounce_names_the_domain_in_ascii(account, other_account):
    people = [
        AffiliateFactory(account=each, email="a@münchen.example", email_folded=ENCODED)
        for each in (account, other_account)
    ]
    queue(people[0])
    record_bounce(ENCODED)
    for each in people:
        each.refresh_from_db()
    assert [each.has_bounced for each in people] == [True, False]
