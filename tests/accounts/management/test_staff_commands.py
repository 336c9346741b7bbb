"""`list_staff`, `set_staff`, `list_accounts` and `list_audit_log`."""

import pytest
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.services.staff import create_staff_user
from tests.command_line import (
    is_usage_error,
    run_command,
    run_failing_command,
    run_json_command,
)
from tests.conftest import NOW

OWNER, OTHER = "owner@harbor.example.org", "other@harbor.example.org"


@pytest.fixture
def staff(account):
    """Two owners, by their addresses."""
    return {
        email: create_staff_user(
            account, email=email, role="owner", password="lamps-at-sea-7", at=NOW
        )[0]
        for email in (OWNER, OTHER)
    }


def test_lists_staff(account, staff, other_account):
    found = run_json_command("list_staff", "harbor")["staff"]

    assert [(row["email"], row["role"], row["is_active"]) for row in found] == [
        (OTHER, "owner", True),
        (OWNER, "owner", True),
    ]
    assert OWNER in run_command("list_staff", "harbor")
    assert run_json_command("list_staff", other_account.slug)["staff"] == []


def test_changes_a_role_but_never_that_of_the_last_owner(account, staff):
    text = run_command("set_staff", "harbor", OTHER, "--role", "finance")

    assert text == f"{OTHER} has the role finance\n"
    assert account.staff.get(email=OTHER).role == "finance"
    assert "owner" in run_failing_command("set_staff", "harbor", OWNER, "--deactivate")
    assert account.audit_log.filter(kind="staff.role_changed").count() == 1


def test_changes_an_address(account, staff):
    new = "Ada@Harbor.example.org"

    text = run_command("set_staff", "harbor", OTHER, "--email", new)

    assert text == f"{OTHER} signs in as {new.lower()}\n"
    user = account.staff.get(email=new.lower())
    assert (user.pk, user.check_password("lamps-at-sea-7")) == (staff[OTHER].pk, True)
    assert account.audit_log.get(kind="staff.email_changed").details == {"user_id": user.log_id}
    assert OWNER in run_failing_command("set_staff", "harbor", new, "--email", OWNER)
    for invalid in ("ada", ""):
        error = run_failing_command("set_staff", "harbor", OWNER, "--email", invalid)
        assert "name@example.org" in error
    assert OTHER in run_failing_command("set_staff", "harbor", OTHER, "--email", "x@harbor.example")


def test_ends_and_restores_the_access_of_a_user(account, staff):
    run_command("set_staff", "harbor", OTHER, "--deactivate")
    user = account.staff.get(email=OTHER)
    assert (user.is_active, user.has_usable_password()) == (False, False)

    result = run_json_command("set_staff", "harbor", OTHER, "--activate")

    user.refresh_from_db()
    assert (user.is_active, user.check_password(result["password"])) == (True, True)
    assert user.password_reset_at is None  # nobody of the account has done it


def test_removes_a_second_factor(account, staff):
    TOTPDevice.objects.create(user=staff[OTHER], name="Code")

    run_command("set_staff", "harbor", OTHER, "--remove-second-factor")

    assert not TOTPDevice.objects.exists()
    assert account.audit_log.filter(kind="staff.second_factor_removed").exists()


def test_changes_nobody_of_another_account(staff, other_account):
    text = run_failing_command("set_staff", other_account.slug, OTHER, "--deactivate")

    assert OTHER in text
    assert is_usage_error("set_staff", "harbor", OTHER)


def test_lists_all_accounts(account, other_account):
    found = run_json_command("list_accounts")["accounts"]

    assert {row["account"] for row in found} >= {"harbor", other_account.slug}
    assert list(found[0]) == ["account", "name", "plan", "locked_at", "created_at"]


def test_lists_what_was_changed(account, staff, other_account):
    run_command("set_staff", "harbor", OTHER, "--role", "viewer")

    (row,) = run_json_command("list_audit_log", "harbor", "--limit", "1")["audit_log"]
    assert (row["kind"], row["actor"]) == ("staff.role_changed", "command set_staff")
    rows = run_json_command("list_audit_log", "harbor", "--kind", "staff.created")
    assert len(rows["audit_log"]) == 2
    assert run_json_command("list_audit_log", other_account.slug)["audit_log"] == []
    for limit in ("0", "-1", "10001", "x"):
        assert is_usage_error("list_audit_log", "harbor", "--limit", limit)
