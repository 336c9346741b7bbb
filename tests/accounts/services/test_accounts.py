"""Accounts: opened once, locked and unlocked as often as one likes."""

from datetime import timedelta

import pytest

from accounts.errors import (
    AccountExists,
    AccountLocked,
    OddSlug,
    UnknownAccount,
    UnknownPlan,
)
from accounts.models.accounts import Account, Plan
from accounts.services.accounts import (
    account_named,
    lock,
    open_account,
    plan_named,
    refuse_locked,
    unlock,
)
from tests.conftest import NOW

LATER = NOW + timedelta(hours=1)
KINDS = {"account.locked", "account.unlocked"}


def opened(slug="acme", **values):
    choices = {
        "name": "Acme",
        "plan": "pro",
        "uses_payouts": False,
        "pending_as_null": False,
        "at": NOW,
    }
    return open_account(slug=slug, **choices | values)


def locks_noted(account):
    events = account.events.filter(kind__in=KINDS).order_by("id")
    return list(events.values_list("kind", "created_at"))


@pytest.mark.django_db
def test_opens_an_account_and_notes_it():
    account = opened(uses_payouts=True, pending_as_null=True)

    stored = Account.objects.get(slug="acme")
    assert (stored.name, stored.plan.name, stored.created_at) == ("Acme", "pro", NOW)
    assert (stored.uses_payouts, stored.pending_as_null) == (True, True)
    assert stored.locked_at is None
    assert [event.created_at for event in account.events.all()] == [NOW]


@pytest.mark.parametrize("slug", ["", "Acme", "-acme", "a b", "a" * 65, "ačme"])
@pytest.mark.django_db
def test_refuses_a_slug_that_is_none(slug):
    with pytest.raises(OddSlug):
        opened(slug)


def test_refuses_a_slug_that_is_taken_and_changes_nothing(account):
    with pytest.raises(AccountExists) as refused:
        opened(account.slug, name="Another")

    assert refused.value.text == "There is an account 'harbor' already"
    assert Account.objects.get(slug="harbor").name == account.name
    assert not account.events.exists()


@pytest.mark.django_db
def test_refuses_a_plan_that_does_not_exist_and_names_those_that_do():
    with pytest.raises(UnknownPlan) as refused:
        opened(plan="gold")

    assert "basic, pro, enterprise" in refused.value.text
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
def test_finds_the_plans_of_the_first_migration(name, features):
    plan = plan_named(name)

    switches = {"api", "clicks", "bonuses", "mlm", "payouts"}
    assert {switch for switch in switches if getattr(plan, switch)} == features


@pytest.mark.django_db
def test_finds_three_plans_and_no_other():
    assert set(Plan.objects.values_list("name", flat=True)) == {
        "basic",
        "pro",
        "enterprise",
    }


def test_finds_an_account_by_its_slug_with_its_plan(account, statements):
    with statements() as asked:
        found = account_named("harbor")
        assert found.plan.name == "enterprise"

    assert found == account
    assert len(asked) == 1


@pytest.mark.parametrize("slug", ["unknown", "Harbor", ""])
def test_does_not_know_another_account(account, slug):
    with pytest.raises(UnknownAccount):
        account_named(slug)


def test_locks_once_however_often_it_is_asked(account):
    lock(account, at=NOW)
    lock(account, at=LATER)

    assert Account.objects.get(pk=account.pk).locked_at == NOW
    assert locks_noted(account) == [("account.locked", NOW)]


def test_unlocks_once_however_often_it_is_asked(account):
    lock(account, at=NOW)
    unlock(account, at=LATER)
    unlock(account, at=LATER)

    assert Account.objects.get(pk=account.pk).locked_at is None
    assert locks_noted(account) == [
        ("account.locked", NOW),
        ("account.unlocked", LATER),
    ]


def test_notes_nothing_when_an_open_account_is_unlocked(account):
    unlock(account, at=NOW)

    assert locks_noted(account) == []


def test_locks_no_other_account(account, other_account):
    lock(account, at=NOW)

    assert Account.objects.get(pk=other_account.pk).locked_at is None


def test_refuses_a_locked_account_in_the_words_of_the_spec(account):
    with pytest.raises(AccountLocked) as refused:
        refuse_locked(lock(account, at=NOW))

    assert refused.value.text == "Advertiser account locked"


def test_lets_an_open_account_pass(account):
    refuse_locked(unlock(lock(account, at=NOW), at=LATER))
