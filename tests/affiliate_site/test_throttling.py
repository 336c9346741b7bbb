"""Rate limits per IP address (docs/api-contract.md, section 1.8)."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
import time_machine
from django.test import RequestFactory

from accounts.models.api_keys import RateWindow
from affiliate_site.throttling import (
    UNKNOWN_IP,
    RateLimitCache,
    count_browser_call,
    count_sign_in_attempt,
    count_wrong_key,
    get_client_ip,
    normalize_name,
)

NOON = datetime(2026, 3, 4, 12, 0, 0, tzinfo=UTC)
WRONG_KEY = "aff_live_" + "0" * 49


def build_request(remote, forwarded=None):
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    return RequestFactory().get("/", headers=headers, REMOTE_ADDR=remote)


FORWARDED = {
    "no header": (0, None, "192.0.2.1"),
    "no trusted proxy": (0, "198.51.100.7", "192.0.2.1"),
    "one proxy": (1, "198.51.100.7", "198.51.100.7"),
    "forged": (1, "203.0.113.9, 198.51.100.7", "198.51.100.7"),
    "a proxy without header": (1, None, "192.0.2.1"),
    "two proxies": (2, "203.0.113.9, 198.51.100.7, 10.0.0.2", "198.51.100.7"),
    "two, no client header": (2, "198.51.100.7,10.0.0.2", "198.51.100.7"),
    "one is missing": (2, "203.0.113.9", "192.0.2.1"),
}


@pytest.mark.parametrize("name", FORWARDED)
def test_reads_client_ip_behind_trusted_proxies(settings, name):
    settings.TRUSTED_PROXY_COUNT, forwarded, expected = FORWARDED[name]

    assert get_client_ip(build_request("192.0.2.1", forwarded)) == expected


SPELLINGS = [
    ("10.0.0.1", "10.0.0.1"),
    ("10.0.0.1:443", "10.0.0.1"),
    (" 10.0.0.1 ", "10.0.0.1"),
    ("::1", "::1"),
    ("[::1]", "::1"),
    ("[::1]:443", "::1"),
    ("2001:db8::7", "2001:db8::7"),
    ("2001:0DB8:0:0::7", "2001:db8::7"),
    ("[2001:db8::7]:65535", "2001:db8::7"),
    ("::ffff:10.0.0.1", "10.0.0.1"),
    ("fe80::1%eth0", "fe80::1"),
    ("[fe80::1%eth0]:443", "fe80::1"),
    ("fe80::1%" + "a" * 5000, "fe80::1"),
]
INVALID = [
    *("", " ", "unknown", "_hidden", "10.0.0.1.2", "10.0.0.256", "[", "]:1"),
    *(":", "x:y"),
]


@pytest.mark.parametrize(("spelling", "expected"), SPELLINGS)
def test_reads_ip_without_port(settings, spelling, expected):
    by_socket = get_client_ip(build_request(spelling))
    settings.TRUSTED_PROXY_COUNT = 1
    by_proxy = get_client_ip(build_request("192.0.2.1", spelling))

    assert by_socket == by_proxy == expected


@pytest.mark.parametrize("text", [*INVALID, "10.0.0.1\x00", "\xff", "1" * 5000], ids=repr)
def test_counts_invalid_address(db, text):
    request = build_request(text)

    assert get_client_ip(request) == UNKNOWN_IP
    assert count_wrong_key(request) is False


@pytest.mark.parametrize("text", ["unknown", ",", "192.0.2.1, _hidden", "[", "\xff"])
def test_counts_invalid_forwarded_address(settings, db, text):
    settings.TRUSTED_PROXY_COUNT = 1
    request = build_request("192.0.2.1", text)

    assert get_client_ip(request) == UNKNOWN_IP
    assert count_wrong_key(request) is False


@pytest.mark.parametrize("address", ["fe80::1%eth0", "::ffff:192.0.2.1", "::", "ff02::1"])
def test_counts_every_kind_of_address(db, address):
    assert count_wrong_key(build_request(address)) is False


# 300 wrong keys a minute


@pytest.fixture
def at_noon():
    with time_machine.travel(NOON, tick=False) as clock:
        yield clock


@pytest.fixture
def exhausted_limit(db, at_noon):
    """Send 300 wrong keys from 192.0.2.1 in this minute."""
    request = build_request("192.0.2.1")
    assert not any(count_wrong_key(request) for _ in range(300))


def send_with_key(client, key, remote="192.0.2.1", path="/1.6/programs/", method="GET"):
    return client.generic(method, path, headers={"X-Api-Key": key}, REMOTE_ADDR=remote)


def test_limits_wrong_keys_per_ip(client, db, at_noon):
    responses = [send_with_key(client, WRONG_KEY) for _ in range(301)]

    assert {response.status_code for response in responses[:300]} == {401}
    assert responses[300].status_code == 429
    assert responses[300]["Content-Type"].partition(";")[0] == "text/plain"
    assert responses[300].content == b"Too many requests"
    assert "Retry-After" not in responses[300]
    assert "WWW-Authenticate" not in responses[300]
    assert not any(name.startswith("X-RateLimit") for name in responses[300].headers)
    assert responses[300]["Access-Control-Allow-Origin"] == "*"


@pytest.mark.usefixtures("exhausted_limit")
def test_accepts_valid_key_of_limited_ip(client, api):
    assert send_with_key(client, WRONG_KEY).status_code == 429
    assert send_with_key(client, api.key).status_code == 200


@pytest.mark.usefixtures("exhausted_limit")
def test_counts_each_ip_separately(client):
    assert send_with_key(client, WRONG_KEY, remote="192.0.2.2").status_code == 401
    assert send_with_key(client, WRONG_KEY, remote="2001:db8::1").status_code == 401


@pytest.mark.usefixtures("exhausted_limit")
def test_counts_wrong_keys_of_all_endpoints_together(client):
    path = "/1.6/programs/unknown/"

    assert send_with_key(client, WRONG_KEY, path=path).status_code == 429
    assert send_with_key(client, WRONG_KEY, path=path, method="HEAD").status_code == 429


@pytest.mark.usefixtures("exhausted_limit")
def test_counts_only_wrong_keys(client):
    assert send_with_key(client, "").status_code == 401
    assert send_with_key(client, WRONG_KEY, method="POST").status_code == 405
    assert send_with_key(client, WRONG_KEY, method="OPTIONS").status_code == 204
    assert send_with_key(client, WRONG_KEY, path="/1.6/nothing/").status_code == 404


@pytest.mark.usefixtures("exhausted_limit")
def test_resets_in_the_next_minute(client, at_noon):
    assert send_with_key(client, WRONG_KEY).status_code == 429

    at_noon.shift(timedelta(minutes=2))

    assert send_with_key(client, WRONG_KEY).status_code == 401


@pytest.mark.usefixtures("exhausted_limit")
def test_ignores_forwarded_address_without_trusted_proxy(client):
    response = client.get(
        "/1.6/programs/",
        headers={"X-Api-Key": WRONG_KEY, "X-Forwarded-For": "198.51.100.9"},
        REMOTE_ADDR="192.0.2.1",
    )

    assert response.status_code == 429


def test_does_not_count_valid_keys(client, api, at_noon, monkeypatch):
    monkeypatch.setattr(
        "affiliate_site.api.access.count_wrong_key",
        lambda request: pytest.fail("a valid key was counted"),
    )

    assert send_with_key(client, api.key).status_code == 200


# IPv6: per /64, and more per /48


def count_until_limited(count, addresses, attempts):
    """Count attempts from the addresses in turn; return how many passed."""
    requests = [build_request(address) for address in addresses]
    return sum(not count(requests[number % len(requests)]) for number in range(attempts))


def count_track(request):
    return count_browser_call(request, "click")


def count_guess(request):
    return count_sign_in_attempt(request, "owner@example.org")


@pytest.mark.parametrize(
    ("count", "passed_per_64", "passed_per_48"),
    [(count_guess, 5, 10), (count_track, 120, 1200), (count_wrong_key, 300, 3000)],
)
def test_limits_ipv6_per_64_and_per_48(db, at_noon, count, passed_per_64, passed_per_48):
    one_64 = [f"2001:db8:1:7::{host:x}" for host in range(1, 12)]
    one_48 = [f"2001:db8:2:{subnet:x}::1" for subnet in range(12)]
    elsewhere = ["2001:db8:3::1"]

    passed = [
        count_until_limited(count, one_64, passed_per_64 + 20),
        count_until_limited(count, one_48, passed_per_48 + 20),
        count_until_limited(count, elsewhere, 1),
    ]

    assert passed == [passed_per_64, passed_per_48, 1]


def test_limits_sign_ins_with_changing_emails_per_48(db, at_noon):
    emails = iter(range(1000))
    one_48 = [f"2001:db8:2:{subnet:x}::1" for subnet in range(12)]

    passed = count_until_limited(
        lambda request: count_sign_in_attempt(request, f"{next(emails)}@example.org"),
        one_48,
        100,
    )

    assert passed == 60


def test_one_network_does_not_use_up_the_allowance_of_its_neighbors(db, at_noon):
    count_until_limited(count_guess, ["2001:db8:1:1::1"], 50)

    assert count_until_limited(count_guess, ["2001:db8:1:2::1"], 9) == 5


def test_counts_ipv4_in_ipv6_as_ipv4(db, at_noon):
    count_until_limited(count_guess, ["::ffff:192.0.2.1"], 5)

    assert count_until_limited(count_guess, ["192.0.2.1"], 1) == 0
    assert count_until_limited(count_guess, ["::ffff:192.0.2.2"], 1) == 1


@pytest.mark.parametrize(("address", "statements"), [("192.0.2.1", 2), ("2001:db8::1", 3)])
def test_statements_per_counted_call(db, at_noon, capture_queries, address, statements):
    count_track(build_request(address))

    with capture_queries() as queries:
        count_track(build_request(address))

    assert len(queries) == statements


def test_stores_no_email_address(db):
    count_guess(build_request("2001:db8::1"))

    assert not RateWindow.objects.filter(subject__contains="@").exists()


# The cache of django-ratelimit


@pytest.fixture
def cache(db):
    return RateLimitCache("", {})


def test_cache_counts_each_key(cache):
    assert cache.add("minute", 1, timeout=60) is True
    assert cache.add("minute", 9, timeout=60) is False
    assert [cache.get("minute"), cache.get("minute")] == [1, 1]
    cache.add("later", 5)
    assert [cache.incr("minute"), cache.incr("minute", 5)] == [2, 7]
    assert (cache.get("minute"), cache.get("later")) == (7, 5)


def test_cache_has_no_counter_before_it_is_added(cache):
    assert [cache.get("minute", default) for default in (None, 0, "none")] == [
        *(None, 0, "none"),
    ]
    with pytest.raises(ValueError, match="minute"):
        cache.incr("minute")
    assert cache.get("minute") is None


def test_cache_restarts_a_counter_after_its_timeout(cache, at_noon):
    cache.add("minute", 1, timeout=60)
    at_noon.shift(timedelta(seconds=59))
    cache.incr("minute", 8)  # extends nothing
    still_open = cache.add("minute", 1, timeout=60)
    at_noon.shift(timedelta(seconds=1))

    assert still_open is False
    assert cache.add("minute", 1, timeout=60) is True
    assert cache.get("minute") == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda cache: cache.add("minute", 1),
        lambda cache: cache.incr("open"),
        lambda cache: cache.get("open"),
    ],
    ids=["add", "incr", "get"],
)
def test_cache_methods_use_one_statement(cache, capture_queries, call):
    cache.add("open", 1)

    with capture_queries() as queries:
        call(cache)

    assert len(queries) == 1


def test_client_ip_is_unknown_without_address():
    request = SimpleNamespace(META={})

    assert get_client_ip(request) == UNKNOWN_IP


def test_spellings_of_a_domain_share_a_counter():
    typed, encoded = "A@\uff4dünchen.example", "a@xn--mnchen-3ya.example"
    assert normalize_name(typed) == normalize_name(f" {encoded} ") == encoded
