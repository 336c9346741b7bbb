"""Malformed paths, headers and queries.

The API never answers 5xx, and each error has one of the two documented formats.
"""

import json
import re

import pytest
from django.test import Client

from tests.conftest import ApiClient
from tests.wsgi_client import send_request

pytestmark = [pytest.mark.integration, pytest.mark.urls("tests.dummy_endpoints")]

TRACE_ID = re.compile(r"[0-9a-f]{32}", re.ASCII)
ERROR_FORMATS = ({"errors"}, {"message", "code"}, {"message", "code", "traceId"})
ENTRY_KEYS = (
    {"message"},
    {"message", "code"},
    {"message", "message_raw", "property_path"},
)


def assert_valid_response(response, body):
    """Assert a success, an error in a documented format, or the HTML error page."""
    status, kind = response.status_code, response.headers.get("Content-Type", "")
    assert status < 500
    assert status not in (201, 301, 302, 307, 308, 406, 415, 422)
    assert TRACE_ID.fullmatch(response.headers["X-Trace-Id"])
    if status == 204:
        assert body == b""
    elif status == 429:
        assert body == b"Too many requests"
    elif kind.startswith("text/html"):
        assert status in (401, 404)
        assert body.startswith(b"<!doctype html>")
    else:
        assert kind == "application/json"
        assert_error_format(status, json.loads(body) if body else None)


def assert_error_format(status, data):
    if status == 200 or data is None:
        return
    assert set(data) in ERROR_FORMATS
    if "errors" in data:
        assert data["errors"]
        assert all(set(entry) in ENTRY_KEYS for entry in data["errors"])
    else:
        assert data["code"] == status
        assert ("traceId" in data) == (status != 401)


@pytest.fixture
def checking_client(api, program):
    """A client that checks every response."""

    class CheckingClient(ApiClient):
        def request(self, method, path, body=None, **headers):
            response = super().request(method, path, body, **headers)
            assert_valid_response(response, response.content)
            return response

    return CheckingClient(api.key, Client(raise_request_exception=False))


def assert_lists_readable(api):
    """Assert that every list is still readable."""
    response = api.get("/programs/")

    assert response.status_code == 200
    assert [row["id"] for row in response.json()] == ["harbor-lamp-partners"]


# Paths


SEGMENTS = {
    "NUL": "%00",
    "NUL inside": "harbor%00lamp",
    "a broken byte": "%FF",
    "half a letter": "%E2%82",
    "a surrogate": "%ED%A0%80",
    "letters": "%C5%A1%F0%9F%99%82",
    "a line break": "%0D%0ASet-Cookie:%20a=b",
    "a slash": "a%2Fb",
    "dots": "..",
    "escaped dots": "%2E%2E",
    "a backslash": "..%5C..%5C",
    "a space": "%20",
    "a per cent": "%25",
    "a broken per cent": "%",
    "a half per cent": "%2",
    "no hexadecimal": "%zz",
    "a semicolon": "a;b=c",
    "a quote": "'%20OR%201=1%20--",
    "markup": "%3Cscript%3E",
    "a question mark": "%3F",
    "a hash": "%23",
    "a minus": "-1",
    "thirty digits": "1" + "0" * 29,
    "a float": "1.5",
    "NaN": "NaN",
    "braces": "%7B0%7D%7B%7B%7D%7D",
    "format": "%25s%25n%25(a)s",
    "very long": "a" * 5000,
    "very many": "/".join("a" * 500),
    "right to left": "%E2%80%AE",
    "a BOM": "%EF%BB%BF",
    "upper case": "HARBOR-LAMP-PARTNERS",
    "a star": "*",
    "a suffix": "harbor-lamp-partners.json",
    "white space behind": "harbor-lamp-partners%20",
    "a line break behind": "harbor-lamp-partners%0A",
}


@pytest.mark.engine_independent
@pytest.mark.parametrize("segment", SEGMENTS.values(), ids=SEGMENTS)
def test_unknown_paths_return_404(checking_client, segment):
    responses = [
        checking_client.get(f"/programs/{segment}/"),
        checking_client.get(f"/programs/{segment}", Accept="application/json"),
        checking_client.get(f"/{segment}/"),
        checking_client.get(f"/{segment}/", Accept="application/json"),
        checking_client.get(f"/programs/harbor-lamp-partners/{segment}/"),
    ]

    assert {response.status_code for response in responses} == {404}


@pytest.mark.parametrize("segment", SEGMENTS.values(), ids=SEGMENTS)
@pytest.mark.parametrize("method", ["POST", "OPTIONS"])
def test_handles_any_method_at_a_malformed_path(checking_client, segment, method):
    response = checking_client.request(method, f"/programs/{segment}/", "[")

    assert response.status_code in (204, 404, 405)


@pytest.mark.parametrize(
    "path",
    ["", "*", "programs", "1.6/programs/", "//", "/\xff\xfe", "/" * 9000],
    ids=["empty", "star", "no slash", "relative", "slashes", "bytes", "many slashes"],
)
@pytest.mark.parametrize("method", ["GET", "OPTIONS", "CONNECT"])
def test_handles_malformed_request_targets(db, method, path):
    response = send_request(method, path, HTTP_ACCEPT="application/json")

    # An empty target is `/`, which leads browsers to the back office.
    assert response.status == (404 if path or method == "GET" else 405)
    assert set(json.loads(response.content)) == {"message", "code", "traceId"}


