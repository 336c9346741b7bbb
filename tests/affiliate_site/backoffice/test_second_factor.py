"""reliability.md, T21: a second factor, for who wants one, where STAFF_OTP is on."""

import os
import subprocess
import sys
from datetime import timedelta

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse
from django_otp.oath import totp
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.models.keys import Role
from accounts.models.users import User
from accounts.services.staff import invite_staff, new_password
from affiliate_site.backoffice.second_factor import spelled
from tests.affiliate_site.backoffice.people import EMAIL, PASSWORD
from tests.architecture.tree import ROOT
from tests.conftest import NOW

PAGE = "/admin/second-factor/"
STEP = timedelta(seconds=30)


@pytest.fixture(autouse=True)
def clock(time_machine):
    """The time stands still between the codes."""
    time_machine.move_to(NOW, tick=False)
    return time_machine


@pytest.fixture
def owner(account):
    return invite(account, EMAIL)


@pytest.fixture
def stranger(other_account):
    return invite(other_account, "may@zz-marker.example.org")


@pytest.fixture
def device(owner, clock):
    """A device of the owner, whose first code is yet to come."""
    return TOTPDevice.objects.create(user=owner, name="Code")


def invite(account, email, role=Role.OWNER):
    return invite_staff(account, email=email, role=role, password=PASSWORD, at=NOW)[0]


def code_of(device):
    return f"{totp(device.bin_key):06d}"


def wrong_for(device):
    """A code that is none of the device's around this time."""
    near = {totp(device.bin_key, drift=drift) for drift in range(-3, 4)}
    return next(f"{it:06d}" for it in range(10) if it not in near)


def sign_in(client, password=PASSWORD, address="203.0.113.7", email=EMAIL, **told):
    form = {"username": email, "password": password} | told
    return client.post("/admin/login/", form, REMOTE_ADDR=address)


def is_let_in(client):
    return client.get("/admin/").status_code == 200


def signed_in(user):
    client = Client()
    client.force_login(user)
    return client


def told_by(client, step, **form):
    """The messages that came of a step."""
    answer = client.post(f"{PAGE}{step}/", form, follow=True)
    assert answer.status_code == 200
    return " ".join(str(it) for it in answer.context["messages"])


def kinds(account):
    events = account.events.filter(kind__startswith="staff.second_factor")
    return list(events.order_by("pk").values_list("kind", flat=True))


def flaw_of(answer):
    assert answer.status_code == 200
    return answer.context["form"].errors


# Signing in


@pytest.mark.parametrize("code", [{}, {"code": ""}, {"code": "123456"}])
def test_asks_nobody_without_a_device(owner, client, code):
    assert sign_in(client, **code).status_code == 302
    assert is_let_in(client)


def test_has_a_place_for_the_code_before_the_button(client, db):
    page = client.get("/admin/login/").content.decode()

    assert page.index("Code, if you use one") < page.index("Log in <span")
    assert page.count('name="code"') == 1


@pytest.mark.parametrize("blank", ["", " "])
def test_lets_in_with_a_code(device, client, blank):
    code = code_of(device)

    assert sign_in(client, code=f"{code[:3]}{blank}{code[3:]}").status_code == 302
    assert is_let_in(client)


def test_says_the_same_of_no_code_a_wrong_one_and_a_wrong_password(device, client):
    wrong = flaw_of(sign_in(client, password="another-password"))

    for code in ("", wrong_for(device), "one"):
        assert flaw_of(sign_in(Client(), address="198.51.100.9", code=code)) == wrong
    right = {"code": code_of(device), "password": "another-password"}
    assert flaw_of(sign_in(client, **right)) == wrong


@pytest.mark.parametrize("code", ["one", "١٢٣", "-1", "9" * 5000, "1_2", "\x00"])
def test_lets_nobody_in_with_an_odd_code(device, client, code):
    assert sign_in(client, code=code).status_code == 200
    assert not is_let_in(client)


def test_takes_a_code_once(device, client, clock):
    code = code_of(device)
    assert sign_in(client, code=code).status_code == 302

    assert sign_in(Client(), code=code).status_code == 200
    clock.shift(STEP)
    assert sign_in(Client(), code=code_of(device)).status_code == 302


def test_spends_no_code_on_a_wrong_password(device, client):
    code = code_of(device)
    sign_in(client, password="another-password", code=code)

    assert sign_in(client, code=code).status_code == 302


def test_slows_down_after_a_wrong_code(device, client, clock):
    sign_in(client, code=wrong_for(device))

    assert sign_in(client, code=code_of(device)).status_code == 200
    clock.shift(2)
    assert sign_in(client, code=code_of(device)).status_code == 302


