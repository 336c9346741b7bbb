"""Setting a password at the command line."""

import io
import sys

import pytest

from accounts.models.api_keys import Role
from accounts.models.users import User
from accounts.services.staff import create_staff_user
from tests.command_line import run_command, run_failing_command, run_json_command
from tests.conftest import NOW

EMAIL = "anna@example.org"


@pytest.fixture(autouse=True)
def stdin(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("lamps-at-sea-7\n"))


@pytest.fixture
def anna(account):
    return create_user(account)


def create_user(account):
    return create_staff_user(account, email=EMAIL, role=Role.OWNER, password=None, at=NOW)[0]


def has_new_password(user):
    user.refresh_from_db()
    return user.check_password("lamps-at-sea-7")


def test_sets_the_password_of_the_only_user_with_an_address(account, anna):
    output = run_json_command("changepassword", "Anna@example.org", "--password-stdin")

    assert output == {"email": EMAIL, "account": "harbor"}
    assert has_new_password(anna)
    assert account.audit_log.filter(kind="staff.password_changed").count() == 1


def test_asks_for_the_account_of_an_address_that_has_several(account, anna, other_account):
    other = create_user(other_account)
    operator = User.objects.create_superuser(email=EMAIL)

    error = run_failing_command("changepassword", EMAIL, "--password-stdin")

    assert error.startswith(f"{EMAIL} signs in to several accounts")
    assert all(each in error for each in ('"harbor"', '"zz-marker"', '""'))
    assert not any(map(has_new_password, (anna, other, operator)))
    run_command("changepassword", EMAIL, "--account", "zz-marker", "--password-stdin")
    assert list(map(has_new_password, (anna, other, operator))) == [False, True, False]


def test_sets_the_password_of_an_operator(account, anna):
    operator = User.objects.create_superuser(email=EMAIL)

    run_command("changepassword", EMAIL, "--account", "", "--password-stdin")

    assert has_new_password(operator)
    assert not has_new_password(anna)


@pytest.mark.parametrize(
    ("email", "password", "message"),
    [
        ("nobody@example.org", "lamps-at-sea-7", "nobody@example.org"),
        (EMAIL, "short", "The password must be stronger"),
    ],
)
def test_says_what_is_wrong(anna, monkeypatch, email, password, message):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{password}\n"))

    assert message in run_failing_command("changepassword", email, "--password-stdin")
    assert not has_new_password(anna)