# Queries


VALUES = {
    "empty": "",
    "NUL": "%00",
    "a broken byte": "%FF",
    "a surrogate": "%ED%A0%80",
    "a line break": "%0D%0A",
    "a quote": "'",
    "a statement": "1;DROP%20TABLE%20x",
    "a pattern": "(a%2B)%2B$",
    "a broken per cent": "%",
    "braces": "{{7*7}}{0}%25s",
    "brackets": "[" * 1000,
    "a minus": "-1",
    "thirty digits": "1" + "0" * 29,
    "NaN": "NaN",
    "Infinity": "Infinity",
    "1e400": "1e400",
    "null": "null",
    "a list": "[]",
    "an object": "{}",
    "the last day": "9999-12-31",
    "no day": "2026-02-30",
    "letters": "%C5%A1%F0%9F%99%82",
    "full-width": "%EF%BC%91",
    "very long": "a" * 50_000,
}
NAMES = [
    *("page", "slug", "date_from", "date_to", "recurring", "currency", "unknown"),
    *("page[]", "slug__startswith", "account", "account_id", "pk", "o", "%00"),
    *("%FF", ""),
]


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_handles_any_query(checking_client, account, make_key, value):
    for name in NAMES:
        checking_client.key = make_key(account)
        response = checking_client.get(f"/dummies/?{name}={value}")

        assert response.status_code in (200, 400)
    assert_lists_readable(checking_client)


@pytest.mark.parametrize(
    "query",
    [
        *("?", "&", "=", "&&&&", "=&=&=", "page", "page=", "?page=1"),
        *("page=1#page=2", "a=1;page=x"),
        "&".join(["page=1"] * 1000),
        "page=1&page[]=x&page[a]=y",
    ],
    ids=lambda query: query[:20],
)
def test_lists_despite_a_malformed_query(checking_client, query):
    response = checking_client.get(f"/programs/?{query}")

    assert response.status_code == 200
    assert 'rel="last"' in response["Link"]


# WSGI passes the bytes of a query as Latin-1 characters.
RAW = ["page=\xff", "a=\xc5\xa1", "\xff=\xfe", "a=\x7f", "a=<>\"'", "a=|^`\\", "a= b"]


@pytest.mark.parametrize("query", RAW, ids=repr)
def test_handles_unescaped_bytes_in_a_query(api, program, query):
    response = send_request("GET", "/1.6/programs/", query=query, HTTP_X_API_KEY=api.key)

    assert response.status == (400 if query.startswith("page") else 200)
    json.loads(response.content)


# Headers


HEADERS = {
    "Accept": [
        *("", ",", ";", ";;;,,,", "text/xml", "application/pdf;q=1, */*;q=0"),
        *("application/json;q=x", "*/*;q=2", "a" * 10_000, "\xff"),
    ],
    "Accept-Encoding": ["", "gzip;q=x", "*", "\xff"],
    "Accept-Language": ["sl", "\xff", "x" * 10_000, "*"],
    "Accept-Charset": ["utf-16", "*;q=0"],
    "Authorization": ["", "Basic", "Basic \xff", "Bearer x", "Token x"],
    "Content-Type": [
        "",
        ";",
        "text/xml",
        "multipart/form-data; boundary=",
        "\xff",
        "a" * 10_000,
    ],
    "Content-Encoding": ["gzip", "\xff"],
    "Cookie": ["a", "=", "sessionid=\xff; csrftoken=", "a=b; " * 1000],
    "Expect": ["100-continue", "x"],
    "Forwarded": ["for=x;host=evil.example;proto=https"],
    "If-Match": ['"x"', "*"],
    "If-Modified-Since": ["x", "Thu, 01 Jan 1970 00:00:00 GMT"],
    "If-None-Match": ["*", "\xff"],
    "Origin": ["null", "https://evil.example", "\xff"],
    "Range": ["bytes=0-0", "bytes=-1", "x"],
    "Referer": ["x", "\xff"],
    "Upgrade": ["websocket", "h2c"],
    "User-Agent": ["", "\xff", "a" * 10_000],
    "X-Forwarded-For": ["", ",", "\xff", "x, y, z", "1" * 5000],
    "X-Forwarded-Host": ["evil.example", "\xff"],
    "X-Forwarded-Proto": ["https", "gopher"],
    "X-Forwarded-Prefix": ["/evil"],
    "X-Original-URL": ["/1.6/nothing/"],
    "X-Rewrite-URL": ["/1.6/nothing/"],
    "X-HTTP-Method-Override": ["DELETE", "\xff"],
    "X-Method-Override": ["POST"],
    "X-Requested-With": ["XMLHttpRequest"],
    "traceparent": ["", "00-x", "\xff"],
}
SENT = [(name, value) for name, values in HEADERS.items() for value in values]


@pytest.mark.parametrize(("name", "value"), SENT, ids=lambda text: repr(text)[:24])
def test_ignores_malformed_headers(checking_client, name, value):
    listed = checking_client.get("/programs/", **{name: value})
    unknown = checking_client.get("/programs/unknown/", **{name: value})

    assert [listed.status_code, unknown.status_code] == [200, 404]
    assert [row["id"] for row in listed.json()] == ["harbor-lamp-partners"]
    assert unknown.json() == {"errors": [{"message": "Program not found"}]}
    assert "evil" not in f"{listed.headers}{listed.content}"
