"""Contract 1.1, 1.5, 1.7, 1.12: what holds for every answer, whatever the endpoint."""

import re

import pytest
from django.test import Client

from tests.conftest import Api
from tests.wire import send

pytestmark = pytest.mark.urls("tests.probes")

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
    "Access-Control-Allow-Headers": (
        "X-Api-Key, Api-Key, Content-Type, Accept, Idempotency-Key"
    ),
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
        " style-src 'self' 'unsafe-inline'"
    ),
}

TOO_MANY = "?" + "&".join(f"p{n}=1" for n in range(1001))
# name: method, path, headers, with a right key?, status
API_ANSWERS = {
    "a list": ("GET", "/1.6/programs/", {}, True, 200),
    "a deletion": ("DELETE", "/1.6/probes/any/", {}, True, 204),
    "a preflight": ("OPTIONS", "/1.6/programs/", {}, False, 204),
    "a flawed query": ("GET", "/1.6/programs/?page=0", {}, True, 400),
    "a body that is none": ("POST", "/1.6/probes/", {}, True, 400),
    "a foreign host": ("GET", "/1.6/programs/", {"Host": "evil.example"}, True, 400),
    "a host that is none": ("GET", "/1.6/programs/", {"Host": "a b/c"}, True, 400),
    "too many parameters": ("GET", f"/1.6/programs/{TOO_MANY}", {}, True, 400),
    "no key": ("GET", "/1.6/programs/", {}, False, 401),
    "no key, in JSON": ("GET", "/1.6/programs/", JSON, False, 401),
    "a wrong key": ("GET", "/1.6/programs/", {"X-Api-Key": KEY}, False, 401),
    "an unknown path": ("GET", "/1.6/nothing/", {}, True, 404),
    "an unknown path, in JSON": ("GET", "/1.6/nothing/", JSON, True, 404),
    "a preflight of nothing": ("OPTIONS", "/1.6/nothing/", JSON, False, 404),
    "a path with NUL": ("GET", "/1.6/programs/%00/", JSON, True, 404),
    "an unknown object": ("GET", "/1.6/programs/unknown/", {}, True, 404),
    "a wrong method": ("POST", "/1.6/programs/", {}, True, 405),
    "an invented method": ("BREW", "/1.6/programs/", {}, False, 405),
    "a conflict": ("GET", "/1.6/probes/conflict/", {}, True, 409),
    "a crash": ("GET", "/1.6/probes/crash/", {}, True, 500),
    "a database that is away": ("GET", "/1.6/probes/away/", {}, True, 503),
    "nothing below the tracker": ("GET", "/track/nothing/", JSON, False, 404),
    "nothing below postbacks": ("GET", "/1.7/pb/nothing/", JSON, False, 404),
}
OTHER_ANSWERS = {
    "life": ("GET", "/healthz", {}, False, 200),
    "readiness": ("GET", "/readyz", {}, False, 200),
    "health with a wrong method": ("POST", "/healthz", {}, False, 405),
    "the reference": ("GET", "/docs/", {}, False, 200),
    "the document": ("GET", "/openapi.json", {}, False, 200),
    "the document with a wrong method": ("POST", "/openapi.json", {}, False, 405),
    "an unknown page": ("GET", "/nothing/", {}, False, 404),
    "an unknown page, in JSON": ("GET", "/nothing/", JSON, False, 404),
    "another version": ("GET", "/1.5/programs/", JSON, True, 404),
    "a file that is none": ("GET", "/static/nothing.css", {}, False, 404),
}


def table(answers):
    return pytest.mark.parametrize(
        "line", [pytest.param(line, id=name) for name, line in answers.items()]
    )


@pytest.fixture
def ask(api, program):
    """Send a line of the tables above; the status has to be the expected one."""
    client = Client(raise_request_exception=False)

    def send_line(line):
        method, path, headers, with_key, status = line
        sent = headers | ({"X-Api-Key": api.key} if with_key else {})
        response = client.generic(method, path, headers=sent)
        assert response.status_code == status
        return response

    return send_line


# Trace id


@table(API_ANSWERS | OTHER_ANSWERS)
def test_sends_a_trace_id_on_every_answer(ask, line):
    response = ask(line)

    assert TRACE_ID.fullmatch(response["X-Trace-Id"])


SECOND_SHAPE = (
    "a foreign host",
    "a host that is none",
    "too many parameters",
    "an unknown path, in JSON",
    "a preflight of nothing",
    "a path with NUL",
    "a wrong method",
    "an invented method",
    "a crash",
    "a database that is away",
    "nothing below the tracker",
    "nothing below postbacks",
)


@table({name: API_ANSWERS[name] for name in SECOND_SHAPE})
def test_repeats_the_trace_id_in_bodies_of_the_second_shape(ask, line):
    response = ask(line)

    assert set(response.json()) == {"message", "code", "traceId"}
    assert response.json()["code"] == response.status_code
    assert response.json()["traceId"] == response["X-Trace-Id"]


