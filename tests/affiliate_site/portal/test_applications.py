"""Applications of strangers and affiliates; nobody learns who is one."""

import re

import pytest
from django.utils import timezone

from affiliate_site.portal.access import COOKIE
from tests.affiliate_site.portal.conftest import PASSWORD
from tracking.services.portal_settings import update_portal_settings

pytestmark = pytest.mark.usefixtures("shared_scenario")

EMAIL = "nora@weld.example.org"
ENTRIES = {
    "program": "lamps",
    "firstname": "Nora",
    "lastname": "Weld",
    "email": EMAIL,
    "country": "DE",
}
SENT = (
    f"Nearly done We have sent a mail to {EMAIL}. Open the link in it within 24 hours"
    " to finish your application. Look into your spam folder, too."
)


def read(response):
    """The text of the main part of a page."""
    page = response.content.decode()
    main = page[page.index("<main") : page.index("</main>")]
    return " ".join(re.sub(r"<[^>]*>", " ", main).split())


@pytest.fixture
def portal(portal, account, scenario):
    update_portal_settings(account, changes={"is_open": True}, at=timezone.now())
    return portal


@pytest.fixture
def entries(scenario):
    return ENTRIES | {"program": scenario.program.slug}


@pytest.fixture
def send(client, portal, entries):
    """Send the form; returns the page."""

    def send(status=200, **changes):
        response = client.post(f"{portal}apply/", entries | changes)
        assert response.status_code == status
        return response

    return send


def get_path(account):
    """The path of the link in the newest mail."""
    text = account.mails.order_by("-pk").first().text
    return re.search(r"http://[^/]*(/\S+)", text)[1]


def test_a_stranger_becomes_an_affiliate(client, account, portal, scenario, send):
    assert read(send()) == SENT
    assert not account.affiliates.filter(email=EMAIL).exists()
    mail = account.mails.get()
    assert (mail.recipient, mail.affiliate) == (EMAIL, None)
    url = get_path(account)
    text = read(client.get(url))
    assert text == (
        f"Confirm your application You apply with the address {EMAIL} for the program"
        f" {scenario.program.title} of {account.name}. In the next step you choose a"
        " password. Confirm application"
    )
    assert not account.affiliates.filter(email=EMAIL).exists()
    response = client.post(url)
    assert response.status_code == 302
    assert client.post(response.url, {"password": PASSWORD}).url == portal
    assert COOKIE in client.cookies
    page = read(client.get(portal))
    assert (
        f"Your application for {scenario.program.title} waits for a decision of"
        f" {account.name}."
    ) in page
    affiliate = account.affiliates.get(email=EMAIL)
    assert (affiliate.firstname, affiliate.country) == ("Nora", "DE")
    assert affiliate.language == "en"
    assert account.enrollments.get(affiliate=affiliate).approved is None
    assert "This link works once" in read(client.post(url))
