"""Payout methods in the portal: masked, behind the password, and never of others."""

import html
import re
from decimal import Decimal

import pytest
from django.utils import timezone

from affiliate_site.portal.throttling import PASSWORDS
from payouts.models.payments import PayoutMethod
from payouts.services.payout_limits import set_minimum
from payouts.services.payout_methods import set_payout_method
from tests.affiliate_site.portal.conftest import PASSWORD
from tests.document_scenario import switch_on
from tracking.services.portal_access import PROOF_LIFETIME, is_proof
from tracking.services.portal_settings import update_portal_settings

pytestmark = pytest.mark.usefixtures("shared_scenario", "mail_backend")

IBAN = "SI56191000000123438"
BANK = {"iban": "SI56 1910 0000 0123 438", "is_primary": "on", "old_password": PASSWORD}


@pytest.fixture
def mail_backend(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"


@pytest.fixture
def affiliate(scenario):
    affiliate = scenario.mina.affiliate
    affiliate.update_row(email="mina@notes.example", email_folded="mina@notes.example")
    return affiliate


@pytest.fixture
def url(portal):
    return f"{portal}payout-methods/"


def set_method(affiliate, kind="paypal", *, is_primary=False, **details):
    return set_payout_method(
        affiliate.account,
        affiliate_id=affiliate.slug,
        kind=kind,
        details=details or {"email": "mina@notes.example"},
        is_primary=is_primary,
        at=timezone.now(),
    )


def read(response, status=200):
    assert response.status_code == status
    return " ".join(response.content.decode().split())


def list_methods(affiliate):
    rows = PayoutMethod.objects.of(affiliate.account).filter(affiliate=affiliate)
    return list(rows.order_by("id").values_list("kind", "is_primary"))


def test_adds_a_bank_account_which_is_masked_audited_and_mailed(
    mina, account, portal, url, affiliate
):
    assert "<h3>" not in read(mina.get(f"{portal}payments/"))

    response = mina.post(f"{url}bank/", BANK)

    assert response["Location"] == f"{portal}payments/?saved=1"
    page = read(mina.get(response["Location"]))
    assert '<p class="card saved" role="status">Saved.</p>' in page
    assert "<h3>Bank account SI56…3438 " in page
    assert IBAN not in page
    assert account.payout_methods.get().details == {"iban": IBAN}
    event = account.audit_log.filter(kind="payout_method.set").get()
    assert event.actor == f"affiliate {affiliate.log_id}"
    assert event.details == {
        "method": "bank",
        "fields": ["iban", "primary"],
        "iban": [None, "•••• 3438"],
    }
    mail = account.mails.get(kind="payout_change")
    assert mail.recipient == "mina@notes.example"
    assert mail.subject == f"Your payout details at {account.name} were changed"
    assert mail.text == (
        f"Hello Mina,\n\nhow {account.name} pays you was changed: Bank account"
        f" SI56…3438.\n\nIf you neither did nor expected this, write to"
        f" {account.name} at once and set a new password.\n"
    )


def test_mails_nobody_without_an_address(mina, account, url, affiliate):
    affiliate.update_row(email=None, email_folded=None)
    mina.post(f"{url}bank/", BANK)
    assert not account.mails.filter(kind="payout_change").exists()


@pytest.mark.parametrize(
    ("kind", "entered", "texts"),
    [
        ("bank", {"iban": "SI56 1910 0000 0123 439"}, ["This is not an IBAN"]),
        ("bank", {}, ["Enter the IBAN. In a country without IBANs"]),
        ("bank", {"iban": IBAN, "bic": "X"}, ["This is not a BIC"]),
        (
            "bank",
            {"account_number": "12345678"},
            ["Choose the country of the bank.", "Enter the routing number or"],
        ),
        ("paypal", {}, ["Enter the e-mail address of your account there."]),
        ("paypal", {"email": "mina"}, ["This is not an e-mail address."]),
        ("wise", {}, ["Enter the e-mail address of your account there."]),
    ],
)
def test_says_what_is_missing_or_wrong(mina, account, url, kind, entered, texts):
    page = read(mina.post(f"{url}{kind}/", entered | {"old_password": PASSWORD}))
    for text in texts:
        assert f'<span class="error" role="alert">{text}' in page
    assert not account.payout_methods.exists()


def test_says_that_details_and_password_are_wrong_in_one_answer(mina, account, url):
    page = read(mina.post(f"{url}bank/", {"iban": "x", "old_password": "wrong"}))
    assert '<span class="error" role="alert">This is not an IBAN' in page
    wrong = '<span class="error" role="alert">This is not your password.</span>'
    assert wrong in page
    assert not account.payout_methods.exists()


def test_names_the_present_account_and_puts_rare_details_aside(mina, url, affiliate):
    page = read(mina.get(f"{url}bank/"))
    assert "<h1>Bank account</h1>" in page
    assert "Now:" not in page
    assert "(optional)" not in page
    rare = page.partition("<details>")[2].partition("</details>")[0]
    assert "Account without IBAN, or outside of SEPA</summary>" in rare
    names = ("bic", "account_number", "routing_number", "bank_name", "country")
    assert [name for name in names if f'name="{name}"' in rare] == [*names]
    assert 'name="iban"' not in rare
    set_method(affiliate, "bank", iban=IBAN)
    page = read(mina.get(f"{url}bank/"))
    assert "<p>Now: SI56…3438. What you enter replaces it.</p>" in page
    assert IBAN not in page
    assert "<details" not in read(mina.get(f"{url}paypal/"))


@pytest.mark.parametrize("page", ["bank/", "paypal/primary/", "paypal/remove/"])
def test_asks_for_the_password(mina, account, url, affiliate, page):
    set_method(affiliate, "wise")
    set_method(affiliate)
    before, mails = list_methods(affiliate), account.mails.count()

    text = read(mina.post(f"{url}{page}", BANK | {"old_password": "wrong"}))

    assert "This is not your password." in text
    assert list_methods(affiliate) == before
    assert account.mails.count() == mails


def test_who_has_no_password_sets_one_first(mina, url, affiliate, portal):
    affiliate.update_row(password="!")
    page = read(mina.get(f"{url}bank/"))
    assert "This needs your password" in page
    assert f'<a href="{portal}password/">Get a link to set one.</a>' in page
    assert "IBAN" not in page


def test_stops_guessing(mina, url, affiliate):
    for _ in range(PASSWORDS.max_requests):
        read(mina.post(f"{url}bank/", BANK | {"old_password": "wrong"}))
    page = read(mina.post(f"{url}bank/", BANK), status=429)
    assert "You entered your password many times." in page
    assert list_methods(affiliate) == []


def test_makes_another_method_primary_and_removes_it(mina, account, url, affiliate):
    set_method(affiliate)
    set_method(affiliate, "wise")
    confirmed = {"old_password": PASSWORD}

    mina.post(f"{url}wise/primary/", confirmed)
    assert list_methods(affiliate) == [("paypal", False), ("wise", True)]

    page = read(mina.get(f"{url}wise/remove/"))
    assert "chosen it for your payments: without it you are paid by PayPal" in page
    assert "chosen it for your payments" not in read(mina.get(f"{url}paypal/remove/"))
    mina.post(f"{url}wise/remove/", confirmed)
    assert list_methods(affiliate) == [("paypal", True)]
    event = account.audit_log.get(kind="payout_method.removed")
    assert (event.actor, event.details) == (
        f"affiliate {affiliate.log_id}",
        {"method": "wise", "email": ["m•••@•••", None]},
    )
    assert account.mails.filter(kind="payout_change").count() == 4

    page = read(mina.get(f"{url}paypal/remove/"))
    assert "without it you are not paid until you add another method" in page
    assert "or its recipient ID: one of them is enough." in read(mina.get(f"{url}wise/"))
    mina.post(f"{url}paypal/remove/", confirmed)
    assert list_methods(affiliate) == []


@pytest.mark.parametrize(
    "page", ["gold/", "other/", "paypal/primary/", "paypal/remove/", "x/remove/"]
)
def test_knows_no_methods_of_others(mina, scenario, url, page):
    other = scenario.create_enrolled_affiliate("Odette", "Lind")
    set_method(other.affiliate)
    set_method(other.affiliate, "other", iban="x")
    for response in (
        mina.get(f"{url}{page}"),
        mina.post(f"{url}{page}", {"old_password": PASSWORD}),
    ):
        assert response.status_code == 404
    assert len(list_methods(other.affiliate)) == 2


def test_does_not_tell_that_another_affiliate_has_the_same_account(mina, scenario, portal, url):
    other = scenario.create_enrolled_affiliate("Odette", "Lind")
    set_method(other.affiliate, "bank", iban=IBAN)
    mina.post(f"{url}bank/", BANK)
    page = read(mina.get(f"{portal}payments/"))
    assert "SI56…3438" in page
    assert "Odette" not in page
    assert "same account" not in page


def test_says_once_that_a_payment_came_back(mina, portal, affiliate, scenario):
    method = set_method(affiliate)
    method.update_row(on_hold_reason="AC04 closed, said the bank")
    for currency in ("EUR", "USD"):
        earn(scenario, currency=currency)
    text = (
        '<p class="card error" role="status">You cannot be paid now: a payment to your'
        " account came back. Enter the right account."
    )
    page = read(mina.get(f"{portal}payments/"))
    assert "A payment came back from here. Enter the right details." in page
    assert "You are paid here" not in page
    assert page.count(f"{text}</p>") == 1
    assert "AC04" not in page
    overview = read(mina.get(portal))
    assert overview.count(f'{text} <a href="{portal}payments/">Go there</a></p>') == 1
    changes = {"contact_email": "us@harbor.example"}
    update_portal_settings(affiliate.account, changes=changes, at=timezone.now())
    contact = '<a href="mailto:us@harbor.example">us@harbor.example</a>'
    text = f"{text[:-1]}, or write to us if the one that we have is correct."
    assert f"{text} {contact}" in read(mina.get(f"{portal}payments/"))


def test_the_mail_names_the_address_to_write_to(mina, account, url):
    changes = {"contact_email": "us@harbor.example"}
    update_portal_settings(account, changes=changes, at=timezone.now())
    mina.post(f"{url}bank/", BANK)
    text = account.mails.get(kind="payout_change").text
    assert "write to us@harbor.example at once" in text


def earn(scenario, amount="200", **fields):
    sale = scenario.create_conversion(amount, at=timezone.now(), **fields)
    scenario.approve(scenario.get_commission(sale), at=timezone.now())


def test_says_when_payments_come_to_those_who_would_be_paid(
    mina, account, portal, scenario, affiliate
):
    at = timezone.now()
    earn(scenario)
    planned = f"The next payments are planned for {account.get_day(at):%-d %B %Y}."

    def is_planned():
        pages = [read(mina.get(url)) for url in (portal, f"{portal}payments/")]
        assert pages[0].count(planned) == pages[1].count(planned)
        return planned in pages[0]

    set_method(affiliate)
    assert not is_planned()  # no day is set
    account.portal_settings.update(payout_day=account.get_day(at).day)
    assert is_planned()
    set_minimum(account, currency="EUR", amount=Decimal(50), at=at)
    assert not is_planned()
    assert "You are paid once 50.00 EUR are due." in read(mina.get(portal))
    earn(scenario, "300")
    assert is_planned()
    switch_on(account)
    assert not is_planned()
    assert "enter your tax data." in read(mina.get(portal))
    account.payout_settings.update(documents_from=None)
    assert is_planned()
    account.payout_methods.get().delete()
    assert not is_planned()
    assert "You cannot be paid yet: add a way to be paid." in read(mina.get(portal))


WRONG_BANK = BANK | {"iban": "SI56 1910 0000 0123 439"}


def find_proof(response):
    """The proof that a form keeps instead of the password; empty without one."""
    page = response.text
    found = re.search(r'name="proof" value="([^"]+)"', page)
    assert bool(found) != ('name="old_password"' in page)
    assert bool(found) != ("No password yet, or forgotten?" in page)
    return html.unescape(found[1]) if found else ""


def test_a_typo_does_not_ask_for_the_password_again(mina, account, portal, url):
    response = mina.post(f"{url}bank/", WRONG_BANK)
    sent = {key: value for key, value in BANK.items() if key != "old_password"}
    sent["proof"] = find_proof(response)
    for _ in range(7):  # more typos than wrong passwords are allowed in a minute
        wrong = mina.post(f"{url}bank/", sent | {"iban": WRONG_BANK["iban"]})
        assert "This is not an IBAN" in wrong.text
        sent["proof"] = find_proof(wrong)
    assert mina.post(f"{url}bank/", sent)["Location"] == f"{portal}payments/?saved=1"
    assert account.payout_methods.get().details == {"iban": IBAN}


def test_right_passwords_lock_nobody_out(mina, url):
    for _ in range(25):
        assert mina.post(f"{url}bank/", BANK).status_code == 302


def test_a_proof_is_of_one_affiliate_for_some_minutes(mina, scenario, affiliate, url, time_machine):
    time_machine.move_to(timezone.now())
    affiliate.refresh_from_db()
    proof = find_proof(mina.post(f"{url}bank/", WRONG_BANK))
    nils = scenario.create_enrolled_affiliate("Nils", "Berg").affiliate
    assert is_proof(affiliate, proof)
    assert not is_proof(nils, proof)
    assert not any(is_proof(affiliate, wrong) for wrong in ("", "x", proof[:-1]))
    time_machine.shift(PROOF_LIFETIME.total_seconds() + 1)
    assert not is_proof(affiliate, proof)


def test_a_proof_ends_with_the_password(mina, affiliate, url):
    proof = find_proof(mina.post(f"{url}bank/", WRONG_BANK))
    affiliate.update_row(password="!")
    assert not is_proof(affiliate, proof)


def test_a_wrong_password_gets_no_proof(mina, url):
    response = mina.post(f"{url}bank/", WRONG_BANK | {"old_password": "wrong"})
    assert not find_proof(response)
