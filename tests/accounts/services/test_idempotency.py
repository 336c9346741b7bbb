"""docs/api-contract.md, section 1.9: claim keys, store responses, expire keys."""

from datetime import timedelta

import pytest
from django.db import transaction

from accounts.errors import IdempotencyKeyReused
from accounts.services.idempotency import (
    claim_key,
    find_stored_response,
    store_response,
)
from tests.conftest import NOW

DAY = timedelta(hours=24)
MICROSECOND = timedelta(microseconds=1)
REQUEST = {"key": "pay-march", "fingerprint": "a" * 64}
OTHER_REQUEST = REQUEST | {"fingerprint": "b" * 64}


@pytest.fixture
def completed_request(account):
    """A request that completed at NOW, with its stored response."""
    row, _ = claim_key(account, **REQUEST, at=NOW)
    store_response(row, status=200, body=b'[{"amount":20}]')
    return row


def list_stored_keys(account):
    """List the stored columns of all keys, the body as bytes."""
    return [
        (row.key, row.fingerprint, row.status, row.body and bytes(row.body))
        for row in account.idempotency_keys.order_by("id")
    ]


def test_the_first_request_claims_the_key(account):
    assert find_stored_response(account, **REQUEST, at=NOW) is None

    row, is_claimed = claim_key(account, **REQUEST, at=NOW)

    assert is_claimed is True
    assert row.created_at == NOW
    assert list_stored_keys(account) == [("pay-march", "a" * 64, None, None)]


@pytest.mark.parametrize("look_up", [find_stored_response, claim_key])
def test_returns_the_stored_response_of_the_same_request(account, completed_request, look_up):
    found = look_up(account, **REQUEST, at=NOW + DAY - MICROSECOND)

    row, is_claimed = found if look_up is claim_key else (found, False)
    assert is_claimed is False
    assert (row.pk, row.status, bytes(row.body)) == (
        completed_request.pk,
        200,
        b'[{"amount":20}]',
    )


@pytest.mark.parametrize("look_up", [find_stored_response, claim_key])
def test_rejects_the_key_of_another_request(account, completed_request, look_up):
    with pytest.raises(IdempotencyKeyReused):
        look_up(account, **OTHER_REQUEST, at=NOW + DAY - MICROSECOND)

    assert list_stored_keys(account) == [("pay-march", "a" * 64, 200, b'[{"amount":20}]')]


@pytest.mark.parametrize("request_sent", [REQUEST, OTHER_REQUEST], ids=["same", "other"])
@pytest.mark.parametrize("age", [DAY, 2 * DAY], ids=["24 hours", "48 hours"])
def test_a_key_expires_24_hours_after_the_first_request(
    account, completed_request, request_sent, age
):
    at = NOW + age
    assert find_stored_response(account, **request_sent, at=at) is None

    row, is_claimed = claim_key(account, **request_sent, at=at)

    assert is_claimed is True
    assert row.created_at == at
    assert list_stored_keys(account) == [("pay-march", request_sent["fingerprint"], None, None)]


def test_a_replay_does_not_extend_the_24_hours(account, completed_request):
    claim_key(account, **REQUEST, at=NOW + DAY - MICROSECOND)

    assert find_stored_response(account, **REQUEST, at=NOW + DAY) is None


def test_keys_are_separate_per_account(account, other_account, completed_request):
    assert find_stored_response(other_account, **REQUEST, at=NOW) is None

    _, is_claimed = claim_key(other_account, **OTHER_REQUEST, at=NOW)

    assert is_claimed is True
    assert list_stored_keys(account) == [("pay-march", "a" * 64, 200, b'[{"amount":20}]')]


def test_does_not_delete_an_expired_key_of_another_account(
    account, other_account, completed_request
):
    claim_key(other_account, **REQUEST, at=NOW)

    claim_key(account, **REQUEST, at=NOW + DAY)

    assert len(list_stored_keys(other_account)) == 1


@pytest.mark.parametrize("key", ["PAY-MARCH", "pay-march ", "pay-marc"])
def test_keys_are_compared_exactly(account, completed_request, key):
    _, is_claimed = claim_key(account, **REQUEST | {"key": key}, at=NOW)

    assert is_claimed is True


def test_a_failed_request_releases_its_key(account):
    with transaction.atomic():
        claim_key(account, **REQUEST, at=NOW)
        transaction.set_rollback(True)

    _, is_claimed = claim_key(account, **OTHER_REQUEST, at=NOW)

    assert is_claimed is True
