"""The settings of the portal, and invitations of affiliates to it."""

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.affiliate_site.backoffice.forms import get_form
from tests.affiliate_site.backoffice.money_forms import list_messages
from tests.conftest import NOW
from tracking.services.portal_access import find_session, set_portal_password
from tracking.services.portal_settings import (
    get_portal_settings,
    update_portal_settings,
)
from tracking.services.portal_terms import accept_terms, get_terms

pytestmark = pytest.mark.usefixtures("shared_scenario")

EMAIL = "mina@notes.example.org"


@pytest.fixture
def url():
    return reverse("admin:portal_settings")


@pytest.mark.parametrize("role", ["owner", "manager"])
def test_switches_the_portal_on(staff_client, account, url, role):
    client = staff_client(role)
    page = client.get(url)
    assert f"/partners/{account.slug}/" in page.content.decode()
    entries = {"is_on": "on", "welcome_text": "Hello\nyou", "order_ids": "none"}
    response = client.post(url, get_form(client, url) | entries, follow=True)
    assert list_messages(response) == ["The settings were saved."]
    settings = get_portal_settings(account)
    assert (settings.is_on, settings.is_open, settings.order_ids) == (
        True,
        False,
        "none",
    )
    assert settings.welcome_text.splitlines() == ["Hello", "you"]


def test_a_change_of_the_terms_is_a_new_version(staff_client, account, scenario, url):
    client = staff_client("manager")
    for terms in ("Be fair.", "Be fair.", "Be kind."):
        client.post(url, get_form(client, url) | {"terms": terms})
    assert get_form(client, url)["terms"] == "Be kind."
    assert get_terms(account).version == 2
    page = reverse("admin:tracking_affiliate_change", args=[scenario.mina.affiliate.pk])
    assert "Terms of the portal" not in client.get(page).content.decode()
    accept_terms(scenario.mina.affiliate, version=2, at=NOW)
    assert "version 2 accepted on 2026-03-04" in client.get(page).content.decode()


@pytest.mark.parametrize("role", ["viewer", "finance"])
def test_other_roles_have_no_settings(staff_client, url, role):
    client = staff_client(role)
    assert client.get(url).status_code == 403
    assert url not in client.get(reverse("admin:index")).content.decode()


# Invitations


@pytest.fixture
def invite_url(scenario):
    affiliate = scenario.mina.affiliate
    affiliate.update_row(email=EMAIL, email_folded=EMAIL)
    return reverse("admin:tracking_affiliate_invite", args=[affiliate.pk])


def invite(client, url, **entries):
    return client.post(url, get_form(client, url) | entries)


def read_token(response):
    base = f"http://127.0.0.1:8000/partners/{response.context['user'].account.slug}/"
    return response.context["secret"].removeprefix(f"{base}password/").rstrip("/")


def test_shows_a_link_once(staff_client, account, scenario, invite_url):
    client = staff_client("manager")
    response = invite(client, invite_url)
    assert "no-store" in response["Cache-Control"]
    token = set_portal_password(
        account, read_token(response), password="lamps-at-the-harbor", at=timezone.now()
    )
    assert find_session(account, token, at=timezone.now()) == scenario.mina.affiliate
    assert not account.mails.exists()
    assert account.audit_log.filter(kind="affiliate.invited").count() == 1


def test_mails_the_link_on_request(staff_client, account, invite_url):
    response = invite(staff_client(), invite_url, send_mail="on")
    mail = account.mails.get()
    assert mail.recipient == EMAIL
    assert response.context["secret"] in mail.text
    assert EMAIL in response.content.decode()


@pytest.mark.parametrize("reason", ["no address", "no mail server"])
def test_offers_mail_where_it_can_be_sent(
    staff_client, scenario, invite_url, settings, reason
):
    if reason == "no address":
        scenario.mina.affiliate.update_row(email=None, email_folded=None)
    else:
        settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    client = staff_client()
    assert list(client.get(invite_url).context["form"].fields) == []
    invite(client, invite_url, send_mail="on")
    assert not scenario.account.mails.exists()


def test_says_that_the_portal_is_off(staff_client, account, invite_url):
    client, note = staff_client(), "The portal is off"
    assert note in client.get(invite_url).content.decode()
    update_portal_settings(account, changes={"is_on": True}, at=NOW)
    assert note not in client.get(invite_url).content.decode()


@pytest.mark.parametrize("role", ["viewer", "finance"])
def test_other_roles_invite_nobody(staff_client, invite_url, role):
    assert staff_client(role).get(invite_url).status_code == 403