def test_counts_wrong_codes_as_wrong_passwords(device, client):
    for _ in range(5):
        assert sign_in(client, code=wrong_for(device)).status_code == 200

    assert sign_in(client, code=code_of(device)).status_code == 429


def test_takes_no_code_of_another_device(device, stranger, client):
    theirs = TOTPDevice.objects.create(user=stranger, name="Code")

    assert sign_in(client, code=code_of(theirs)).status_code == 200
    assert not is_let_in(client)


def test_asks_for_no_code_of_a_device_that_was_not_confirmed(device, client):
    TOTPDevice.objects.update(confirmed=False)

    assert sign_in(client).status_code == 302


def test_knows_no_session_without_its_code(owner, client):
    """It was there before the device, or the switch was off for a while."""
    sign_in(client)
    assert is_let_in(client)
    TOTPDevice.objects.create(user=owner, name="Code")

    for name in ("index", "second_factor", "password_change", "search"):
        answer = client.get(reverse(f"admin:{name}"))
        assert answer.status_code == 302
        assert answer["Location"].startswith("/admin/login/")
    assert client.get("/admin/login/").status_code == 200


# The page


def test_adds_a_device(owner, account, client, clock):
    sign_in(client)
    assert "Second factor" in client.get("/admin/").content.decode()
    assert "Add a device" in client.get(PAGE).content.decode()
    told_by(client, "begin")

    device = TOTPDevice.objects.get()
    page = client.get(PAGE)
    assert spelled(device) in page.content.decode()
    assert "<svg" in page.content.decode()
    assert "no-store" in page["Cache-Control"]
    assert kinds(account) == []
    assert "is on" in told_by(client, "confirm", code=f" {code_of(device)}")

    assert is_let_in(client)
    device.refresh_from_db()
    assert device.confirmed
    assert kinds(account) == ["staff.second_factor_added"]
    page = client.get(PAGE).content.decode()
    assert spelled(device) not in page
    assert "<code" not in page
    clock.shift(STEP)
    assert sign_in(Client()).status_code == 200
    assert sign_in(Client(), code=code_of(device)).status_code == 302


def test_ends_the_sessions_that_know_no_code(owner):
    here, there = signed_in(owner), signed_in(owner)
    told_by(here, "begin")
    told_by(here, "confirm", code=code_of(TOTPDevice.objects.get()))

    assert (is_let_in(here), is_let_in(there)) == (True, False)


def test_adds_no_device_that_shows_a_wrong_code(owner, account, clock):
    client = signed_in(owner)
    told_by(client, "begin")
    device = TOTPDevice.objects.get()

    for code in (wrong_for(device), "", "one"):
        assert "not right" in told_by(client, "confirm", code=code)
        clock.shift(10)

    device.refresh_from_db()
    assert not device.confirmed
    assert kinds(account) == []
    assert sign_in(Client()).status_code == 302


def test_confirms_nothing_that_was_not_begun(owner):
    client = signed_in(owner)

    assert "not right" in told_by(client, "confirm", code="123456")
    assert not TOTPDevice.objects.exists()


def test_begins_anew_with_another_secret(owner):
    client = signed_in(owner)
    told_by(client, "begin")
    first = TOTPDevice.objects.get()
    told_by(client, "begin")

    assert TOTPDevice.objects.get().key != first.key


def test_exchanges_no_device_behind_its_back(device, client):
    sign_in(client, code=code_of(device))

    told_by(client, "begin")

    assert TOTPDevice.objects.get().key == device.key


@pytest.mark.parametrize("by", ["password", "code"])
def test_removes_a_device(device, account, client, clock, by):
    sign_in(client, code=code_of(device))
    clock.shift(STEP)
    proof = PASSWORD if by == "password" else code_of(device)

    assert "is off" in told_by(client, "remove", proof=proof)

    assert not TOTPDevice.objects.exists()
    assert kinds(account) == ["staff.second_factor_removed"]
    assert is_let_in(client)
    assert sign_in(Client()).status_code == 302


def test_removes_no_device_without_a_proof(device, account, client):
    code = code_of(device)
    sign_in(client, code=code)

    for proof in ("", "another-password", code):
        assert "neither" in told_by(client, "remove", proof=proof)

    assert TOTPDevice.objects.get() == device
    assert kinds(account) == []


def test_lets_nobody_guess_the_proof(device, client):
    sign_in(client, code=code_of(device))
    guess = {"path": f"{PAGE}remove/", "data": {"proof": "guess"}}
    for _ in range(5):
        client.post(**guess)

    assert client.post(**guess).status_code == 429
    assert TOTPDevice.objects.exists()


