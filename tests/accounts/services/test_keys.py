"""Contract 1.4 and reliability.md, section 7: API keys."""

import hashlib
import re
from datetime import timedelta

import pytest
from django.apps import apps

from accounts.errors import UnknownKey
from accounts.ids import checksum
from accounts.models.keys import ApiKey, Role
from accounts.services import keys
from accounts.services.keys import issue, recognise, revoke, touch
from tests.conftest import NOW

MINUTE = timedelta(minutes=1)


def issued(account, *, name="shop", role=Role.OWNER, at=NOW):
    return issue(account, name=name, role=role, at=at)


def noted(account):
    events = account.events.filter(kind__startswith="api_key.").order_by("id")
    return list(events.values_list("kind", flat=True))


def test_issues_a_key_of_the_contracts_form(account):
    _, text = issued(account)

    assert re.fullmatch(r"aff_live_[0-9A-Za-z]{49}", text, re.ASCII)
    assert text[-6:] == checksum(text[:-6])


def test_issues_no_key_twice(account):
    assert len({issued(account)[1] for _ in range(20)}) == 20


def test_stores_the_digest_and_the_prefix(account):
    key, text = issued(account, role=Role.MANAGER)

    stored = account.api_keys.get(pk=key.pk)
    assert stored.digest == hashlib.sha256(text.encode()).hexdigest()
    assert stored.prefix == text[:12]
    assert (stored.name, stored.role, stored.created_at) == ("shop", "manager", NOW)
    assert (stored.last_used_at, stored.revoked_at) == (None, None)


def test_stores_the_key_itself_nowhere(account):
    _, text = issued(account)

    secret = text[12:]
    for model in apps.get_models():
        for row in model._base_manager.values():
            assert secret not in repr(row)


def test_notes_that_a_key_was_issued(account):
    key, _ = issued(account)

    event = account.events.get(kind="api_key.issued")
    assert key.prefix in event.subject
    assert event.created_at == NOW


def test_draws_again_until_the_prefix_is_free(account, monkeypatch):
    bodies = iter(["aaa" + "0" * 40, "aaa" + "1" * 40, "bbb" + "2" * 40])
    monkeypatch.setattr(keys, "random_text", lambda *_: next(bodies))

    prefixes = [issued(account)[0].prefix, issued(account)[0].prefix]

    assert prefixes == ["aff_live_aaa", "aff_live_bbb"]


def test_lets_two_accounts_have_the_same_prefix(account, other_account, monkeypatch):
    bodies = iter(["aaa" + "0" * 40, "aaa" + "1" * 40])
    monkeypatch.setattr(keys, "random_text", lambda *_: next(bodies))

    prefixes = {issued(account)[0].prefix, issued(other_account)[0].prefix}

    assert prefixes == {"aff_live_aaa"}


def test_recognises_a_key_with_account_and_plan_by_one_statement(account, statements):
    key, text = issued(account)

    with statements() as asked:
        found = recognise(text)
        assert found.account.plan.name == "enterprise"

    assert found == key
    assert found.account == account
    assert len(asked) == 1


def bent(text, at):
    return text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1 :]


ODD_KEYS = {
    "empty": lambda _: "",
    "a prefix alone": lambda text: text[:12],
    "one letter bent": lambda text: bent(text, 20),
    "the checksum bent": lambda text: bent(text, 57),
    "one letter short": lambda text: text[:-1],
    "one letter long": lambda text: text + "A",
    "a new line behind": lambda text: text + "\n",
    "white space around": lambda text: f" {text} ",
    "another environment": lambda text: text.replace("live", "test"),
    "upper case": lambda text: text.upper(),
    "not ascii": lambda text: text[:-1] + "ä",
    "bytes that are no text": lambda text: text[:-1] + "\udce4",
    "full-width digits": lambda text: text[:-6] + "\uff10" * 6,
    "very long": lambda text: text * 1000,
}


@pytest.mark.parametrize("bend", ODD_KEYS.values(), ids=ODD_KEYS)
def test_refuses_a_mistyped_key_without_asking_the_database(account, statements, bend):
    _, text = issued(account)

    with statements() as asked:
        assert recognise(bend(text)) is None

    assert len(asked) == 0


@pytest.mark.django_db
def test_does_not_recognise_a_key_that_was_never_issued():
    body = "aff_live_" + "x" * 43

    assert recognise(body + checksum(body)) is None


def test_does_not_recognise_a_revoked_key(account):
    key, text = issued(account)
    revoke(account, prefix=key.prefix, at=NOW)

    assert recognise(text) is None


def test_recognises_the_other_keys_after_one_was_revoked(account):
    revoke(account, prefix=issued(account)[0].prefix, at=NOW)
    key, text = issued(account)

    assert recognise(text) == key


def test_revokes_once_however_often_it_is_asked(account):
    key, _ = issued(account)

    first = revoke(account, prefix=key.prefix, at=NOW)
    again = revoke(account, prefix=key.prefix, at=NOW + MINUTE)

    assert first.revoked_at == again.revoked_at == NOW
    assert noted(account) == ["api_key.issued", "api_key.revoked"]


def test_does_not_revoke_a_key_of_another_account(account, other_account):
    foreign, text = issued(other_account)

    with pytest.raises(UnknownKey):
        revoke(account, prefix=foreign.prefix, at=NOW)

    assert recognise(text) == foreign


@pytest.mark.parametrize("prefix", ["", "aff_live_", "aff_live_zz%", "unknown"])
def test_does_not_know_another_prefix(account, prefix):
    issued(account)

    with pytest.raises(UnknownKey):
        revoke(account, prefix=prefix, at=NOW)


def test_remembers_the_use_of_a_key_at_most_once_a_minute(account, statements):
    key, _ = issued(account)
    touch(key, at=NOW)

    with statements() as asked:
        touch(key, at=NOW + MINUTE)
    assert len(asked) == 0
    assert account.api_keys.get(pk=key.pk).last_used_at == NOW

    later = NOW + MINUTE + timedelta(seconds=1)
    touch(key, at=later)
    assert account.api_keys.get(pk=key.pk).last_used_at == later


def test_writes_the_use_of_one_key_alone(account):
    key, _ = issued(account)
    other, _ = issued(account)

    touch(key, at=NOW)

    assert ApiKey.objects.get(pk=other.pk).last_used_at is None
