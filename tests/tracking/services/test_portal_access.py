"""Who gets into the portal: passwords, sessions, links, and what strangers learn."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth import hashers
from django.contrib.auth.hashers import make_password

from tests.conftest import NOW
from tests.factories.tracking import AffiliateFactory
from tests.portal_links import create_portal_link
from tests.portal_sessions import find_signed_in
from tracking.errors import (
    AffiliateNotFound,
    LinkExpired,
    SignInRefused,
    WeakPassword,
    WrongPassword,
)
from tracking.models.portal import LinkPurpose
from tracking.services import portal_access
from tracking.services.affiliates import delete_affiliate, update_affiliate
from tracking.services.mails import MailResult, claim_mail, record_mail_result
from tracking.services.portal_access import (
    SESSION_LIFETIME,
    change_portal_password,
    delete_expired_portal_rows,
    set_portal_password,
    sign_in,
    sign_out,
    sign_out_everywhere,
    use_sign_in_link,
)
from tracking.services.portal_links import (
    LINK_LIFETIMES,
    MAIL_WINDOW,
    MAX_MAILS_PER_WINDOW,
    invite_affiliate,
    queue_requested_links,
    request_portal_link,
)

EMAIL = "mina@notes.example.org"
PASSWORD = "lamps-at-the-harbor"
NEW_PASSWORD = "boats-at-the-harbor"
PURPOSES = (LinkPurpose.SIGN_IN, LinkPurpose.SET_PASSWORD)
A_SECOND = timedelta(seconds=1)


def make_affiliate(account, email=EMAIL):
    return AffiliateFactory(account=account, email=email, password=make_password(PASSWORD))


@pytest.fixture
def affiliate(account):
    return make_affiliate(account)


@pytest.fixture
def hashed(monkeypatch):
    """The passwords that were hashed to be compared or stored."""
    passwords = []
    hasher = hashers.get_hasher()
    encode = type(hasher).encode

    def record(self, password, salt, *args):
        passwords.append(password)
        return encode(self, password, salt, *args)

    monkeypatch.setattr(type(hasher), "encode", record)
    return passwords


def enter(account, *, email=EMAIL, password=PASSWORD, at=NOW):
    return sign_in(account, email=email, password=password, at=at)


def make_link(affiliate, purpose=LinkPurpose.SIGN_IN, at=NOW):
    return create_portal_link(affiliate, purpose=purpose, at=at)


def set_password(account, token, *, password=NEW_PASSWORD, at=NOW):
    return set_portal_password(account, token, password=password, at=at)


def send(account, *, email=EMAIL, purpose=LinkPurpose.SIGN_IN, at=NOW):
    request_portal_link(account, email=email, purpose=purpose, at=at)
    queue_requested_links(account, at=at)


def read_token(mail):
    found = re.search(r"([^/\s]+)/\n", mail.text)
    return found and found[1]


# Sessions


def test_signs_in_for_30_days(account, affiliate):
    token = enter(account, email=f" {EMAIL.upper()} ")
    found = find_signed_in(account, token, at=NOW + SESSION_LIFETIME - A_SECOND)
    assert found == affiliate
    assert found.account is account
    assert find_signed_in(account, token, at=NOW + SESSION_LIFETIME) is None


def test_finds_a_session_in_one_statement(account, affiliate, capture_queries):
    token = enter(account)
    with capture_queries() as executed:
        found = find_signed_in(account, token, at=NOW)
        assert found.account.slug == account.slug
    assert len(executed) == 1


def test_a_token_of_another_account_does_nothing(account, other_account, affiliate):
    make_affiliate(other_account)
    token, link = enter(account), make_link(affiliate)
    password_link = make_link(affiliate, LinkPurpose.SET_PASSWORD)
    assert find_signed_in(other_account, token, at=NOW) is None
    sign_out(other_account, token)
    with pytest.raises(LinkExpired):
        use_sign_in_link(other_account, link, at=NOW)
    with pytest.raises(LinkExpired):
        set_password(other_account, password_link)
    assert find_signed_in(account, token, at=NOW) == affiliate
    assert not other_account.portal_sessions.exists()
    assert account.portal_links.filter(used_at=None).count() == 2


@pytest.mark.parametrize("token", ["", "x", "\u20ac", "\0"])
def test_an_invented_token_does_nothing(account, affiliate, token):
    enter(account)
    assert find_signed_in(account, token, at=NOW) is None
    sign_out(account, token)
    with pytest.raises(LinkExpired):
        use_sign_in_link(account, token, at=NOW)
    assert account.portal_sessions.count() == 1


def test_signs_out_here_or_everywhere(account, affiliate):
    other = make_affiliate(account, "nils@notes.example.org")
    stays = enter(account, email=other.email)
    here, there = enter(account), enter(account)
    sign_out(account, here)
    assert find_signed_in(account, here, at=NOW) is None
    assert find_signed_in(account, there, at=NOW) == affiliate
    sign_out_everywhere(affiliate)
    assert find_signed_in(account, there, at=NOW) is None
    assert find_signed_in(account, stays, at=NOW) == other


def test_removal_ends_sessions_and_links(account, affiliate):
    token, link = enter(account), make_link(affiliate)
    password_link = make_link(affiliate, LinkPurpose.SET_PASSWORD)
    delete_affiliate(account, affiliate_id=affiliate.slug, at=NOW)
    assert find_signed_in(account, token, at=NOW) is None
    with pytest.raises(LinkExpired):
        use_sign_in_link(account, link, at=NOW)
    with pytest.raises(LinkExpired):
        set_password(account, password_link)
    with pytest.raises(AffiliateNotFound):
        make_link(affiliate, LinkPurpose.SET_PASSWORD)


def test_stores_and_logs_no_token(account, affiliate):
    tokens = [enter(account), make_link(affiliate)]
    link = make_link(affiliate, LinkPurpose.SET_PASSWORD)
    tokens += [link, set_password(account, link)]
    rows = [account.portal_sessions, account.portal_links, account.audit_log]
    stored = str([list(each.values()) for each in rows])
    assert [token for token in tokens if token in stored] == []


# What strangers learn


@pytest.mark.parametrize(
    "reason", ["unknown", "deleted", "wrong password", "no password", "other account"]
)
def test_refuses_for_every_reason_alike(account, other_account, affiliate, hashed, reason):
    email, password, asked = EMAIL, PASSWORD, account
    if reason == "unknown":
        email = "nobody@notes.example.org"
    elif reason == "deleted":
        delete_affiliate(account, affiliate_id=affiliate.slug, at=NOW)
    elif reason == "wrong password":
        password = "wrong"
    elif reason == "no password":
        affiliate.update_row(password="!")
    else:
        asked = other_account
    with pytest.raises(SignInRefused) as error:
        enter(asked, email=email, password=password)
    assert error.value.text == SignInRefused.message
    assert error.value.path is None
    assert len(hashed) == 1


def test_a_right_password_hashes_once(account, affiliate, hashed):
    enter(account)
    assert hashed == [PASSWORD]


def test_hashes_again_by_the_present_rules(account, affiliate, settings):
    settings.PASSWORD_HASHERS = [
        "django.contrib.auth.hashers.ScryptPasswordHasher",
        "django.contrib.auth.hashers.MD5PasswordHasher",
    ]
    with pytest.raises(SignInRefused):
        enter(account, password="wrong")
    assert affiliate.reload().password.startswith("md5$")
    assert find_signed_in(account, enter(account), at=NOW) == affiliate
    assert affiliate.reload().password.startswith("scrypt$")
    assert enter(account)


def test_stores_a_request_for_a_link_without_looking_the_address_up(
    account, affiliate, capture_queries
):
    with capture_queries() as executed:
        request_portal_link(account, email=EMAIL, purpose=LinkPurpose.SIGN_IN, at=NOW)
    assert len(executed) == 1
    assert claim_mail(account, due_before=NOW) is None
    assert not account.portal_links.exists()


def test_a_request_leaves_nothing_of_an_unknown_address(account, other_account, affiliate):
    make_affiliate(other_account, "nobody@notes.example.org")
    send(account, email="nobody@notes.example.org")
    assert not account.mails.exists()
    assert not other_account.mails.exists()


def test_a_request_waits_a_day_for_a_worker(account, affiliate):
    request_portal_link(account, email=EMAIL, purpose=LinkPurpose.SIGN_IN, at=NOW)
    end = NOW + timedelta(hours=24)
    delete_expired_portal_rows(account, at=end - A_SECOND, dry_run=False)
    assert account.mails.exists()
    delete_expired_portal_rows(account, at=end, dry_run=False)
    assert not account.mails.exists()


def test_a_password_that_changes_meanwhile_starts_no_session(account, affiliate, monkeypatch):
    def change_meanwhile(affiliate, password):
        affiliate.reload().update_row(password=make_password(NEW_PASSWORD))
        return affiliate.password

    monkeypatch.setattr(portal_access, "_check_password", change_meanwhile)
    with pytest.raises(SignInRefused):
        enter(account)
    with pytest.raises(WrongPassword):
        change_portal_password(affiliate, old_password=PASSWORD, password=NEW_PASSWORD, at=NOW)
    assert not account.portal_sessions.exists()


# Links


@pytest.mark.parametrize("purpose", PURPOSES)
def test_a_link_works_once_until_it_expires(account, affiliate, purpose):
    use = {
        LinkPurpose.SIGN_IN: use_sign_in_link,
        LinkPurpose.SET_PASSWORD: set_password,
    }[purpose]
    end = NOW + LINK_LIFETIMES[purpose]
    link = make_link(affiliate, purpose)
    with pytest.raises(LinkExpired):
        use(account, link, at=end)
    session = use(account, link, at=end - A_SECOND)
    assert find_signed_in(account, session, at=end) == affiliate
    with pytest.raises(LinkExpired):
        use(account, link, at=NOW)


def test_a_link_is_good_for_its_purpose_only(account, affiliate):
    with pytest.raises(LinkExpired):
        set_password(account, make_link(affiliate))
    with pytest.raises(LinkExpired):
        use_sign_in_link(account, make_link(affiliate, LinkPurpose.SET_PASSWORD), at=NOW)


def test_a_new_link_for_the_password_replaces_the_earlier_one(account, affiliate):
    other = make_affiliate(account, "nils@notes.example.org")
    stays = make_link(other, LinkPurpose.SET_PASSWORD)
    earlier = make_link(affiliate, LinkPurpose.SET_PASSWORD)
    sign_in_link = make_link(affiliate)
    later = make_link(affiliate, LinkPurpose.SET_PASSWORD)
    with pytest.raises(LinkExpired):
        set_password(account, earlier)
    assert use_sign_in_link(account, sign_in_link, at=NOW)
    assert set_password(account, later)
    assert set_password(account, stays)


def test_another_address_ends_links_to_the_former_one(account, affiliate):
    link = make_link(affiliate, LinkPurpose.SET_PASSWORD)
    changes = {"firstname": "Mina", "email": EMAIL}
    update_affiliate(account, affiliate_id=affiliate.slug, changes=changes, at=NOW)
    assert account.portal_links.filter(used_at=None).exists()
    changes = {"email": "mina@harbor.example.org"}
    update_affiliate(account, affiliate_id=affiliate.slug, changes=changes, at=NOW)
    with pytest.raises(LinkExpired):
        set_password(account, link)


# Passwords


def test_sets_a_password_and_ends_all_else(account, affiliate):
    other = make_affiliate(account, "nils@notes.example.org")
    sessions = [enter(account), enter(account)]
    stays, link = enter(account, email=other.email), make_link(affiliate)
    new = set_password(account, make_link(affiliate, LinkPurpose.SET_PASSWORD))
    assert [find_signed_in(account, it, at=NOW) for it in sessions] == [None, None]
    assert find_signed_in(account, new, at=NOW) == affiliate
    assert find_signed_in(account, stays, at=NOW) == other
    with pytest.raises(LinkExpired):
        use_sign_in_link(account, link, at=NOW)
    with pytest.raises(SignInRefused):
        enter(account)
    assert enter(account, password=NEW_PASSWORD)
    entry = account.audit_log.get(kind="affiliate.password_set")
    assert (entry.subject, entry.actor, entry.details) == (
        f"affiliate:{affiliate.log_id}",
        f"affiliate {affiliate.log_id}",
        {},
    )


@pytest.mark.parametrize(
    ("password", "reason"),
    [
        ("", "too short"),
        ("short", "too short"),
        ("1234567890123", "entirely numeric"),
        (EMAIL, "too similar to the e-mail address"),
        ("password123", "too common"),
    ],
)
def test_refuses_a_weak_password_and_keeps_the_link(account, affiliate, password, reason):
    link = make_link(affiliate, LinkPurpose.SET_PASSWORD)
    with pytest.raises(WeakPassword, match=reason) as error:
        set_password(account, link, password=password)
    assert error.value.path == "password"
    with pytest.raises(WeakPassword):
        change_portal_password(affiliate, old_password=PASSWORD, password=password, at=NOW)
    assert enter(account)
    assert set_password(account, link)


def test_changes_the_password(account, affiliate):
    session = enter(account)
    with pytest.raises(WrongPassword) as error:
        change_portal_password(affiliate, old_password="wrong", password=NEW_PASSWORD, at=NOW)
    assert error.value.path == "old_password"
    new = change_portal_password(affiliate, old_password=PASSWORD, password=NEW_PASSWORD, at=NOW)
    assert find_signed_in(account, session, at=NOW) is None
    assert find_signed_in(account, new, at=NOW) == affiliate
    assert enter(account, password=NEW_PASSWORD)
    assert account.audit_log.filter(kind="affiliate.password_set").count() == 1


# Mail


@pytest.mark.parametrize("purpose", PURPOSES)
def test_mails_a_link(account, affiliate, purpose):
    send(account, email=EMAIL.upper(), purpose=purpose)
    mail = account.mails.get()
    assert (mail.kind, mail.recipient) == ("portal_link", EMAIL)
    assert mail.about == str(account.portal_links.get().pk)
    assert account.name in mail.subject
    use = use_sign_in_link if purpose == LinkPurpose.SIGN_IN else set_password
    assert use(account, read_token(mail), at=NOW)


@pytest.mark.parametrize("error", ["", "refused"])
def test_forgets_the_link_when_no_mail_is_to_be_sent_any_more(account, affiliate, error):
    send(account)
    mail = claim_mail(account, due_before=NOW)
    record_mail_result(mail, MailResult("busy", can_retry=True), at=NOW)
    assert read_token(account.mails.get())
    mail = claim_mail(account, due_before=NOW + MAIL_WINDOW)
    record_mail_result(mail, MailResult(error), at=NOW)
    assert account.mails.get().text == ""


def test_sends_a_few_mails_to_one_address_at_a_time(account, affiliate):
    other = make_affiliate(account, "nils@notes.example.org")
    for _ in range(MAX_MAILS_PER_WINDOW + 2):
        send(account)
    assert account.mails.count() == MAX_MAILS_PER_WINDOW
    send(account, email=other.email)
    send(account, purpose=LinkPurpose.SET_PASSWORD)
    send(account, at=NOW + MAIL_WINDOW)
    assert account.mails.count() == MAX_MAILS_PER_WINDOW + 3


def test_creates_no_link_that_cannot_be_mailed(account, affiliate, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    send(account)
    assert not account.portal_links.exists()


def test_staff_invite_an_affiliate(account, other_account, affiliate):
    invitation = invite_affiliate(account, affiliate_id=affiliate.slug, at=NOW)
    assert invitation.expires_at == NOW + timedelta(days=7)
    assert not account.mails.exists()
    assert invitation.token not in repr(invitation)
    assert set_password(account, invitation.token)
    entry = account.audit_log.get(kind="affiliate.invited")
    assert (entry.subject, entry.details) == (f"affiliate:{affiliate.log_id}", {})
    shown = account.audit_log.get(kind="affiliate.invitation_shown")
    assert shown.subject == entry.subject
    with pytest.raises(AffiliateNotFound):
        invite_affiliate(other_account, affiliate_id=affiliate.slug, at=NOW)


def test_an_invitation_may_be_mailed(account, affiliate):
    invitation = invite_affiliate(
        account,
        affiliate_id=affiliate.slug,
        mail_url=lambda token: f"https://x.example/{token}/",
        at=NOW,
    )
    assert read_token(account.mails.get()) == invitation.token
    assert invitation.is_mailed
    assert not account.audit_log.filter(kind="affiliate.invitation_shown").exists()


# Retention


def test_deletes_what_is_over(account, other_account, affiliate):
    other = make_affiliate(other_account)
    for each in (affiliate, other):
        enter(each.account)
        make_link(each)
        make_link(each, LinkPurpose.SET_PASSWORD)
    at = NOW + LINK_LIFETIMES[LinkPurpose.SIGN_IN]
    assert delete_expired_portal_rows(account, at=at, dry_run=True) == 1
    assert delete_expired_portal_rows(account, at=at, dry_run=False) == 1
    assert account.portal_links.get().purpose == LinkPurpose.SET_PASSWORD
    at = NOW + SESSION_LIFETIME
    assert delete_expired_portal_rows(account, at=at, dry_run=False) == 2
    assert other_account.portal_links.count() == 2
