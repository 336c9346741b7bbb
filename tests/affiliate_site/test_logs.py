"""Reliability, 13: one JSON line a request, found by its trace id, nothing personal."""

import json
import re

import pytest
from django.test import Client

from accounts.models.keys import ApiKey
from tests.conftest import Api
from tests.factories.tracking import ProgramFactory
from tests.probes import CRASH

pytestmark = pytest.mark.urls("tests.probes")

CANARY = "canary-7f3a"
JSON = {"Accept": "application/json"}


@pytest.fixture
def calm(api):
    return Api(api.key, Client(raise_request_exception=False))


def test_writes_one_line_for_a_request(api, program, log_lines):
    response = api.get("/programs/harbor-lamp-partners/?page=1")

    (line,) = log_lines()
    assert line == {
        "event": "request",
        "level": "info",
        "timestamp": line["timestamp"],
        "traceId": response["X-Trace-Id"],
        "method": "GET",
        "route": "1.6/programs/<str:program_id>/",
        "status": 200,
        "ms": line["ms"],
        "queries": line["queries"],
        "bytes": len(response.content),
        "account": "harbor",
        "key": api.key[:12],
    }
    assert line["ms"] > 0
    assert line["queries"] > 0
    assert re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,15}Z", line["timestamp"])


REQUESTS = {
    "a list": ("GET", "/1.6/programs/", {}, 200),
    "a foreign host": ("GET", "/1.6/programs/", {"Host": "evil.example"}, 400),
    "no JSON": ("POST", "/1.6/probes/", {}, 400),
    "no key": ("GET", "/1.6/programs/", {"X-Api-Key": ""}, 401),
    "a wrong key": ("GET", "/1.6/programs/", {"X-Api-Key": "wrong"}, 401),
    "an unknown path": ("GET", "/1.6/nothing/", JSON, 404),
    "a path with NUL": ("GET", "/1.6/%00/", JSON, 404),
    "an unknown object": ("GET", "/1.6/programs/unknown/", {}, 404),
    "a wrong method": ("BREW", "/1.6/programs/", {}, 405),
    "a preflight": ("OPTIONS", "/1.6/programs/", {}, 204),
    "a crash": ("GET", "/1.6/probes/crash/", {}, 500),
    "no database": ("GET", "/1.6/probes/away/", {}, 503),
    "a page": ("GET", "/docs/", {}, 200),
}


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"), REQUESTS.values(), ids=REQUESTS
)
def test_names_a_trace_id_in_exactly_one_record(
    calm, log_lines, method, path, headers, status
):
    response = calm.client.generic(
        method, path, headers={"X-Api-Key": calm.key} | headers
    )

    found = [line for line in log_lines() if response["X-Trace-Id"] in json.dumps(line)]
    assert response.status_code == status
    assert [line["traceId"] for line in found] == [response["X-Trace-Id"]]
    assert [line["status"] for line in found] == [status]
    assert len(log_lines()) == 1


def test_writes_one_line_when_there_are_too_many_requests(api, log_lines):
    for _ in range(4):
        response = api.get("/probes/")

    assert response.status_code == 429
    assert [line["status"] for line in log_lines()] == [200, 200, 200, 429]


@pytest.mark.parametrize(
    ("name", "error"), [("crash", "RuntimeError"), ("away", "OperationalError")]
)
def test_keeps_the_traceback_in_the_same_record(calm, log_lines, name, error):
    response = calm.get(f"/probes/{name}/")

    (line,) = log_lines()
    assert line["level"] == "error"
    assert line["traceId"] == response["X-Trace-Id"]
    assert line["route"] == "1.6/probes/<str:name>/"
    assert line["exception"].startswith("Traceback (most recent call last):")
    assert f"{error}: {CRASH}" in line["exception"]


@pytest.mark.parametrize("path", ["/probes/", "/probes/refused/", "/probes/conflict/"])
def test_keeps_no_traceback_of_a_refusal(api, log_lines, path):
    api.get(path)

    (line,) = log_lines()
    assert line["level"] == "info"
    assert "exception" not in line
    assert "exc_info" not in line


