"""Tax data in the portal, and consent to self-billing."""

from datetime import timedelta

import pytest
from django.utils import timezone

from affiliate_site.portal.throttling import PASSWORDS
from payouts.models.documents import SupplierKind
from tests.affiliate_site.portal.conftest import PASSWORD
from tests.document_scenario import set_rule, switch_on

pytestmark = pytest.mark.usefixtures("shared_scenario")

CONFIRMED = {"old_password": PASSWORD}
BUSINESS = {"kind": "business", "country": "AT", "vat_id": "U 12345675"} | CONFIRMED
PRIVATE = {"kind": "private", "country": "DE"} | CONFIRMED
ADDRESS = {"address": "Ring 1", "city": "Wien", "country": "AT"}


def read(response, status=200):
    assert response.status_code == status
    return " ".join(response.content.decode().split())


@pytest.fixture
def url(portal, account):
    switch_on(account)
    return f"{portal}profile/taxes/"


def test_without_documents_there_is_no_such_page(mina, portal):
    assert mina.get(f"{portal}profile/taxes/").status_code == 404
    assert "Tax data" not in read(mina.get(f"{portal}profile/"))


def test_explains_and_stores_the_consent(mina, account, portal, url, scenario):
    affiliate = scenario.mina.affiliate
    assert f'<a href="{url}">Tax data</a>' in read(mina.get(f"{portal}profile/"))
    payments = f"{portal}payments/"
    assert "yet: enter your tax data. <a" in read(mina.get(payments))
    assert (
        f"Self-billing means: {account.name} writes the invoice for your commissions in"
        " your name and gives you a copy, so you write none. Without your consent no"
        " document is issued. You can withdraw it here at any time; documents that"
        " exist stay."
    ) in read(mina.get(url))

    mina.post(url, BUSINESS)
    assert "yet: agree to self-billing in your tax data. <a" in read(mina.get(payments))
    response = mina.post(url, BUSINESS | {"has_consented": "on"})
    assert response["Location"] == f"{url}?saved=1"
    row = account.tax_data.get()
    assert (row.supplier_kind, row.country) == ("business", "AT")
    assert row.vat_id == "ATU12345675"
    assert row.consented_on == account.get_day(timezone.now())
    event = account.audit_log.filter(kind="tax_data.set").latest("id")
    assert event.actor == f"affiliate {affiliate.log_id}"
    assert "yet: enter your address in your profile. <a" in read(mina.get(payments))
    affiliate.update_row(**ADDRESS)
    text = f"yet: {account.name} has to say first how they are taxed."
    assert text in read(mina.get(payments))
    switch_on(account, requires_documents=True)
    assert f"{text} Payments wait until then." in read(mina.get(payments))
    set_rule(account)
    assert "No document can be issued" not in read(mina.get(payments))
    response = mina.post(url, BUSINESS | {"has_consented": "on"})
    assert response["Location"] == f"{portal}profile/?saved=1"


def test_says_which_number_is_missing_and_takes_it(mina, account, url, scenario):
    scenario.mina.affiliate.update_row(**ADDRESS)
    set_rule(account, "0", sentence="Reverse charge", required_number="reverse_charge")
    small = SupplierKind.SMALL_BUSINESS
    set_rule(account, "0", kind=small, sentence="Exempt", required_number="tax_number")
    values = BUSINESS | {"has_consented": "on", "legal_name": "  Mina  Ltd "}

    page = read(mina.post(url, values | {"vat_id": ""}, follow=True))
    assert "Saved." in page
    assert "yet: enter your VAT ID in your tax data.</p>" in page
    page = read(mina.post(url, values | {"kind": small, "vat_id": ""}, follow=True))
    assert "yet: enter your tax number in your tax data.</p>" in page
    response = mina.post(url, values | {"kind": small, "tax_number": " 12  34 "})
    assert response["Location"].endswith("/profile/?saved=1")
    row = account.tax_data.get()
    assert (row.supplier_kind, row.tax_number, row.legal_name) == (*(small, "12 34", "Mina Ltd"),)
    page = read(mina.get(url))
    assert 'value="12 34"' in page
    assert 'value="small_business" required id="id_kind_1" checked' in page


def test_a_consent_keeps_its_day_and_can_be_withdrawn(mina, account, url):
    mina.post(url, BUSINESS | {"has_consented": "on"})
    earlier = account.get_day(timezone.now()) - timedelta(days=90)
    account.tax_data.update(consented_on=earlier)
    mina.post(url, PRIVATE | {"has_consented": "on"})
    row = account.tax_data.get()
    assert (row.supplier_kind, row.country, row.vat_id) == ("private", "DE", "")
    assert row.consented_on == earlier
    assert 'value="private" required id="id_kind_2" checked' in read(mina.get(url))
    mina.post(url, PRIVATE)
    assert account.tax_data.get().consented_on is None


@pytest.mark.parametrize(
    "changes",
    [
        {"vat_id": "U 12345670"},
        {"kind": "private"},
        {"country": "DE", "vat_id": "DE136695976"},  # the account's own
    ],
)
def test_refuses_a_vat_id_that_does_not_fit(mina, account, url, changes):
    page = read(mina.post(url, BUSINESS | changes))
    text = "This VAT ID does not fit: check it and the country. Private persons have none."
    assert f'<span class="error" role="alert">{text}</span>' in page
    assert not account.tax_data.exists()


@pytest.mark.parametrize(
    ("password", "error"),
    [
        ("", "This field is required."),
        ("wrong", "This is not your password."),
    ],
)
def test_asks_for_the_password(mina, account, url, password, error):
    page = read(mina.post(url, BUSINESS | {"old_password": password}))
    assert f'<span class="error" role="alert">{error}</span>' in page
    assert not account.tax_data.exists()


def test_stops_guessing_the_password(mina, account, url):
    for _ in range(PASSWORDS.max_requests):
        read(mina.post(url, BUSINESS | {"old_password": "wrong"}))
    page = read(mina.post(url, BUSINESS), status=429)
    assert "You entered your password many times." in page
    assert not account.tax_data.exists()


def test_who_has_no_password_sets_one_first(mina, portal, url, scenario):
    scenario.mina.affiliate.update_row(password="!")
    page = read(mina.get(url))
    assert f'<a href="{portal}password/">Get a link to set one.</a>' in page
    assert "Save" not in page


@pytest.mark.parametrize("missing", ["kind", "country"])
def test_asks_for_what_is_missing(mina, account, url, missing):
    page = read(mina.post(url, BUSINESS | {missing: ""}))
    assert "This field is required." in page
    assert not account.tax_data.exists()
