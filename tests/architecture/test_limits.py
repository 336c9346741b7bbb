"""Contract 1.8 and appendix A: every operation's bucket, both ways, and every 405."""

import time

import pytest

from affiliate_site.api.limits import rate_of
from tests.architecture.appendix_a import (
    ALIASES,
    BUCKETS,
    METHODS,
    OPERATIONS,
    built,
    routes,
    spelled,
)

BUILT = built()
SHARED = [alias for alias in ALIASES if alias in BUILT and OPERATIONS[alias].rate]
HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")


def test_has_every_operation_of_the_contract_and_no_other():
    assert set(BUILT) == set(OPERATIONS)


@pytest.mark.parametrize("operation", BUILT, ids=spelled)
def test_declares_the_rate_of_the_contract(operation):
    route = BUILT[operation]

    rate = rate_of(route.view, route.actions[operation[0]])

    declared = rate and (rate.limit, rate.window.total_seconds() / 60)
    assert declared == OPERATIONS[operation].rate


@pytest.mark.parametrize("path", routes())
def test_declares_no_rate_for_an_action_that_it_does_not_have(path):
    view = routes()[path].view
    declared = set(view.rates) if isinstance(view.rates, dict) else set()

    actions = {
        action
        for route in routes().values()
        if route.view is view
        for action in route.actions.values()
    }
    assert declared <= actions


@pytest.mark.parametrize("operation", BUILT, ids=spelled)
def test_tells_the_rate_of_the_contract_and_no_other(api, operation):
    method, _ = operation
    body = None if method in ("GET", "DELETE") else {}

    earliest = time.time()
    response = api.ask(method, BUILT[operation].filled(), body)
    latest = time.time()

    told = [response.headers.get(name) for name in HEADERS]
    rate = OPERATIONS[operation].rate
    if rate is None:
        assert told == [None, None, None]
    else:
        limit, minutes = rate
        assert told[:2] == [str(limit), str(limit - 1)]
        assert earliest + minutes * 60 <= int(told[2]) < latest + minutes * 60 + 1


def test_counts_every_operation_in_a_window_of_its_own(api):
    left = {}
    for operation, route in BUILT.items():
        if OPERATIONS[operation].rate and operation not in ALIASES:
            body = None if operation[0] in ("GET", "DELETE") else {}
            response = api.ask(operation[0], route.filled(), body)
            left[operation] = int(response.headers[HEADERS[1]])

    assert left == {operation: OPERATIONS[operation].rate[0] - 1 for operation in left}


@pytest.mark.parametrize("alias", SHARED, ids=spelled)
def test_counts_an_alias_with_what_it_stands_for(api, alias):
    proper = ALIASES[alias]

    for method, path in (proper, alias):
        response = api.ask(method, BUILT[method, path].filled(), {})

    assert int(response.headers[HEADERS[1]]) == OPERATIONS[proper].rate[0] - 2


@pytest.mark.parametrize("path", routes())
def test_answers_405_to_every_method_that_the_contract_does_not_give(client, path):
    allowed = {method for method in METHODS if (method, path) in BUILT}

    for method in ({*METHODS, "TRACE", "BREW"}) - allowed:
        version = "1.7" if path.startswith("/pb/") else "1.6"
        response = client.generic(method, f"/{version}{routes()[path].filled()}")

        assert response.status_code == 405, method
        assert response.json()["message"] == "Method Not Allowed"
        assert set(response.json()) == {"message", "code", "traceId"}
        told = set(response.headers["Allow"].split(", ")) - {"HEAD", "OPTIONS"}
        assert told == allowed
        assert not set(HEADERS) & set(response.headers)


def test_knows_the_buckets_of_the_contract():
    used = {operation.bucket for operation in OPERATIONS.values()}

    assert used == set(BUCKETS)
