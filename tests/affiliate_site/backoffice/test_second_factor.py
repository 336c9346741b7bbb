"""Two-factor authentication with STAFF_OTP on (docs/reliability.md, section 9)."""

import os
import subprocess
import sys
from datetime import timedelta

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import URLPattern, reverse
from django.urls.resolvers import RoutePattern
from django_otp.oath import totp
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.models.api_keys import Role
from accounts.models.users import User
from accounts.services.recovery_codes import create_recovery_codes
from accounts.services.staff import create_staff_user, reset_password
from affiliate_site.backoffice.second_factor import format_secret
from tests.affiliate_site.backoffice.credentials import EMAIL, PASSWORD
from tests.architecture.syntax_trees import ROOT
from tests.command_line import PROCESS_SECONDS
from tests.conftest import NOW

pytestmark = pytest.mark.engine_independent  # its queries are tested with services

PAGE = "/admin/second-factor/"
STEP = timedelta(seconds=30)
WRONG_PROOF = "Enter your password or an unused code."


@pytest.fixture(autouse=True)
def clock(time_machine):
    """A clock that tests move."""
    time_machine.move_to(NOW, tick=False)
    return time_machine


@pytest.fixture
def owner(account):
    return make_staff_user(account, EMAIL)


@pytest.fixture
def foreign_owner(other_account):
    return make_staff_user(other_account, "may@zz-marker.example.org")


@pytest.fixture
def device(owner, clock):
    """A confirmed device of the owner; no code was used yet."""
    return TOTPDevice.objects.create(user=owner, name="Code")


def make_staff_user(account, email, role=Role.OWNER):
    return create_staff_user(account, email=email, role=role, password=PASSWORD, at=NOW)[0]


def generate_code(device):
    return f"{totp(device.bin_key):06d}"


def generate_wrong_code(device):
    """A code that the device does not accept now."""
    valid_codes = {totp(device.bin_key, drift=drift) for drift in range(-3, 4)}
    return next(f"{code:06d}" for code in range(10) if code not in valid_codes)


def sign_in(
    client,
    password=PASSWORD,
    address="203.0.113.7",
    email=EMAIL,
    account="harbor",
    **extra_fields,
):
    form = {"account": account, "username": email, "password": password} | extra_fields
    return client.post("/admin/login/", form, REMOTE_ADDR=address)


def is_signed_in(client):
    return client.get("/admin/").status_code == 200


def create_signed_in_client(user):
    client = Client()
    client.force_login(user)
    return client


def get_messages(client, step, **form):
    """Submit a step; the messages of the response."""
    response = client.post(f"{PAGE}{step}/", form, follow=True)
    assert response.status_code == 200
    return " ".join(str(message) for message in response.context["messages"])


def enable(client):
    """Set up and confirm a device; return it."""
    get_messages(client, "begin")
    device = TOTPDevice.objects.get()
    get_messages(client, "confirm", password=PASSWORD, code=generate_code(device))
    return device


def list_logged_kinds(account):
    events = account.audit_log.filter(kind__startswith="staff.second_factor")
    return list(events.order_by("pk").values_list("kind", flat=True))


def get_form_error(response):
    assert response.status_code == 200
    return response.context["form"].errors


# Signing in


@pytest.mark.parametrize("code", [{}, {"code": ""}, {"code": "123456"}])
def test_requires_no_code_without_a_device(owner, client, code):
    assert sign_in(client, **code).status_code == 302
    assert is_signed_in(client)


def test_shows_the_code_field_above_the_button(client, db):
    page = client.get("/admin/login/").content.decode()

    assert page.index("Authentication code (if enabled)") < page.index("Log in <span")
    assert page.count('name="code"') == 1


@pytest.mark.parametrize("space", ["", " "])
def test_signs_in_with_a_code(device, client, space):
    code = generate_code(device)

    assert sign_in(client, code=f"{code[:3]}{space}{code[3:]}").status_code == 302
    assert is_signed_in(client)


