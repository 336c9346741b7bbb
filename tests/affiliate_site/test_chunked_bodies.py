"""Chunked request bodies, and the limit of body sizes."""

import io
from types import SimpleNamespace

import pytest
from django.db import connection

from affiliate_site import wsgi
from tests.command_line import run_manage_py
from tests.wsgi_client import send_request

pytestmark = pytest.mark.urls("tests.dummy_endpoints")

MIB = 1024 * 1024


class ChunkedStream(io.BytesIO):
    """A request body that records the largest read."""

    largest_read = 0

    def read(self, size=-1):
        self.largest_read = max(self.largest_read, size)
        assert size >= 0, "a chunked body was read without a limit"
        return super().read(size)


def post_chunked(api, body, **environ):
    """POST a body without `Content-Length`; return the response and the stream."""
    stream = ChunkedStream(body)
    headers = {
        "HTTP_X_API_KEY": api.key,
        "HTTP_TRANSFER_ENCODING": "chunked",
        "CONTENT_LENGTH": "",
        "wsgi.input": stream,
    }
    response = send_request("POST", "/1.6/dummies/", **headers | environ)
    return response, stream


def build_padded_body(size):
    """Return a valid JSON body of `size` bytes."""
    body = b'{"name": "lamp"}'
    return body + b" " * (size - len(body))


def test_reads_chunked_body(api):
    response, _ = post_chunked(api, b'{"name": "lamp"}')

    assert response.status == 200
    assert response.content == b'{"name":"lamp"}'


@pytest.mark.parametrize("encoding", ["Chunked", "CHUNKED", "gzip, chunked"])
def test_accepts_every_spelling_of_chunked(api, encoding):
    response, _ = post_chunked(
        api, build_padded_body(100), HTTP_TRANSFER_ENCODING=encoding
    )

    assert response.status == 200


def test_accepts_chunked_body_of_one_mebibyte(api):
    response, _ = post_chunked(api, build_padded_body(MIB))

    assert response.status == 200


def test_rejects_chunked_body_over_one_mebibyte(api):
    response, _ = post_chunked(api, build_padded_body(MIB + 1))

    assert response.status == 413
    assert response.headers["Content-Type"] == "application/json"
    assert response.content == (
        b'{"message":"Request Entity Too Large","code":413,"traceId":"%s"}'
        % response.headers["X-Trace-Id"].encode()
    )


def test_stops_reading_after_the_limit(api):
    response, stream = post_chunked(api, build_padded_body(3 * MIB))

    assert response.status == 413
    assert stream.largest_read <= MIB + 1


def test_rejects_empty_chunked_body_as_invalid_json(api):
    response, _ = post_chunked(api, b"")

    assert response.status == 400
    assert response.content == (
        b'{"errors":[{"message":"Request body was not valid JSON"}]}'
    )


def test_sets_content_length_of_chunked_body(monkeypatch):
    received = {}

    def django_application(environ, start_response):
        received.update(environ)
        start_response("200 OK", [])
        return [b""]

    monkeypatch.setattr(wsgi, "django_application", django_application)
    send_request(
        "POST",
        "/",
        HTTP_TRANSFER_ENCODING="chunked",
        CONTENT_LENGTH="",
        **{"wsgi.input": io.BytesIO(b"lamp")},
    )

    assert received["CONTENT_LENGTH"] == "4"
    assert received["wsgi.input"].read() == b"lamp"


def test_does_not_read_body_with_content_length(monkeypatch):
    received = {}

    def django_application(environ, start_response):
        received.update(environ)
        start_response("200 OK", [])
        return [b""]

    body = io.BytesIO(b"lamp")
    monkeypatch.setattr(wsgi, "django_application", django_application)
    send_request("POST", "/", CONTENT_LENGTH="4", **{"wsgi.input": body})

    assert received["wsgi.input"] is body
    assert body.tell() == 0


@pytest.mark.parametrize(
    ("size", "status"), [(MIB, 200), (MIB + 1, 413)], ids=["1 MiB", "1 byte more"]
)
def test_limits_body_with_content_length(api, size, status):
    response = send_request(
        "POST", "/1.6/dummies/", body=build_padded_body(size), HTTP_X_API_KEY=api.key
    )

    assert response.status == status


def test_rejects_large_content_length_without_reading(api):
    stream = ChunkedStream(b"")

    response = send_request(
        "POST",
        "/1.6/dummies/",
        HTTP_X_API_KEY=api.key,
        CONTENT_LENGTH=str(MIB + 1),
        **{"wsgi.input": stream},
    )

    assert response.status == 413
    assert stream.largest_read == 0


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_does_not_read_body_of_get_and_delete(api, method):
    stream = ChunkedStream(b"[")

    response = send_request(
        method,
        "/1.6/dummies/any/",
        HTTP_X_API_KEY=api.key,
        CONTENT_LENGTH="1",
        **{"wsgi.input": stream},
    )

    assert response.status in (200, 204)
    assert stream.tell() == 0


class BrokenStream(io.BytesIO):
    """A body with invalid chunks."""

    def read(self, size=-1):
        raise OSError("invalid chunk size")


@pytest.mark.parametrize(
    ("method", "status"), [("POST", 400), ("GET", 200)], ids=["read", "not read"]
)
def test_treats_broken_chunked_body_as_empty(api, method, status):
    response = send_request(
        method,
        "/1.6/dummies/" if method == "POST" else "/1.6/programs/",
        HTTP_X_API_KEY=api.key,
        HTTP_TRANSFER_ENCODING="chunked",
        CONTENT_LENGTH="",
        **{"wsgi.input": BrokenStream()},
    )

    assert response.status == status


PSQL = "affiliate_site.postgresql"
SQLITE = {"ENGINE": "django.db.backends.sqlite3", "OPTIONS": {"timeout": 20}}


@pytest.mark.parametrize(
    ("database", "limited"),
    [
        (
            {"ENGINE": PSQL, "OPTIONS": {"options": "-c lock_timeout=3s"}},
            {
                "ENGINE": PSQL,
                "OPTIONS": {"options": "-c lock_timeout=3s -c statement_timeout=10s"},
                "ANSWER_SECONDS": 12,
            },
        ),
        (SQLITE, SQLITE),
        (
            {"ENGINE": PSQL, "OPTIONS": {}},
            {"ENGINE": PSQL, "OPTIONS": {}, "ANSWER_SECONDS": 12},
        ),
    ],
    ids=["PostgreSQL", "SQLite", "PgBouncer"],
)
def test_limits_statements_and_answers(monkeypatch, database, limited):
    databases = {"default": database}
    settings = SimpleNamespace(
        DATABASES=databases, TIME_LIMITS={"statement_timeout": 10}
    )
    monkeypatch.setattr(wsgi, "settings", settings)

    wsgi.limit_statements()

    assert databases == {"default": limited}


SHOW_LIMIT = """
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("SHOW statement_timeout")
    print(cursor.fetchone()[0])
"""


@pytest.mark.parametrize(
    ("code", "limit"),
    [
        (SHOW_LIMIT, "0"),
        (f"import affiliate_site.wsgi{SHOW_LIMIT}", "10s"),
    ],
    ids=["command", "web server"],
)
def test_sets_statement_timeout_for_requests_only(committed_db, code, limit):
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no time limit for statements")

    result = run_manage_py("shell", "--no-imports", "--command", code)

    assert (result.exit_code, result.stdout.strip()) == (0, limit)
