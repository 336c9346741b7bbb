"""operations.md, section 3: accounts and their keys, at the command line."""

import re
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from accounts.models.accounts import Account
from accounts.services.keys import issue, recognise
from tests.command_line import is_refused_as_wrong, manage, refusal, run, run_json
from tests.conftest import NOW
from tests.factories.accounts import AccountFactory

KEY = r"aff_live_[0-9A-Za-z]{49}"
MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"


def everything():
    """All accounts, keys and events: what a refused command must not touch."""
    return [
        list(Account.objects.order_by("id").values()),
        [
            list(account.api_keys.order_by("id").values())
            + list(account.events.order_by("id").values())
            for account in Account.objects.order_by("id")
        ],
    ]


# Making accounts


@pytest.mark.django_db
def test_prints_the_slug_of_a_new_account():
    assert run("create_account", "acme", "--name", "Acme") == "acme\n"

    account = Account.objects.get(slug="acme")
    assert (account.name, account.plan.name) == ("Acme", "pro")
    assert (account.uses_payouts, account.pending_as_null) == (False, False)


@pytest.mark.django_db
def test_tells_a_new_account_as_json():
    told = run_json(
        "create_account",
        "acme",
        "--name",
        "Acme & Søn",
        "--plan",
        "enterprise",
        "--use-payouts",
        "--pending-as-null",
    )

    assert told == {
        "account": "acme",
        "name": "Acme & Søn",
        "plan": "enterprise",
        "use_payouts": True,
        "pending_as_null": True,
    }
    account = Account.objects.get(slug="acme")
    assert (account.uses_payouts, account.pending_as_null) == (True, True)


def test_says_that_an_account_exists(account):
    before = everything()

    reason = refusal("create_account", "harbor", "--name", "Again")

    assert "harbor" in reason
    assert everything() == before


@pytest.mark.parametrize("slug", ["Acme", "a b", "ačme", "-", "a/b", ""], ids=ascii)
@pytest.mark.django_db
def test_makes_no_account_of_an_odd_slug(slug):
    refusal("create_account", "--name", "Acme", "--", slug)

    assert not Account.objects.filter(name="Acme").exists()


@pytest.mark.django_db
def test_makes_no_account_on_an_unknown_plan():
    reason = refusal("create_account", "acme", "--name", "Acme", "--plan", "gold")

    assert "gold" in reason
    assert not Account.objects.filter(slug="acme").exists()


@pytest.mark.django_db
def test_makes_no_account_with_a_name_that_no_column_holds():
    refusal("create_account", "acme", "--name", "n" * 256)

    assert not Account.objects.filter(slug="acme").exists()


# Locking them


@pytest.mark.parametrize(
    ("command", "locked"),
    [("lock_account", True), ("unlock_account", False)],
    ids=["lock", "unlock"],
)
def test_locks_and_unlocks_without_a_word(account, command, locked):
    assert run(command, "harbor") == ""
    account.refresh_from_db()
    assert (account.locked_at is not None) == locked

    assert run_json(command, "harbor") == {"account": "harbor", "locked": locked}


def test_changes_nothing_when_a_locked_account_is_locked(account):
    run("lock_account", "harbor")
    before = everything()

    assert run("lock_account", "harbor") == ""
    assert everything() == before


def test_changes_nothing_when_an_open_account_is_unlocked(account):
    before = everything()

    assert run("unlock_account", "harbor") == ""
    assert everything() == before


# Making keys


def test_prints_a_new_key_alone(account):
    out = run("create_api_key", "harbor")

    assert re.fullmatch(KEY + "\n", out)
    key = recognise(out.strip())
    assert (key.account, key.role, key.name) == (account, "owner", "")


@pytest.mark.parametrize(
    ("choice", "role"),
    [
        (["--role", "viewer"], "viewer"),
        (["--role", "manager"], "manager"),
        (["--role", "owner"], "owner"),
        (["--read-only"], "viewer"),
        ([], "owner"),
    ],
    ids=lambda choice: " ".join(choice) if isinstance(choice, list) else choice,
)
def test_tells_a_new_key_as_json(account, choice, role):
    told = run_json("create_api_key", "harbor", "--name", "shop", *choice)

    assert list(told) == ["key", "prefix", "name", "role"]
    assert told["prefix"] == told["key"][:12]
    assert (told["name"], told["role"]) == ("shop", role)
    assert recognise(told["key"]).role == role


def test_makes_another_key_each_time(account):
    assert run("create_api_key", "harbor") != run("create_api_key", "harbor")


def test_makes_no_key_with_a_label_that_no_column_holds(account):
    refusal("create_api_key", "harbor", "--name", "n" * 256)

    assert not account.api_keys.exists()


# Listing keys


@pytest.fixture
def keys(account):
    older, _ = issue(account, name="old shop", role="viewer", at=NOW)
    newer, _ = issue(account, name="new shop", role="owner", at=NOW + timedelta(days=1))
    older.change(last_used_at=NOW, revoked_at=NOW + timedelta(hours=1))
    return newer, older


