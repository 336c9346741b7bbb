"""reliability.md, T21 and section 12: who gets in, how often one may try, how long."""

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models.keys import Role
from accounts.services.staff import invite_staff
from tests.affiliate_site.backoffice.people import EMAIL, PASSWORD
from tests.conftest import NOW

LOGIN = "/admin/login/"


@pytest.fixture
def owner(account):
    return invite_staff(
        account, email=EMAIL, role=Role.OWNER, password=PASSWORD, at=timezone.now()
    )[0]


def sign_in(client, email=EMAIL, password=PASSWORD, address="203.0.113.7"):
    form = {"username": email, "password": password}
    return client.post(LOGIN, form, REMOTE_ADDR=address)


@pytest.mark.parametrize("email", [EMAIL, EMAIL.upper()])
def test_lets_somebody_in(owner, client, email):
    answer = sign_in(client, email)

    assert (answer.status_code, answer["Location"]) == (302, reverse("admin:index"))
    assert client.get("/admin/").status_code == 200


def test_ends_after_eight_hours(owner, client, time_machine):
    now = timezone.now()
    time_machine.move_to(now, tick=False)
    sign_in(client)

    time_machine.move_to(now + timezone.timedelta(hours=7, minutes=59), tick=False)
    assert client.get("/admin/").status_code == 200
    time_machine.move_to(now + timezone.timedelta(hours=8, seconds=1), tick=False)
    assert client.get("/admin/").status_code == 302


def test_gives_another_identifier_at_sign_in(owner, client):
    client.get(LOGIN)
    sign_in(client)
    first = client.cookies[settings.SESSION_COOKIE_NAME].value
    client.logout()
    sign_in(client)

    cookie = client.cookies[settings.SESSION_COOKIE_NAME]
    assert cookie.value != first
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")


@pytest.mark.parametrize(
    ("email", "password"),
    [(EMAIL, "another-password"), ("nobody@example.org", PASSWORD)],
    ids=["password", "email"],
)
def test_says_the_same_of_a_wrong_password_and_of_a_stranger(
    owner, client, email, password
):
    answer = sign_in(client, email, password)

    told = answer.context["form"].non_field_errors()
    assert answer.status_code == 200
    assert len(told) == 1
    assert "correct email and password" in told[0]


def test_lets_nobody_in_who_is_not_active(owner, client, account):
    account.staff.update(is_active=False)

    assert sign_in(client).status_code == 200
    assert client.get("/admin/").status_code == 302


def test_waits_after_five_tries_as_one_person(owner, client, time_machine):
    time_machine.move_to(NOW, tick=False)
    for _ in range(5):
        assert sign_in(client, password="wrong").status_code == 200

    answer = sign_in(client)

    assert answer.status_code == 429
    assert b"Wait a minute" in answer.content
    # Another address is let in: nobody can lock the owner out.
    assert sign_in(Client(), address="198.51.100.9").status_code == 302


def test_counts_one_person_in_any_spelling(owner, client, time_machine):
    """The form reads full width letters as plain ones."""
    time_machine.move_to(NOW, tick=False)
    for number in range(5):
        wide = chr(ord(EMAIL[number]) + 0xFEE0)
        odd = EMAIL[:number] + wide + EMAIL[number + 1 :]
        assert sign_in(client, odd, "wrong").status_code == 200

    assert sign_in(client).status_code == 429


def test_lets_nobody_guess_the_old_password(owner, client, account, time_machine):
    time_machine.move_to(NOW, tick=False)
    client.force_login(owner)
    new = {"new_password1": "lamps-by-the-sea", "new_password2": "lamps-by-the-sea"}
    path = reverse("admin:password_change")

    assert client.post(path, {"old_password": PASSWORD} | new).status_code == 302
    assert account.events.filter(kind="staff.password_changed").count() == 1
    for _ in range(4):
        assert client.post(path, {"old_password": "x"} | new).status_code == 200
    assert client.post(path, {"old_password": "x"} | new).status_code == 429


def test_waits_after_twenty_tries_from_one_address(owner, client, time_machine):
    time_machine.move_to(NOW, tick=False)
    for number in range(20):
        sign_in(client, email=f"guess-{number}@example.org")

    assert sign_in(client).status_code == 429


def test_asks_for_the_token_of_the_form(owner):
    client = Client(enforce_csrf_checks=True)

    assert sign_in(client).status_code == 403


@pytest.mark.parametrize(
    "path", ["/1.6/clicks/", "/1.7/pb/con/c/", "/track/click/", "/track/conversion/"]
)
def test_asks_for_no_token_outside(db, path):
    client = Client(enforce_csrf_checks=True)

    answer = client.post(path, {}, content_type="application/json")

    assert answer.status_code in (200, 204, 401)


def test_allows_the_theme_no_more_than_it_needs(owner, client):
    policy = client.get(LOGIN)["Content-Security-Policy"]

    assert "script-src 'self' 'unsafe-eval';" in policy
    assert "default-src 'self';" in policy
    assert "'unsafe-eval'" not in client.get("/docs/")["Content-Security-Policy"]


def test_puts_the_slash_back_by_a_redirect(client, db):
    answer = client.get("/admin")

    assert (answer.status_code, answer["Location"]) == (301, "/admin/")


def test_sets_no_cookie_outside(client, db):
    for path in ("/docs/", "/tap.js", "/1.6/programs/"):
        assert client.get(path).cookies == {}
