"""Rate limits and allowed methods: docs/api-contract.md, section 1.8."""

import time

import pytest

from affiliate_site.api.access import get_rate
from tests.architecture.api_contract import (
    ALIASES,
    BUCKETS,
    METHODS,
    OPERATIONS,
    format_operation,
    list_operations,
    list_routes,
)

IMPLEMENTED = list_operations()
SHARED = [alias for alias in ALIASES if alias in IMPLEMENTED and OPERATIONS[alias].rate]
HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")


def test_has_exactly_the_operations_of_the_contract():
    assert set(IMPLEMENTED) == set(OPERATIONS)


@pytest.mark.parametrize("operation", IMPLEMENTED, ids=format_operation)
def test_declares_the_rate_limit_of_the_contract(operation):
    route = IMPLEMENTED[operation]

    rate = get_rate(route.view, route.actions[operation[0]])

    declared = rate and (rate.max_requests, rate.window.total_seconds() / 60)
    assert declared == OPERATIONS[operation].rate


@pytest.mark.parametrize("path", list_routes())
def test_declares_no_rate_limit_for_a_missing_action(path):
    view = list_routes()[path].view
    declared = set(view.throttle_rate) if isinstance(view.throttle_rate, dict) else set()

    actions = {
        action
        for route in list_routes().values()
        if route.view is view
        for action in route.actions.values()
    }
    assert declared <= actions


@pytest.mark.engine_independent
@pytest.mark.parametrize("operation", IMPLEMENTED, ids=format_operation)
def test_rate_limit_headers_match_the_contract(api, operation):
    method, _ = operation
    body = None if method in ("GET", "DELETE") else {}

    earliest = time.time()
    response = api.request(method, IMPLEMENTED[operation].build_path(), body)
    latest = time.time()

    sent = [response.headers.get(name) for name in HEADERS]
    rate = OPERATIONS[operation].rate
    if rate is None:
        assert sent == [None, None, None]
    else:
        limit, minutes = rate
        assert sent[:2] == [str(limit), str(limit - 1)]
        assert earliest + minutes * 60 <= int(sent[2]) < latest + minutes * 60 + 1


def test_counts_every_operation_in_its_own_window(api):
    remaining = {}
    for operation, route in IMPLEMENTED.items():
        if OPERATIONS[operation].rate and operation not in ALIASES:
            body = None if operation[0] in ("GET", "DELETE") else {}
            response = api.request(operation[0], route.build_path(), body)
            remaining[operation] = int(response.headers[HEADERS[1]])

    assert remaining == {operation: OPERATIONS[operation].rate[0] - 1 for operation in remaining}


@pytest.mark.parametrize("alias", SHARED, ids=format_operation)
def test_alias_shares_the_rate_limit(api, alias):
    canonical = ALIASES[alias]

    for method, path in (canonical, alias):
        response = api.request(method, IMPLEMENTED[method, path].build_path(), {})

    assert int(response.headers[HEADERS[1]]) == OPERATIONS[canonical].rate[0] - 2


@pytest.mark.parametrize("path", list_routes())
def test_returns_405_for_every_method_outside_the_contract(client, path):
    allowed = {method for method in METHODS if (method, path) in IMPLEMENTED}

    for method in ({*METHODS, "TRACE", "BREW"}) - allowed:
        version = "1.7" if path.startswith("/pb/") else "1.6"
        response = client.generic(method, f"/{version}{list_routes()[path].build_path()}")

        assert response.status_code == 405, method
        assert response.json()["message"] == "Method Not Allowed"
        assert set(response.json()) == {"message", "code", "traceId"}
        allow = set(response.headers["Allow"].split(", ")) - {"HEAD", "OPTIONS"}
        assert allow == allowed
        assert not set(HEADERS) & set(response.headers)


def test_uses_every_bucket_of_the_contract():
    used = {operation.bucket for operation in OPERATIONS.values()}

    assert used == set(BUCKETS)
