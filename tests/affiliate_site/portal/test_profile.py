"""The profile in the portal: name, address and e-mail address."""

import re

import pytest
from django.test import Client

from tests.affiliate_site.portal.conftest import PASSWORD
from tests.factories.tracking import AffiliateFactory

pytestmark = pytest.mark.usefixtures("shared_scenario")

OLD, NEW = "mina@notes.example", "mina@lamps.example"
PARTS = "An address has a street, a postal code, a city and a country."
ADDRESS = {"address": "Ring 1", "postal_code": "1010", "city": "Wien", "country": "AT"}
NAME = {"firstname": "Mina", "lastname": "Kessler"}


@pytest.fixture
def affiliate(scenario, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    affiliate = scenario.mina.affiliate
    affiliate.update_row(email=OLD, email_folded=OLD)
    return affiliate


def read(response, status=200):
    assert response.status_code == status
    return " ".join(response.content.decode().split())


def test_changes_name_company_and_address(mina, account, portal, affiliate):
    affiliate.update_row(company_description="Lamps")
    entered = NAME | ADDRESS | {"lastname": "Weld", "company_name": "Weld & Co"}
    response = mina.post(f"{portal}profile/edit/", entered | {"email": NEW})
    assert response["Location"] == f"{portal}profile/?saved=1"
    page = read(mina.get(response["Location"]))
    for text in (
        "Saved.",
        "<dt>Name</dt><dd>Mina Weld</dd>",
        "<dt>Company</dt><dd>Weld &amp; Co</dd>",
        "<dt>Address</dt><dd>Ring 1, 1010 Wien, Austria</dd>",
        f"<dt>E-mail address</dt><dd>{OLD}</dd>",
    ):
        assert text in page
    affiliate = affiliate.reload()
    assert affiliate.company_description == "Lamps"
    event = account.audit_log.order_by("id").last()
    assert (event.kind, event.actor) == (
        "affiliate.updated",
        f"affiliate {affiliate.log_id}",
    )
    assert event.details["fields"] == [
        *("address", "city", "company_name", "country", "lastname", "postal_code"),
    ]
    count = account.audit_log.count()
    mina.post(f"{portal}profile/edit/", entered)
    assert account.audit_log.count() == count

    mina.post(f"{portal}profile/edit/", NAME)
    assert "<dt>Address</dt>" not in read(mina.get(f"{portal}profile/"))


def test_a_name_is_one_line(mina, portal, affiliate):
    mina.post(f"{portal}profile/edit/", NAME | {"firstname": "Mina\n\nPay at  home"})
    assert affiliate.reload().firstname == "Mina Pay at home"


@pytest.mark.parametrize(
    ("entered", "field", "text"),
    [
        ({"firstname": " "}, "firstname", "This field is required."),
        ({"city": "Wien"}, "address", PARTS),
        (ADDRESS | {"postal_code": ""}, "postal_code", PARTS),
        (ADDRESS | {"country": ""}, "country", PARTS),
        ({"country": "XX"}, "country", "Select a valid choice. XX is not one of"),
        ({"city": "x" * 256}, "city", "Ensure this value has at most 255 characters"),
    ],
)
def test_refuses_as_the_api_does(mina, portal, affiliate, entered, field, text):
    page = read(mina.post(f"{portal}profile/edit/", NAME | entered))
    start = page.index(f'<label for="id_{field}">')
    assert f'role="alert">{text}' in page[start:].partition("</p>")[0]
    assert affiliate.reload().city is None


def find_link(account, recipient):
    text = account.mails.filter(recipient=recipient).latest("id").text
    return re.search(r"https?://[^/]+(/\S+/email/\S+)", text)[1]


def test_changes_the_address_after_both_confirmed(mina, account, portal, affiliate):
    entered = {"email": NEW, "old_password": PASSWORD}
    response = mina.post(f"{portal}profile/email/", entered)
    page = read(mina.get(response["Location"]))
    assert f"{NEW} waits to be confirmed" in page
    stranger = Client()

    page = read(stranger.get(find_link(account, OLD)))
    question = f"Change your e-mail address at {account.name} to {NEW}?"
    assert question in page
    assert "If you did not ask for this, cancel it and set a new password." in page
    assert affiliate.reload().email == OLD
    page = read(stranger.post(find_link(account, OLD)))
    assert "Confirmed. Now confirm it by the link in the other mail, too." in page
    assert affiliate.reload().email == OLD

    page = read(stranger.get(find_link(account, NEW)))
    assert question in page
    assert "If you did not ask for this" not in page
    page = read(mina.post(find_link(account, NEW)))
    assert "Your e-mail address is changed. Sign in with the new one." in page
    assert affiliate.reload().email == NEW
    assert mina.get(f"{portal}profile/")["Location"] == f"{portal}sign-in/"
    assert "This link does not work any more" in read(stranger.get(find_link(account, NEW)))


def test_the_present_address_cancels(mina, account, portal, affiliate):
    entered = {"email": NEW, "old_password": PASSWORD}
    mina.post(f"{portal}profile/email/", entered)
    page = read(Client().post(find_link(account, OLD), {"cancel": "1"}))
    assert "Canceled: your e-mail address stays as it is." in page
    assert "does not work any more" in read(Client().post(find_link(account, NEW)))
    assert "waits to be confirmed" not in read(mina.get(f"{portal}profile/"))


def test_the_page_does_not_tell_that_an_address_is_taken(mina, account, portal, affiliate):
    AffiliateFactory(account=account, email=NEW, email_folded=NEW)
    entered = {"email": NEW, "old_password": PASSWORD}
    response = mina.post(f"{portal}profile/email/", entered)
    assert response["Location"] == f"{portal}profile/"
    Client().post(find_link(account, OLD))
    page = read(Client().post(find_link(account, NEW)))
    assert "This e-mail address cannot be used here" in page
    assert affiliate.reload().email == OLD


@pytest.mark.parametrize(
    ("entered", "text"),
    [
        ({"email": OLD, "old_password": PASSWORD}, "This is your e-mail address"),
        ({"email": "x", "old_password": PASSWORD}, "Enter a valid email address."),
        (
            {"email": "=?utf-8?q?b=6Fmb?=@x.test", "old_password": PASSWORD},
            "Enter a valid email address.",
        ),
        ({"email": NEW, "old_password": "wrong"}, "This is not your password."),
        ({"email": NEW}, "This field is required."),
    ],
)
def test_refuses_an_address(mina, account, portal, affiliate, entered, text):
    page = read(mina.post(f"{portal}profile/email/", entered))
    assert f'role="alert">{text}' in page
    assert not account.mails.exists()


def test_a_link_of_another_account_does_nothing(mina, account, portal, affiliate, other_account):
    mina.post(f"{portal}profile/email/", {"email": NEW, "old_password": PASSWORD})
    other_account.portal_settings.create(is_on=True)
    path = find_link(account, OLD).replace(account.slug, other_account.slug)
    assert "does not work any more" in read(Client().post(path))


def test_switches_mails_on_and_off(mina, portal, affiliate):
    page = read(mina.get(f"{portal}profile/mails/"))
    assert 'name="paid" id="id_paid" checked' in page
    assert 'name="new_sales" id="id_new_sales">' in page
    response = mina.post(f"{portal}profile/mails/", {"new_sales": "on", "paid": "on"})
    assert response["Location"] == f"{portal}profile/?saved=1"
    wanted = {"new_sales": True, "paid": True}
    unwanted = dict.fromkeys(("approved", "new_creative", "answer"), False)
    assert affiliate.reload().notices == wanted | unwanted
    mina.post(f"{portal}profile/mails/")
    assert not any(affiliate.reload().notices.values())
