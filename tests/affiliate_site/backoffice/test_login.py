"""Sign-in, its limits and sessions (docs/reliability.md, section 9)."""

import pytest
from django.conf import settings
from django.contrib.auth.hashers import MD5PasswordHasher
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models.api_keys import Role
from accounts.models.users import User
from accounts.services.staff import create_staff_user, reset_password, set_password
from affiliate_site.backoffice import site
from tests.affiliate_site.backoffice.credentials import EMAIL, PASSWORD
from tests.conftest import NOW

pytestmark = pytest.mark.engine_independent  # its queries are tested with services

LOGIN = "/admin/login/"


@pytest.fixture
def owner(account):
    return create_staff_user(
        account, email=EMAIL, role=Role.OWNER, password=PASSWORD, at=timezone.now()
    )[0]


def sign_in(client, email=EMAIL, password=PASSWORD, address="203.0.113.7", account="harbor"):
    form = {"account": account, "username": email, "password": password}
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


WRONG_SIGN_INS = [
    {"password": "another-password"},
    {"email": "nobody@example.org"},
    {"account": "zz-marker"},
    {"account": "nothing"},
    {"account": "Harbor"},
    {"account": ""},
]


@pytest.mark.parametrize("form", WRONG_SIGN_INS, ids=str)
def test_wrong_accounts_emails_and_passwords_give_the_same_error(
    owner, other_account, client, form
):
    response = sign_in(client, **form)

    messages = response.context["form"].non_field_errors()
    assert response.status_code == 200
    assert len(messages) == 1
    assert "correct account, email and password" in messages[0]


@pytest.fixture
def namesakes(owner, other_account):
    """Users of another account and of none, with the same address as the owner."""
    other = create_staff_user(
        other_account, email=EMAIL, role=Role.OWNER, password="other-lamps", at=NOW
    )[0]
    operator = User.objects.create_superuser(email=EMAIL, password="operator-lamps")
    return other, operator


def test_the_account_decides_who_signs_in(owner, namesakes):
    """An owner who adds the address of somebody else gains nothing elsewhere."""
    passwords = {"harbor": PASSWORD, "zz-marker": "other-lamps", "": "operator-lamps"}
    users = dict(zip(passwords, (owner, *namesakes), strict=True))

    for number, (account, user) in enumerate(users.items()):
        for name, password in passwords.items():
            client = Client()
            response = sign_in(client, EMAIL, password, f"198.51.100.{number}", account=account)
            assert response.status_code == (302 if name == account else 200)
            signed_in = client.session.get("_auth_user_id")
            assert signed_in == (str(user.pk) if name == account else None)


@pytest.mark.parametrize("form", [{}, *WRONG_SIGN_INS], ids=str)
def test_hashes_one_password_at_each_attempt(namesakes, client, monkeypatch, form):
    """The time does not tell how many accounts know an address."""
    encoded = []
    encode = MD5PasswordHasher.encode
    monkeypatch.setattr(
        MD5PasswordHasher, "encode", lambda *args: encoded.append(args) or encode(*args)
    )

    sign_in(client, **form)

    assert len(encoded) == 1


def test_prefills_the_account(owner, client):
    assert get_prefilled_account(client) == ""
    assert get_prefilled_account(client, "?account=harbor") == "harbor"

    sign_in(client)

    cookie = client.cookies["account"]
    assert (cookie["path"], cookie["httponly"]) == (LOGIN, True)
    client.logout()
    client.cookies["account"] = "harbor"  # `logout` clears the cookies
    assert get_prefilled_account(client, "?next=/admin/") == "harbor"
    assert get_prefilled_account(client, "?account=zz-marker") == "zz-marker"


def get_prefilled_account(client, query=""):
    form = client.get(f"{LOGIN}{query}").context["form"]
    return form.get_initial_for_field(form.fields["account"], "account")


def list_messages(response):
    return [str(message) for message in response.context["messages"]]


def test_shows_who_reset_the_password_until_it_is_changed(owner, account):
    by, _ = create_staff_user(
        account, email="zoe@harbor.example.org", role=Role.OWNER, password=None, at=NOW
    )
    password = reset_password(account, email=EMAIL, by=by, at=NOW)
    notice = (
        "On 2026-03-04 09:15 UTC your password was reset by zoe@harbor.example.org, who"
        " saw the new one. Change it to end this notice. If you did not ask for the"
        " reset, look at the audit log and tell an owner."
    )

    for _ in range(2):
        client = Client()
        sign_in(client, password=password)
        assert list_messages(client.get("/admin/")) == [notice]
        assert list_messages(client.get("/admin/")) == []

    client.post(
        reverse("admin:password_change"),
        {
            "old_password": password,
            "new_password1": PASSWORD,
            "new_password2": PASSWORD,
        },
    )
    client = Client()
    sign_in(client)
    assert list_messages(client.get("/admin/")) == []


def test_does_not_show_the_address_of_an_operator(owner, account, client):
    by = User.objects.create_superuser(email="ops@example.org", password=PASSWORD)
    password = reset_password(account, email=EMAIL, by=by, at=NOW)

    sign_in(client, password=password)

    (message,) = list_messages(client.get("/admin/"))
    assert "your password was reset by an operator, who saw" in message


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
    assert response["Content-Type"].startswith("text/html")
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


def test_counts_names_that_are_too_long_as_one(owner, client, time_machine):
    """They are not normalized, which takes seconds for many accents."""
    time_machine.move_to(NOW, tick=False)
    for number in range(5):
        name = str(number) + "\u0301\u0323" * 60_000
        assert sign_in(client, name, "wrong").status_code == 200

    assert sign_in(client, "x" * 255).status_code == 429
    assert sign_in(client).status_code == 302


def test_no_page_may_be_cached(owner, client):
    client.force_login(owner)
    for name in ("login", "index", "password_change", "jsi18n"):
        response = client.get(reverse(f"admin:{name}"))
        assert "no-store" in response["Cache-Control"]


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


def test_limits_guesses_of_a_password_from_anywhere(owner, client):
    client.force_login(owner)
    new = {"new_password1": "lamps-by-the-sea", "new_password2": "lamps-by-the-sea"}
    path = reverse("admin:password_change")
    answers = [
        client.post(path, {"old_password": "x"} | new, REMOTE_ADDR=f"198.51.100.{n}")
        for n in range(21)
    ]
    assert [each.status_code for each in answers] == [*[200] * 20, 429]
    assert "Try again in an hour" in answers[-1].content.decode()


def test_who_is_deactivated_meanwhile_changes_no_password(owner, client, monkeypatch):
    client.force_login(owner)
    new = {"new_password1": "lamps-by-the-sea", "new_password2": "lamps-by-the-sea"}
    path = reverse("admin:password_change")

    def set_password_too_late(user, password, *, at):
        User.objects.filter(pk=user.pk).update(is_active=False)
        set_password(user, password, at=at)

    monkeypatch.setattr(site, "set_password", set_password_too_late)
    response = client.post(path, {"old_password": PASSWORD} | new)

    assert response["Location"] == path
    assert client.get(path)["Location"].startswith(LOGIN)
    owner.refresh_from_db()
    assert not owner.is_active
    assert owner.check_password(PASSWORD)


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


def test_no_page_of_the_office_may_be_cached(owner, client):
    paths = [LOGIN, "/admin/password_change/", "/admin/invitation/", "/admin/nothing/"]
    assert client.get("/admin/password_change/")["Cache-Control"] == "no-store"
    sign_in(client)
    for path in [*paths, "/admin/", "/admin/password_change/done/"]:
        assert "no-store" in client.get(path)["Cache-Control"], path
