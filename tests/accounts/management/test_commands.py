"""Management commands for accounts and API keys."""

import re
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from accounts.models.accounts import Account
from accounts.services.api_keys import create_api_key, find_api_key
from tests.command_line import (
    run_command,
    run_failing_command,
    run_json_command,
    run_manage_py,
)
from tests.conftest import NOW
from tests.factories.accounts import AccountFactory

KEY = r"aff_live_[0-9A-Za-z]{49}"
TIMESTAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"


def snapshot_all():
    """Return all accounts, API keys and audit log entries."""
    return [
        list(Account.objects.order_by("id").values()),
        [
            list(account.api_keys.order_by("id").values())
            + list(account.audit_log.order_by("id").values())
            for account in Account.objects.order_by("id")
        ],
    ]


# Creating accounts


@pytest.mark.django_db
def test_prints_the_slug_of_a_new_account():
    assert run_command("create_account", "acme", "--name", "Acme") == "acme\n"

    account = Account.objects.get(slug="acme")
    assert (account.name, account.plan.name) == ("Acme", "pro")
    assert (account.uses_payouts, account.pending_as_null) == (False, False)


@pytest.mark.django_db
def test_prints_a_new_account_as_json():
    output = run_json_command(
        "create_account",
        "acme",
        "--name",
        "Acme & Søn",
        "--plan",
        "enterprise",
        "--use-payouts",
        "--pending-as-null",
    )

    assert output == {
        "account": "acme",
        "name": "Acme & Søn",
        "plan": "enterprise",
        "use_payouts": True,
        "pending_as_null": True,
    }
    account = Account.objects.get(slug="acme")
    assert (account.uses_payouts, account.pending_as_null) == (True, True)


def test_rejects_a_duplicate_account(account):
    before = snapshot_all()

    reason = run_failing_command("create_account", "harbor", "--name", "Again")

    assert "harbor" in reason
    assert snapshot_all() == before


@pytest.mark.parametrize(
    "arguments",
    [
        *(["--", slug] for slug in ("Acme", "a b", "ačme", "-", "a/b", "")),
        ["acme", "--plan", "gold"],
        ["acme", "--name", "n" * 256],
    ],
    ids=ascii,
)
@pytest.mark.django_db
def test_creates_no_account_with_invalid_values(arguments):
    before = Account.objects.count()

    reason = run_failing_command("create_account", "--name", "Acme", *arguments)

    assert Account.objects.count() == before
    assert ("gold" in reason) is ("gold" in arguments)


# Locking accounts


@pytest.mark.parametrize(
    ("command", "locked"),
    [("lock_account", True), ("unlock_account", False)],
    ids=["lock", "unlock"],
)
def test_locks_and_unlocks(account, command, locked):
    assert run_command(command, "harbor").count("\n") == 1
    account.refresh_from_db()
    assert (account.locked_at is not None) == locked

    assert run_json_command(command, "harbor") == {
        "account": "harbor",
        "locked": locked,
    }


@pytest.mark.parametrize("command", ["lock_account", "unlock_account"])
def test_changes_nothing_when_it_is_repeated(account, command):
    run_command(command, "harbor")
    before = snapshot_all()

    assert run_command(command, "harbor").count("\n") == 1
    assert snapshot_all() == before


# Creating keys


def test_prints_only_the_new_key(account):
    out = run_command("create_api_key", "harbor")

    assert re.fullmatch(KEY + "\n", out)
    key = find_api_key(out.strip())
    assert (key.account, key.role, key.name) == (account, "viewer", "")


@pytest.mark.parametrize(
    ("choice", "role"),
    [
        (["--role", "viewer"], "viewer"),
        (["--role", "manager"], "manager"),
        (["--role", "owner"], "owner"),
        (["--read-only"], "viewer"),
        ([], "viewer"),
    ],
    ids=lambda choice: " ".join(choice) if isinstance(choice, list) else choice,
)
def test_prints_a_new_key_as_json(account, choice, role):
    output = run_json_command("create_api_key", "harbor", "--name", "shop", *choice)

    assert list(output) == ["key", "prefix", "name", "role"]
    assert output["prefix"] == output["key"][:12]
    assert (output["name"], output["role"]) == ("shop", role)
    assert find_api_key(output["key"]).role == role


def test_creates_no_key_with_a_label_that_is_too_long(account):
    run_failing_command("create_api_key", "harbor", "--name", "n" * 256)

    assert not account.api_keys.exists()


# Listing keys


@pytest.fixture
def keys(account):
    older, _ = create_api_key(account, name="old shop", role="viewer", at=NOW)
    newer, _ = create_api_key(account, name="new shop", role="owner", at=NOW + timedelta(days=1))
    older.update_row(last_used_at=NOW, revoked_at=NOW + timedelta(hours=1))
    return newer, older


