"""The management command `create_staff`."""

import io
import sys

import pytest

from tests.command_line import (
    is_usage_error,
    run_command,
    run_failing_command,
    run_json_command,
)

EMAIL = "owner@example.org"


@pytest.fixture
def set_stdin(monkeypatch):
    """Replace standard input: `set_stdin("…")`."""
    return lambda text: monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_prints_the_address_and_a_generated_password(account):
    output = run_command("create_staff", "harbor", EMAIL, "--role", "owner").splitlines()

    user = account.staff.get()
    assert output[0] == EMAIL
    assert user.check_password(output[1])
    assert user.role == "owner"


def test_reads_a_password_line_and_prints_only_the_address(account, set_stdin):
    set_stdin("lamps-at-sea-7\nand more\n")

    output = run_command("create_staff", "harbor", EMAIL, "--role", "owner", "--password-stdin")

    assert output == f"{EMAIL}\n"
    assert account.staff.get().check_password("lamps-at-sea-7")


@pytest.mark.parametrize("from_stdin", [False, True])
def test_prints_json(account, set_stdin, from_stdin):
    set_stdin("lamps-at-sea-7\n")
    option = ["--password-stdin"] if from_stdin else []

    output = run_json_command("create_staff", "harbor", EMAIL, "--role", "finance", *option)

    password = output.pop("password")
    assert output == {"email": EMAIL, "account": "harbor", "role": "finance"}
    assert (password is None) is from_stdin


def test_prints_why_no_user_is_created(account, set_stdin):
    run_command("create_staff", "harbor", EMAIL, "--role", "owner")

    assert run_failing_command("create_staff", "harbor", EMAIL, "--role", "owner") == (
        f"A user with e-mail '{EMAIL}' already exists"
    )
    set_stdin("short\n")
    assert run_failing_command(
        "create_staff", "harbor", "z@example.org", "--role", "owner", "--password-stdin"
    ).startswith("The password must be stronger: This password is too short.")
    assert is_usage_error("create_staff", "harbor", EMAIL, "--role", "king")