@table({name: line for name, line in API_ANSWERS.items() if name not in SECOND_SHAPE})
def test_keeps_the_trace_id_out_of_other_bodies(ask, line):
    response = ask(line)

    assert b"traceId" not in response.content


def test_draws_a_new_trace_id_for_each_request(client):
    answers = [client.get("/healthz") for _ in range(3)]

    assert len({answer["X-Trace-Id"] for answer in answers}) == 3


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Trace-Id": "0" * 32},
        {"traceparent": f"00-{'0af76519' * 4}-b7ad6b7169203331-01"},
        {"X-Request-Id": "0af76519" * 4},
    ],
    ids=["X-Trace-Id", "traceparent", "X-Request-Id"],
)
def test_trusts_no_trace_id_of_the_caller(client, headers):
    response = client.get("/healthz", headers=headers)

    assert response["X-Trace-Id"] not in "".join(headers.values())


# Fixed headers


@table(API_ANSWERS | OTHER_ANSWERS)
def test_sends_the_fixed_headers_on_every_answer(ask, line):
    response = ask(line)

    assert {name: response.get(name) for name in FIXED} == FIXED


@table(API_ANSWERS)
def test_keeps_every_answer_of_the_api_out_of_stores(ask, line):
    response = ask(line)

    assert response.get("Cache-Control") == "no-store"


@table(API_ANSWERS | OTHER_ANSWERS)
def test_redirects_nowhere_promises_no_tls_and_sets_no_cookie(ask, line):
    response = ask(line)

    assert "Location" not in response
    assert "Strict-Transport-Security" not in response  # PUBLIC_URL is plain http
    assert not response.cookies


# Host and number of parameters: before the path, the method and the key


BAD_REQUEST = {"message": "Bad Request", "code": 400}


@pytest.mark.parametrize(
    "host",
    ["evil.example", "testserver.evil.example", "a b", "", "testserver:x", "test@x"],
)
@pytest.mark.parametrize(
    "path", ["/1.6/programs/", "/1.6/nothing/", "/1.7/pb/nothing/", "/track/nothing/"]
)
def test_refuses_a_foreign_host_before_all_else(client, host, path):
    response = client.post(path, headers={"Host": host, "Accept": "text/html"})

    assert response.status_code == 400
    assert response["Content-Type"] == "application/json"
    assert response.json() == BAD_REQUEST | {"traceId": response["X-Trace-Id"]}


def test_believes_no_forwarded_host(api):
    response = api.get("/programs/", **{"X-Forwarded-Host": "evil.example"})

    assert response.status_code == 200
    assert "evil.example" not in response["Link"]


@pytest.mark.parametrize("path", ["/1.6/programs/", "/1.6/nothing/"])
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "BREW"])
def test_refuses_more_than_a_thousand_parameters_before_all_else(client, method, path):
    response = client.generic(method, f"{path}{TOO_MANY}")

    assert response.status_code == 400
    assert response["Content-Type"] == "application/json"
    assert response.json() == BAD_REQUEST | {"traceId": response["X-Trace-Id"]}


def test_takes_a_thousand_parameters(api):
    query = "&".join(f"p{n}=1" for n in range(1000))

    response = api.get(f"/programs/?{query}")

    assert response.status_code == 200


# Slashes and odd paths


METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("path", ["/programs", "/programs/unknown", "/nothing"])
def test_answers_without_the_slash_as_with_it(api, program, path, method):
    answers = [
        api.ask(method, address, Accept="application/json")
        for address in (path, f"{path}/")
    ]

    assert answers[0].status_code == answers[1].status_code
    assert "Location" not in answers[0]
    assert without_trace(answers[0]) == without_trace(answers[1])


def without_trace(response):
    return response.content.replace(response["X-Trace-Id"].encode(), b"")


def test_keeps_the_body_of_a_post_without_the_slash(api):
    response = api.post("/probes", {"name": "lamp"})

    assert response.status_code == 200
    assert response.json() == {"name": "lamp"}


def test_puts_the_slash_before_the_query(api, program):
    response = api.get("/programs?asset_id=&page=1")

    assert response.status_code == 200
    assert response["Link"] == (
        '<http://testserver/1.6/programs/?asset_id=&page=1>; rel="last", '
        '<http://testserver/1.6/programs/?asset_id=&page=1>; rel="first"'
    )


@pytest.mark.parametrize(
    "path",
    [
        "/1.6/programs/%00/",
        "/1.6/programs%00/",
        "/1.6/programs/harbor%00lamp",
        "/1.6/%00",
        "/%00/",
        "/1.7/pb/%00/",
        "/track/%00/",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_knows_no_path_with_nul(client, method, path):
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
        "/1.6",
        "/1.6/",
        "/1.6//programs/",
        "/1.6/programs//",
        "//1.6/programs/",
        "/1.6/Programs/",
        "/1.6/programs.json",
        "/1.6/programs/a/b/",
        "/1.6/../1.6/programs/",
        "/1.4/programs/",
        "/1.5/programs/",
        "/1.7/programs/",
        "/api/1.6/programs/",
        "/api/programs/",
        "/programs/",
    ],
)
def test_serves_no_other_address(api, path):
    response = api.client.get(path, headers=JSON | {"X-Api-Key": api.key})

    assert response.status_code == 404
    assert response.json() == {
        "message": "Not Found",
        "code": 404,
        "traceId": response["X-Trace-Id"],
    }


