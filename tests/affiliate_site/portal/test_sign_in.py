"""Affiliates get in by a password or a link, and out; strangers learn nothing."""

import re
from datetime import timedelta

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from accounts.models.accounts import Account
from accounts.services.staff import create_staff_user
from affiliate_site.portal_sessions import COOKIE
from tests.affiliate_site.portal.conftest import PASSWORD
from tests.factories.tracking import AffiliateFactory
from tracking.services.affiliates import delete_affiliate
from tracking.services.portal_applications import ApplicationData, send_application
from tracking.services.portal_links import create_view_link, invite_affiliate, queue_requested_links
from tracking.services.portal_settings import update_portal_settings

pytestmark = pytest.mark.usefixtures("shared_scenario")

EMAIL = "mina@notes.example.org"
WRONG = "E-mail address or password is wrong."


def read(response):
    return " ".join(response.content.decode().split())


@pytest.fixture
def can_mail(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"


def find_link(mail):
    """The path of the link in a mail."""
    [path] = re.findall(rf"{re.escape(settings.PUBLIC_URL)}(\S+)", mail.text)
    return path


def process_requests(account):
    """Do what the worker does before it sends mail."""
    queue_requested_links(account, at=timezone.now())


def apply(account, email):
    """Apply with an address, and do not confirm it."""
    at = timezone.now()
    update_portal_settings(account, changes={"is_open": True}, at=at)
    send_application(
        account,
        program_slug=account.programs.first().slug,
        data=ApplicationData(email=email, firstname="Paul", lastname="Paulsen"),
        language="en",
        terms_version=None,
        at=at,
    )


def sign_in(client, portal, email=EMAIL, password=PASSWORD):
    entries = {"email": email, "password": password}
    return client.post(f"{portal}sign-in/", entries)


@pytest.mark.parametrize("page", ["links", "sales", "payments", "statement", "profile"])
def test_leads_strangers_to_the_sign_in(client, portal, page):
    response = client.get(f"{portal}{page}/")
    assert response.status_code == 302
    assert response["Location"] == f"{portal}sign-in/"


@pytest.mark.parametrize("is_open", [False, True])
def test_the_sign_in_links_open_applications(client, account, portal, can_mail, is_open):
    update_portal_settings(account, changes={"is_open": is_open}, at=timezone.now())
    link = f'<a href="{portal}apply/">Not an affiliate yet? Apply.</a>'
    assert (link in read(client.get(f"{portal}sign-in/"))) == is_open


def test_there_is_no_portal_until_it_is_switched_on(client, account, portal):
    pages = [portal, f"{portal}sign-in/", f"{portal}password/", f"{portal}links/"]
    update_portal_settings(account, changes={"is_on": False}, at=timezone.now())
    assert [client.get(page).status_code for page in pages] == [404] * 4
    assert client.get("/partners/nobody/").status_code == 404


def test_a_locked_account_has_no_portal(client, account, portal):
    Account.objects.filter(pk=account.pk).update(locked_at=timezone.now())
    assert client.get(portal).status_code == 404


def test_signs_in_by_password_and_out(client, account, portal, scenario, set_up_password):
    set_up_password(scenario.mina.affiliate)
    response = sign_in(client, portal, email=f" {EMAIL.upper()} ")
    assert response["Location"] == portal
    cookie = response.cookies[COOKIE]
    assert (cookie["path"], cookie["httponly"], cookie["samesite"]) == (
        portal,
        True,
        "Lax",
    )
    assert "Hello Mina" in read(client.get(portal))
    response = client.post(f"{portal}sign-out/")
    assert response["Location"] == f"{portal}sign-in/"
    assert response.cookies[COOKIE].value == ""
    client.cookies[COOKIE] = cookie.value  # kept by a thief
    assert client.get(f"{portal}links/").status_code == 302


def test_each_sign_in_records_the_address(
    account, portal, scenario, set_up_password, capture_queries, time_machine
):
    set_up_password(scenario.mina.affiliate)
    now, counts = timezone.now(), []
    for hours in (0, 0.5, 2):
        time_machine.move_to(now + timedelta(hours=hours), tick=False)
        with capture_queries() as executed:
            sign_in(Client(REMOTE_ADDR="192.88.99.7"), portal)
        counts.append(sum("SAVEPOINT" not in query["sql"] for query in executed))

    address = account.portal_addresses.get()
    assert address.affiliate == scenario.mina.affiliate
    assert address.last_used_at - address.first_used_at == timedelta(hours=2)
    assert counts == [15, 10, 12]  # the first one also stores the language


@pytest.mark.parametrize("way", ["link", "password", "profile"])
def test_every_way_to_sign_in_records_the_address(
    way, account, portal, scenario, mina, set_up_password, can_mail
):
    mina.defaults["REMOTE_ADDR"] = "192.88.99.7"
    if way == "profile":
        entries = {"old_password": PASSWORD, "password": f"{PASSWORD}-2"}
        mina.post(f"{portal}profile/", entries)
    else:
        mina.post(
            f"{portal}password/", {"email": EMAIL} | ({"password": "1"} if way != "link" else {})
        )
        process_requests(account)
        mina.post(find_link(account.mails.get()), {"password": f"{PASSWORD}-2"})
    assert account.portal_addresses.get().affiliate == scenario.mina.affiliate


def test_what_staff_look_at_and_wrong_passwords_record_nothing(account, portal, scenario):
    user, _ = create_staff_user(
        account, email="zoe@example.org", role="owner", password=None, at=timezone.now()
    )
    names = {"affiliate_id": scenario.mina.slug, "viewed_by": user}
    token = create_view_link(account, **names, at=timezone.now())
    client = Client(REMOTE_ADDR="192.88.99.7")
    assert client.get(f"{portal}view/{token}/").status_code == 302
    sign_in(client, portal, password="wrong")
    assert account.portal_sessions.count() == 1
    assert not account.portal_addresses.exists()


@pytest.mark.parametrize(
    ("email", "password"),
    [(EMAIL, "wrong"), ("nobody@notes.example.org", PASSWORD)],
)
def test_the_answer_does_not_tell_what_is_wrong(
    client, portal, scenario, set_up_password, email, password
):
    set_up_password(scenario.mina.affiliate)
    response = sign_in(client, portal, email, password)
    assert response.status_code == 200
    assert WRONG in read(response)
    assert COOKIE not in response.cookies


def test_limits_attempts_by_address_of_the_network(client, portal, scenario, set_up_password):
    set_up_password(scenario.mina.affiliate)
    answers = [sign_in(client, portal, password="wrong").status_code for _ in range(7)]
    assert answers == [200] * 5 + [429] * 2
    elsewhere = Client(REMOTE_ADDR="203.0.113.9")
    assert sign_in(elsewhere, portal).status_code == 302


def test_signs_in_by_a_link_once_and_only_by_its_button(
    client, account, portal, scenario, can_mail
):
    client.post(f"{portal}password/", {"email": EMAIL})
    process_requests(account)
    page = find_link(account.mails.get())
    assert page.startswith(f"{portal}sign-in/")
    for _ in range(2):  # as mail programs look at links
        assert "You opened a link" in read(client.get(page))
    assert client.post(page)["Location"] == portal
    assert "Hello Mina" in read(client.get(portal))
    again = Client().post(page)
    assert again.status_code == 200
    assert 'role="alert"' in read(again)
    assert COOKIE not in again.cookies


def test_sets_a_password_by_a_link(client, account, portal, scenario):
    at = timezone.now()
    invitation = invite_affiliate(account, affiliate_id=scenario.mina.slug, at=at)
    page = f"{portal}password/{invitation.token}/"
    weak = client.post(page, {"password": "12345678"})
    assert 'class="error"' in read(weak)
    assert client.post(page, {"password": PASSWORD})["Location"] == portal
    assert sign_in(Client(), portal).status_code == 302


@pytest.mark.parametrize("button", [{}, {"password": "1"}])
def test_asking_for_a_link_reveals_nothing_about_the_address(
    account, portal, scenario, can_mail, capture_queries, button
):
    removed = AffiliateFactory(account=account, email="olga@notes.example.org")
    delete_affiliate(account, affiliate_id=removed.slug, at=timezone.now())
    unconfirmed = "paul@notes.example.org"
    apply(account, unconfirmed)
    answers = []
    emails = (EMAIL, "nina@notes.example.org", removed.email, unconfirmed)
    for number, email in enumerate(emails):
        client = Client(REMOTE_ADDR=f"203.0.113.{number}")  # limited by address
        with capture_queries() as executed:
            response = client.post(f"{portal}password/", {"email": email} | button)
        headers = {**response.headers}
        headers.pop("X-Trace-Id")
        page = re.sub(r'value="[^"]*"', "", read(response))
        answers.append((len(executed), response.status_code, headers, page))
    assert answers == [answers[0]] * 4


def test_the_buttons_for_both_links_stand_apart(client, portal, can_mail):
    page = client.get(f"{portal}password/").text
    row = page[page.index('<p class="row">') :]
    assert row[: row.index("</p>")].count("<button") == 2


def test_mails_a_link_to_set_a_password(client, account, portal, scenario, can_mail):
    client.post(f"{portal}password/", {"email": EMAIL, "password": "1"})
    process_requests(account)
    page = find_link(account.mails.get())
    assert client.post(page, {"password": PASSWORD})["Location"] == portal


def test_the_address_in_a_mail_is_not_that_of_the_request(
    client, account, portal, scenario, settings, can_mail
):
    settings.ALLOWED_HOSTS = ["*"]
    client.post(f"{portal}password/", {"email": EMAIL}, headers={"host": "evil.example"})
    process_requests(account)
    assert "evil.example" not in account.mails.get().text


def test_needs_a_token_against_forged_requests(portal, scenario, set_up_password):
    set_up_password(scenario.mina.affiliate)
    client = Client(enforce_csrf_checks=True)
    assert sign_in(client, portal).status_code == 403


def test_a_session_is_not_one_of_another_account_or_of_staff(mina, portal, account, other_account):
    update_portal_settings(other_account, changes={"is_on": True}, at=timezone.now())
    response = mina.get(f"/partners/{other_account.slug}/links/")
    assert response.status_code == 302
    assert mina.get("/admin/").status_code == 302
    owner, _ = create_staff_user(
        account, email="o@e.example", role="owner", password=None, at=timezone.now()
    )
    staff = Client()
    staff.force_login(owner)
    assert staff.get("/admin/").status_code == 200
    assert staff.get(f"{portal}links/").status_code == 302


def test_signs_out_everywhere(mina, portal, scenario, set_up_password):
    phone = Client()
    phone.cookies[COOKIE] = mina.cookies[COOKIE].value
    assert mina.post(f"{portal}sign-out/", {"everywhere": "1"}).status_code == 302
    assert phone.get(f"{portal}sales/").status_code == 302


def test_changes_the_password(mina, portal):
    wrong = {"old_password": "wrong", "password": "harbor-lamps-13"}
    assert 'class="error"' in read(mina.post(f"{portal}profile/", wrong))
    right = wrong | {"old_password": PASSWORD}
    assert mina.post(f"{portal}profile/", right)["Location"] == portal
    assert sign_in(Client(), portal, password="harbor-lamps-13").status_code == 302


def test_headers_of_pages(mina, portal):
    response = mina.get(portal)
    assert response["Cache-Control"] == "no-store"
    policy = response["Content-Security-Policy"]
    assert "script-src 'self';" in policy
    assert policy.endswith(f"; form-action 'self' {settings.PUBLIC_URL}")
    assert response["X-Frame-Options"] == "DENY"
    assert settings.SESSION_COOKIE_NAME not in response.cookies
    for path in ("sales/1/", "nothing/", "sign-out/"):
        assert mina.get(f"{portal}{path}")["Cache-Control"] == "no-store"
    assert Client().get(f"{portal}sales/")["Cache-Control"] == "no-store"
