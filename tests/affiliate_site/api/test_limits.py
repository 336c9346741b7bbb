"""Contract 1.8: a fixed window per key and endpoint, opened by the first request."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.test import Client

from tests.conftest import Api

pytestmark = pytest.mark.urls("tests.probes")  # there, three a minute

NOON = datetime(2026, 3, 4, 12, 0, 0, tzinfo=UTC)
RATE_HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")


@pytest.fixture
def clock():
    with time_machine.travel(NOON, tick=False) as travelled:
        yield travelled


def rate_of(response):
    return tuple(response.get(name) for name in RATE_HEADERS)


def in_seconds(moment):
    return str(int(moment.timestamp()))


END = in_seconds(NOON + timedelta(minutes=1))


def test_counts_down_within_a_window(api, clock):
    rates = [rate_of(api.get("/probes/")) for _ in range(3)]

    assert rates == [("3", "2", END), ("3", "1", END), ("3", "0", END)]


def test_refuses_the_request_above_the_limit(api, clock):
    for _ in range(3):
        api.get("/probes/")

    response = api.get("/probes/", Accept="application/json")

    assert response.status_code == 429
    assert response["Content-Type"].partition(";")[0] == "text/plain"
    assert response.content == b"Too many requests"
    assert rate_of(response) == ("3", "0", END)
    assert "Retry-After" not in response


def test_keeps_the_window_while_it_refuses(api, clock):
    for _ in range(3):
        api.get("/probes/")
    refused = []
    for _ in range(20):
        clock.shift(timedelta(seconds=2.5))
        refused.append(api.get("/probes/"))
    clock.shift(timedelta(seconds=10))

    assert {response.status_code for response in refused} == {429}
    assert {rate_of(response) for response in refused} == {("3", "0", END)}
    assert api.get("/probes/").status_code == 200


def test_opens_the_window_with_the_first_request(api, clock):
    clock.shift(timedelta(seconds=47))
    first = api.get("/probes/")
    clock.shift(timedelta(seconds=59))
    last = api.get("/probes/")

    assert rate_of(first)[2] == rate_of(last)[2]
    assert rate_of(first)[2] == in_seconds(NOON + timedelta(seconds=107))
    assert rate_of(last)[1] == "1"


def test_opens_a_new_window_with_the_first_request_after_the_last(api, clock):
    for _ in range(4):
        api.get("/probes/")
    clock.shift(timedelta(minutes=5, seconds=7))

    response = api.get("/probes/")

    assert response.status_code == 200
    assert rate_of(response) == (
        "3",
        "2",
        in_seconds(NOON + timedelta(minutes=6, seconds=7)),
    )


@pytest.mark.parametrize(
    ("seconds", "status"), [(59.999, 429), (60, 200)], ids=["just before", "at the end"]
)
def test_ends_the_window_on_time(api, clock, seconds, status):
    for _ in range(3):
        api.get("/probes/")
    clock.shift(timedelta(seconds=seconds))

    response = api.get("/probes/")

    assert response.status_code == status


@pytest.mark.parametrize(
    ("fraction", "end"), [(0, 60), (0.000001, 61), (0.25, 61), (0.999999, 61)]
)
def test_rounds_the_reset_up(api, clock, fraction, end):
    clock.move_to(NOON + timedelta(seconds=fraction))

    response = api.get("/probes/")

    assert rate_of(response)[2] == in_seconds(NOON + timedelta(seconds=end))


def test_lets_a_client_pass_that_waits_for_the_reset(api, clock):
    clock.move_to(NOON + timedelta(seconds=0.75))
    for _ in range(3):
        api.get("/probes/")
    reset = int(rate_of(api.get("/probes/"))[2])
    clock.move_to(datetime.fromtimestamp(reset, UTC))

    assert api.get("/probes/").status_code == 200


# Whose window


def test_counts_keys_apart(api, account, key_for, clock):
    for _ in range(4):
        api.get("/probes/")

    rival = Api(key_for(account)).get("/probes/")

    assert rival.status_code == 200
    assert rate_of(rival)[1] == "2"


def test_counts_a_key_once_whatever_its_header(api, clock):
    for _ in range(3):
        api.get("/probes/")

    response = api.get("/probes/", **{"X-Api-Key": "", "Api-Key": api.key})

    assert response.status_code == 429


@pytest.mark.parametrize("path", ["/rival-probes/", "/probes/any/", "/programs/"])
def test_counts_endpoints_apart(api, clock, path):
    for _ in range(4):
        api.get("/probes/")

    response = api.get(path)

    assert response.status_code == 200
    assert int(rate_of(response)[1]) == int(rate_of(response)[0]) - 1


def test_counts_all_objects_of_an_endpoint_together(api, clock):
    statuses = [
        api.get(f"/probes/{name}/").status_code for name in ("a", "b", "c", "d")
    ]

    assert statuses == [200, 200, 200, 429]


@pytest.mark.parametrize("path", ["/probes", "/probes/?page=2", "/probes/?a=b"])
def test_counts_every_spelling_of_an_endpoint_together(api, clock, path):
    for _ in range(3):
        api.get("/probes/")

    assert api.get(path).status_code == 429


def test_knows_the_rate_of_programs(api, clock, program):
    end = in_seconds(NOON + timedelta(minutes=5))

    listed, shown = api.get("/programs/"), api.get("/programs/harbor-lamp-partners/")

    assert rate_of(listed) == rate_of(shown) == ("1500", "1499", end)


# What counts


def test_counts_head_as_get(api, clock):
    rates = [rate_of(api.ask(method, "/probes/")) for method in ("HEAD", "GET", "HEAD")]

    assert rates == [("3", "2", END), ("3", "1", END), ("3", "0", END)]
    assert api.ask("HEAD", "/probes/").status_code == 429


@pytest.mark.parametrize("path", ["/probes/missing/", "/probes/conflict/"])
def test_counts_refusals(api, clock, path):
    responses = [api.get(path) for _ in range(4)]

    assert [response.status_code for response in responses][3] == 429
    assert [rate_of(response)[1] for response in responses] == ["2", "1", "0", "0"]


def test_counts_a_flawed_query(api, clock):
    responses = [api.get("/probes/?page=0") for _ in range(4)]

    assert [response.status_code for response in responses] == [400, 400, 400, 429]
    assert [rate_of(response)[1] for response in responses] == ["2", "1", "0", "0"]


def test_counts_what_is_forbidden(account, key_for, set_plan, clock):
    set_plan(account, "basic")
    forbidden = Api(key_for(account))

    responses = [forbidden.get("/probes/") for _ in range(4)]

    assert [response.status_code for response in responses] == [403, 403, 403, 429]
    assert [rate_of(response)[1] for response in responses] == ["2", "1", "0", "0"]


def test_counts_a_failure_of_ours_but_tells_no_rate(api, clock):
    calm = Api(api.key, Client(raise_request_exception=False))

    responses = [calm.get("/probes/crash/") for _ in range(4)]

    assert [response.status_code for response in responses] == [500, 500, 500, 429]
    assert rate_of(responses[0]) == (None, None, None)


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "BREW"])
def test_counts_nothing_that_needs_no_key(api, clock, method):
    for _ in range(5):
        response = api.ask(method, "/probes/")

    assert rate_of(response) == (None, None, None)
    assert rate_of(api.get("/probes/"))[1] == "2"


@pytest.mark.parametrize("key", ["", "wrong"])
def test_tells_no_rate_without_a_right_key(api, clock, key):
    response = api.get("/probes/", **{"X-Api-Key": key})

    assert response.status_code == 401
    assert rate_of(response) == (None, None, None)


def test_has_no_limit_where_none_is_named(api, clock):
    responses = [api.post("/probes/", {"name": "lamp"}) for _ in range(5)]

    assert {response.status_code for response in responses} == {200}
    assert {rate_of(response) for response in responses} == {(None, None, None)}


def test_keeps_the_limit_when_the_body_is_refused(api, clock):
    api.post("/probes/", "no JSON")

    assert rate_of(api.get("/probes/"))[1] == "2"


def test_counts_by_one_statement(api, statements):
    api.get("/probes/")

    with statements() as asked:
        api.get("/probes/")

    counted = [query for query in asked if "ratewindow" in query["sql"]]
    assert len(counted) == 1