def test_missing_and_wrong_codes_give_the_error_of_a_wrong_password(device, client):
    wrong_password_error = get_form_error(sign_in(client, password="another-password"))

    for code in ("", generate_wrong_code(device), "one"):
        assert (
            get_form_error(sign_in(Client(), address="198.51.100.9", code=code))
            == wrong_password_error
        )
    valid_fields = {"code": generate_code(device), "password": "another-password"}
    assert get_form_error(sign_in(client, **valid_fields)) == wrong_password_error


@pytest.mark.parametrize("code", ["one", "١٢٣", "-1", "9" * 5000, "1_2", "\x00"])
def test_rejects_malformed_codes(device, client, code):
    assert sign_in(client, code=code).status_code == 200
    assert not is_signed_in(client)


def test_accepts_a_code_once(device, client, clock):
    code = generate_code(device)
    assert sign_in(client, code=code).status_code == 302

    assert sign_in(Client(), code=code).status_code == 200
    clock.shift(STEP)
    assert sign_in(Client(), code=generate_code(device)).status_code == 302


def test_wrong_password_does_not_use_up_the_code(device, client):
    code = generate_code(device)
    sign_in(client, password="another-password", code=code)

    assert sign_in(client, code=code).status_code == 302


def test_delays_attempts_after_a_wrong_code(device, client, clock):
    sign_in(client, code=generate_wrong_code(device))

    assert sign_in(client, code=generate_code(device)).status_code == 200
    clock.shift(2)
    assert sign_in(client, code=generate_code(device)).status_code == 302


@pytest.mark.parametrize("guess", ["a wrong code", "abcd-efgh-jkmn-pqrs"])
def test_limits_wrong_codes_as_wrong_passwords(device, client, guess):
    code = generate_wrong_code(device) if guess == "a wrong code" else guess
    for _ in range(5):
        assert sign_in(client, code=code).status_code == 200

    assert sign_in(client, code=generate_code(device)).status_code == 429


@pytest.mark.parametrize(("step", "field"), [("confirm", "password"), ("remove", "proof")])
def test_limits_attempts_to_confirm_and_to_remove(owner, step, field):
    client = create_signed_in_client(owner)
    if step == "remove":
        enable(client)
    else:
        get_messages(client, "begin")
    guess = {"path": f"{PAGE}{step}/", "data": {field: "guess"}}
    for _ in range(5):
        client.post(**guess)

    assert client.post(**guess).status_code == 429
    assert TOTPDevice.objects.exists()


@pytest.mark.parametrize("step", ["confirm", "remove", "codes"])
def test_limits_proofs_of_a_user_from_anywhere(owner, step):
    client = create_signed_in_client(owner)
    if step != "confirm":
        enable(client)
    data = {"password": "guess", "proof": "guess"}
    statuses = [
        client.post(f"{PAGE}{step}/", data, REMOTE_ADDR=f"198.51.100.{n}").status_code
        for n in range(21)
    ]
    # Setting it up was one more.
    assert statuses == [*[302] * 19, 302 if step == "confirm" else 429, 429]


def test_rejects_the_code_of_another_device(device, foreign_owner, client):
    foreign = TOTPDevice.objects.create(user=foreign_owner, name="Code")

    assert sign_in(client, code=generate_code(foreign)).status_code == 200
    assert not is_signed_in(client)


def test_requires_no_code_of_an_unconfirmed_device(device, client):
    TOTPDevice.objects.update(confirmed=False)

    assert sign_in(client).status_code == 302


def test_rejects_sessions_without_a_verified_code(owner, client):
    """The session began before the device was added, or while STAFF_OTP was off."""
    sign_in(client)
    assert is_signed_in(client)
    TOTPDevice.objects.create(user=owner, name="Code")

    for name in ("index", "second_factor", "password_change", "search"):
        response = client.get(reverse(f"admin:{name}"))
        assert response.status_code == 302
        assert response["Location"].startswith("/admin/login/")
    assert client.get("/admin/login/").status_code == 200


# The page


