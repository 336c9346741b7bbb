"""Rules for every response, whatever the endpoint.

See docs/api-contract.md, sections 1.1, 1.5, 1.7 and 1.12.
"""

import re

import pytest
from django.test import Client

from tests.wsgi_client import send_request

pytestmark = [
    pytest.mark.engine_independent,  # headers and paths
    pytest.mark.urls("tests.dummy_endpoints"),
]

JSON = {"Accept": "application/json"}
TRACE_ID = re.compile(r"[0-9a-f]{32}", re.ASCII)
KEY = "aff_live_" + "0" * 49

CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": (
        "Link, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset,"
        " X-Trace-Id, Idempotent-Replayed"
    ),
}
PREFLIGHT = CORS | {
    "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE, OPTIONS",
    "Access-Control-Allow-Headers": ("X-Api-Key, Api-Key, Content-Type, Accept, Idempotency-Key"),
    "Access-Control-Max-Age": "600",
}
FIXED = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self'; object-src 'none'; base-uri 'none';"
        " frame-ancestors 'none'; img-src 'self' data:;"
        " style-src 'self' 'unsafe-inline'; form-action 'self'"
    ),
}

TOO_MANY = "?" + "&".join(f"p{n}=1" for n in range(1001))
# name: method, path, headers, with a valid key?, status
API_RESPONSES = {
    "a list": ("GET", "/1.6/programs/", {}, True, 200),
    "a deletion": ("DELETE", "/1.6/dummies/any/", {}, True, 204),
    "a preflight": ("OPTIONS", "/1.6/programs/", {}, False, 204),
    "an invalid query": ("GET", "/1.6/programs/?page=0", {}, True, 400),
    "no body": ("POST", "/1.6/dummies/", {}, True, 400),
    "an unknown host": ("GET", "/1.6/programs/", {"Host": "evil.example"}, True, 400),
    "an invalid host": ("GET", "/1.6/programs/", {"Host": "a b/c"}, True, 400),
    "too many parameters": ("GET", f"/1.6/programs/{TOO_MANY}", {}, True, 400),
    "no key": ("GET", "/1.6/programs/", {}, False, 401),
    "no key, in JSON": ("GET", "/1.6/programs/", JSON, False, 401),
    "a wrong key": ("GET", "/1.6/programs/", {"X-Api-Key": KEY}, False, 401),
    "an unknown path": ("GET", "/1.6/nothing/", {}, True, 404),
    "an unknown path, in JSON": ("GET", "/1.6/nothing/", JSON, True, 404),
    "a preflight of an unknown path": ("OPTIONS", "/1.6/nothing/", JSON, False, 404),
    "a path with NUL": ("GET", "/1.6/programs/%00/", JSON, True, 404),
    "an unknown object": ("GET", "/1.6/programs/unknown/", {}, True, 404),
    "a wrong method": ("POST", "/1.6/programs/", {}, True, 405),
    "an invented method": ("BREW", "/1.6/programs/", {}, False, 405),
    "a conflict": ("GET", "/1.6/dummies/conflict/", {}, True, 409),
    "a crash": ("GET", "/1.6/dummies/crash/", {}, True, 500),
    "an unavailable database": ("GET", "/1.6/dummies/away/", {}, True, 503),
    "an unknown tracking path": ("GET", "/track/nothing/", JSON, False, 404),
    "an unknown postback path": ("GET", "/1.7/pb/nothing/", JSON, False, 404),
}
OTHER_RESPONSES = {
    "liveness": ("GET", "/healthz", {}, False, 200),
    "readiness": ("GET", "/readyz", {}, False, 200),
    "health with a wrong method": ("POST", "/healthz", {}, False, 405),
    "the API reference": ("GET", "/docs/", {}, False, 200),
    "a guide": ("GET", "/docs/guide/", {}, False, 200),
    "the OpenAPI document": ("GET", "/openapi.json", {}, False, 200),
    "the OpenAPI document with a wrong method": (
        "POST",
        "/openapi.json",
        {},
        False,
        405,
    ),
    "an unknown page": ("GET", "/nothing/", {}, False, 404),
    "an unknown page, in JSON": ("GET", "/nothing/", JSON, False, 404),
    "another version": ("GET", "/1.5/programs/", JSON, True, 404),
    "an unknown file": ("GET", "/static/nothing.css", {}, False, 404),
}


@pytest.fixture
def send_case(api, program):
    """Send a request of the tables above and check its status."""
    client = Client(raise_request_exception=False)

    def send(case):
        method, path, headers, with_key, status = case
        key = {"X-Api-Key": api.key} if with_key else {}
        response = client.generic(method, path, headers=headers | key)
        assert response.status_code == status
        return response

    return send


