"""Contract 1.5 and 1.7: which refusal, in which order, as JSON or as a page."""

import pytest
from django.test import Client

from tests.conftest import Api
from tests.probes import FAILURES

pytestmark = pytest.mark.urls("tests.probes")

# What names a JSON type, and what does not.
NAMES_JSON = [
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
NAMES_NONE = [
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


def accepting(accept):
    return {} if accept is None else {"Accept": accept}


def mistyped(key):
    """The key with another last character."""
    return key[:-1] + ("0" if key[-1] != "0" else "1")


@pytest.fixture
def calm(api):
    """A client that shows a failure as the caller sees it."""
    return Api(api.key, Client(raise_request_exception=False))


# 401


@pytest.mark.parametrize("accept", NAMES_JSON, ids=str)
def test_refuses_a_missing_key_in_json_where_it_is_named(client, db, accept):
    response = client.get("/1.6/programs/", headers=accepting(accept))

    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "ApiKey"
    assert response["Content-Type"] == "application/json"
    assert response.json() == {"message": "Authentication Failed.", "code": 401}


@pytest.mark.parametrize("accept", NAMES_NONE, ids=str)
def test_refuses_a_missing_key_with_a_page_where_json_is_not_named(client, db, accept):
    response = client.get("/1.6/programs/", headers=accepting(accept))

    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "ApiKey"
    assert response["Content-Type"] == "text/html; charset=utf-8"
    assert "<h1>Authentication Failed.</h1>" in response.text


@pytest.mark.parametrize("accept", [*NAMES_JSON, *NAMES_NONE], ids=str)
def test_refuses_a_wrong_key_in_json_always(client, api, accept):
    response = client.get(
        "/1.6/programs/", headers={"X-Api-Key": mistyped(api.key)} | accepting(accept)
    )

    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "ApiKey"
    assert response["Content-Type"] == "application/json"
    assert response.json() == {"message": "Authentication Failed.", "code": 401}


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_asks_for_the_key_before_it_reads_anything_else(client, db, method):
    response = client.generic(
        method,
        "/1.6/probes/?page=0&date_from=x",
        "no JSON",
        headers={"Accept": "application/json"},
    )

    assert response.status_code == 401
    assert response.json() == {"message": "Authentication Failed.", "code": 401}


# 404


@pytest.mark.parametrize("path", ["/1.6/nothing/", "/nothing/"])
@pytest.mark.parametrize("accept", NAMES_JSON, ids=str)
def test_refuses_an_unknown_path_in_json_where_it_is_named(client, path, accept):
    response = client.get(path, headers=accepting(accept))

    assert response.status_code == 404
    assert response["Content-Type"] == "application/json"
    assert response.json() == {
        "message": "Not Found",
        "code": 404,
        "traceId": response["X-Trace-Id"],
    }


@pytest.mark.parametrize("path", ["/1.6/nothing/", "/nothing/"])
@pytest.mark.parametrize("accept", NAMES_NONE, ids=str)
def test_refuses_an_unknown_path_with_a_page_where_json_is_not_named(
    client, path, accept
):
    response = client.get(path, headers=accepting(accept))

    assert response.status_code == 404
    assert response["Content-Type"] == "text/html; charset=utf-8"
    assert "<h1>Not Found</h1>" in response.text


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"])
def test_looks_for_the_path_before_method_and_key(client, method):
    response = client.generic(
        method, "/1.6/nothing/", headers={"Accept": "application/json"}
    )

    assert response.status_code == 404


def test_repeats_nothing_of_the_path_on_the_page(client):
    response = client.get("/1.6/<script>alert(1)</script>/")

    assert response.status_code == 404
    assert "alert" not in response.text


@pytest.mark.parametrize("accept", ["text/html", "*/*", "application/json"])
def test_refuses_an_unknown_object_in_json_always(api, accept):
    response = api.get("/programs/unknown/", Accept=accept)

    assert response.status_code == 404
    assert response["Content-Type"] == "application/json"
    assert response.json() == {"errors": [{"message": "Program not found"}]}


# 405


WRONG_METHODS = [
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "TRACE",
    "CONNECT",
    "BREW",
    "DISPATCH",
    "INITIAL",
    "LIST",
    "__CLASS__",
    "HTTP_METHOD_NAMES",
    "GET-",
    "PROPFIND",
]


@pytest.mark.parametrize("method", WRONG_METHODS)
@pytest.mark.parametrize(
    "headers", [{}, {"X-Api-Key": "wrong", "Accept": "text/html"}], ids=str
)
def test_refuses_a_wrong_method_before_it_asks_for_the_key(client, db, method, headers):
    response = client.generic(method, "/1.6/programs/", headers=headers)

    assert response.status_code == 405
    assert response["Content-Type"] == "application/json"
    assert set(response["Allow"].split(", ")) == {"GET", "HEAD", "OPTIONS"}
    assert response.json() == {
        "message": "Method Not Allowed",
        "code": 405,
        "traceId": response["X-Trace-Id"],
    }


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_refuses_a_wrong_method_before_it_looks_for_the_object(api, method):
    response = api.ask(method, "/programs/unknown/", "no JSON")

    assert response.status_code == 405
    assert set(response["Allow"].split(", ")) == {"GET", "HEAD", "OPTIONS"}


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
def test_names_the_methods_of_an_endpoint_that_only_takes_posts(api, method):
    response = api.ask(method, "/writing-probes/")

    assert response.status_code == 405
    assert set(response["Allow"].split(", ")) == {"POST", "OPTIONS"}


@pytest.mark.parametrize("path", ["/docs/", "/openapi.json", "/healthz", "/readyz"])
@pytest.mark.parametrize(
    "method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"]
)
def test_only_shows_what_lies_beside_the_api(client, db, path, method):
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
        ("cut-off", 503, "Service Unavailable"),
    ],
)
@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_answers_for_a_failure_of_ours(calm, name, status, message, accept):
    response = calm.get(f"/probes/{name}/", Accept=accept)

    assert response.status_code == status
    assert response["Content-Type"] == "application/json"
    assert response.json() == {
        "message": message,
        "code": status,
        "traceId": response["X-Trace-Id"],
    }
    assert str(FAILURES[name]) not in response.text


