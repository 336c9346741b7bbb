"""What Sentry and OpenTelemetry receive: nothing personal and no secret."""

import gzip
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest.mock import Mock

import brotli
import pytest
import sentry_sdk
from django.conf import settings
from django.test import Client

from accounts import command_line
from affiliate_site.operations import error_reports, tracing
from tests.command_line import ROOT, build_environment
from tests.concurrency.server import make_key, run_server
from tests.conftest import ApiClient
from tests.dummy_endpoints import CRASH_MESSAGE
from tests.factories.accounts import AccountFactory

CANARY = "zzcanary5b1e"
WAIT_SECONDS = 30
PERSONAL = {
    "email": f"{CANARY}@example.org",
    "password": CANARY,
    "payout_details": {"iban": CANARY},
}
HEADERS = {
    "Cookie": f"session={CANARY}",
    "Authorization": f"Bearer {CANARY}",
    "User-Agent": CANARY,
    "Referer": f"https://{CANARY}.example/",
    "X-Forwarded-For": "203.0.113.77",
}


class Receiver(ThreadingHTTPServer):
    """Keeps the bodies that are posted to it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), ReceiverHandler)
        self.bodies: list[bytes] = []
        self.changed = threading.Condition()
        self.address = f"127.0.0.1:{self.server_address[1]}"

    def wait_for(self, text: bytes) -> bytes:
        """All bodies together, once the text is in them."""
        with self.changed:
            assert self.changed.wait_for(
                lambda: any(text in body for body in self.bodies), WAIT_SECONDS
            ), self.bodies
            return b"\n".join(self.bodies)


class ReceiverHandler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        if self.headers.get("Content-Encoding") == "br":
            body = brotli.decompress(body)
        with self.server.changed:
            self.server.bodies.append(body)
            self.server.changed.notify_all()
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


@pytest.fixture
def receiver():
    with Receiver() as receiver:
        threading.Thread(target=receiver.serve_forever, daemon=True).start()
        yield receiver
        receiver.shutdown()


@pytest.fixture
def sentry(receiver, settings):
    settings.SENTRY_DSN = f"http://public@{receiver.address}/1"
    name = "affiliate_site.operations.error_reports.ErrorReportMiddleware"
    settings.MIDDLEWARE = [settings.MIDDLEWARE[0], name, *settings.MIDDLEWARE[1:]]
    error_reports.start.cache_clear()
    yield receiver
    sentry_sdk.get_client().close()
    sentry_sdk.get_global_scope().set_client(None)
    error_reports.start.cache_clear()


@pytest.fixture
def collector(receiver, settings, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{receiver.address}")
    name = "affiliate_site.operations.tracing.OpenTelemetryMiddleware"
    settings.MIDDLEWARE = [settings.MIDDLEWARE[0], name, *settings.MIDDLEWARE[1:]]
    tracing.get_tracer_provider.cache_clear()
    yield receiver
    tracing.get_tracer_provider(os.getpid()).shutdown()
    tracing.get_tracer_provider.cache_clear()


def assert_no_canary(sent: bytes, key: str) -> None:
    for text in (CANARY, key[12:], CRASH_MESSAGE, "203.0.113.77", "/crash/"):
        assert text.encode() not in sent


@pytest.mark.urls("tests.dummy_endpoints")
def test_sentry_receives_nothing_personal(sentry, api):
    client = ApiClient(api.key, Client(raise_request_exception=False))

    path = f"/dummies/crash/?email={CANARY}@example.org&key={api.key}"
    assert client.request("GET", path, **HEADERS).status_code == 500
    assert client.request("GET", f"/{CANARY}/", **HEADERS).status_code == 404
    sentry_sdk.flush(WAIT_SECONDS)
    sent = sentry.wait_for(b"exception")

    assert sent.count(b'"exception"') == 1  # a refusal is no error
    assert b'"type":"RuntimeError"' in sent.replace(b": ", b":")
    assert b"traceId" in sent
    assert_no_canary(sent.replace(b"CRASH_MESSAGE", b""), api.key)


@pytest.mark.urls("tests.dummy_endpoints")
def test_sentry_receives_the_503s_that_need_a_repair(sentry, api):
    client = ApiClient(api.key, Client(raise_request_exception=False))

    for name in ("away", "cut-off", "full"):
        assert client.get(f"/dummies/{name}/").status_code == 503
    sentry_sdk.flush(WAIT_SECONDS)
    sent = sentry.wait_for(b"exception")

    assert sent.count(b'"exception"') == 1
    assert b"full" not in sent  # the message


def test_sentry_receives_errors_of_commands(sentry, monkeypatch, settings):
    """The webhook worker is a command, too; failures of the environment are none."""
    name = "affiliate_site.operations.error_reports.report_command_failure"
    settings.COMMAND_FAILURE_REPORTER = name

    for error in (OSError(CANARY), RuntimeError(CANARY)):
        execute = Mock(side_effect=error)
        monkeypatch.setattr(command_line, "execute_from_command_line", execute)
        with pytest.raises((SystemExit, RuntimeError)):
            command_line.run_command_line(["manage.py", "deliver_webhooks"])

    sent = sentry.wait_for(b"exception")
    assert sent.count(b'"exception"') == 1
    assert b'"type":"RuntimeError"' in sent.replace(b": ", b":")
    assert b'"command":"deliver_webhooks"' in sent.replace(b": ", b":")
    assert CANARY.encode() not in sent


def test_drops_everything_else_of_an_event():
    event = {
        **dict.fromkeys(("user", "request", "extra", "breadcrumbs"), PERSONAL),
        "server_name": CANARY,
        "contexts": PERSONAL,
        "message": CANARY,
        "exception": {
            "values": [
                {
                    "type": "KeyError",
                    "value": CANARY,
                    "mechanism": {"data": PERSONAL},
                    "stacktrace": {"frames": [{"lineno": 7, "vars": PERSONAL}]},
                }
            ]
        },
        "level": "error",
    }

    assert error_reports.select_fields(event, {}) == {
        "level": "error",
        "exception": {"values": [{"type": "KeyError", "stacktrace": {"frames": [{"lineno": 7}]}}]},
    }


@pytest.mark.urls("tests.dummy_endpoints")
def test_traces_have_nothing_personal(collector, api):
    client = ApiClient(api.key, Client(raise_request_exception=False))
    trace_parent = f"00-{'ab' * 16}-{'cd' * 8}-01"
    query = f"?email={CANARY}@example.org&key={api.key}"

    for method, path, body in (
        ("GET", f"/programs/{query}", None),
        ("GET", f"/dummies/crash/{query}", None),
        ("POST", f"/affiliates/{query}", PERSONAL | {"firstname": CANARY}),
        ("GET", f"/affiliates/{CANARY}/", None),
    ):
        headers = HEADERS | {"traceparent": trace_parent}
        client.request(method, path, body, **headers)
    tracing.get_tracer_provider(os.getpid()).force_flush()
    sent = collector.wait_for(b"GET 1.6/programs/")

    assert b"SELECT accounts_apikey" in sent
    assert b"affiliate-site" in sent
    assert b"\xab" * 16 in sent  # linked
    assert_no_canary(sent, api.key)


def test_names_statements_by_verb_and_table():
    names = [
        tracing.describe_statement(sql)
        for sql in (
            'SELECT "a"."email" FROM "accounts_user" "a" WHERE "email" = %s',
            " INSERT INTO accounts_ratewindow AS w VALUES (%s)",
            "SAVEPOINT s1",
            "",
        )
    ]

    assert names == [
        "SELECT accounts_user",
        "INSERT accounts_ratewindow",
        "SAVEPOINT",
        "statement",
    ]


def test_is_off_by_default():
    assert not any("error_reports" in name for name in settings.MIDDLEWARE)
    assert not any("tracing" in name for name in settings.MIDDLEWARE)
    code = "import django, sys; django.setup(); import affiliate_site.urls;\
 print([m for m in ('redis', 'sentry_sdk', 'opentelemetry') if m in sys.modules])"
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=build_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


@pytest.mark.integration
@pytest.mark.engine_independent
def test_forked_processes_send_traces(committed_db, receiver):
    account = AccountFactory(slug="traces-account")
    with run_server(
        workers=2,
        OTEL_EXPORTER_OTLP_ENDPOINT=f"http://{receiver.address}",
        OTEL_BSP_SCHEDULE_DELAY="100",
    ) as server:
        client = server.connect(make_key(account))
        assert client.request("GET", "/programs/")[0] == 200
        assert b"SELECT accounts_apikey" in receiver.wait_for(b"GET 1.6/programs/")