# Trace id


WITH_TRACE_ID = {
    *("an unknown host", "an invalid host", "too many parameters", "a path with NUL"),
    *("an unknown path, in JSON", "a preflight of an unknown path", "a wrong method"),
    *("an invented method", "a crash", "an unavailable database"),
    *("an unknown tracking path", "an unknown postback path"),
}


@pytest.mark.parametrize("name", API_RESPONSES)
def test_every_response_of_the_api_has_its_headers(send_case, name):
    response = send_case(API_RESPONSES[name])

    assert_has_fixed_headers(response)
    assert response.get("Cache-Control") == "no-store"
    assert {header: response.get(header) for header in CORS} == CORS
    assert "Access-Control-Allow-Credentials" not in response
    if name in WITH_TRACE_ID:
        assert set(response.json()) == {"message", "code", "traceId"}
        assert response.json()["code"] == response.status_code
        assert response.json()["traceId"] == response["X-Trace-Id"]
    else:
        assert b"traceId" not in response.content


@pytest.mark.parametrize("name", OTHER_RESPONSES)
def test_every_other_response_has_its_headers(send_case, name):
    response = send_case(OTHER_RESPONSES[name])

    assert_has_fixed_headers(response)
    assert [header for header in response.headers if "Access-" in header] == []


def assert_has_fixed_headers(response):
    assert TRACE_ID.fullmatch(response["X-Trace-Id"])
    assert {header: response.get(header) for header in FIXED} == FIXED
    assert "Location" not in response
    assert "Strict-Transport-Security" not in response  # PUBLIC_URL is plain http
    assert not response.cookies


def test_each_request_has_a_new_trace_id(client):
    responses = [client.get("/healthz") for _ in range(3)]

    assert len({response["X-Trace-Id"] for response in responses}) == 3


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Trace-Id": "0" * 32},
        {"traceparent": f"00-{'0af76519' * 4}-b7ad6b7169203331-01"},
        {"X-Request-Id": "0af76519" * 4},
    ],
    ids=["X-Trace-Id", "traceparent", "X-Request-Id"],
)
def test_ignores_trace_id_of_the_caller(client, headers):
    response = client.get("/healthz", headers=headers)

    assert response["X-Trace-Id"] not in "".join(headers.values())


# Host and number of parameters: before the path, the method and the key


BAD_REQUEST = {"message": "Bad Request", "code": 400}


HOSTS = [
    *("evil.example", "testserver.evil.example", "a b", "", " ", "test@x", "%00"),
    *("testserver:x", "testserver:abc", "testserver/", "testserver, evil.example"),
    *("testserver@evil.example", "evil.example:80@testserver", "[::1", "[::1]]"),
    *("a" * 10_000, "\xff", "тест".encode().decode("latin-1")),
]


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: repr(host)[:24])
@pytest.mark.parametrize(
    "path", ["/1.6/programs/", "/1.6/nothing/", "/1.7/pb/nothing/", "/track/nothing/"]
)
def test_rejects_unknown_host_first(client, host, path):
    response = client.post(path, headers={"Host": host, "Accept": "text/html"})

    assert response.status_code == 400
    assert response["Content-Type"] == "application/json"
    assert response.json() == BAD_REQUEST | {"traceId": response["X-Trace-Id"]}


def test_ignores_forwarded_host(api):
    response = api.get("/programs/", **{"X-Forwarded-Host": "evil.example"})

    assert response.status_code == 200
    assert "evil.example" not in response["Link"]


@pytest.mark.parametrize("path", ["/1.6/programs/", "/1.6/nothing/"])
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "BREW"])
def test_rejects_more_than_a_thousand_parameters_first(client, method, path):
    response = client.generic(method, f"{path}{TOO_MANY}")

    assert response.status_code == 400
    assert response["Content-Type"] == "application/json"
    assert response.json() == BAD_REQUEST | {"traceId": response["X-Trace-Id"]}


def test_accepts_a_thousand_parameters(api):
    query = "&".join(f"p{n}=1" for n in range(1000))

    response = api.get(f"/programs/?{query}")

    assert response.status_code == 200


# Slashes and invalid paths


METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("path", ["/programs", "/programs/unknown", "/nothing"])
def test_response_is_the_same_without_trailing_slash(api, program, path, method):
    without_slash, with_slash = (
        api.request(method, address, Accept="application/json") for address in (path, f"{path}/")
    )

    assert without_slash.status_code == with_slash.status_code
    assert "Location" not in without_slash
    assert remove_trace_id(without_slash) == remove_trace_id(with_slash)


def remove_trace_id(response):
    return response.content.replace(response["X-Trace-Id"].encode(), b"")


