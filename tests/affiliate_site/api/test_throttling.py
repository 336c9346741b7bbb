"""Rate limits per key and endpoint (docs/api-contract.md, section 1.8)."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.test import Client

from tests.conftest import ApiClient

pytestmark = pytest.mark.urls("tests.dummy_endpoints")  # 3 requests per minute

NOON = datetime(2026, 3, 4, 12, 0, 0, tzinfo=UTC)
RATE_HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")


@pytest.fixture
def clock():
    with time_machine.travel(NOON, tick=False) as traveller:
        yield traveller


def get_rate_headers(response):
    return tuple(response.get(name) for name in RATE_HEADERS)


def format_timestamp(moment):
    return str(int(moment.timestamp()))


RESET = format_timestamp(NOON + timedelta(minutes=1))


def test_counts_down_within_a_window(api, clock):
    rates = [get_rate_headers(api.get("/dummies/")) for _ in range(3)]

    assert rates == [("3", "2", RESET), ("3", "1", RESET), ("3", "0", RESET)]


def test_rejects_requests_above_the_limit(api, clock):
    for _ in range(3):
        api.get("/dummies/")

    response = api.get("/dummies/", Accept="application/json")

    assert response.status_code == 429
    assert response["Content-Type"].partition(";")[0] == "text/plain"
    assert response.content == b"Too many requests"
    assert get_rate_headers(response) == ("3", "0", RESET)
    assert "Retry-After" not in response


# Separate windows


def test_counts_keys_separately(api, account, make_key, clock):
    for _ in range(4):
        api.get("/dummies/")

    response = ApiClient(make_key(account)).get("/dummies/")

    assert response.status_code == 200
    assert get_rate_headers(response)[1] == "2"


def test_counts_both_key_headers_together(api, clock):
    for _ in range(3):
        api.get("/dummies/")

    response = api.get("/dummies/", **{"X-Api-Key": "", "Api-Key": api.key})

    assert response.status_code == 429


@pytest.mark.parametrize("path", ["/other-dummies/", "/dummies/any/", "/programs/"])
def test_counts_endpoints_separately(api, clock, path):
    for _ in range(4):
        api.get("/dummies/")

    response = api.get(path)

    assert response.status_code == 200
    assert int(get_rate_headers(response)[1]) == int(get_rate_headers(response)[0]) - 1


def test_counts_all_objects_of_an_endpoint_together(api, clock):
    statuses = [api.get(f"/dummies/{name}/").status_code for name in ("a", "b", "c", "d")]

    assert statuses == [200, 200, 200, 429]


@pytest.mark.parametrize("path", ["/dummies", "/dummies/?page=2", "/dummies/?a=b"])
def test_counts_every_url_of_an_endpoint_together(api, clock, path):
    for _ in range(3):
        api.get("/dummies/")

    assert api.get(path).status_code == 429


# Counted requests


def test_counts_head_as_get(api, clock):
    rates = [
        get_rate_headers(api.request(method, "/dummies/")) for method in ("HEAD", "GET", "HEAD")
    ]

    assert rates == [("3", "2", RESET), ("3", "1", RESET), ("3", "0", RESET)]
    assert api.request("HEAD", "/dummies/").status_code == 429


@pytest.mark.parametrize(
    ("path", "plan", "status"),
    [
        ("/dummies/missing/", "enterprise", 404),
        ("/dummies/conflict/", "enterprise", 409),
        ("/dummies/?page=0", "enterprise", 400),
        ("/dummies/", "basic", 403),
    ],
)
def test_counts_failed_requests(account, api, set_plan, clock, path, plan, status):
    set_plan(account, plan)

    responses = [api.get(path) for _ in range(4)]

    assert [response.status_code for response in responses] == [status] * 3 + [429]
    remaining = [get_rate_headers(response)[1] for response in responses]
    assert remaining == ["2", "1", "0", "0"]


def test_counts_server_errors_without_sending_headers(api, clock):
    non_raising_client = ApiClient(api.key, Client(raise_request_exception=False))

    responses = [non_raising_client.get("/dummies/crash/") for _ in range(4)]

    assert [response.status_code for response in responses] == [500, 500, 500, 429]
    assert get_rate_headers(responses[0]) == (None, None, None)


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "BREW"])
def test_does_not_count_requests_that_need_no_key(api, clock, method):
    for _ in range(5):
        response = api.request(method, "/dummies/")

    assert get_rate_headers(response) == (None, None, None)
    assert get_rate_headers(api.get("/dummies/"))[1] == "2"


@pytest.mark.parametrize("key", ["", "wrong"])
def test_sends_no_headers_without_a_valid_key(api, clock, key):
    response = api.get("/dummies/", **{"X-Api-Key": key})

    assert response.status_code == 401
    assert get_rate_headers(response) == (None, None, None)


def test_operations_without_a_rate_are_unlimited(api, clock):
    responses = [api.post("/dummies/", {"name": "lamp"}) for _ in range(5)]

    assert {response.status_code for response in responses} == {200}
    assert {get_rate_headers(response) for response in responses} == {(None, None, None)}


def test_invalid_body_of_another_operation_does_not_count(api, clock):
    api.post("/dummies/", "no JSON")

    assert get_rate_headers(api.get("/dummies/"))[1] == "2"