def test_adds_a_device(owner, account, client, clock):
    sign_in(client)
    assert "Two-factor authentication" in client.get("/admin/").content.decode()
    assert "Set up" in client.get(PAGE).content.decode()
    get_messages(client, "begin")

    device = TOTPDevice.objects.get()
    page = client.get(PAGE)
    assert format_secret(device) in page.content.decode()
    assert "<svg" in page.content.decode()
    assert "no-store" in page["Cache-Control"]
    assert list_logged_kinds(account) == []
    assert "is enabled" in get_messages(
        client, "confirm", password=PASSWORD, code=f" {generate_code(device)}"
    )

    assert is_signed_in(client)
    device.refresh_from_db()
    assert device.confirmed
    assert list_logged_kinds(account) == [
        "staff.second_factor_added",
        "staff.second_factor_codes_created",
    ]
    page = client.get(PAGE).content.decode()
    assert format_secret(device) not in page
    assert "<code" not in page
    clock.shift(STEP)
    assert sign_in(Client()).status_code == 200
    assert sign_in(Client(), code=generate_code(device)).status_code == 302


def test_confirmation_ends_other_sessions(owner):
    client, other_client = (create_signed_in_client(owner) for _ in range(2))
    enable(client)

    assert (is_signed_in(client), is_signed_in(other_client)) == (True, False)


def test_does_not_confirm_a_device_by_a_wrong_code(owner, account, clock):
    client = create_signed_in_client(owner)
    get_messages(client, "begin")
    device = TOTPDevice.objects.get()

    for code in (generate_wrong_code(device), "", "one"):
        assert "Wrong code" in get_messages(client, "confirm", password=PASSWORD, code=code)
        clock.shift(10)

    device.refresh_from_db()
    assert not device.confirmed
    assert list_logged_kinds(account) == []
    assert sign_in(Client()).status_code == 302


def test_confirmation_requires_the_password(owner, account):
    """A session left open must not be enough to lock its user out."""
    client = create_signed_in_client(owner)
    get_messages(client, "begin")
    device = TOTPDevice.objects.get()

    for form in ({}, {"password": ""}, {"password": "another-password"}):
        form |= {"code": generate_code(device)}
        assert "Wrong password" in get_messages(client, "confirm", **form)

    device.refresh_from_db()
    assert not device.confirmed
    assert list_logged_kinds(account) == []
    # A wrong password does not use up the code.
    form = {"code": generate_code(device), "password": PASSWORD}
    assert "is enabled" in get_messages(client, "confirm", **form)


def test_does_not_confirm_without_setup(owner):
    client = create_signed_in_client(owner)

    assert "Wrong code" in get_messages(client, "confirm", password=PASSWORD, code="123456")
    assert not TOTPDevice.objects.exists()


def test_restarted_setup_has_another_secret(owner):
    client = create_signed_in_client(owner)
    get_messages(client, "begin")
    first = TOTPDevice.objects.get()
    get_messages(client, "begin")

    assert TOTPDevice.objects.get().key != first.key


def test_setup_does_not_replace_a_confirmed_device(device, client):
    sign_in(client, code=generate_code(device))

    get_messages(client, "begin")

    assert TOTPDevice.objects.get().key == device.key


@pytest.mark.parametrize("by", ["password", "code"])
def test_removes_a_device(device, account, client, clock, by):
    sign_in(client, code=generate_code(device))
    clock.shift(STEP)
    proof = PASSWORD if by == "password" else generate_code(device)

    assert "is disabled" in get_messages(client, "remove", proof=proof)

    assert not TOTPDevice.objects.exists()
    assert list_logged_kinds(account) == ["staff.second_factor_removed"]
    assert is_signed_in(client)
    assert sign_in(Client()).status_code == 302


def test_removal_requires_a_password_or_an_unused_code(device, account, client):
    code = generate_code(device)
    sign_in(client, code=code)

    for proof in ("", "another-password", code):
        assert WRONG_PROOF in get_messages(client, "remove", proof=proof)

    assert TOTPDevice.objects.get() == device
    assert list_logged_kinds(account) == []


