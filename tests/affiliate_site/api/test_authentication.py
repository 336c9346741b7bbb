"""Authentication by API key (docs/api-contract.md, section 1.4)."""

from datetime import timedelta

import pytest
import time_machine

from accounts.ids import calculate_checksum
from accounts.models.api_keys import ApiKey
from accounts.services.api_keys import revoke_api_key
from tests.conftest import NOW

UNKNOWN = "aff_live_" + "0" * 43
UNKNOWN += calculate_checksum(UNKNOWN)
AUTHENTICATION_FAILED = {"message": "Authentication Failed.", "code": 401}
JSON = {"Accept": "application/json"}
PATH = "/1.6/programs/"


@pytest.fixture
def key(account, make_key):
    return make_key(account)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"X-Api-Key": "right"}, 200),
        ({"Api-Key": "right"}, 200),
        ({"x-api-key": "right"}, 200),
        ({"X-Api-Key": "right", "Api-Key": "right"}, 200),
        ({"X-Api-Key": "right", "Api-Key": "wrong"}, 200),
        ({"X-Api-Key": "wrong", "Api-Key": "right"}, 401),
        ({"X-Api-Key": "", "Api-Key": "right"}, 200),
        ({"X-Api-Key": " \t", "Api-Key": "right"}, 200),
        ({"X-Api-Key": "right", "Api-Key": ""}, 200),
        ({"X-Api-Key": "", "Api-Key": ""}, 401),
        ({"X-Api-Key": "", "Api-Key": "wrong"}, 401),
        ({"Authorization": "right"}, 401),
        ({"Authorization": "ApiKey right"}, 401),
        ({"Cookie": "X-Api-Key=right; api_key=right"}, 401),
    ],
    ids=str,
)
def test_reads_the_key_from_two_headers(client, key, headers, status):
    sent = {
        name: value.replace("right", key).replace("wrong", UNKNOWN)
        for name, value in headers.items()
    }

    response = client.get(PATH, headers=sent | JSON)

    assert response.status_code == status


@pytest.mark.parametrize("name", ["X-Api-Key", "x-api-key", "api_key", "key", "apikey"])
def test_ignores_a_key_in_the_query(client, key, name):
    response = client.get(PATH, {name: key}, headers=JSON)

    assert response.status_code == 401
    assert response.json() == AUTHENTICATION_FAILED


@pytest.mark.parametrize("blank", ["", " ", "\t", "  \t "], ids=repr)
@pytest.mark.parametrize("header", ["X-Api-Key", "Api-Key"])
def test_treats_a_blank_key_as_missing(client, db, header, blank):
    as_page = client.get(PATH, headers={header: blank})
    as_json = client.get(PATH, headers={header: blank} | JSON)

    assert as_page.status_code == as_json.status_code == 401
    assert as_page["Content-Type"] == "text/html; charset=utf-8"
    assert as_json.json() == AUTHENTICATION_FAILED


WRONG = {
    "unknown": lambda key: UNKNOWN,
    "one character different": lambda key: key[:20] + ("a" if key[20] != "a" else "b") + key[21:],
    "other case": str.swapcase,
    "too short": lambda key: key[:-1],
    "too long": lambda key: key + "0",
    "prefix alone": lambda key: key[:12],
    "one letter": lambda key: "x",
    "start of every key": lambda key: "aff_live_",
    "null": lambda key: "null",
    "an empty list": lambda key: "[]",
    "NUL alone": lambda key: "\x00",
    "without its prefix": lambda key: key.removeprefix("aff_live_"),
    "another prefix": lambda key: key.replace("aff_live_", "aff_test_"),
    "in quotes": lambda key: f'"{key}"',
    "twice": lambda key: f"{key}, {key}",
    "NUL after it": lambda key: f"{key}\x00",
    "very long": lambda key: "a" * 100_000,
    "per cent": lambda key: "%s%n%00",
    "like pattern": lambda key: key[:-1] + "_",
    "statement": lambda key: "' OR 1=1 --",
    "latin-1 bytes": lambda key: "\xe4\xff",
    "bytes of UTF-8": lambda key: "ključ".encode().decode("latin-1"),
    "right one with a byte": lambda key: f"{key}\xff",
    "full-width digits": lambda key: key[:-1] + "\uff10".encode().decode("latin-1"),
}


@pytest.mark.parametrize("spoil", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("header", ["X-Api-Key", "Api-Key"])
@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_rejects_every_wrong_key_with_the_same_response(client, key, header, accept, spoil):
    response = client.get(PATH, headers={header: spoil(key), "Accept": accept})

    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "ApiKey"
    assert response["Content-Type"] == "application/json"
    assert response.json() == AUTHENTICATION_FAILED
    assert not any(name.startswith("X-RateLimit") for name in response.headers)


def test_rejects_a_revoked_key_on_the_next_request(client, account, key):
    before = client.get(PATH, headers={"X-Api-Key": key})
    revoke_api_key(account, prefix=key[:12], at=NOW)
    after = client.get(PATH, headers={"X-Api-Key": key})

    assert before.status_code == 200
    assert after.status_code == 401
    assert after["Content-Type"] == "application/json"
    assert after.json() == AUTHENTICATION_FAILED
    assert not any(name.startswith("X-RateLimit") for name in after.headers)


def test_responses_to_revoked_and_unknown_keys_are_identical(client, account, key):
    revoke_api_key(account, prefix=key[:12], at=NOW)

    revoked, unknown = (client.get(PATH, headers={"X-Api-Key": value}) for value in (key, UNKNOWN))

    assert revoked.status_code == unknown.status_code
    assert revoked.content == unknown.content
    assert set(revoked.headers) == set(unknown.headers)


@pytest.mark.parametrize("spoiled", ["one character different", "too long", "latin-1 bytes"])
def test_rejects_a_typo_without_querying_the_key_table(client, key, capture_queries, spoiled):
    with capture_queries() as queries:
        client.get(PATH, headers={"X-Api-Key": WRONG[spoiled](key)})

    assert not any(ApiKey._meta.db_table in query["sql"] for query in queries)


# When a key was last used


def get_last_used_at():
    return ApiKey.objects.get().last_used_at


def test_records_the_last_use_at_most_once_a_minute(api):
    seconds = []
    with time_machine.travel(NOW, tick=False) as clock:
        for pause in (0, 30, 29, 2, 61):
            clock.shift(timedelta(seconds=pause))
            api.get("/programs/")
            seconds.append((get_last_used_at() - NOW).total_seconds())

    assert seconds == [0, 0, 0, 61, 122]


def test_records_no_use_of_a_wrong_key(client, key):
    client.get(PATH, headers={"X-Api-Key": UNKNOWN})

    assert get_last_used_at() is None


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/1.6/nothing/"), ("POST", PATH), ("OPTIONS", PATH)]
)
def test_records_no_use_by_a_request_that_needs_no_key(client, key, method, path):
    client.generic(method, path, headers={"X-Api-Key": key})

    assert get_last_used_at() is None


def test_writes_the_last_use_only_once(api, capture_queries):
    api.get("/programs/")

    with capture_queries() as queries:
        api.get("/programs/")

    assert not any(
        query["sql"].startswith("UPDATE") and ApiKey._meta.db_table in query["sql"]
        for query in queries
    )