# Other origins


@table(API_ANSWERS)
def test_lets_every_origin_read_every_answer_of_the_api(ask, line):
    response = ask(line)

    assert {name: response.get(name) for name in CORS} == CORS
    assert "Access-Control-Allow-Credentials" not in response


@table(OTHER_ANSWERS)
def test_lets_other_origins_read_nothing_else(ask, line):
    response = ask(line)

    assert [name for name in response.headers if name.startswith("Access-")] == []


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/1.6/programs/", {"GET", "HEAD", "OPTIONS"}),
        ("/1.6/programs/unknown/", {"GET", "HEAD", "OPTIONS"}),
        ("/1.6/programs", {"GET", "HEAD", "OPTIONS"}),
        ("/1.6/probes/", {"GET", "HEAD", "POST", "OPTIONS"}),
        ("/1.6/writing-probes/", {"POST", "OPTIONS"}),
    ],
    ids=["list", "item", "no slash", "list and create", "create"],
)
@pytest.mark.parametrize(
    "headers", [{}, {"X-Api-Key": KEY}], ids=["no key", "wrong key"]
)
def test_answers_a_preflight_without_a_key(client, db, path, allowed, headers):
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


def test_asks_no_database_for_a_preflight(client, db, statements):
    with statements() as asked:
        client.options("/1.6/programs/")

    assert len(asked) == 0


# HEAD


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/1.6/programs/", 200),
        ("/1.6/programs/harbor-lamp-partners/", 200),
        ("/1.6/programs/unknown/", 404),
        ("/1.6/nothing/", 404),
        ("/1.6/writing-probes/", 405),
        ("/1.6/probes/crash/", 500),
        ("/healthz", 200),
        ("/readyz", 200),
        ("/docs/", 200),
        ("/openapi.json", 200),
    ],
)
def test_answers_head_as_get_without_the_body(api, program, path, status):
    got, headed = (
        send(method, path, HTTP_X_API_KEY=api.key) for method in ("GET", "HEAD")
    )

    assert got.status == headed.status == status
    assert got.content != b""
    assert headed.content == b""
    assert steady(headed.headers) == steady(got.headers)
    assert headed.headers["Content-Length"] == str(len(got.content))


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_answers_head_without_a_key_without_a_body(db, accept):
    response = send("HEAD", "/1.6/programs/", HTTP_ACCEPT=accept)

    assert response.status == 401
    assert response.content == b""


def test_heads_the_length_of_every_answer(api, program):
    response = send("GET", "/1.6/programs/", HTTP_X_API_KEY=api.key)

    assert response.headers["Content-Length"] == str(len(response.content))


@pytest.mark.parametrize(
    ("method", "path"), [("DELETE", "/1.6/probes/any/"), ("OPTIONS", "/1.6/programs/")]
)
def test_answers_204_without_a_body_and_calls_it_no_page(api, method, path):
    response = send(method, path, HTTP_X_API_KEY=api.key)

    assert response.status == 204
    assert response.content == b""
    assert "html" not in response.headers.get("Content-Type", "")


def steady(headers):
    changing = ("X-Trace-Id", "X-RateLimit-Remaining", "X-RateLimit-Reset")
    return {name: value for name, value in headers.items() if name not in changing}


# Headers that change nothing


@pytest.mark.parametrize(
    "headers",
    [
        {"X-HTTP-Method-Override": "DELETE"},
        {"X-Method-Override": "POST"},
        {"Accept": "text/xml"},
        {"Accept": "application/pdf;q=1, */*;q=0"},
        {"Accept": ";;;,,,"},
        {"Accept-Language": "sl"},
        {"Content-Type": "text/xml"},
        {"If-None-Match": "*"},
        {"Range": "bytes=0-1"},
    ],
    ids=str,
)
def test_answers_alike_whatever_these_headers_say(api, program, headers):
    plain = api.get("/programs/")

    response = api.get("/programs/", **headers)

    assert response.status_code == 200
    assert response.content == plain.content
    assert response["Content-Type"] == "application/json"


@pytest.mark.parametrize("query", ["format=xml", "format=api", "_method=DELETE"])
def test_answers_alike_whatever_these_parameters_say(api, program, query):
    plain = api.get("/programs/")

    response = api.get(f"/programs/?{query}")

    assert response.status_code == 200
    assert response.content == plain.content


def test_speaks_for_one_key_at_a_time(api, other_api, program):
    mine, theirs = (asked.get("/programs/").json() for asked in (api, other_api))

    assert [row["id"] for row in mine] == ["harbor-lamp-partners"]
    assert theirs == []


def test_answers_a_locked_account_that_only_reads(api, account, program):
    account.locked_at = program.created_at
    account.save()

    response = Api(api.key).get("/programs/")

    assert response.status_code == 200