def test_cannot_access_devices_of_other_users(device, owner, account, foreign_owner):
    """Devices of other users, in the same and in another account."""
    pending = TOTPDevice.objects.create(user=owner, name="Code", confirmed=False)
    colleague = make_staff_user(account, "zoe@harbor.example.org")

    for client in map(create_signed_in_client, (foreign_owner, colleague)):
        page = client.get(PAGE).content.decode()
        for foreign in (device, pending):
            assert format_secret(foreign) not in page
            get_messages(client, "confirm", password=PASSWORD, code=generate_code(foreign))
            assert WRONG_PROOF not in get_messages(client, "remove", proof=PASSWORD)

    assert set(TOTPDevice.objects.values_list("pk", "confirmed")) == {
        (device.pk, True),
        (pending.pk, False),
    }


@pytest.mark.parametrize("step", ["", "begin/", "confirm/", "remove/", "codes/"])
def test_requires_a_sign_in(db, client, step):
    response = client.get(f"{PAGE}{step}")

    assert response.status_code == 302
    assert response["Location"].startswith("/admin/login/")


@pytest.mark.parametrize("step", ["begin/", "confirm/", "remove/", "codes/"])
def test_changes_require_post(owner, step):
    assert create_signed_in_client(owner).get(f"{PAGE}{step}").status_code == 405


def test_is_available_to_operators(db, clock):
    operator = User.objects.create_superuser("ops@example.org", PASSWORD)
    client = create_signed_in_client(operator)
    device = enable(client)
    clock.shift(STEP)

    form = {"account": "", "email": operator.email}
    assert sign_in(Client(), **form).status_code == 200
    assert sign_in(Client(), **form, code=generate_code(device)).status_code == 302
    assert "is disabled" in get_messages(client, "remove", proof=PASSWORD)


# A lost device


def test_password_reset_removes_the_device(device, account):
    password = reset_password(account, email=EMAIL, at=NOW)

    assert sign_in(Client(), password=password).status_code == 302
    assert list_logged_kinds(account) == ["staff.second_factor_removed"]


def test_password_reset_by_an_owner_removes_the_device(device, owner, account, foreign_owner):
    foreign = TOTPDevice.objects.create(user=foreign_owner, name="Code")
    client = create_signed_in_client(make_staff_user(account, "zoe@harbor.example.org"))
    form = {"action": "reset_password", "_selected_action": [owner.pk]}

    response = client.post(reverse("admin:accounts_user_changelist"), form | {"confirmed": "yes"})

    assert sign_in(Client(), password=response.context["secret"]).status_code == 302
    assert list(TOTPDevice.objects.all()) == [foreign]


def test_password_reset_without_a_device_logs_no_removal(owner, account):
    reset_password(account, email=EMAIL, at=NOW)

    assert list_logged_kinds(account) == []


# Recovery codes


def read_codes(response):
    """The recovery codes of a page."""
    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    codes = response.context["codes"].split()
    assert [code in response.content.decode() for code in codes] == [True] * 10
    return codes


@pytest.fixture
def codes(owner, device):
    return create_recovery_codes(owner, at=NOW)


def test_shows_recovery_codes_once_when_a_device_is_confirmed(owner, client, clock):
    sign_in(client)
    get_messages(client, "begin")
    code = generate_code(TOTPDevice.objects.get())

    response = client.post(f"{PAGE}confirm/", {"password": PASSWORD, "code": code})

    codes = read_codes(response)
    page = client.get(PAGE).content.decode()
    assert "10 recovery codes left" in page
    assert [code for code in codes if code in page] == []


def test_a_recovery_code_replaces_the_device_once(codes, account, client):
    response = sign_in(client, code=f" {codes[0].upper()} ")

    assert response.status_code == 302
    page = client.get("/admin/").content.decode()
    assert "You signed in with a recovery code; 9 are left." in page
    assert sign_in(Client(), code=codes[0]).status_code == 200
    assert sign_in(Client(), code=codes[1].replace("-", "")).status_code == 302
    assert list_logged_kinds(account)[1:] == ["staff.second_factor_code_used"] * 2