@pytest.mark.parametrize("name", ["crash", "away"])
def test_tells_no_rate_when_it_failed(calm, name):
    response = calm.get(f"/probes/{name}/")

    assert not any(header.startswith("X-RateLimit") for header in response.headers)


def test_answers_for_a_failure_while_it_asks_for_the_key(calm, monkeypatch):
    def recognise(text):
        raise FAILURES["away"]

    monkeypatch.setattr("affiliate_site.api.authentication.recognise", recognise)

    response = calm.get("/programs/")

    assert response.status_code == 503
    assert response.json() == {
        "message": "Service Unavailable",
        "code": 503,
        "traceId": response["X-Trace-Id"],
    }


def test_answers_for_a_failure_while_it_counts(calm, monkeypatch):
    def hit(subject, rate, *, at):
        raise FAILURES["away"]

    monkeypatch.setattr("affiliate_site.api.limits.hit", hit)

    response = calm.get("/programs/")

    assert response.status_code == 503
    assert not any(header.startswith("X-RateLimit") for header in response.headers)


# The whole order: path, method, key, limit, plan and role, size, JSON, object, fields


def large():
    return b'{"name": "' + b"x" * 1024 * 1024 + b'"}'


@pytest.mark.parametrize(
    ("method", "path", "body", "role", "plan", "status"),
    [
        pytest.param("BREW", "/nothing/", large(), "viewer", "basic", 404, id="path"),
        pytest.param("BREW", "/probes/", large(), "viewer", "basic", 405, id="method"),
        pytest.param("POST", "/probes/", large(), "owner", "basic", 403, id="plan"),
        pytest.param("POST", "/probes/", large(), "viewer", "pro", 403, id="role"),
        pytest.param("POST", "/probes/", large(), "owner", "pro", 413, id="size"),
        pytest.param("POST", "/probes/", b"[", "owner", "pro", 400, id="JSON"),
        pytest.param(
            "GET", "/probes/missing/", b"", "viewer", "basic", 403, id="plan2"
        ),
        pytest.param("GET", "/probes/missing/", b"", "viewer", "pro", 404, id="object"),
    ],
)
def test_answers_with_the_first_step_that_fails(
    account, key_for, set_plan, method, path, body, role, plan, status
):
    set_plan(account, plan)
    calm = Api(key_for(account, role), Client(raise_request_exception=False))

    response = calm.ask(method, path, body, Accept="application/json")

    assert response.status_code == status


def test_counts_before_it_asks_plan_and_role(account, key_for, set_plan):
    set_plan(account, "basic")
    viewer = Api(key_for(account, "viewer"))

    statuses = [viewer.get("/probes/").status_code for _ in range(4)]

    assert statuses == [403, 403, 403, 429]
