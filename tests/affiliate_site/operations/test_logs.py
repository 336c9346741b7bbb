"""The request log: one JSON line per request with its trace ID, no personal data.

See docs/reliability.md, section 8.
"""

import json
import re
import sys

import pytest
from django.db import IntegrityError
from django.test import Client

from accounts.models.api_keys import ApiKey
from affiliate_site.operations.logs import format_exception
from tests.conftest import ApiClient
from tests.dummy_endpoints import CRASH_MESSAGE
from tests.factories.tracking import ProgramFactory

pytestmark = pytest.mark.urls("tests.dummy_endpoints")

CANARY = "canary-7f3a"
JSON = {"Accept": "application/json"}


@pytest.fixture
def non_raising_client(api):
    return ApiClient(api.key, Client(raise_request_exception=False))


def test_logs_one_line_for_a_request(api, program, captured_log_records):
    response = api.get("/programs/harbor-lamp-partners/?page=1")

    (line,) = captured_log_records()
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
    "no JSON": ("POST", "/1.6/dummies/", {}, 400),
    "no key": ("GET", "/1.6/programs/", {"X-Api-Key": ""}, 401),
    "a wrong key": ("GET", "/1.6/programs/", {"X-Api-Key": "wrong"}, 401),
    "an unknown path": ("GET", "/1.6/nothing/", JSON, 404),
    "a path with NUL": ("GET", "/1.6/%00/", JSON, 404),
    "an unknown object": ("GET", "/1.6/programs/unknown/", {}, 404),
    "a wrong method": ("BREW", "/1.6/programs/", {}, 405),
    "a preflight": ("OPTIONS", "/1.6/programs/", {}, 204),
    "a crash": ("GET", "/1.6/dummies/crash/", {}, 500),
    "no database": ("GET", "/1.6/dummies/away/", {}, 503),
    "a page": ("GET", "/docs/", {}, 200),
}


@pytest.mark.parametrize(("method", "path", "headers", "status"), REQUESTS.values(), ids=REQUESTS)
def test_a_trace_id_appears_in_exactly_one_record(
    non_raising_client, captured_log_records, method, path, headers, status
):
    response = non_raising_client.client.generic(
        method, path, headers={"X-Api-Key": non_raising_client.key} | headers
    )

    found = [line for line in captured_log_records() if response["X-Trace-Id"] in json.dumps(line)]
    assert response.status_code == status
    assert [line["traceId"] for line in found] == [response["X-Trace-Id"]]
    assert [line["status"] for line in found] == [status]
    assert len(captured_log_records()) == 1


def test_logs_one_line_for_a_rate_limited_request(api, captured_log_records):
    for _ in range(4):
        response = api.get("/dummies/")

    assert response.status_code == 429
    assert [line["status"] for line in captured_log_records()] == [200, 200, 200, 429]


@pytest.mark.parametrize(
    ("name", "error"), [("crash", "RuntimeError"), ("away", "OperationalError")]
)
def test_logs_the_traceback_in_the_same_record(
    non_raising_client, captured_log_records, name, error
):
    response = non_raising_client.get(f"/dummies/{name}/")

    (line,) = captured_log_records()
    assert line["level"] == "error"
    assert line["traceId"] == response["X-Trace-Id"]
    assert line["route"] == "1.6/dummies/<str:name>/"
    assert line["exception"].startswith("Traceback (most recent call last):")
    assert f"{error}: {CRASH_MESSAGE}" in line["exception"]


@pytest.mark.parametrize("path", ["/dummies/", "/dummies/refused/", "/dummies/conflict/"])
def test_logs_no_traceback_of_a_client_error(api, captured_log_records, path):
    api.get(path)

    (line,) = captured_log_records()
    assert line["level"] == "info"
    assert "exception" not in line
    assert "exc_info" not in line


def test_logs_account_and_key_prefix_but_not_the_key(
    account, api, captured_log, captured_log_records
):
    api.get("/programs/")

    assert captured_log_records()[0]["key"] == ApiKey.objects.get(account=account).prefix
    assert api.key not in captured_log()
    assert api.key[12:] not in captured_log()


@pytest.mark.parametrize("header", ["X-Api-Key", "Api-Key"])
def test_logs_no_account_for_an_unknown_key(client, db, captured_log_records, header):
    client.get("/1.6/programs/", headers={header: "wrong"})

    (line,) = captured_log_records()
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
def test_logs_the_route_but_not_the_path(api, captured_log, captured_log_records, path, route):
    api.get(path)

    assert captured_log_records()[0]["route"] == route
    assert CANARY not in captured_log()


def test_does_not_log_a_foreign_host(client, captured_log):
    client.get("/1.6/programs/", headers={"Host": f"{CANARY}.example"})

    assert captured_log() != ""
    assert CANARY not in captured_log()


@pytest.mark.parametrize(
    "accept", [f"text/{CANARY}", f"application/{CANARY}+json"], ids=["page", "JSON"]
)
def test_does_not_log_headers_of_an_unknown_path(client, captured_log, accept):
    client.get(f"/1.6/{CANARY}/", headers={"Accept": accept})

    assert captured_log() != ""
    assert CANARY not in captured_log()


def test_counts_the_queries_of_each_request_separately(api, account, captured_log_records):
    api.get("/programs/")
    ProgramFactory(account=account)
    api.get("/nothing/")
    api.get("/programs/")

    counts = [line["queries"] for line in captured_log_records()]
    assert counts[0] > 0
    assert counts[1] == 0
    assert 0 < counts[2] <= counts[0]


def test_log_lines_contain_no_line_break(non_raising_client, captured_log):
    non_raising_client.get("/dummies/crash/")
    non_raising_client.request("GET\u2028X", "/programs/")

    lines = captured_log().splitlines()
    assert len(lines) == 2
    assert all(json.loads(line)["event"] == "request" for line in lines)


@pytest.mark.parametrize("form", ["exception", "tuple", "current"])
def test_leaves_out_the_row_that_the_database_quotes(form):
    with pytest.raises(RuntimeError) as caught:
        fail_with_quotation()
    error = caught.value
    try:
        raise error
    except RuntimeError:
        forms = {"exception": error, "tuple": sys.exc_info(), "current": True}
        record = format_exception(None, "error", {"exc_info": forms[form]})

    assert "IntegrityError: refused\n" in record["exception"]
    assert "RuntimeError: later" in record["exception"]
    assert CANARY not in record["exception"]


def fail_with_quotation():
    try:
        raise IntegrityError(f"refused\nDETAIL:  Key (email)=({CANARY}\n{CANARY}).")
    except IntegrityError as error:
        raise RuntimeError("later") from error
