"""Request-level errors: order of the checks, JSON or HTML.

Rules: docs/api-contract.md, sections 1.5 and 1.7.
"""

import pytest
from django.test import Client, RequestFactory

from affiliate_site import http_errors
from tests.conftest import ApiClient
from tests.dummy_endpoints import FAILURES
from tests.factories.accounts import AccountFactory

pytestmark = pytest.mark.urls("tests.dummy_endpoints")

# Values of `Accept` that name a JSON type, and others.
ACCEPTS_JSON = [
    "application/json",
    "APPLICATION/JSON",
    "application/json;q=0.5",
    "application/json; charset=utf-8",
    "text/html, application/json",
    "text/html;q=0.9,application/json;q=0.1,*/*;q=0.8",
    "application/vnd.api+json",
    "application/problem+json; q=0.3",
    "application/hal+json,text/html",
]
ACCEPTS_OTHER = [
    None,
    "",
    "*/*",
    "application/*",
    "text/html",
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "text/json",
    "application/jsonp",
    "application/json-seq",
    "application/x-json",
    "application/xml",
    "text/plain; note=application/json",
]


def get_accept_header(accept):
    return {} if accept is None else {"Accept": accept}


def corrupt_key(key):
    """Return the key with another last character."""
    return key[:-1] + ("0" if key[-1] != "0" else "1")


@pytest.fixture
def non_raising_client(api):
    """A client that returns unexpected failures as responses."""
    return ApiClient(api.key, Client(raise_request_exception=False))


# 401


@pytest.mark.parametrize("accept", [*ACCEPTS_JSON, *ACCEPTS_OTHER], ids=str)
def test_missing_key_is_json_if_accepted_else_html(client, db, accept):
    response = client.get("/1.6/programs/", headers=get_accept_header(accept))

    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "ApiKey"
    if accept in ACCEPTS_JSON:
        assert response["Content-Type"] == "application/json"
        assert response.json() == {"message": "Authentication Failed.", "code": 401}
    else:
        assert response["Content-Type"] == "text/html; charset=utf-8"
        assert "<h1>Authentication Failed.</h1>" in response.text


@pytest.mark.parametrize("accept", [*ACCEPTS_JSON, *ACCEPTS_OTHER], ids=str)
def test_wrong_key_is_always_json(client, api, accept):
    response = client.get(
        "/1.6/programs/",
        headers={"X-Api-Key": corrupt_key(api.key)} | get_accept_header(accept),
    )

    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "ApiKey"
    assert response["Content-Type"] == "application/json"
    assert response.json() == {"message": "Authentication Failed.", "code": 401}


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_checks_key_before_query_and_body(client, db, method):
    response = client.generic(
        method,
        "/1.6/dummies/?page=0&date_from=x",
        "no JSON",
        headers={"Accept": "application/json"},
    )

    assert response.status_code == 401
    assert response.json() == {"message": "Authentication Failed.", "code": 401}


# 404


@pytest.mark.parametrize("path", ["/1.6/nothing/", "/nothing/"])
@pytest.mark.parametrize("accept", [*ACCEPTS_JSON, *ACCEPTS_OTHER], ids=str)
def test_unknown_path_is_json_if_accepted_else_html(client, path, accept):
    response = client.get(path, headers=get_accept_header(accept))

    assert response.status_code == 404
    if accept in ACCEPTS_JSON:
        assert response["Content-Type"] == "application/json"
        trace_id = {"traceId": response["X-Trace-Id"]}
        assert response.json() == {"message": "Not Found", "code": 404} | trace_id
    else:
        assert response["Content-Type"] == "text/html; charset=utf-8"
        assert "<h1>Not Found</h1>" in response.text


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"])
def test_checks_path_before_method_and_key(client, method):
    response = client.generic(method, "/1.6/nothing/", headers={"Accept": "application/json"})

    assert response.status_code == 404


