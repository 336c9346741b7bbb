"""Affiliates delete themselves if nothing is open, and ask for it otherwise."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.hashers import make_password
from django.core import mail

from payouts.services.erasure import erase_person
from payouts.services.self_service import delete_own_account, sum_open_amounts
from tests.ledger_checks import assert_atomic
from tests.payout_scenario import Paid, create_run
from tests.program_scenario import CONVERSION_CREATED_AT
from tracking.errors import WrongPassword
from tracking.services.affiliates import delete_affiliate
from tracking.services.portal_access import act_as, find_session, sign_in

pytestmark = pytest.mark.usefixtures("shared_scenario")

AT = CONVERSION_CREATED_AT + timedelta(days=40)
PASSWORD = "lamps-at-the-harbor"
EMAIL = "mina@notes.example"


@pytest.fixture
def affiliate(scenario):
    affiliate = scenario.mina.affiliate
    affiliate.update_row(email=EMAIL, email_folded=EMAIL, password=make_password(PASSWORD))
    return affiliate


def delete(affiliate, *, password=PASSWORD, at=AT):
    with act_as(affiliate):
        delete_own_account(affiliate, password=password, at=at)
    return affiliate.reload()


def get_event(account):
    event = account.audit_log.order_by("id").last()
    return event.kind, event.actor


def test_deletes_who_has_nothing_open(account, affiliate):
    session = sign_in(account, email=EMAIL, password=PASSWORD, at=AT)

    def operation():
        with act_as(affiliate):
            delete_own_account(affiliate, password=PASSWORD, at=AT)

    assert_atomic(account, operation, least=5)
    assert affiliate.reload().deleted_at == AT
    assert find_session(account, session, at=AT) is None
    assert not account.portal_sessions.exists()
    assert get_event(account) == ("affiliate.deleted", f"affiliate {affiliate.log_id}")


def test_mails_the_person_and_the_owners(account, affiliate, django_capture_on_commit_callbacks):
    account.staff.create(email="owner@acme.example", role="owner")
    with django_capture_on_commit_callbacks(execute=True):
        delete(affiliate)
    [message] = mail.outbox
    assert message.subject == f"[Affiliate Site] {affiliate.slug} has left"
    assert message.body == (
        f"Mina Kessler ({affiliate.slug}) deleted their account in the portal. Nothing"
        " was open.\n\nTheir data is kept. Erase it in the back office as soon as you"
        " need it no more, for example for the books.\n"
    )
    own = account.mails.get()
    assert (own.kind, own.recipient) == ("deletion", EMAIL)
    assert own.subject == f"Your account at {account.name} is deleted"
    assert f"write to {account.name}." in own.text

    erase_person(account, identifier=affiliate.slug, at=AT)

    assert account.mails.get().kind == "erasure"


def test_who_asked_gets_the_mail_when_staff_have_removed_them(account, affiliate):
    affiliate.update_row(deletion_asked_at=AT)
    delete_affiliate(account, affiliate_id=affiliate.slug, at=AT)
    assert account.mails.get().kind == "deletion"


def test_who_did_not_ask_gets_no_mail(account, affiliate):
    delete_affiliate(account, affiliate_id=affiliate.slug, at=AT)
    assert not account.mails.exists()


def test_a_wrong_password_deletes_nobody(affiliate):
    with pytest.raises(WrongPassword):
        delete(affiliate, password="wrong")
    assert affiliate.reload().deleted_at is None


def open_due(scenario):
    scenario.approve(scenario.get_commission(scenario.create_conversion("200")))


def open_on_hold(scenario):
    scenario.program.update_row(hold_days=60)
    open_due(scenario)


def open_pending(scenario):
    scenario.create_conversion("200")


def open_on_its_way(scenario):
    open_due(scenario)
    create_run(scenario.account, Paid("20"))


def open_overpaid(scenario):
    scenario.pay("20")


@pytest.mark.parametrize(
    ("open_money", "amount"),
    [
        (open_due, "20.00 EUR"),
        (open_on_hold, "20.00 EUR"),
        (open_pending, "20.00 EUR"),
        (open_on_its_way, "20.00 EUR"),
        (open_overpaid, "-20.00 EUR"),
    ],
)
def test_asks_the_owners_while_money_is_open(
    account, scenario, affiliate, open_money, amount, django_capture_on_commit_callbacks
):
    account.staff.create(email="owner@acme.example", role="owner")
    open_money(scenario)
    assert sum_open_amounts(affiliate, at=AT) == {"EUR": Decimal(amount.removesuffix(" EUR"))}
    with django_capture_on_commit_callbacks(execute=True):
        found = delete(affiliate)
    assert (found.deleted_at, found.deletion_asked_at) == (None, AT)
    assert get_event(account) == (
        "affiliate.deletion_asked",
        f"affiliate {affiliate.log_id}",
    )
    run = account.payout_runs.first()
    unanswered = f"The bank has not answered yet about {run}. " if run else ""
    [message] = mail.outbox
    assert message.to == ["owner@acme.example"]
    assert message.subject == f"[Affiliate Site] {affiliate.slug} asks to be removed"
    assert message.body == (
        f"Mina Kessler ({affiliate.slug}) asked in the portal to be removed.\n\nStill"
        f" open: {amount}. {unanswered}Pay or disapprove it first, then remove the"
        " affiliate in the back office.\n"
    )
    with django_capture_on_commit_callbacks(execute=True):
        delete(affiliate, at=AT + timedelta(hours=23))
    assert len(mail.outbox) == 1
    with django_capture_on_commit_callbacks(execute=True):
        delete(affiliate, at=AT + timedelta(hours=24))
    assert len(mail.outbox) == 2
