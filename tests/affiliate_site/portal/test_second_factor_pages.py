"""The second factor of an affiliate, as browsers see it."""

import html
import re
from datetime import timedelta

import pyotp
import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from affiliate_site.portal_sessions import COOKIE
from tests.affiliate_site.portal.conftest import PASSWORD
from tracking.services.second_factor import get_second_factor, has_second_factor

EMAIL = "mina@notes.example.org"
LATER = timedelta(seconds=30)


@pytest.fixture(autouse=True)
def clock():
    """Time stands still: a code is valid for two steps of 30 seconds only."""
    with time_machine.travel(timezone.now(), tick=False):
        yield


@pytest.fixture
def app(mina, scenario, portal):
    """The app of Mina, who has switched the second factor on."""
    affiliate = scenario.mina.affiliate
    affiliate.update_row(email=EMAIL, email_folded=EMAIL)
    page = mina.post(f"{portal}second-factor/", {"start": "1"}).content.decode()
    secret = get_second_factor(affiliate).secret
    assert f'value="{secret}"' in page
    assert "<svg" in page
    app = pyotp.TOTP(secret)
    code = app.at(timezone.now() - LATER)
    form = {"code": code, "old_password": "wrong", "secret": secret}
    page = mina.post(f"{portal}second-factor/", form).content.decode()
    assert "This is not your password." in html.unescape(page)
    form["old_password"] = PASSWORD
    response = mina.post(f"{portal}second-factor/", form)
    codes = re.findall(r"<code>([a-z0-9-]{19})</code>", response.content.decode())
    assert len(codes) == 10
    app.recovery_codes = codes
    return app


def sign_in(portal, **defaults):
    client = Client(**defaults)
    form = {"email": EMAIL, "password": PASSWORD}
    response = client.post(f"{portal}sign-in/", form)
    assert response.url.startswith(f"{portal}sign-in/code/")
    assert COOKIE not in response.cookies
    return client, response.url


def test_signs_in_by_password_and_code(app, portal):
    client, url = sign_in(portal)
    page = client.post(url, {"code": "000000"}).content.decode()
    assert "This code is wrong or was used already." in page
    response = client.post(url, {"code": app.at(timezone.now())})
    assert response.url == portal
    assert COOKIE in response.cookies


def test_a_recovery_code_replaces_the_app(app, portal):
    client, url = sign_in(portal)
    response = client.post(url, {"code": app.recovery_codes[0]})
    assert COOKIE in response.cookies


def test_attempts_are_limited(app, portal):
    client, url = sign_in(portal)
    statuses = [client.post(url, {"code": "000000"}).status_code for _ in range(12)]
    assert statuses[0] == 200
    assert statuses[-1] == 429
    client, url = sign_in(portal)
    assert client.post(url, {"code": app.recovery_codes[1]}).status_code == 302


def test_codes_are_limited_from_all_addresses(app, account, portal, time_machine):
    """Who knows the password gets new links, and may have many addresses."""
    at = timezone.now()
    time_machine.move_to(at, tick=False)
    statuses = []
    for number in range(2):
        client, url = sign_in(portal, REMOTE_ADDR=f"192.0.2.{number}")
        statuses += [client.post(url, {"code": "000000"}).status_code for _ in "123"]
    # One was used to switch it on, with a wrong password.
    assert statuses == [200] * 4 + [429] * 2
    client, url = sign_in(portal, REMOTE_ADDR="192.0.2.99")
    response = client.post(url, {"code": app.at(at)})
    assert "Too many codes. Use a recovery code, or try again" in response.content.decode()
    mail = account.mails.get(kind="code_guesses")  # one a day
    assert "sign in with a recovery code and change your password" in mail.text
    client, url = sign_in(portal, REMOTE_ADDR="192.0.2.98")
    assert client.post(url, {"code": app.recovery_codes[0]}).url == portal
    time_machine.move_to(at + timedelta(hours=1, seconds=1), tick=False)
    client, url = sign_in(portal)
    assert client.post(url, {"code": app.at(timezone.now())}).url == portal


def test_right_codes_are_not_limited(app, account, mina, portal, time_machine):
    """Who signs in often is not warned of somebody else, and can switch it off."""
    at = timezone.now()
    for number in range(7):
        time_machine.move_to(at + number * LATER, tick=False)
        client, url = sign_in(portal, REMOTE_ADDR=f"192.0.2.{number}")
        assert client.post(url, {"code": app.at(timezone.now())}).url == portal
    time_machine.move_to(at + 7 * LATER, tick=False)
    url = f"{portal}second-factor/"
    assert mina.post(url, {"code": app.at(timezone.now())}).url == url
    assert not account.mails.filter(kind="code_guesses").exists()


def test_switches_it_off_by_a_code(app, mina, portal, scenario):
    url, affiliate = f"{portal}second-factor/", scenario.mina.affiliate
    page = mina.get(url).content.decode()
    assert "The second factor is on" in html.unescape(page)
    mina.post(url, {"code": "000000"})
    assert has_second_factor(affiliate)
    assert mina.post(url, {"code": app.at(timezone.now())}).url == url
    assert not has_second_factor(affiliate)


def test_shows_no_secret_that_another_session_started(mina, portal, scenario):
    """A thief of the session starts; the affiliate goes on later, and starts again."""
    url, affiliate = f"{portal}second-factor/", scenario.mina.affiliate
    mina.post(url, {"start": "1"})
    known = get_second_factor(affiliate).secret
    assert known not in mina.get(url).content.decode()
    mina.post(url, {"start": "1"})
    own = get_second_factor(affiliate).secret
    form = {"code": pyotp.TOTP(known).now(), "old_password": PASSWORD}
    for secret in (known, own):
        page = mina.post(url, form | {"secret": secret}).content.decode()
        assert not has_second_factor(affiliate)
        assert (own in page) == (secret == own)


def test_a_wrong_code_does_not_switch_it_on(mina, portal, scenario):
    url = f"{portal}second-factor/"
    assert "<svg" not in mina.get(url).content.decode()
    mina.post(url, {"start": "1"})
    form = {"code": "000000", "old_password": PASSWORD}
    page = mina.post(url, form).content.decode()
    assert "This code is wrong or was used already." in page
    assert not has_second_factor(scenario.mina.affiliate)


def test_a_wrong_code_does_not_ask_for_the_password_again(mina, portal, scenario):
    url, affiliate = f"{portal}second-factor/", scenario.mina.affiliate
    mina.post(url, {"start": "1"})
    secret = get_second_factor(affiliate).secret
    form = {"code": "000000", "secret": secret}
    for fields in ({"old_password": "wrong"}, {"proof": "made up"}):
        page = mina.post(url, form | fields).content.decode()
        assert "old_password" in page
        assert 'name="proof"' not in page
    page = mina.post(url, form | {"old_password": PASSWORD}).content.decode()
    assert "old_password" not in page
    (proof,) = re.findall(r'name="proof" value="([^"]*)"', page)
    page = mina.post(url, form | {"proof": proof}).content.decode()
    assert f'name="proof" value="{proof}"' in page
    mina.post(url, form | {"proof": proof, "code": pyotp.TOTP(secret).now()})
    assert has_second_factor(affiliate)