def test_does_not_repeat_the_path_on_the_page(client):
    response = client.get("/1.6/<script>alert(1)</script>/")

    assert response.status_code == 404
    assert "alert" not in response.text


@pytest.mark.parametrize("accept", ["text/html", "*/*", "application/json"])
def test_unknown_object_is_always_json(api, accept):
    response = api.get("/programs/unknown/", Accept=accept)

    assert response.status_code == 404
    assert response["Content-Type"] == "application/json"
    assert response.json() == {"errors": [{"message": "Program not found"}]}


# 405


WRONG_METHODS = [
    *(
        *("POST", "PUT", "PATCH", "DELETE", "TRACE", "TRACK", "CONNECT"),
        *("PROPFIND", "BREW"),
    ),
    *("DISPATCH", "INITIAL", "LIST", "RETRIEVE", "AS_VIEW", "SELF", "ALLOWED_METHODS"),
    *(
        *("__CLASS__", "__INIT__", "HTTP_METHOD_NAMES", "GET-", "get ", "-", "*"),
        "A" * 5000,
    ),
]


@pytest.mark.parametrize("method", WRONG_METHODS, ids=lambda text: text[:20])
@pytest.mark.parametrize("headers", [{}, {"X-Api-Key": "wrong", "Accept": "text/html"}], ids=str)
def test_checks_method_before_key(client, db, method, headers):
    response = client.generic(method, "/1.6/programs/", headers=headers)

    assert response.status_code == 405
    assert response["Content-Type"] == "application/json"
    assert set(response["Allow"].split(", ")) == {"GET", "HEAD", "OPTIONS"}
    assert response.json() == {
        "message": "Method Not Allowed",
        "code": 405,
        "traceId": response["X-Trace-Id"],
    }


@pytest.mark.parametrize("path", ["/docs/", "/openapi.json", "/healthz", "/readyz"])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"])
def test_pages_outside_the_api_are_read_only(client, db, path, method):
    response = client.generic(method, path)

    assert response.status_code == 405
    assert set(response["Allow"].split(", ")) == {"GET", "HEAD"}
    assert response.json() == {
        "message": "Method Not Allowed",
        "code": 405,
        "traceId": response["X-Trace-Id"],
    }


# 500 and 503


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("crash", 500, "Internal Server Error"),
        ("recursion", 500, "Internal Server Error"),
        ("away", 503, "Service Unavailable"),
        ("full", 503, "Service Unavailable"),
        ("cut-off", 503, "Service Unavailable"),
    ],
)
@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_unexpected_failure_is_500_or_503(non_raising_client, name, status, message, accept):
    response = non_raising_client.get(f"/dummies/{name}/", Accept=accept)

    assert response.status_code == status
    assert response["Content-Type"] == "application/json"
    assert response.json() == {
        "message": message,
        "code": status,
        "traceId": response["X-Trace-Id"],
    }
    assert str(FAILURES[name]) not in response.text


@pytest.mark.parametrize("name", ["crash", "away"])
def test_unexpected_failure_has_no_rate_limit_headers(non_raising_client, name):
    response = non_raising_client.get(f"/dummies/{name}/")

    assert not any(header.startswith("X-RateLimit") for header in response.headers)


def test_failure_during_authentication_is_503(non_raising_client, monkeypatch):
    def find_api_key(text):
        raise FAILURES["away"]

    monkeypatch.setattr("affiliate_site.api.access.find_api_key", find_api_key)

    response = non_raising_client.get("/programs/")

    assert response.status_code == 503
    assert response.json() == {
        "message": "Service Unavailable",
        "code": 503,
        "traceId": response["X-Trace-Id"],
    }


def test_failure_of_rate_limiting_is_503(non_raising_client, monkeypatch):
    def count_request(subject, limit):
        raise FAILURES["away"]

    monkeypatch.setattr("affiliate_site.api.access.count_request", count_request)

    response = non_raising_client.get("/programs/")

    assert response.status_code == 503
    assert not any(header.startswith("X-RateLimit") for header in response.headers)


