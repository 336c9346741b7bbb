"""Mail to paid affiliates: its settings, and what the page of a payment says of it."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from affiliate_site.backoffice.payouts.payment_mails_page import NO_MAIL_SERVER
from payouts.services.mails import DEFAULT_TEXTS, EXAMPLE
from payouts.services.payments import cancel_payment
from payouts.services.payout_answers import PayoutResult, ResultState
from payouts.services.payout_results import apply_payout_results
from payouts.services.payout_settings import get_payout_settings
from tests.affiliate_site.backoffice.forms import get_form
from tests.affiliate_site.backoffice.money_forms import list_messages, page_url
from tests.payout_scenario import Paid, create_run, get_lines
from tests.program_scenario import ProgramScenario
from tracking.services.mails import MailResult, claim_mail, record_mail_result

pytestmark = pytest.mark.usefixtures("shared_scenario")

NO_MAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"


@pytest.fixture
def url():
    return reverse("admin:payment_mails")


@pytest.fixture
def payment(scenario):
    return get_lines(create_run(scenario.account, Paid("20")))[0].payment


def switch_on(client, url, **entries):
    return client.post(url, get_form(client, url) | {"mails_payments": "on"} | entries)


def settle(payment):
    results = [PayoutResult(payment.public_id, ResultState.SETTLED)]
    apply_payout_results(payment.account, results, at=timezone.now())


def get_preview(response):
    return response.context["mail_subject"], response.context["mail_text"]


def test_begins_with_the_usual_text_and_stores_none_of_it(staff_client, account, url):
    client = staff_client()
    page = client.get(url)
    assert page.context["form"].initial.items() >= DEFAULT_TEXTS.items()
    assert get_preview(page)[0] == f"{account.name} paid you {EXAMPLE['amount']}"
    assert NO_MAIL_SERVER not in page.content.decode()
    response = client.post(url, get_form(client, url) | {"mails_payments": "on"}, follow=True)
    assert list_messages(response) == ["The settings were saved."]
    settings = get_payout_settings(account)
    assert (settings.mails_payments, settings.mail_subject, settings.mail_text) == (
        True,
        "",
        "",
    )


def test_shows_a_preview_and_stores_nothing(staff_client, account, url):
    client = staff_client("finance")
    entries = {
        "mail_subject": "<b>{amount}",
        "mail_text": "Hi {affiliate}",
        "_preview": "",
    }
    response = switch_on(client, url, **entries)
    assert get_preview(response) == ("<b>120.00 EUR", "Hi Nora Weld")
    assert "&lt;b&gt;120.00 EUR" in response.content.decode()
    assert response.context["form"]["mail_text"].value() == "Hi {affiliate}"
    assert not account.payout_settings.exists()
    assert not account.audit_log.filter(kind="payout_settings.updated").exists()
    del entries["_preview"]
    switch_on(client, url, **entries)
    assert get_preview(client.get(url)) == ("<b>120.00 EUR", "Hi Nora Weld")


@pytest.mark.parametrize("button", ["_save", "_preview"])
def test_names_the_placeholders_that_exist(staff_client, account, url, button):
    entries = {"mail_subject": "{sum}", "mail_text": "{a} {b}", button: ""}
    context = switch_on(staff_client(), url, **entries).context
    assert "mail_text" not in context
    errors = context["form"].errors
    assert errors["mail_subject"][0].startswith("There is no {sum}. You can use {aff")
    assert errors["mail_text"][0].startswith("There is no {a}. You can use {aff")
    assert not account.payout_settings.exists()


def test_says_that_no_mail_server_is_configured(staff_client, url, settings):
    settings.EMAIL_BACKEND = NO_MAIL_BACKEND
    assert NO_MAIL_SERVER in staff_client().get(url).content.decode()


def test_the_audit_log_names_what_was_changed(staff_client, url):
    client = staff_client()
    switch_on(client, url, mail_subject="Paid")
    log = client.get(reverse("admin:accounts_auditlogentry_changelist"))
    text = "changed the mail subject, mail to paid affiliates of payout settings"
    assert text in log.content.decode()


def test_changes_the_own_account_only(staff_client, other_account, url):
    switch_on(staff_client(), url)
    assert not other_account.payout_settings.exists()


def get_mail_fact(client, payment):
    (details,) = [
        section.facts
        for section in client.get(page_url(payment, "change")).context["details"].sections
        if section.title == "Payment"
    ]
    return dict(details)["Mail"]


def test_a_payment_says_what_became_of_its_mail(staff_client, account, url, payment):
    client, at = staff_client(), timezone.now()
    switch_on(client, url)
    settle(payment)
    assert get_mail_fact(client, payment) == "Queued"
    later = at + timedelta(minutes=1)
    mail = claim_mail(account, due_before=later)
    assert get_mail_fact(client, payment).startswith("Not sent: it is being sent, or")
    record_mail_result(mail, MailResult("450 <b>busy", can_retry=True), at=at)
    assert get_mail_fact(client, payment).startswith("Not sent yet: 450 <b>busy; next attempt on 2")
    assert b"<b>busy" not in client.get(page_url(payment, "change")).content
    mail.update_row(due_at=None)
    assert get_mail_fact(client, payment) == "Not sent: 450 <b>busy"
    mail.update_row(sent_at=at)
    assert get_mail_fact(client, payment).startswith("Sent on 2")


def test_a_payment_says_why_there_is_no_mail(
    staff_client, account, scenario, url, payment, settings
):
    client = staff_client()
    assert get_mail_fact(client, payment) == "None: it is switched off"
    switch_on(client, url)
    waits = "None: it is sent when the payment has arrived"
    assert get_mail_fact(client, payment) == waits
    scenario.mina.affiliate.update_row(email=None, email_folded=None)
    settle(payment)
    no_address = "None: the affiliate has no e-mail address"
    assert get_mail_fact(client, payment) == no_address
    scenario.mina.affiliate.update_row(email="mina@notes.example.org")
    assert get_mail_fact(client, payment).startswith("None: it was off when the pay")
    cancel_payment(account, payment_id=payment.public_id, at=timezone.now())
    assert get_mail_fact(client, payment) == "None: the payment came back, or was canceled"
    account.payout_lines.all().delete()
    by_hand = "None: no payout run made this payment"
    assert get_mail_fact(client, payment) == by_hand
    settings.EMAIL_BACKEND = NO_MAIL_BACKEND
    no_server = "None: no mail server is configured"
    assert get_mail_fact(client, payment) == no_server


def test_shows_no_mail_of_another_account(staff_client, account, other_account, url, payment):
    """Not even of a payment with the same ID."""
    other = ProgramScenario(other_account, prefix="zz-marker-")
    run = create_run(other_account, Paid("7", slug=other.mina.slug))
    other_payment = get_lines(run)[0].payment
    other_account.mails.create(
        kind="payment",
        about=payment.public_id,
        recipient="zz-marker@example.org",
        subject="zz-marker",
        text="zz-marker",
    )
    client = staff_client()
    assert get_mail_fact(client, payment) == "None: it is switched off"
    assert client.get(page_url(other_payment, "change")).status_code in (302, 404)
