"""Addresses from which affiliates apply and sign in: their digests, bounds and retention."""

from datetime import timedelta

import pytest
from cryptography.fernet import Fernet

from tests.conftest import NOW
from tests.factories.tracking import AffiliateFactory
from tracking.services import portal_addresses
from tracking.services.portal_access import delete_expired_portal_rows
from tracking.services.portal_addresses import (
    ADDRESS_RETENTION,
    USE_INTERVAL,
    calculate_address_digest,
    list_address_digests,
    record_address,
    record_opening,
)
from tracking.services.retention import anonymize_ip

HOME, OFFICE = "192.88.99.7", "192.88.99.8"
AN_HOUR = timedelta(hours=1)
A_SECOND = timedelta(seconds=1)


@pytest.fixture
def affiliate(account):
    return AffiliateFactory(account=account)


def list_uses(affiliate):
    rows = affiliate.account.portal_addresses.filter(affiliate=affiliate).order_by("pk")
    return [(row.digest, row.first_used_at, row.last_used_at) for row in rows]


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (HOME, f"::ffff:{HOME}", True),
        (HOME, OFFICE, False),
        ("2a02:db8:1:2::5", "2a02:db8:1:2:ffff::", True),
        ("2a02:db8:1:2::5", "2a02:db8:1:3::5", False),
    ],
)
def test_a_digest_is_of_a_client_or_its_network(account, one, other, is_same):
    digests = [calculate_address_digest(account, address) for address in (one, other)]

    assert (digests[0] == digests[1]) == is_same
    assert {len(digest) for digest in digests} == {64}


def test_accounts_and_keys_have_digests_of_their_own(account, other_account, settings):
    (old,) = list_address_digests(account, HOME)
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *settings.ENCRYPTION_KEYS]

    new = list_address_digests(account, HOME)

    assert new[1:] == [old]
    assert len({*new, *list_address_digests(other_account, HOME)}) == 4


@pytest.mark.parametrize(
    "address",
    [
        *(None, "", "127.0.0.1", "10.1.2.3", "::", "::1", "fd00::7"),
        *(anonymize_ip(HOME), anonymize_ip("2a02:db8:1:2::5"), anonymize_ip(f"::ffff:{HOME}")),
    ],
)
def test_what_is_shortened_or_shared_has_no_digest(account, affiliate, address):
    assert list_address_digests(account, address) == []
    record_address(affiliate, address, at=NOW)
    assert list_uses(affiliate) == []


def test_a_use_is_recorded_once_an_hour(account, affiliate, capture_queries):
    home, office = (calculate_address_digest(account, address) for address in (HOME, OFFICE))
    counts = []
    times = (timedelta(), USE_INTERVAL - A_SECOND, USE_INTERVAL, 5 * AN_HOUR)
    for address, later in zip((HOME, HOME, HOME, OFFICE), times, strict=True):
        with capture_queries() as captured:
            record_address(affiliate, address, at=NOW + later)
        counts.append(sum("SAVEPOINT" not in query["sql"] for query in captured))

    assert list_uses(affiliate) == [
        (home, NOW, NOW + AN_HOUR),
        (office, NOW + 5 * AN_HOUR, NOW + 5 * AN_HOUR),
    ]
    assert counts == [5, 1, 3, 5]


def test_the_oldest_go_but_for_that_which_opened_the_account(account, affiliate, monkeypatch):
    monkeypatch.setattr(portal_addresses, "MAX_ADDRESSES", 2)
    opening = calculate_address_digest(account, HOME)
    record_opening(affiliate, opening, at=NOW)
    other = AffiliateFactory(account=account)
    record_address(other, HOME, at=NOW)
    addresses = [f"192.88.98.{number}" for number in range(1, 5)]
    for number in (0, 1, 0, 2, 3):
        hours = len(list_uses(affiliate)) + number
        record_address(affiliate, addresses[number], at=NOW + hours * AN_HOUR)

    kept = [opening, *(calculate_address_digest(account, it) for it in addresses[2:])]
    assert [digest for digest, *_ in list_uses(affiliate)] == kept
    assert len(list_uses(other)) == 1


def test_a_removed_affiliate_gets_no_address(affiliate):
    affiliate.update_row(deleted_at=NOW)
    record_address(affiliate, HOME, at=NOW)
    assert list_uses(affiliate) == []


def test_an_address_goes_90_days_after_its_last_use(account, other_account, affiliate):
    for each in (affiliate, AffiliateFactory(account=other_account)):
        record_address(each, HOME, at=NOW)
    record_address(affiliate, HOME, at=NOW + AN_HOUR)
    end = NOW + AN_HOUR + ADDRESS_RETENTION

    assert timedelta(days=90) == ADDRESS_RETENTION
    assert delete_expired_portal_rows(account, at=end - A_SECOND, dry_run=False) == 0
    assert delete_expired_portal_rows(account, at=end, dry_run=True) == 1
    assert delete_expired_portal_rows(account, at=end, dry_run=False) == 1
    assert list_uses(affiliate) == []
    assert other_account.portal_addresses.count() == 1