def test_names_account_and_prefix_but_not_the_key(api, log_text, log_lines):
    api.get("/programs/")

    assert log_lines()[0]["key"] == ApiKey.objects.get().prefix
    assert api.key not in log_text()
    assert api.key[12:] not in log_text()


@pytest.mark.parametrize("header", ["X-Api-Key", "Api-Key"])
def test_names_nobody_before_the_key_is_recognised(client, db, log_lines, header):
    client.get("/1.6/programs/", headers={header: "wrong"})

    (line,) = log_lines()
    assert "account" not in line
    assert "key" not in line


@pytest.mark.parametrize(
    ("path", "route"),
    [
        (f"/programs/{CANARY}/", "1.6/programs/<str:program_id>/"),
        (f"/programs/{CANARY}", "1.6/programs/<str:program_id>/"),
        (f"/{CANARY}/", None),
        (f"/programs/{CANARY}/{CANARY}/", None),
    ],
)
def test_names_the_route_and_never_the_path(api, log_text, log_lines, path, route):
    api.get(path)

    assert log_lines()[0]["route"] == route
    assert CANARY not in log_text()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/1.6/programs/"),
        ("GET", "/1.6/nothing/"),
        ("POST", "/1.6/probes/"),
        ("POST", "/1.6/programs/"),
        ("GET", "/1.6/probes/crash/"),
        ("GET", "/1.6/probes/away/"),
        ("GET", "/1.6/probes/conflict/"),
        ("GET", "/1.6/bonus-probes/"),
        ("OPTIONS", "/1.6/programs/"),
        ("GET", "/docs/"),
        ("GET", "/healthz"),
    ],
)
@pytest.mark.parametrize("key", ["right", "wrong", "none"])
def test_keeps_everything_personal_out(calm, log_text, method, path, key):
    keys = {"right": calm.key, "wrong": f"aff_live_{CANARY}", "none": ""}

    calm.client.generic(
        method,
        f"{path}?email={CANARY}@example.org&api_key={calm.key}&{CANARY}=1",
        f'{{"name": "{CANARY}", "email": "{CANARY}@example.org"}}',
        headers={
            "X-Api-Key": keys[key],
            "User-Agent": f"{CANARY}/1.0",
            "Referer": f"https://{CANARY}.example/",
            "X-Forwarded-For": "198.51.100.77",
            "Cookie": f"c={CANARY}",
            "Origin": f"https://{CANARY}.example",
            "Authorization": f"Bearer {CANARY}",
        },
        REMOTE_ADDR="203.0.113.77",
    )

    text = log_text()
    assert CANARY not in text
    assert calm.key[12:] not in text
    assert "198.51.100.77" not in text
    assert "203.0.113.77" not in text
    assert "example.org" not in text


def test_keeps_a_foreign_host_out(client, log_text):
    client.get("/1.6/programs/", headers={"Host": f"{CANARY}.example"})

    assert log_text() != ""
    assert CANARY not in log_text()


@pytest.mark.parametrize(
    "accept", [f"text/{CANARY}", f"application/{CANARY}+json"], ids=["page", "JSON"]
)
def test_keeps_headers_of_an_unknown_path_out(client, log_text, accept):
    client.get(f"/1.6/{CANARY}/", headers={"Accept": accept})

    assert log_text() != ""
    assert CANARY not in log_text()


def test_counts_the_statements_of_each_request_alone(api, account, log_lines):
    api.get("/programs/")
    ProgramFactory(account=account)
    api.get("/nothing/")
    api.get("/programs/")

    counts = [line["queries"] for line in log_lines()]
    assert counts[0] > 0
    assert counts[1] == 0
    assert 0 < counts[2] <= counts[0]


def test_writes_lines_that_hold_no_line_break(calm, log_text):
    calm.get("/probes/crash/")
    calm.ask("GET\u2028X", "/programs/")

    lines = log_text().splitlines()
    assert len(lines) == 2
    assert all(json.loads(line)["event"] == "request" for line in lines)