def test_lists_keys_as_json_newest_first(keys):
    newer, older = keys

    assert run_json("list_api_keys", "harbor") == {
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


def test_lists_keys_in_a_table_without_colour(keys):
    titles, *rows = run("list_api_keys", "harbor").splitlines()

    assert titles.split() == [
        "Prefix",
        "Label",
        "Role",
        "Created",
        "Last",
        "used",
        "Revoked",
    ]
    assert [row.split()[0] for row in rows] == [key.prefix for key in keys]
    assert "\x1b" not in "".join(rows)
    assert "old shop" in rows[1]
    assert "viewer" in rows[1]


@pytest.mark.parametrize("label", ["[/shop]", "[red]shop[/red]", "[0]", ":bell: shop"])
def test_lists_a_label_as_it_is(account, label):
    issue(account, name=label, role="viewer", at=NOW)

    assert label in run("list_api_keys", "harbor")


def test_lists_no_key(account):
    assert run_json("list_api_keys", "harbor") == {"api_keys": []}
    assert len(run("list_api_keys", "harbor").splitlines()) == 1


def test_lists_no_key_of_another_account(account, other_account):
    issue(other_account, name="zz-marker", role="viewer", at=NOW)

    assert "zz-marker" not in run("list_api_keys", "harbor")


def test_never_lists_a_key_itself(account):
    _, text = issue(account, name="shop", role="viewer", at=NOW)

    for out in (
        run("list_api_keys", "harbor"),
        run("list_api_keys", "harbor", "--json"),
    ):
        assert text[12:] not in out


# Revoking keys


def test_revokes_a_key_without_a_word(account):
    key, text = issue(account, name="shop", role="owner", at=NOW)

    assert run("revoke_api_key", "harbor", key.prefix) == ""
    assert recognise(text) is None


def test_tells_a_revoked_key_as_json_the_same_again(account):
    key, _ = issue(account, name="shop", role="owner", at=NOW)

    first = run_json("revoke_api_key", "harbor", key.prefix)
    before = everything()
    again = run_json("revoke_api_key", "harbor", key.prefix)

    assert list(first) == ["prefix", "revoked_at"]
    assert first["prefix"] == key.prefix
    assert re.fullmatch(MOMENT, first["revoked_at"])
    moment = datetime.fromisoformat(first["revoked_at"])
    assert abs(datetime.now(UTC) - moment) < timedelta(minutes=5)
    assert again == first
    assert everything() == before


def test_does_not_revoke_a_key_of_another_account(account, other_account):
    key, text = issue(other_account, name="shop", role="owner", at=NOW)

    refusal("revoke_api_key", "harbor", key.prefix)

    assert recognise(text) == key


def test_does_not_know_a_prefix(account):
    assert "aff_live_zzz" in refusal("revoke_api_key", "harbor", "aff_live_zzz")


# Rules for all


ON_AN_ACCOUNT = {
    "lock_account": ["unknown"],
    "unlock_account": ["unknown"],
    "create_api_key": ["unknown"],
    "list_api_keys": ["unknown"],
    "revoke_api_key": ["unknown", "aff_live_abc"],
}


@pytest.mark.parametrize("command", ON_AN_ACCOUNT)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_does_not_know_an_account(account, command, form):
    before = everything()

    assert "unknown" in refusal(command, *ON_AN_ACCOUNT[command], *form)
    assert everything() == before


WRONG = {
    "no account": ["lock_account"],
    "an account too many": ["lock_account", "harbor", "beacon"],
    "an option that is none": ["unlock_account", "harbor", "--hard"],
    "no name": ["create_account", "acme"],
    "a role that is none": ["create_api_key", "harbor", "--role", "admin"],
    "two roles": ["create_api_key", "harbor", "--read-only", "--role", "manager"],
    "no prefix": ["revoke_api_key", "harbor"],
    "no account to list": ["list_api_keys"],
}


@pytest.mark.parametrize("command", WRONG.values(), ids=WRONG)
def test_stops_at_wrong_arguments(account, command):
    before = everything()

    assert is_refused_as_wrong(*command)
    assert everything() == before


def test_knows_the_command_in_the_diary(account):
    run("lock_account", "harbor")

    assert "lock_account" in account.events.get().actor


@pytest.fixture
def slug(committed):
    """An account of this test's own, stored for good."""
    slug = f"acme-{uuid.uuid4().hex[:12]}"
    AccountFactory(slug=slug)
    return slug


def test_works_as_a_process(slug):
    told = manage("create_api_key", slug, "--name", "shop", "--read-only")

    assert (told.code, told.err) == (0, "")
    assert re.fullmatch(KEY + "\n", told.out)
    assert recognise(told.out.strip()).account.slug == slug


@pytest.mark.usefixtures("committed")
def test_says_in_one_line_that_it_cannot_be_done():
    told = manage("lock_account", f"nobody-{uuid.uuid4().hex}", "--json")

    assert (told.code, told.out) == (1, "")
    assert len(told.err.splitlines()) == 1
    assert "nobody-" in told.err
    assert "\x1b" not in told.err


def test_exits_with_2_at_wrong_arguments(slug):
    told = manage("create_api_key", slug, "--role", "admin")

    assert (told.code, told.out) == (2, "")
    assert "admin" in told.err
    assert not Account.objects.get(slug=slug).api_keys.exists()