def test_a_recovery_code_needs_the_password_of_its_user(codes, account, foreign_owner):
    colleague = make_staff_user(account, "zoe@harbor.example.org")
    foreign = {"email": foreign_owner.email, "account": "zz-marker"}
    for user in (colleague, foreign_owner):
        TOTPDevice.objects.create(user=user, name="Code")

    for wrong in (
        {"password": "another-password"},
        {"email": colleague.email},
        foreign,
    ):
        assert sign_in(Client(), code=codes[0], **wrong).status_code == 200

    assert sign_in(Client(), code=codes[0]).status_code == 302


def test_wrong_codes_lock_for_an_hour_at_most(device, codes, client, clock, mailoutbox):
    """Who knows the password cannot keep the owner out: a recovery code works."""
    for number in range(20):
        address = f"198.51.100.{number}"
        sign_in(Client(), code=generate_wrong_code(device), address=address)
        clock.shift(timedelta(minutes=69))
        if number < 2:
            assert mailoutbox == []
    mail, *_ = mailoutbox
    assert len(mailoutbox) == 1  # in 23 hours, after three failures
    assert mail.to == [EMAIL]
    assert "change your password: that ends it" in mail.body
    device.refresh_from_db()
    assert device.throttling_failure_count == 13

    sign_in(Client(), code=generate_wrong_code(device))
    assert sign_in(Client(), code=generate_code(device)).status_code == 200  # locked
    other = Client()
    assert sign_in(other, code=codes[0]).status_code == 302
    assert is_signed_in(other)
    clock.shift(timedelta(minutes=69))
    assert sign_in(client, code=generate_code(device)).status_code == 302


def test_warns_nobody_of_wrong_passwords(device, mailoutbox, clock):
    for number in range(5):
        sign_in(Client(), "wrong", code="1", address=f"198.51.100.{number}")

    assert mailoutbox == []


@pytest.mark.parametrize("by", ["password", "code", "recovery code"])
def test_creates_new_recovery_codes(device, codes, client, clock, by):
    sign_in(client, code=generate_code(device))
    clock.shift(STEP)
    proofs = {"password": PASSWORD, "code": generate_code(device)}

    response = client.post(f"{PAGE}codes/", {"proof": proofs.get(by, codes[0])})

    new_codes = read_codes(response)
    assert not set(new_codes) & set(codes)
    assert sign_in(Client(), code=codes[1]).status_code == 200
    assert sign_in(Client(), code=new_codes[1]).status_code == 302


def test_new_recovery_codes_require_a_proof_and_a_device(device, codes, client):
    sign_in(client, code=generate_code(device))

    for proof in ("", "another-password", "abcd-efgh-jkmn-pqrs"):
        assert WRONG_PROOF in get_messages(client, "codes", proof=proof)
    get_messages(client, "remove", proof=PASSWORD)
    get_messages(client, "codes", proof=PASSWORD)

    assert User.objects.get(email=EMAIL).recovery_codes == []


def test_recovery_codes_end_with_the_device(codes, account, client):
    password = reset_password(account, email=EMAIL, at=NOW)

    assert User.objects.get(email=EMAIL).recovery_codes == []
    assert sign_in(client, password=password).status_code == 302


def test_stores_and_logs_no_recovery_code(codes, account, client, caplog, capfd):
    sign_in(client, code=codes[0])

    texts = [caplog.text, *capfd.readouterr(), str(list(account.audit_log.values()))]
    texts += [str(list(User.objects.values())), client.get("/admin/").content.decode()]
    for text in texts:
        for code in codes:
            assert code not in text
            assert code.replace("-", "") not in text


def test_operators_have_recovery_codes(db, clock):
    operator = User.objects.create_superuser("ops@example.org", PASSWORD)
    TOTPDevice.objects.create(user=operator, name="Code")
    code, *_ = create_recovery_codes(operator, at=NOW)

    form = {"account": "", "email": operator.email, "code": code}
    assert sign_in(Client(), **form).status_code == 302


# Required by the account


@pytest.fixture
def requiring_account(account):
    account.require_second_factor = True
    account.save()
    return account


OPEN_URL_NAMES = {"second_factor", "jsi18n", "login", "logout", "invitation"}


