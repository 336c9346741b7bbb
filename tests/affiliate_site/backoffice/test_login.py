"""Sign-in, its limits and sessions (docs/reliability.md, section 9)."""

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models.api_keys import Role
from accounts.services.staff import create_staff_user
from tests.affiliate_site.backoffice.credentials import EMAIL, PASSWORD
from tests.conftest import NOW

LOGIN = "/admin/login/"


@pytest.fixture
def owner(account):
    return create_staff_user(
        account, email=EMAIL, role=Role.OWNER, password=PASSWORD, at=timezone.now()
    )[0]


def sign_in(client, email=EMAIL, password=PASSWORD, address="203.0.113.7"):
    form = {"username": email, "password": password}
    return client.post(LOGIN, form, REMOTE_ADDR=address)


@pytest.mark.parametrize("email", [EMAIL, EMAIL.upper()])
def test_signs_in(owner, client, email):
    response = sign_in(client, email)

    assert (response.status_code, response["Location"]) == (302, reverse("admin:index"))
    assert client.get("/admin/").status_code == 200


def test_session_ends_after_eight_hours(owner, client, time_machine):
    now = timezone.now()
    time_machine.move_to(now, tick=False)
    sign_in(client)

    time_machine.move_to(now + timezone.timedelta(hours=7, minutes=59), tick=False)
    assert client.get("/admin/").status_code == 200
    time_machine.move_to(now + timezone.timedelta(hours=8, seconds=1), tick=False)
    assert client.get("/admin/").status_code == 302


def test_rotates_the_session_key_at_sign_in(owner, client):
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
def test_unknown_email_and_wrong_password_give_the_same_error(
    owner, client, email, password
):
    response = sign_in(client, email, password)

    messages = response.context["form"].non_field_errors()
    assert response.status_code == 200
    assert len(messages) == 1
    assert "correct email and password" in messages[0]


def test_rejects_inactive_users(owner, client, account):
    account.staff.update(is_active=False)

    assert sign_in(client).status_code == 200
    assert client.get("/admin/").status_code == 302


def test_limits_attempts_per_email_and_address(owner, client, time_machine):
    time_machine.move_to(NOW, tick=False)
    for _ in range(5):
        assert sign_in(client, password="wrong").status_code == 200

    response = sign_in(client)

    assert response.status_code == 429
    assert b"Wait a minute" in response.content
    # Other IP addresses are not limited, so that nobody can lock out the owner.
    assert sign_in(Client(), address="198.51.100.9").status_code == 302


def test_normalizes_the_email_before_counting(owner, client, time_machine):
    """The form normalizes full-width letters."""
    time_machine.move_to(NOW, tick=False)
    for number in range(5):
        wide = chr(ord(EMAIL[number]) + 0xFEE0)
        variant = EMAIL[:number] + wide + EMAIL[number + 1 :]
        assert sign_in(client, variant, "wrong").status_code == 200

    assert sign_in(client).status_code == 429


def test_limits_attempts_to_change_the_password(owner, client, account, time_machine):
    time_machine.move_to(NOW, tick=False)
    client.force_login(owner)
    new = {"new_password1": "lamps-by-the-sea", "new_password2": "lamps-by-the-sea"}
    path = reverse("admin:password_change")

    assert client.post(path, {"old_password": PASSWORD} | new).status_code == 302
    assert account.audit_log.filter(kind="staff.password_changed").count() == 1
    for _ in range(4):
        assert client.post(path, {"old_password": "x"} | new).status_code == 200
    assert client.post(path, {"old_password": "x"} | new).status_code == 429


def test_limits_attempts_per_address(owner, client, time_machine):
    time_machine.move_to(NOW, tick=False)
    for number in range(20):
        sign_in(client, email=f"guess-{number}@example.org")

    assert sign_in(client).status_code == 429


def test_requires_a_csrf_token(owner):
    client = Client(enforce_csrf_checks=True)

    assert sign_in(client).status_code == 403


@pytest.mark.parametrize(
    "path", ["/1.6/clicks/", "/1.7/pb/con/c/", "/track/click/", "/track/conversion/"]
)
def test_requires_no_csrf_token_outside_the_back_office(db, path):
    client = Client(enforce_csrf_checks=True)

    response = client.post(path, {}, content_type="application/json")

    assert response.status_code in (200, 204, 401)


def test_content_security_policy_allows_what_the_theme_needs(owner, client):
    policy = client.get(LOGIN)["Content-Security-Policy"]

    assert "script-src 'self' 'unsafe-eval';" in policy
    assert "default-src 'self';" in policy
    assert "'unsafe-eval'" not in client.get("/docs/")["Content-Security-Policy"]


def test_redirects_to_the_trailing_slash(client, db):
    response = client.get("/admin")

    assert (response.status_code, response["Location"]) == (301, "/admin/")


def test_sets_no_cookie_outside_the_back_office(client, db):
    for path in ("/docs/", "/tap.js", "/1.6/programs/"):
        assert client.get(path).cookies == {}
