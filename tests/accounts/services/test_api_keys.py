"""docs/api-contract.md, section 1.4: API keys."""

import hashlib
import re
from datetime import timedelta

import pytest
from django.apps import apps

from accounts.errors import ApiKeyNotFound
from accounts.ids import calculate_checksum
from accounts.models.api_keys import ApiKey, Role
from accounts.services import api_keys
from accounts.services.api_keys import (
    create_api_key,
    find_api_key,
    record_api_key_use,
    revoke_api_key,
)
from tests.conftest import NOW

MINUTE = timedelta(minutes=1)


def make_key(account, *, name="shop", role=Role.OWNER, at=NOW):
    return create_api_key(account, name=name, role=role, at=at)


def list_logged_kinds(account):
    events = account.audit_log.filter(kind__startswith="api_key.").order_by("id")
    return list(events.values_list("kind", flat=True))


def test_creates_a_key_in_the_specified_format(account):
    _, text = make_key(account)

    assert re.fullmatch(r"aff_live_[0-9A-Za-z]{49}", text, re.ASCII)
    assert text[-6:] == calculate_checksum(text[:-6])


def test_creates_unique_keys(account):
    assert len({make_key(account)[1] for _ in range(20)}) == 20


def test_stores_the_digest_and_the_prefix(account):
    key, text = make_key(account, role=Role.MANAGER)

    stored = account.api_keys.get(pk=key.pk)
    assert stored.digest == hashlib.sha256(text.encode()).hexdigest()
    assert stored.prefix == text[:12]
    assert (stored.name, stored.role, stored.created_at) == ("shop", "manager", NOW)
    assert (stored.last_used_at, stored.revoked_at) == (None, None)


def test_does_not_store_the_key_itself(account):
    _, text = make_key(account)

    secret = text[12:]
    for model in apps.get_models():
        for row in model._base_manager.values():
            assert secret not in repr(row)


def test_logs_the_creation_of_a_key(account):
    key, _ = make_key(account)

    event = account.audit_log.get(kind="api_key.created")
    assert key.prefix in event.subject
    assert event.created_at == NOW


def test_retries_until_the_prefix_is_unique(account, monkeypatch):
    bodies = iter(["aaa" + "0" * 40, "aaa" + "1" * 40, "bbb" + "2" * 40])
    monkeypatch.setattr(api_keys, "generate_random_text", lambda *_: next(bodies))

    prefixes = [make_key(account)[0].prefix, make_key(account)[0].prefix]

    assert prefixes == ["aff_live_aaa", "aff_live_bbb"]


def test_two_accounts_can_have_the_same_prefix(account, other_account, monkeypatch):
    bodies = iter(["aaa" + "0" * 40, "aaa" + "1" * 40])
    monkeypatch.setattr(api_keys, "generate_random_text", lambda *_: next(bodies))

    prefixes = {make_key(account)[0].prefix, make_key(other_account)[0].prefix}

    assert prefixes == {"aff_live_aaa"}


def test_finds_a_key_with_account_and_plan_in_one_query(account, capture_queries):
    key, text = make_key(account)

    with capture_queries() as queries:
        found = find_api_key(text)
        assert found.account.plan.name == "enterprise"

    assert found == key
    assert found.account == account
    assert len(queries) == 1


def corrupt_key(text, at):
    return text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1 :]


INVALID_KEYS = {
    "empty": lambda _: "",
    "only the prefix": lambda text: text[:12],
    "wrong character": lambda text: corrupt_key(text, 20),
    "wrong checksum": lambda text: corrupt_key(text, 57),
    "too short": lambda text: text[:-1],
    "too long": lambda text: text + "A",
    "trailing newline": lambda text: text + "\n",
    "surrounding spaces": lambda text: f" {text} ",
    "another environment": lambda text: text.replace("live", "test"),
    "upper case": lambda text: text.upper(),
    "not ascii": lambda text: text[:-1] + "ä",
    "invalid UTF-8": lambda text: text[:-1] + "\udce4",
    "full-width digits": lambda text: text[:-6] + "\uff10" * 6,
    "very long": lambda text: text * 1000,
}


@pytest.mark.parametrize("invalidate", INVALID_KEYS.values(), ids=INVALID_KEYS)
def test_rejects_a_malformed_key_without_a_query(account, capture_queries, invalidate):
    _, text = make_key(account)

    with capture_queries() as queries:
        assert find_api_key(invalidate(text)) is None

    assert len(queries) == 0


@pytest.mark.django_db
def test_does_not_find_an_unknown_key():
    body = "aff_live_" + "x" * 43

    assert find_api_key(body + calculate_checksum(body)) is None


def test_does_not_find_a_revoked_key(account):
    key, text = make_key(account)
    revoke_api_key(account, prefix=key.prefix, at=NOW)

    assert find_api_key(text) is None


def test_finds_other_keys_after_one_was_revoked(account):
    revoke_api_key(account, prefix=make_key(account)[0].prefix, at=NOW)
    key, text = make_key(account)

    assert find_api_key(text) == key


def test_revoking_is_idempotent(account):
    key, _ = make_key(account)

    first = revoke_api_key(account, prefix=key.prefix, at=NOW)
    again = revoke_api_key(account, prefix=key.prefix, at=NOW + MINUTE)

    assert first.revoked_at == again.revoked_at == NOW
    assert list_logged_kinds(account) == ["api_key.created", "api_key.revoked"]


def test_does_not_revoke_a_key_of_another_account(account, other_account):
    foreign, text = make_key(other_account)

    with pytest.raises(ApiKeyNotFound):
        revoke_api_key(account, prefix=foreign.prefix, at=NOW)

    assert find_api_key(text) == foreign


@pytest.mark.parametrize("prefix", ["", "aff_live_", "aff_live_zz%", "unknown"])
def test_rejects_an_unknown_prefix(account, prefix):
    make_key(account)

    with pytest.raises(ApiKeyNotFound):
        revoke_api_key(account, prefix=prefix, at=NOW)


def test_records_the_use_of_a_key_at_most_once_a_minute(account, capture_queries):
    key, _ = make_key(account)
    record_api_key_use(key, at=NOW)

    with capture_queries() as queries:
        record_api_key_use(key, at=NOW + MINUTE)
    assert len(queries) == 0
    assert account.api_keys.get(pk=key.pk).last_used_at == NOW

    later = NOW + MINUTE + timedelta(seconds=1)
    record_api_key_use(key, at=later)
    assert account.api_keys.get(pk=key.pk).last_used_at == later


def test_records_the_use_of_one_key_only(account):
    key, _ = make_key(account)
    other, _ = make_key(account)

    record_api_key_use(key, at=NOW)

    assert ApiKey.objects.get(pk=other.pk).last_used_at is None