# Order of checks: path, method, key, limit, plan and role, size, JSON, object, fields


LARGE = b'{"name": "' + b"x" * 1024 * 1024 + b'"}'
ORDER = {
    "path": ("BREW", "/nothing/", LARGE, "viewer", "basic", 404),
    "method": ("BREW", "/dummies/", LARGE, "viewer", "basic", 405),
    "plan": ("POST", "/dummies/", LARGE, "owner", "basic", 403),
    "role": ("POST", "/dummies/", LARGE, "viewer", "pro", 403),
    "size": ("POST", "/dummies/", LARGE, "owner", "pro", 413),
    "JSON": ("POST", "/dummies/", b"[", "owner", "pro", 400),
    "plan before object": ("GET", "/dummies/missing/", b"", "viewer", "basic", 403),
    "object": ("GET", "/dummies/missing/", b"", "viewer", "pro", 404),
}


@pytest.mark.parametrize(
    ("method", "path", "body", "role", "plan", "status"), ORDER.values(), ids=ORDER
)
def test_responds_with_the_first_failing_check(
    account, make_key, set_plan, method, path, body, role, plan, status
):
    set_plan(account, plan)
    calm = ApiClient(make_key(account, role), Client(raise_request_exception=False))

    response = calm.request(method, path, body, Accept="application/json")

    assert response.status_code == status


# Pages of browsers, outside the API

BROWSER_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.urls("affiliate_site.urls")
@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/nothing/", 404, "There is nothing at this address"),
        ("/admin/nothing/", 302, ""),  # asks to sign in
        ("/admin/login/?account=%00", 400, "cannot be read"),
    ],
)
def test_browsers_get_a_page(client, db, path, status, text):
    response = client.get(path, headers={"Accept": BROWSER_ACCEPT})

    assert response.status_code == status
    assert response["Content-Type"] == "text/html; charset=utf-8"
    assert text in response.text
    if status != 302:
        assert response["X-Trace-Id"] in response.text


@pytest.mark.urls("affiliate_site.urls")
def test_pages_of_the_back_office_lead_to_the_dashboard(client, db):
    owner = AccountFactory().staff.create(email="owner@example.org")
    viewer = AccountFactory().staff.create(email="v@example.org", role="viewer")
    browser = {"Accept": BROWSER_ACCEPT}

    client.force_login(owner)
    unknown = client.get("/admin/nothing/", headers=browser)
    client.force_login(viewer)
    denied = client.get("/admin/accounts/apikey/add/", headers=browser)
    expired = Client(enforce_csrf_checks=True).post("/admin/login/", headers=browser)

    assert [unknown.status_code, denied.status_code, expired.status_code] == [*(404, 403, 403)]
    assert "ask an owner of your account" in denied.text
    assert "Open the page again" in expired.text
    for response in (unknown, denied, expired):
        assert 'href="/admin/">To the dashboard' in response.text


def test_failures_are_pages_for_browsers_only(client):
    request = RequestFactory().get("/admin/", headers={"Accept": BROWSER_ACCEPT})
    request.trace_id = "0" * 32

    page = http_errors.server_error(request)
    request.META["HTTP_ACCEPT"] = "application/json"
    del request.headers  # cached
    body = http_errors.server_error(request)

    assert (page.status_code, body.status_code) == (500, 500)
    assert "Something went wrong on our side" in page.text
    assert body["Content-Type"] == "application/json"


@pytest.mark.urls("affiliate_site.urls")
def test_root_leads_browsers_to_the_back_office(client, db):
    browser = client.get("/", headers={"Accept": BROWSER_ACCEPT})
    other = client.get("/", headers={"Accept": "application/json"})

    assert (browser.status_code, browser["Location"]) == (302, "/admin/")
    assert other.status_code == 404
    assert other.json()["message"] == "Not Found"
    assert client.get("/favicon.ico")["Location"].endswith("favicon.svg")
