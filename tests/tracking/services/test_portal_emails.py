"""Another e-mail address: both addresses confirm it, and nobody learns who has it."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.hashers import make_password

from tests.conftest import NOW
from tests.factories.tracking import AffiliateFactory
from tracking.errors import (
    EmailNotAvailable,
    LinkExpired,
    MailNotSent,
    SameEmail,
    TooManyEmailChanges,
    WrongPassword,
)
from tracking.services.affiliates import delete_affiliate, update_affiliate
from tracking.services.portal_access import (
    act_as,
    find_session,
    set_portal_password,
    sign_in,
)
from tracking.services.portal_emails import (
    MAX_CHANGES_PER_WINDOW,
    WINDOW,
    ask_for_email_change,
    cancel_email_change,
    confirm_email_change,
    find_email_change,
    get_email_link,
)
from tracking.services.portal_links import invite_affiliate

OLD, NEW = "mina@notes.example.org", "mina@lamps.example.org"
PASSWORD = "lamps-at-the-harbor"
A_DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def can_mail(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"


@pytest.fixture
def affiliate(account):
    return AffiliateFactory(
        account=account, firstname="Mina", email=OLD, password=make_password(PASSWORD)
    )


def ask(affiliate, email=NEW, *, password=PASSWORD, at=NOW):
    """Ask for an address; return the tokens that each address gets."""
    with act_as(affiliate):
        ask_for_email_change(
            affiliate, email=email, password=password, url_for="x/{}/".format, at=at
        )
    mails = affiliate.account.mails.order_by("-id")[: 2 if affiliate.email else 1]
    return {it.recipient: re.search("x/(.*)/", it.text)[1] for it in mails}


def list_kinds(account):
    return list(account.audit_log.order_by("id").values_list("kind", "actor"))


@pytest.mark.parametrize("order", [(OLD, NEW), (NEW, OLD)])
def test_both_links_change_the_address_and_end_sessions(account, affiliate, order):
    session = sign_in(account, email=OLD, password=PASSWORD, at=NOW)
    tokens = ask(affiliate)
    first, last = (tokens[email] for email in order)

    assert not confirm_email_change(account, first, at=NOW)
    assert affiliate.reload().email == OLD
    assert find_email_change(affiliate, at=NOW) == NEW
    assert find_session(account, session, at=NOW)
    with pytest.raises(LinkExpired):
        confirm_email_change(account, first, at=NOW)

    assert confirm_email_change(account, last, at=NOW)
    assert affiliate.reload().email == NEW
    assert affiliate.reload().email_folded == NEW
    assert find_email_change(affiliate, at=NOW) == ""
    assert find_session(account, session, at=NOW) is None
    assert sign_in(account, email=NEW, password=PASSWORD, at=NOW)
    actor = f"affiliate {affiliate.log_id}"
    assert list_kinds(account) == [
        ("affiliate.email_change_asked", actor),
        ("affiliate.updated", actor),
    ]


def test_the_mails_say_what_happens(account, affiliate):
    tokens = ask(affiliate)
    to_new, to_old = account.mails.order_by("-id")
    assert to_old.subject == f"Confirm your new e-mail address for {account.name}"
    assert to_old.text == (
        f"Hello Mina,\n\nsomebody asked to change your e-mail address at {account.name}"
        f" to {NEW}.\n\nIf it was you, confirm it within 24 hours at this address:\n"
        f"x/{tokens[OLD]}/\n\nIf it was not you, cancel it there, set a new password,"
        f" and write to {account.name}.\n"
    )
    assert to_new.subject == to_old.subject
    assert to_new.text == (
        "Hello,\n\nsomebody asked to use this e-mail address as an affiliate of"
        f" {account.name}.\n\nIf it was you, confirm it within 24 hours at this"
        f" address:\nx/{tokens[NEW]}/\n\nYour present address has to confirm it, too."
        " If you did not expect this mail, ignore it.\n"
    )


def test_who_has_no_address_confirms_the_new_one_only(account, affiliate):
    affiliate.update_row(email=None, email_folded=None)
    tokens = ask(affiliate)
    assert list(tokens) == [NEW]
    assert confirm_email_change(account, tokens[NEW], at=NOW)
    assert affiliate.reload().email == NEW


@pytest.mark.parametrize("by", [OLD, NEW])
def test_either_address_cancels(account, affiliate, by):
    tokens = ask(affiliate)
    cancel_email_change(account, tokens[by], at=NOW)
    for token in tokens.values():
        with pytest.raises(LinkExpired):
            confirm_email_change(account, token, at=NOW)
    assert affiliate.reload().email == OLD
    assert list_kinds(account)[-1] == (
        "affiliate.email_change_canceled",
        f"affiliate {affiliate.log_id}",
    )


def test_links_work_for_a_day_and_in_their_account(account, other_account, affiliate):
    tokens = ask(affiliate)
    confirm_email_change(account, tokens[OLD], at=NOW)
    with pytest.raises(LinkExpired):
        get_email_link(other_account, tokens[NEW], at=NOW)
    with pytest.raises(LinkExpired):
        confirm_email_change(account, tokens[NEW], at=NOW + A_DAY)
    assert find_email_change(affiliate, at=NOW + A_DAY) == ""
    assert confirm_email_change(account, tokens[NEW], at=NOW + A_DAY * 0.9)


def test_an_address_of_another_affiliate_is_told_at_the_end_only(account, affiliate):
    AffiliateFactory(account=account, email=NEW.upper(), email_folded=NEW)
    tokens = ask(affiliate)
    assert not confirm_email_change(account, tokens[OLD], at=NOW)
    with pytest.raises(EmailNotAvailable):
        confirm_email_change(account, tokens[NEW], at=NOW)
    assert affiliate.reload().email == OLD


def test_a_new_request_ends_the_earlier_one(account, affiliate):
    first = ask(affiliate)
    confirm_email_change(account, first[OLD], at=NOW)
    second = ask(affiliate, "other@lamps.example.org")
    with pytest.raises(LinkExpired):
        confirm_email_change(account, first[NEW], at=NOW)
    assert not confirm_email_change(account, second["other@lamps.example.org"], at=NOW)


def test_a_new_password_ends_it(account, affiliate):
    tokens = ask(affiliate)
    token = invite_affiliate(account, affiliate_id=affiliate.slug, at=NOW).token
    set_portal_password(account, token, password="boats-at-the-harbor", at=NOW)
    for each in tokens.values():
        with pytest.raises(LinkExpired):
            confirm_email_change(account, each, at=NOW)


def test_another_address_by_staff_ends_it(account, affiliate):
    tokens = ask(affiliate)
    changes = {"email": "third@lamps.example.org"}
    update_affiliate(account, affiliate_id=affiliate.slug, changes=changes, at=NOW)
    for each in tokens.values():
        with pytest.raises(LinkExpired):
            confirm_email_change(account, each, at=NOW)


def test_refuses(account, affiliate, settings):
    with pytest.raises(WrongPassword):
        ask(affiliate, password="wrong")
    with pytest.raises(SameEmail):
        ask(affiliate, OLD.upper())
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    with pytest.raises(MailNotSent):
        ask(affiliate)
    assert not account.mails.exists()
    assert not account.portal_links.exists()


def test_limits_mail_to_strangers(account, affiliate):
    for number in range(MAX_CHANGES_PER_WINDOW):
        ask(affiliate, f"{number}@lamps.example.org")
    with pytest.raises(TooManyEmailChanges):
        ask(affiliate)
    assert ask(affiliate, at=NOW + WINDOW)


def test_the_links_of_a_removed_affiliate_show_no_address(account, affiliate):
    tokens = ask(affiliate)
    delete_affiliate(account, affiliate_id=affiliate.slug, at=NOW)
    for token in tokens.values():
        with pytest.raises(LinkExpired):
            get_email_link(account, token, at=NOW)
