"""Links in mails: scanners open them first, and one address may have several people."""

import re
from contextlib import contextmanager
from functools import partial
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core import mail
from django.db import transaction
from django.test import Client
from django.utils import timezone

from accounts.services.invitations import create_invitation
from accounts.services.notifications import send_invitation
from affiliate_site.backoffice.account.access_pages import build_invitation_url
from affiliate_site.links import build_password_url
from affiliate_site.portal_sessions import COOKIE
from tests.affiliate_site.portal.conftest import PASSWORD
from tests.program_scenario import ProgramScenario
from tracking.models.portal import LinkPurpose
from tracking.services.mails import SECRET_MAILS
from tracking.services.portal_access import find_session
from tracking.services.portal_applications import ApplicationData, send_application
from tracking.services.portal_emails import ask_for_email_change
from tracking.services.portal_links import (
    invite_affiliate,
    queue_requested_links,
    request_portal_link,
)
from tracking.services.portal_settings import build_portal_url, update_portal_settings

pytestmark = pytest.mark.usefixtures("shared_scenario")

EMAIL = "mina@notes.example"
NEW_PASSWORD = "lanterns-by-the-quay-7"
LINK = re.compile(r"https?://\S+")


def ask_for_link(account, purpose):
    at = timezone.now()
    request_portal_link(account, email=EMAIL, purpose=purpose, at=at)
    queue_requested_links(account, at=at)
    return LINK.search(account.mails.latest("pk").text)[0]


@contextmanager
def rolled_back():
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def get_path(url):
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


@pytest.fixture
def affiliate(mina, account, scenario):
    affiliate = scenario.mina.affiliate.reload()
    affiliate.update_row(email=EMAIL, email_folded=EMAIL)
    affiliate.account = account
    update_portal_settings(account, changes={"is_open": True}, at=timezone.now())
    return affiliate


@pytest.fixture
def links(account, scenario, affiliate):
    """The links of all mails that have one which works once."""
    at = timezone.now()
    mail_url = partial(build_password_url, account)
    invite_affiliate(account, affiliate_id=affiliate.slug, mail_url=mail_url, at=at)
    ask_for_link(account, LinkPurpose.SIGN_IN)
    ask_for_link(account, LinkPurpose.SET_PASSWORD)
    ask_for_email_change(
        affiliate,
        email="mina@letters.example",
        password=PASSWORD,
        url_for=lambda token: build_portal_url(account, f"email/{token}/"),
        at=at,
    )
    send_application(
        account,
        program_slug=scenario.program.slug,
        data=ApplicationData(email="n@letters.example", firstname="N", lastname="W"),
        language="en",
        terms_version=None,
        at=at,
    )
    owner = account.staff.create(email="owner@acme.example", role="owner")
    invitation, secret = create_invitation(
        account, email="ada@acme.example", role="manager", by=owner, at=at
    )
    send_invitation(invitation, url=build_invitation_url(secret))
    texts = account.mails.filter(kind__in=SECRET_MAILS).values_list("text", flat=True)
    found = [LINK.search(text)[0] for text in (*texts, mail.outbox[-1].body)]
    assert len(set(found)) == 7
    return found


def test_a_scanner_uses_up_no_link_of_a_mail(account, links):
    """It asks for each address several times; then the person uses the button."""
    unused = account.portal_links.filter(used_at=None).count()
    for url in links:
        for method in ("GET", "HEAD", "GET", "HEAD"):
            scanner = Client()
            response = scanner.generic(method, get_path(url))
            assert (response.status_code, COOKIE in scanner.cookies) == (200, False)
    assert account.portal_links.filter(used_at=None).count() == unused
    for url in links:
        token = parse_qs(urlsplit(url).query).get("token", [""])[0]
        values = {"password": NEW_PASSWORD, "repeated": NEW_PASSWORD, "token": token}
        with rolled_back():
            response = Client().post(get_path(url), values)
            if "/email/" in url:
                assert "Confirmed. Now confirm it by the link" in response.text
            else:
                assert response.status_code == 302, url
            again = Client().post(get_path(url), values)
            assert again.status_code != 302, url


def test_one_address_of_two_accounts_and_of_staff_reaches_each(account, other_account, affiliate):
    """The portal is that of an account; within one, an address is of one affiliate."""
    account.staff.create(email=EMAIL, role="owner")
    update_portal_settings(other_account, changes={"is_on": True}, at=timezone.now())
    other = ProgramScenario(other_account, email=EMAIL).mina.affiliate
    for own, person in ((account, affiliate), (other_account, other)):
        url = ask_for_link(own, LinkPurpose.SIGN_IN)
        assert f"/partners/{own.slug}/" in url
        elsewhere = other_account if own == account else account
        client, path = Client(), get_path(url)
        wrong = path.replace(f"/{own.slug}/", f"/{elsewhere.slug}/")
        assert client.post(wrong).status_code == 200
        assert COOKIE not in client.cookies
        assert client.post(path).status_code == 302
        token = client.cookies[COOKIE].value
        session = find_session(own, token, at=timezone.now())
        assert session.affiliate == person


def test_a_colleague_behind_the_same_network_address_gets_in(portal, affiliate):
    url = f"{portal}sign-in/"
    for _ in range(6):
        Client().post(url, {"email": "nils@notes.example", "password": "wrong"})
    response = Client().post(url, {"email": EMAIL, "password": PASSWORD})
    assert response.status_code == 302


def test_invitations_of_an_office_do_not_use_up_each_other(account):
    """Each has a limit of its own."""
    owner = account.staff.create(email="owner@acme.example", role="owner")
    for number in range(7):
        _row, secret = create_invitation(
            account,
            email=f"staff{number}@acme.example",
            role="viewer",
            by=owner,
            at=timezone.now(),
        )
        values = {"password": NEW_PASSWORD, "repeated": NEW_PASSWORD}
        url = get_path(build_invitation_url(secret))
        assert Client().post(url, values | {"token": secret}).status_code == 302