def test_lists_keys_as_json_newest_first(keys):
    newer, older = keys

    assert run_json_command("list_api_keys", "harbor") == {
        "api_keys": [
            {
                "prefix": newer.prefix,
                "name": "new shop",
                "role": "owner",
                "created_at": "2026-03-05T09:15:27+00:00",
                "last_used_at": None,
                "revoked_at": None,
            },
            {
                "prefix": older.prefix,
                "name": "old shop",
                "role": "viewer",
                "created_at": "2026-03-04T09:15:27+00:00",
                "last_used_at": "2026-03-04T09:15:27+00:00",
                "revoked_at": "2026-03-04T10:15:27+00:00",
            },
        ]
    }


def test_lists_keys_in_a_table_without_color(keys):
    titles, *rows = run_command("list_api_keys", "harbor").splitlines()

    assert titles.split() == [*("Prefix", "Label", "Role", "Created", "Last", "used", "Revoked")]
    assert [row.split()[0] for row in rows] == [key.prefix for key in keys]
    assert "\x1b" not in "".join(rows)
    assert "old shop" in rows[1]
    assert "viewer" in rows[1]


@pytest.mark.parametrize("label", ["[/shop]", "[red]shop[/red]", "[0]", ":bell: shop"])
def test_lists_a_label_without_markup(account, label):
    create_api_key(account, name=label, role="viewer", at=NOW)

    assert label in run_command("list_api_keys", "harbor")


def test_lists_no_keys(account):
    assert run_json_command("list_api_keys", "harbor") == {"api_keys": []}
    assert len(run_command("list_api_keys", "harbor").splitlines()) == 1


def test_lists_no_key_of_another_account(account, other_account):
    create_api_key(other_account, name="zz-marker", role="viewer", at=NOW)

    assert "zz-marker" not in run_command("list_api_keys", "harbor")


def test_never_lists_a_key_itself(account):
    _, text = create_api_key(account, name="shop", role="viewer", at=NOW)

    for out in (
        run_command("list_api_keys", "harbor"),
        run_command("list_api_keys", "harbor", "--json"),
    ):
        assert text[12:] not in out


# Revoking keys


def test_revokes_a_key(account):
    key, text = create_api_key(account, name="shop", role="owner", at=NOW)

    text = run_command("revoke_api_key", "harbor", key.prefix)
    assert text == f"The key {key.prefix}… is revoked\n"
    assert find_api_key(text) is None


def test_revoking_a_key_again_prints_the_same_json(account):
    key, _ = create_api_key(account, name="shop", role="owner", at=NOW)

    first = run_json_command("revoke_api_key", "harbor", key.prefix)
    before = snapshot_all()
    again = run_json_command("revoke_api_key", "harbor", key.prefix)

    assert list(first) == ["prefix", "revoked_at"]
    assert first["prefix"] == key.prefix
    assert re.fullmatch(TIMESTAMP, first["revoked_at"])
    revoked_at = datetime.fromisoformat(first["revoked_at"])
    assert abs(datetime.now(UTC) - revoked_at) < timedelta(minutes=5)
    assert again == first
    assert snapshot_all() == before


def test_does_not_revoke_a_key_of_another_account(account, other_account):
    key, text = create_api_key(other_account, name="shop", role="owner", at=NOW)

    run_failing_command("revoke_api_key", "harbor", key.prefix)

    assert find_api_key(text) == key


def test_rejects_an_unknown_prefix(account):
    assert "aff_live_zzz" in run_failing_command("revoke_api_key", "harbor", "aff_live_zzz")


# Rules for all commands


def test_logs_the_command_as_actor(account):
    run_command("lock_account", "harbor")

    assert "lock_account" in account.audit_log.get().actor


@pytest.fixture
def slug(committed_db):
    """The slug of a committed account that only this test uses."""
    slug = f"acme-{uuid.uuid4().hex[:12]}"
    AccountFactory(slug=slug)
    return slug


@pytest.mark.engine_independent
def test_runs_as_a_process(slug):
    output = run_manage_py("create_api_key", slug, "--name", "shop", "--read-only")

    assert (output.exit_code, output.stderr) == (0, "")
    assert re.fullmatch(KEY + "\n", output.stdout)
    assert find_api_key(output.stdout.strip()).account.slug == slug


@pytest.mark.engine_independent
@pytest.mark.usefixtures("committed_db")
def test_prints_an_error_in_one_line():
    output = run_manage_py("lock_account", f"nobody-{uuid.uuid4().hex}", "--json")

    assert (output.exit_code, output.stdout) == (1, "")
    assert len(output.stderr.splitlines()) == 1
    assert "nobody-" in output.stderr
    assert "\x1b" not in output.stderr


@pytest.mark.engine_independent
def test_exits_with_2_on_wrong_arguments(slug):
    output = run_manage_py("create_api_key", slug, "--role", "admin")

    assert (output.exit_code, output.stdout) == (2, "")
    assert "admin" in output.stderr
    assert not Account.objects.get(slug=slug).api_keys.exists()
