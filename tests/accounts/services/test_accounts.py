"""Create, find, lock and unlock accounts."""

from datetime import timedelta

import pytest

from accounts.errors import (
    AccountLocked,
    AccountNotFound,
    DuplicateAccount,
    InvalidSetting,
    InvalidSlug,
    PlanNotFound,
    UnknownTimeZone,
)
from accounts.models.accounts import Account, Plan
from accounts.services.accounts import (
    create_account,
    dismiss_onboarding,
    ensure_not_locked,
    get_account,
    get_plan,
    lock_account,
    unlock_account,
    update_settings,
)
from tests.conftest import NOW

LATER = NOW + timedelta(hours=1)
KINDS = {"account.locked", "account.unlocked"}


def make_account(slug="acme", **values):
    defaults = {
        "name": "Acme",
        "plan": "pro",
        "uses_payouts": False,
        "pending_as_null": False,
        "at": NOW,
    }
    return create_account(slug=slug, **defaults | values)


def list_logged_locks(account):
    events = account.audit_log.filter(kind__in=KINDS).order_by("id")
    return list(events.values_list("kind", "created_at"))


@pytest.mark.django_db
def test_creates_an_account_and_logs_it():
    account = make_account(uses_payouts=True, pending_as_null=True)

    stored = Account.objects.get(slug="acme")
    assert (stored.name, stored.plan.name, stored.created_at) == ("Acme", "pro", NOW)
    assert (stored.uses_payouts, stored.pending_as_null) == (True, True)
    assert stored.locked_at is None
    assert [event.created_at for event in account.audit_log.all()] == [NOW]


@pytest.mark.parametrize("slug", ["", "Acme", "-acme", "a b", "a" * 65, "ačme"])
@pytest.mark.django_db
def test_rejects_an_invalid_slug(slug):
    with pytest.raises(InvalidSlug):
        make_account(slug)


def test_rejects_a_duplicate_slug(account):
    with pytest.raises(DuplicateAccount) as error:
        make_account(account.slug, name="Another")

    assert error.value.text == "Account 'harbor' already exists"
    assert Account.objects.get(slug="harbor").name == account.name
    assert not account.audit_log.exists()


@pytest.mark.django_db
def test_rejects_an_unknown_plan_and_lists_the_plans():
    with pytest.raises(PlanNotFound) as error:
        make_account(plan="gold")

    assert "basic, pro, enterprise" in error.value.text
    assert not Account.objects.filter(slug="acme").exists()


@pytest.mark.parametrize(
    ("name", "features"),
    [
        ("basic", set()),
        ("pro", {"api", "clicks"}),
        ("enterprise", {"api", "clicks", "bonuses", "mlm", "payouts"}),
    ],
    ids=["basic", "pro", "enterprise"],
)
@pytest.mark.django_db
def test_plans_have_the_features_of_the_initial_migration(name, features):
    plan = get_plan(name)

    flags = {"api", "clicks", "bonuses", "mlm", "payouts"}
    assert {flag for flag in flags if getattr(plan, flag)} == features


@pytest.mark.django_db
def test_there_are_exactly_three_plans():
    assert set(Plan.objects.values_list("name", flat=True)) == {
        "basic",
        "pro",
        "enterprise",
    }


def test_finds_an_account_by_its_slug_with_its_plan(account, capture_queries):
    with capture_queries() as queries:
        found = get_account("harbor")
        assert found.plan.name == "enterprise"

    assert found == account
    assert len(queries) == 1


@pytest.mark.parametrize("slug", ["unknown", "Harbor", ""])
def test_rejects_an_unknown_account(account, slug):
    with pytest.raises(AccountNotFound):
        get_account(slug)


def test_locking_is_idempotent(account):
    lock_account(account, at=NOW)
    lock_account(account, at=LATER)

    assert Account.objects.get(pk=account.pk).locked_at == NOW
    assert list_logged_locks(account) == [("account.locked", NOW)]


def test_unlocking_is_idempotent(account):
    lock_account(account, at=NOW)
    unlock_account(account, at=LATER)
    unlock_account(account, at=LATER)

    assert Account.objects.get(pk=account.pk).locked_at is None
    assert list_logged_locks(account) == [
        ("account.locked", NOW),
        ("account.unlocked", LATER),
    ]


def test_logs_nothing_when_an_unlocked_account_is_unlocked(account):
    unlock_account(account, at=NOW)

    assert list_logged_locks(account) == []


def test_locks_no_other_account(account, other_account):
    lock_account(account, at=NOW)

    assert Account.objects.get(pk=other_account.pk).locked_at is None


def test_rejects_a_locked_account_with_the_specified_message(account):
    with pytest.raises(AccountLocked) as error:
        ensure_not_locked(lock_account(account, at=NOW))

    assert error.value.text == "Advertiser account locked"


def test_accepts_an_unlocked_account(account):
    ensure_not_locked(unlock_account(lock_account(account, at=NOW), at=LATER))


def test_sets_the_time_zone_and_logs_the_change_once(account, other_account):
    for _ in range(2):
        update_settings(account, changes={"time_zone": "Europe/Berlin"}, at=NOW)

    zones = Account.objects.values_list("slug", "time_zone")
    assert dict(zones) == {account.slug: "Europe/Berlin", other_account.slug: "UTC"}
    entry = account.audit_log.get(kind="account.settings_changed")
    assert entry.details == {"time_zone": ["UTC", "Europe/Berlin"]}


@pytest.mark.parametrize(
    "name", ["", "Europe", "Mars/Olympus", "europe/berlin", "../etc/passwd", "+02:00"]
)
def test_rejects_an_unknown_time_zone(account, name):
    with pytest.raises(UnknownTimeZone) as error:
        update_settings(account, changes={"time_zone": name}, at=NOW)

    assert error.value.text.endswith("enter a name like Europe/Berlin")
    assert Account.objects.get(pk=account.pk).time_zone == "UTC"
    assert not account.audit_log.exists()


def test_dismisses_the_onboarding_once(account):
    dismiss_onboarding(account, at=NOW)
    dismiss_onboarding(account, at=LATER)

    assert Account.objects.get(pk=account.pk).onboarding_dismissed_at == NOW
    entry = account.audit_log.get(kind="account.onboarding_dismissed")
    assert entry.created_at == NOW


def test_logs_only_the_settings_that_change(account, other_account):
    changes = {"name": account.name, "require_second_factor": True}
    for _ in range(2):
        update_settings(account, changes=changes, at=NOW)

    accounts = Account.objects.values_list("slug", "require_second_factor")
    assert dict(accounts) == {account.slug: True, other_account.slug: False}
    entry = account.audit_log.get(kind="account.settings_changed")
    assert entry.details == {"require_second_factor": [False, True]}


@pytest.mark.parametrize("name", ["", " ", "n" * 256, "a\nb", "a\x00b", "a\u202eb"])
def test_rejects_a_name_that_is_not_a_line_of_text(account, name):
    with pytest.raises(InvalidSetting, match="The name must be") as error:
        update_settings(account, changes={"name": name}, at=NOW)

    assert error.value.path == "name"
    assert Account.objects.get(pk=account.pk).name == account.name
