"""Contract 1.8, reliability T20 and T22: guards per address."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
import time_machine
from django.test import RequestFactory

from affiliate_site.floods import NOWHERE, CountingCache, address, too_many_wrong_keys

NOON = datetime(2026, 3, 4, 12, 0, 0, tzinfo=UTC)
WRONG = "aff_live_" + "0" * 49


def asked_from(remote, forwarded=None):
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    return RequestFactory().get("/", headers=headers, REMOTE_ADDR=remote)


@pytest.mark.parametrize(
    ("proxies", "remote", "forwarded", "found"),
    [
        pytest.param(0, "192.0.2.1", None, "192.0.2.1", id="the socket's"),
        pytest.param(0, "192.0.2.1", "198.51.100.7", "192.0.2.1", id="nobody trusted"),
        pytest.param(1, "192.0.2.1", "198.51.100.7", "198.51.100.7", id="one proxy"),
        pytest.param(
            1, "192.0.2.1", "203.0.113.9, 198.51.100.7", "198.51.100.7", id="forged"
        ),
        pytest.param(1, "192.0.2.1", None, "192.0.2.1", id="proxy said nothing"),
        pytest.param(
            2,
            "192.0.2.1",
            "203.0.113.9, 198.51.100.7, 10.0.0.2",
            "198.51.100.7",
            id="two proxies",
        ),
        pytest.param(
            2, "192.0.2.1", "198.51.100.7,10.0.0.2", "198.51.100.7", id="two, alone"
        ),
        pytest.param(2, "192.0.2.1", "203.0.113.9", "192.0.2.1", id="one is missing"),
    ],
)
def test_believes_as_many_proxies_as_are_trusted(
    settings, proxies, remote, forwarded, found
):
    settings.TRUSTED_PROXY_COUNT = proxies

    assert address(asked_from(remote, forwarded)) == found


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
]
JUNK = [
    "",
    " ",
    "unknown",
    "_hidden",
    "10.0.0.1.2",
    "10.0.0.256",
    "[",
    "]:1",
    ":",
    "x:y",
]


@pytest.mark.parametrize(("spelling", "found"), SPELLINGS)
def test_reads_an_address_without_its_port(settings, spelling, found):
    by_socket = address(asked_from(spelling))
    settings.TRUSTED_PROXY_COUNT = 1
    by_proxy = address(asked_from("192.0.2.1", spelling))

    assert by_socket == by_proxy == found


@pytest.mark.parametrize("junk", [*JUNK, "10.0.0.1\x00", "\xff", "1" * 5000], ids=repr)
def test_counts_an_odd_address_without_failing(db, junk):
    request = asked_from(junk)

    assert address(request) == NOWHERE
    assert too_many_wrong_keys(request) is False


@pytest.mark.parametrize("junk", ["unknown", ",", "192.0.2.1, _hidden", "[", "\xff"])
def test_counts_what_a_proxy_garbled_without_failing(settings, db, junk):
    settings.TRUSTED_PROXY_COUNT = 1
    request = asked_from("192.0.2.1", junk)

    assert address(request) == NOWHERE
    assert too_many_wrong_keys(request) is False


@pytest.mark.parametrize("odd", ["fe80::1%eth0", "::ffff:192.0.2.1", "::", "ff02::1"])
def test_counts_every_kind_of_address(db, odd):
    assert too_many_wrong_keys(asked_from(odd)) is False


# 300 wrong keys a minute


@pytest.fixture
def at_noon():
    with time_machine.travel(NOON, tick=False) as clock:
        yield clock


@pytest.fixture
def spent(db, at_noon):
    """300 wrong keys from 192.0.2.1 in this minute."""
    request = asked_from("192.0.2.1")
    assert not any(too_many_wrong_keys(request) for _ in range(300))


def ask_with(client, key, remote="192.0.2.1", path="/1.6/programs/", method="GET"):
    return client.generic(method, path, headers={"X-Api-Key": key}, REMOTE_ADDR=remote)


def test_refuses_the_301st_wrong_key_of_an_address(client, db, at_noon):
    answers = [ask_with(client, WRONG) for _ in range(301)]

    assert {answer.status_code for answer in answers[:300]} == {401}
    assert answers[300].status_code == 429
    assert answers[300]["Content-Type"].partition(";")[0] == "text/plain"
    assert answers[300].content == b"Too many requests"
    assert "Retry-After" not in answers[300]
    assert "WWW-Authenticate" not in answers[300]
    assert not any(name.startswith("X-RateLimit") for name in answers[300].headers)
    assert answers[300]["Access-Control-Allow-Origin"] == "*"


@pytest.mark.usefixtures("spent")
def test_lets_a_right_key_of_that_address_pass(client, api):
    assert ask_with(client, WRONG).status_code == 429
    assert ask_with(client, api.key).status_code == 200


@pytest.mark.usefixtures("spent")
def test_counts_addresses_apart(client):
    assert ask_with(client, WRONG, remote="192.0.2.2").status_code == 401
    assert ask_with(client, WRONG, remote="2001:db8::1").status_code == 401


@pytest.mark.usefixtures("spent")
def test_counts_wrong_keys_of_all_endpoints_together(client):
    path = "/1.6/programs/unknown/"

    assert ask_with(client, WRONG, path=path).status_code == 429
    assert ask_with(client, WRONG, path=path, method="HEAD").status_code == 429


@pytest.mark.usefixtures("spent")
def test_counts_wrong_keys_alone(client):
    assert ask_with(client, "").status_code == 401
    assert ask_with(client, WRONG, method="POST").status_code == 405
    assert ask_with(client, WRONG, method="OPTIONS").status_code == 204
    assert ask_with(client, WRONG, path="/1.6/nothing/").status_code == 404


@pytest.mark.usefixtures("spent")
def test_counts_anew_in_the_next_minute(client, at_noon):
    assert ask_with(client, WRONG).status_code == 429

    at_noon.shift(timedelta(minutes=2))

    assert ask_with(client, WRONG).status_code == 401


@pytest.mark.usefixtures("spent")
def test_lets_nobody_escape_by_naming_another_address(client):
    response = client.get(
        "/1.6/programs/",
        headers={"X-Api-Key": WRONG, "X-Forwarded-For": "198.51.100.9"},
        REMOTE_ADDR="192.0.2.1",
    )

    assert response.status_code == 429


def test_counts_no_right_key(client, api, at_noon, monkeypatch):
    monkeypatch.setattr(
        "affiliate_site.api.authentication.too_many_wrong_keys",
        lambda request: pytest.fail("a right key was counted"),
    )

    assert ask_with(client, api.key).status_code == 200


# The counter


@pytest.fixture
def cache(db):
    return CountingCache("", {})


def test_begins_a_counter_once(cache):
    assert cache.add("minute", 1, timeout=60) is True
    assert cache.add("minute", 9, timeout=60) is False
    assert cache.get("minute") == 1


def test_counts_up(cache):
    cache.add("minute", 1, timeout=60)

    assert [cache.incr("minute"), cache.incr("minute", 5)] == [2, 7]
    assert cache.get("minute") == 7


def test_reads_without_counting(cache):
    cache.add("minute", 3, timeout=60)

    assert [cache.get("minute"), cache.get("minute")] == [3, 3]


@pytest.mark.parametrize("default", [None, 0, "none"])
def test_knows_no_counter_that_was_not_begun(cache, default):
    assert cache.get("minute", default) == default


def test_refuses_to_count_where_nothing_was_begun(cache):
    with pytest.raises(ValueError, match="minute"):
        cache.incr("minute")

    assert cache.get("minute") is None


def test_begins_anew_after_the_lifetime(cache, at_noon):
    cache.add("minute", 1, timeout=60)
    cache.incr("minute", 8)
    at_noon.shift(timedelta(seconds=59))
    still_open = cache.add("minute", 1, timeout=60)
    at_noon.shift(timedelta(seconds=1))

    assert still_open is False
    assert cache.add("minute", 1, timeout=60) is True
    assert cache.get("minute") == 1


def test_keeps_the_lifetime_while_it_counts(cache, at_noon):
    cache.add("minute", 1, timeout=60)
    at_noon.shift(timedelta(seconds=40))
    cache.incr("minute")
    at_noon.shift(timedelta(seconds=20))

    assert cache.add("minute", 1, timeout=60) is True


def test_counts_keys_apart(cache):
    cache.add("earlier", 1)
    cache.add("later", 5)

    assert cache.incr("earlier") == 2
    assert cache.get("later") == 5


@pytest.mark.parametrize(
    "act",
    [
        lambda cache: cache.add("minute", 1),
        lambda cache: cache.incr("open"),
        lambda cache: cache.get("open"),
    ],
    ids=["add", "incr", "get"],
)
def test_asks_one_statement_each(cache, statements, act):
    cache.add("open", 1)

    with statements() as asked:
        act(cache)

    assert len(asked) == 1


def test_needs_no_request_but_its_address():
    bare = SimpleNamespace(META={})

    assert address(bare) == NOWHERE