def test_a_required_device_is_set_up_before_anything_else(requiring_account, owner, subtests):
    client = create_signed_in_client(owner)
    names = {
        pattern.name
        for pattern in admin.site.get_urls()
        if isinstance(pattern, URLPattern)
        and isinstance(pattern.pattern, RoutePattern)
        and pattern.name
        and not pattern.pattern.converters
    }

    for name in names - OPEN_URL_NAMES:
        with subtests.test(name=name):
            url = reverse(f"admin:{name}")
            if client.get(url).status_code == 405:
                continue  # a step of the set-up
            assert client.get(url)["Location"] == PAGE
    response = client.get("/admin/payouts/commission/", follow=True)
    assert "Your account requires two-factor" in response.content.decode()
    assert "Set up" in response.content.decode()


def test_a_required_device_opens_the_pages(requiring_account, owner):
    client = create_signed_in_client(owner)
    enable(client)

    assert is_signed_in(client)
    get_messages(client, "remove", proof=PASSWORD)
    assert client.get("/admin/")["Location"] == PAGE


def test_an_account_requires_devices_of_its_own_staff_only(requiring_account, foreign_owner):
    operator = User.objects.create_superuser("ops@example.org", PASSWORD)

    for user in (foreign_owner, operator):
        assert is_signed_in(create_signed_in_client(user))


# Its secret


def test_devices_have_no_page():
    assert TOTPDevice not in admin.site._registry


def test_shows_no_secret_elsewhere(owner, account, caplog, capfd):
    client = create_signed_in_client(owner)
    device = enable(client)

    pages = {"accounts_user_changelist": {}, "search": {"s": EMAIL, "extended": "1"}}
    texts = [
        client.get(reverse(f"admin:{name}"), query).content.decode()
        for name, query in pages.items()
    ]
    export = client.get(reverse("admin:accounts_user_export"))
    texts += [b"".join(export.streaming_content).decode(), caplog.text]
    texts += [str(list(account.audit_log.values())), *capfd.readouterr()]
    for text in texts:
        assert device.key not in text
        assert format_secret(device) not in text
        assert format_secret(device).replace(" ", "") not in text


# Off

OFF = """
import sys, django
django.setup()
from django.contrib import admin
from django.conf import settings
import affiliate_site.urls
paths = [str(path.pattern) for path in admin.site.get_urls()]
assert "login/" in paths and not any("second" in path for path in paths), paths
assert list(admin.site.login_form.base_fields) == ["username", "password", "account"]
assert "affiliate_site.backoffice.second_factor" not in sys.modules
assert "ACCOUNT" not in settings.UNFOLD
"""


def test_is_not_offered_with_staff_otp_off():
    other_variables = {
        name: value
        for name, value in os.environ.items()
        if name not in ("STAFF_OTP", "DJANGO_SETTINGS_MODULE")
    }

    process = subprocess.run(  # noqa: S603 - our own lines
        [sys.executable, "-c", OFF],
        cwd=ROOT,
        env=other_variables
        | {"STAFF_OTP": "off", "DJANGO_SETTINGS_MODULE": "affiliate_site.settings"},
        capture_output=True,
        text=True,
        check=False,
        timeout=PROCESS_SECONDS,
    )

    assert process.returncode == 0, process.stderr


def test_the_secret_of_another_session_is_never_confirmed(owner):
    """A thief of a session begins; the owner goes on in another one, and begins too."""
    thief, client = create_signed_in_client(owner), create_signed_in_client(owner)
    get_messages(thief, "begin")
    known = TOTPDevice.objects.get()
    code = {"password": PASSWORD, "code": generate_code(known)}
    assert not client.get(PAGE).context["secret"]
    assert "Wrong code" in get_messages(client, "confirm", **code)

    get_messages(client, "begin")
    own = TOTPDevice.objects.get()

    assert own.key != known.key
    assert not thief.get(PAGE).context["secret"]
    assert client.get(PAGE).context["secret"]
    client.post(f"{PAGE}confirm/", code | {"code": generate_code(own)})
    assert TOTPDevice.objects.get(confirmed=True).key == own.key