def test_keeps_body_of_post_without_trailing_slash(api):
    response = api.post("/dummies", {"name": "lamp"})

    assert response.status_code == 200
    assert response.json() == {"name": "lamp"}


@pytest.mark.parametrize(
    "path",
    [
        *("/1.6/programs/%00/", "/1.6/programs%00/", "/1.6/programs/harbor%00lamp"),
        *("/1.6/%00", "/%00/", "/1.7/pb/%00/", "/track/%00/"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_path_with_nul_is_not_found(client, method, path):
    response = client.generic(method, path, headers=JSON)

    assert response.status_code == 404
    assert response.json() == {
        "message": "Not Found",
        "code": 404,
        "traceId": response["X-Trace-Id"],
    }


@pytest.mark.parametrize(
    "path",
    [
        *("/1.6", "/1.6/", "/1.6//programs/", "/1.6/programs//", "//1.6/programs/"),
        *("/1.6/Programs/", "/1.6/programs.json", "/1.6/programs/a/b/"),
        *("/1.6/../1.6/programs/", "/1.4/programs/", "/1.5/programs/"),
        *("/1.7/programs/", "/api/1.6/programs/", "/api/programs/", "/programs/"),
    ],
)
def test_serves_no_other_paths(api, path):
    response = api.client.get(path, headers=JSON | {"X-Api-Key": api.key})

    assert response.status_code == 404
    assert response.json() == {
        "message": "Not Found",
        "code": 404,
        "traceId": response["X-Trace-Id"],
    }


# Other origins


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/1.6/programs/", {"GET", "HEAD", "OPTIONS"}),
        ("/1.6/programs/unknown/", {"GET", "HEAD", "OPTIONS"}),
        ("/1.6/programs", {"GET", "HEAD", "OPTIONS"}),
        ("/1.6/dummies/", {"GET", "HEAD", "POST", "OPTIONS"}),
        ("/1.6/writing-dummies/", {"POST", "OPTIONS"}),
    ],
    ids=["list", "item", "no slash", "list and create", "create"],
)
@pytest.mark.parametrize("headers", [{}, {"X-Api-Key": KEY}], ids=["no key", "wrong key"])
def test_preflight_needs_no_key(client, db, path, allowed, headers):
    response = client.options(
        path,
        headers=headers
        | {
            "Origin": "https://shop.example.net",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "x-api-key",
        },
    )

    assert response.status_code == 204
    assert response.content == b""
    assert set(response["Allow"].split(", ")) == allowed
    assert {name: response.get(name) for name in PREFLIGHT} == PREFLIGHT


def test_preflight_performs_no_query(client, db, capture_queries):
    with capture_queries() as queries:
        client.options("/1.6/programs/")

    assert len(queries) == 0


# HEAD


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/1.6/programs/", 200),
        ("/1.6/programs/harbor-lamp-partners/", 200),
        ("/1.6/programs/unknown/", 404),
        ("/1.6/nothing/", 404),
        ("/1.6/writing-dummies/", 405),
        ("/1.6/dummies/crash/", 500),
        ("/healthz", 200),
        ("/readyz", 200),
        ("/docs/", 200),
        ("/openapi.json", 200),
    ],
)
def test_head_is_get_without_body(api, program, path, status):
    get, head = (send_request(method, path, HTTP_X_API_KEY=api.key) for method in ("GET", "HEAD"))

    assert get.status == head.status == status
    assert get.content != b""
    assert head.content == b""
    assert get_stable_headers(head.headers) == get_stable_headers(get.headers)
    assert head.headers["Content-Length"] == str(len(get.content))


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_head_without_key_has_no_body(db, accept):
    response = send_request("HEAD", "/1.6/programs/", HTTP_ACCEPT=accept)

    assert response.status == 401
    assert response.content == b""


@pytest.mark.parametrize(
    ("method", "path"), [("DELETE", "/1.6/dummies/any/"), ("OPTIONS", "/1.6/programs/")]
)
def test_no_content_has_no_body_and_no_html_type(api, method, path):
    response = send_request(method, path, HTTP_X_API_KEY=api.key)

    assert response.status == 204
    assert response.content == b""
    assert "html" not in response.headers.get("Content-Type", "")


def get_stable_headers(headers):
    changing = ("X-Trace-Id", "X-RateLimit-Remaining", "X-RateLimit-Reset")
    return {name: value for name, value in headers.items() if name not in changing}


# Headers and parameters without effect


@pytest.mark.parametrize("query", ["format=xml", "format=api", "_method=DELETE"])
def test_ignores_parameters(api, program, query):
    expected = api.get("/programs/")

    response = api.get(f"/programs/?{query}")

    assert response.status_code == 200
    assert response.content == expected.content
