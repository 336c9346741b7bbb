"""Contract 1.9, reliability.md, 5: a key is claimed, its answer kept, the key freed."""

from datetime import timedelta

import pytest
from django.db import transaction

from accounts.errors import IdempotencyKeyReused
from accounts.services.idempotency import answer_kept, claim, keep
from tests.conftest import NOW

DAY = timedelta(hours=24)
MOMENT = timedelta(microseconds=1)
REQUEST = {"key": "pay-march", "fingerprint": "a" * 64}
OTHER_REQUEST = REQUEST | {"fingerprint": "b" * 64}


@pytest.fixture
def paid(account):
    """A request that happened at NOW, and its answer."""
    row, _ = claim(account, **REQUEST, at=NOW)
    keep(row, status=200, body=b'[{"amount":20}]')
    return row


def kept(account):
    """What is stored, body as bytes."""
    return [
        (row.key, row.fingerprint, row.status, row.body and bytes(row.body))
        for row in account.idempotency_keys.order_by("id")
    ]


def test_lets_the_first_request_happen(account):
    assert answer_kept(account, **REQUEST, at=NOW) is None

    row, first = claim(account, **REQUEST, at=NOW)

    assert first is True
    assert (row.created_at, kept(account)) == (
        NOW,
        [("pay-march", "a" * 64, None, None)],
    )


@pytest.mark.parametrize("ask", [answer_kept, claim])
def test_tells_the_kept_answer_to_the_same_request(account, paid, ask):
    found = ask(account, **REQUEST, at=NOW + DAY - MOMENT)

    row, first = found if ask is claim else (found, False)
    assert first is False
    assert (row.pk, row.status, bytes(row.body)) == (paid.pk, 200, b'[{"amount":20}]')


@pytest.mark.parametrize("ask", [answer_kept, claim])
def test_refuses_the_key_of_another_request(account, paid, ask):
    with pytest.raises(IdempotencyKeyReused):
        ask(account, **OTHER_REQUEST, at=NOW + DAY - MOMENT)

    assert kept(account) == [("pay-march", "a" * 64, 200, b'[{"amount":20}]')]


@pytest.mark.parametrize(
    "request_sent", [REQUEST, OTHER_REQUEST], ids=["same", "other"]
)
@pytest.mark.parametrize("later", [DAY, 2 * DAY], ids=["the-moment", "long-after"])
def test_frees_a_key_24_hours_after_the_first_request(
    account, paid, request_sent, later
):
    at = NOW + later
    assert answer_kept(account, **request_sent, at=at) is None

    row, first = claim(account, **request_sent, at=at)

    assert first is True
    assert row.created_at == at
    assert kept(account) == [("pay-march", request_sent["fingerprint"], None, None)]


def test_counts_the_24_hours_from_the_first_request_not_from_a_replay(account, paid):
    claim(account, **REQUEST, at=NOW + DAY - MOMENT)

    assert answer_kept(account, **REQUEST, at=NOW + DAY) is None


def test_keeps_the_keys_of_two_accounts_apart(account, other_account, paid):
    assert answer_kept(other_account, **REQUEST, at=NOW) is None

    _, first = claim(other_account, **OTHER_REQUEST, at=NOW)

    assert first is True
    assert kept(account) == [("pay-march", "a" * 64, 200, b'[{"amount":20}]')]


def test_frees_no_key_of_another_account(account, other_account, paid):
    claim(other_account, **REQUEST, at=NOW)

    claim(account, **REQUEST, at=NOW + DAY)

    assert len(kept(other_account)) == 1


@pytest.mark.parametrize("key", ["PAY-MARCH", "pay-march ", "pay-marc"])
def test_takes_a_key_as_it_is_spelled(account, paid, key):
    _, first = claim(account, **REQUEST | {"key": key}, at=NOW)

    assert first is True


def test_frees_a_key_whose_request_failed(account):
    with transaction.atomic():
        claim(account, **REQUEST, at=NOW)
        transaction.set_rollback(True)

    _, first = claim(account, **OTHER_REQUEST, at=NOW)

    assert first is True
