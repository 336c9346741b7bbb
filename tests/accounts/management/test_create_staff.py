"""operations.md, section 3: `create_staff`."""

import io
import sys

import pytest

from tests.command_line import is_refused_as_wrong, refusal, run, run_json

EMAIL = "owner@example.org"


@pytest.fixture
def typed(monkeypatch):
    """What stands on standard input: `typed("…")`."""
    return lambda text: monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_prints_the_address_and_a_password_that_was_made(account):
    told = run("create_staff", EMAIL, "--account", "harbor").splitlines()

    user = account.staff.get()
    assert told[0] == EMAIL
    assert user.check_password(told[1])
    assert user.role == "owner"


def test_reads_one_line_and_prints_the_address_alone(account, typed):
    typed("lamps-at-sea-7\nand more\n")

    told = run("create_staff", EMAIL, "--account", "harbor", "--password-stdin")

    assert told == f"{EMAIL}\n"
    assert account.staff.get().check_password("lamps-at-sea-7")


@pytest.mark.parametrize("given", [False, True])
def test_tells_it_as_json(account, typed, given):
    typed("lamps-at-sea-7\n")
    option = ["--password-stdin"] if given else []

    told = run_json(
        "create_staff", EMAIL, "--account", "harbor", "--role", "viewer", *option
    )

    password = told.pop("password")
    assert told == {"email": EMAIL, "account": "harbor", "role": "viewer"}
    assert (password is None) is given


def test_says_why_there_is_no_new_sign_in(account, typed):
    run("create_staff", EMAIL, "--account", "harbor")

    assert refusal("create_staff", EMAIL, "--account", "harbor") == (
        f"There is a sign-in '{EMAIL}' already"
    )
    assert refusal("create_staff", "zoe@example.org", "--account", "nobody") == (
        "There is no account 'nobody'"
    )
    typed("short\n")
    assert refusal(
        "create_staff", "z@example.org", "--account", "harbor", "--password-stdin"
    ).startswith("The password must be better: This password is too short.")
    assert is_refused_as_wrong(
        "create_staff", EMAIL, "--account", "harbor", "--role", "king"
    )
