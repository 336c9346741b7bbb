"""Request-level rules of postbacks (docs/api-contract.md, sections 1 and 4)."""

from urllib.parse import urlencode

import pytest
from django.test import Client

from accounts.services.accounts import lock_account
from tests.conftest import ApiClient
from tests.program_scenario import CONVERSION_CREATED_AT

pytestmark = [
    pytest.mark.usefixtures("shared_scenario"),
    pytest.mark.engine_independent,  # refused before a sale is looked for
]

PATHS = ["con/c/", "con/u/", "cus/c/", "cus/u/"]
JSON = {"Accept": "application/json"}
CORS = {"Access-Control-Allow-Origin": "*", "Cache-Control": "no-store"}

every_path = pytest.mark.parametrize("path", PATHS)


def assert_error_response(response, status, message):
    """Check a request-level error and the headers of every response."""
    assert response.status_code == status
    assert response["Content-Type"] == "application/json"
    trace_id = {} if status == 401 else {"traceId": response["X-Trace-Id"]}
    assert response.json() == {"message": message, "code": status} | trace_id
    assert {name: response.headers.get(name) for name in CORS} == CORS
    assert not [name for name in response.headers if "RateLimit" in name]


@pytest.fixture
def scenario(scenario):
    """With a conversion and a customer."""
    scenario.create_conversion("200", external_id="order-1", customer_id="acct-1")
    return scenario


@pytest.fixture
def bodies_by_path(scenario):
    """A valid body for each path."""
    coupon = {"coupon": scenario.mina.coupon}
    return {
        "con/c/": {"external_id": "order-2", "amount": 10} | coupon,
        "con/u/": {"external_id": "order-1", "amount": 10},
        "cus/c/": {"customer_id": "acct-2"} | coupon,
        "cus/u/": {"customer_id": "acct-1", "status": "canceled"},
    }


def assert_no_effect(account):
    assert account.conversions.get().amount == 200
    assert account.customers.get().status == "paying"
    assert not account.conversion_attempts.exists()


@every_path
def test_responds_with_the_headers_of_the_api(send_postback, bodies_by_path, path):
    response = send_postback(path, bodies_by_path[path])

    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert {name: response.headers.get(name) for name in CORS} == CORS
    assert len(response["X-Trace-Id"]) == 32
    assert not [name for name in response.headers if "RateLimit" in name]
    assert "Access-Control-Allow-Credentials" not in response


@every_path
def test_accepts_path_without_trailing_slash(api, bodies_by_path, path):
    by_get = api.get(f"/pb/{path[:-1]}?{urlencode(bodies_by_path[path])}")

    assert by_get.status_code == 200


@pytest.mark.parametrize("method", ["HEAD", "PUT", "PATCH", "DELETE", "TRACE"])
@every_path
def test_checks_method_before_key(db, path, method):
    response = Client().generic(method, f"/1.7/pb/{path}", headers=JSON | {"Purpose": "prefetch"})

    assert response.status_code == 405
    assert response["Allow"] == "GET, POST, OPTIONS"
    if method != "HEAD":
        assert_error_response(response, 405, "Method Not Allowed")


@every_path
def test_options_needs_no_key(db, path):
    response = Client().options(f"/1.7/pb/{path}", headers={"Sec-Purpose": "prefetch"})

    assert (response.status_code, response.content) == (204, b"")
    assert response["Allow"] == "GET, POST, OPTIONS"
    assert response["Access-Control-Allow-Origin"] == "*"


@pytest.mark.parametrize(
    "path", ["/1.7/pb/", "/1.7/pb/cli/c/", "/1.7/con/c/", "/1.6/pb/con/c/", "/1.7/"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD"])
def test_serves_no_other_path(db, method, path):
    response = Client().generic(method, path, headers=JSON | {"Purpose": "prefetch"})

    assert response.status_code == 404


@pytest.mark.parametrize("header", ["Sec-Purpose", "Purpose", "X-Moz"])
@every_path
def test_rejects_prefetch_without_effect(account, bodies_by_path, path, header):
    url = f"/1.7/pb/{path}?{urlencode(bodies_by_path[path])}"

    for key in ({}, {"X-Api-Key": "aff_live_wrong"}):
        response = Client().get(url, headers={header: "Prefetch"} | key)

        assert_error_response(response, 400, "Bad Request")
    assert_no_effect(account)


@every_path
def test_rejects_prefetch_with_key(api, account, bodies_by_path, path):
    response = api.get(
        f"/pb/{path}?{urlencode(bodies_by_path[path])}",
        Purpose="prefetch",
        Accept="text/html",
    )

    assert_error_response(response, 400, "Bad Request")
    assert_no_effect(account)


def test_accepts_post_with_prefetch_header(api, bodies_by_path):
    response = api.post("/pb/con/c/", bodies_by_path["con/c/"], Purpose="prefetch")

    assert response.status_code == 200


# The key.


@pytest.mark.parametrize("name", ["api_key", "X-Api-Key", "Api-Key", "key"])
@every_path
def test_accepts_key_in_header_only(api, account, bodies_by_path, path, name):
    query = urlencode(bodies_by_path[path] | {name: api.key})

    response = Client().get(f"/1.7/pb/{path}?{query}", headers=JSON)

    assert_error_response(response, 401, "Authentication Failed.")
    assert_no_effect(account)


# Role and plan.


@every_path
def test_checks_permission_before_reading(account, make_key, bodies_by_path, path):
    lock_account(account, at=CONVERSION_CREATED_AT)
    viewer = ApiClient(make_key(account, "viewer"))

    assert viewer.post(f"/pb/{path}", "no JSON").status_code == 403
    assert viewer.get(f"/pb/{path}?external_id=%00").status_code == 403


@every_path
def test_rejects_large_body(api, scenario, path):
    response = api.post(f"/pb/{path}", " " * (1024 * 1024 + 1))

    assert_error_response(response, 413, "Request Entity Too Large")