def test_reaches_no_device_of_somebody_else(device, owner, account, stranger):
    """Not shown, not confirmed, not removed: neither in another account nor in one."""
    pending = TOTPDevice.objects.create(user=owner, name="Code", confirmed=False)
    colleague = invite(account, "zoe@harbor.example.org")

    for client in map(signed_in, (stranger, colleague)):
        page = client.get(PAGE).content.decode()
        for it in (device, pending):
            assert spelled(it) not in page
            told_by(client, "confirm", code=code_of(it))
            assert "neither" not in told_by(client, "remove", proof=PASSWORD)

    assert set(TOTPDevice.objects.values_list("pk", "confirmed")) == {
        (device.pk, True),
        (pending.pk, False),
    }


@pytest.mark.parametrize("step", ["", "begin/", "confirm/", "remove/"])
def test_is_for_who_is_signed_in(db, client, step):
    answer = client.get(f"{PAGE}{step}")

    assert answer.status_code == 302
    assert answer["Location"].startswith("/admin/login/")


@pytest.mark.parametrize("step", ["begin/", "confirm/", "remove/"])
def test_changes_nothing_by_a_link(owner, step):
    assert signed_in(owner).get(f"{PAGE}{step}").status_code == 405


def test_is_for_operators_too(db, clock):
    operator = User.objects.create_superuser("ops@example.org", PASSWORD)
    client = signed_in(operator)
    told_by(client, "begin")
    device = TOTPDevice.objects.get()
    told_by(client, "confirm", code=code_of(device))
    clock.shift(STEP)

    email = operator.email
    assert sign_in(Client(), email=email).status_code == 200
    assert sign_in(Client(), email=email, code=code_of(device)).status_code == 302
    assert "is off" in told_by(client, "remove", proof=PASSWORD)


# A lost device


def test_is_gone_with_a_new_password(device, account):
    made = new_password(account, email=EMAIL, at=NOW)

    assert sign_in(Client(), password=made).status_code == 302
    assert kinds(account) == ["staff.second_factor_removed"]


def test_is_gone_when_an_owner_gives_a_new_password(device, owner, account, stranger):
    theirs = TOTPDevice.objects.create(user=stranger, name="Code")
    client = signed_in(invite(account, "zoe@harbor.example.org"))
    form = {"action": "renew_password", "_selected_action": [owner.pk]}

    answer = client.post(
        reverse("admin:accounts_user_changelist"), form | {"confirmed": "yes"}
    )

    assert sign_in(Client(), password=answer.context["secret"]).status_code == 302
    assert list(TOTPDevice.objects.all()) == [theirs]


def test_says_nothing_of_one_that_there_was_not(owner, account):
    new_password(account, email=EMAIL, at=NOW)

    assert kinds(account) == []


# Its secret


def test_has_no_list_of_devices():
    assert TOTPDevice not in admin.site._registry


def test_tells_no_secret(owner, account, caplog, capfd):
    client = signed_in(owner)
    told_by(client, "begin")
    device = TOTPDevice.objects.get()
    told_by(client, "confirm", code=code_of(device))

    asked = {"accounts_user_changelist": {}, "search": {"s": EMAIL, "extended": "1"}}
    seen = [
        client.get(reverse(f"admin:{name}"), told).content.decode()
        for name, told in asked.items()
    ]
    export = client.get(reverse("admin:accounts_user_export"))
    seen += [b"".join(export.streaming_content).decode(), caplog.text]
    seen += [str(list(account.events.values())), *capfd.readouterr()]
    for text in seen:
        assert device.key not in text
        assert spelled(device) not in text
        assert spelled(device).replace(" ", "") not in text


# Off

OFF = """
import sys, django
django.setup()
from django.contrib import admin
from django.apps import apps
from django.conf import settings
import affiliate_site.urls
paths = [str(path.pattern) for path in admin.site.get_urls()]
assert "login/" in paths and not any("second" in it for it in paths), paths
assert list(admin.site.login_form.base_fields) == ["username", "password"]
assert not [it for it in sys.modules if it.startswith("django_otp")]
assert "affiliate_site.backoffice.second_factor" not in sys.modules
assert not any("otp" in it.label for it in apps.get_app_configs())
assert "ACCOUNT" not in settings.UNFOLD
"""


@pytest.mark.parametrize("told", [{}, {"STAFF_OTP": "off"}])
def test_leaves_no_trace_where_it_is_off(told):
    rest = {
        name: value
        for name, value in os.environ.items()
        if name not in ("STAFF_OTP", "DJANGO_SETTINGS_MODULE")
    }

    done = subprocess.run(  # noqa: S603 - our own lines
        [sys.executable, "-c", OFF],
        cwd=ROOT,
        env=rest | told | {"DJANGO_SETTINGS_MODULE": "affiliate_site.settings"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
