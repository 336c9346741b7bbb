"""How bodies are received: chunked ones from a proxy, and the limits of sizes."""

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


@pytest.fixture
def behind_proxy(settings):
    settings.TRUSTED_PROXY_COUNT = 1


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


@pytest.mark.usefixtures("behind_proxy")
def test_reads_chunked_body(api):
    response, _ = post_chunked(api, b'{"name": "lamp"}')

    assert response.status == 200
    assert response.content == b'{"name":"lamp"}'


@pytest.mark.usefixtures("behind_proxy")
@pytest.mark.parametrize("encoding", ["Chunked", "CHUNKED", "gzip, chunked"])
def test_accepts_every_spelling_of_chunked(api, encoding):
    response, _ = post_chunked(api, build_padded_body(100), HTTP_TRANSFER_ENCODING=encoding)

    assert response.status == 200


@pytest.mark.usefixtures("behind_proxy")
def test_accepts_chunked_body_of_one_mebibyte(api):
    response, _ = post_chunked(api, build_padded_body(MIB))

    assert response.status == 200


@pytest.mark.usefixtures("behind_proxy")
def test_rejects_chunked_body_over_one_mebibyte(api):
    response, _ = post_chunked(api, build_padded_body(MIB + 1))

    assert response.status == 413
    assert response.headers["Content-Type"] == "application/json"
    assert response.content == (
        b'{"message":"Request Entity Too Large","code":413,"traceId":"%s"}'
        % response.headers["X-Trace-Id"].encode()
    )


@pytest.mark.usefixtures("behind_proxy")
def test_stops_reading_after_the_limit(api):
    response, stream = post_chunked(api, build_padded_body(3 * MIB))

    assert response.status == 413
    assert stream.largest_read <= MIB + 1


@pytest.mark.usefixtures("behind_proxy")
def test_rejects_empty_chunked_body_as_invalid_json(api):
    response, _ = post_chunked(api, b"")

    assert response.status == 400
    assert response.content == (b'{"errors":[{"message":"Request body was not valid JSON"}]}')


@pytest.mark.parametrize("path", ["/1.6/dummies/", "/1.6/nothing/", "/admin/"])
def test_refuses_chunked_body_without_a_proxy(api, path):
    stream = ChunkedStream(b"lamp")
    response = send_request(
        "POST", path, HTTP_TRANSFER_ENCODING="chunked", **{"wsgi.input": stream}
    )

    assert response.status == 411
    assert response.content == (
        b'{"message":"Length Required","code":411,"traceId":"%s"}'
        % response.headers["X-Trace-Id"].encode()
    )
    assert stream.tell() == 0


@pytest.mark.parametrize(
    ("size", "read"), [(10 * MIB, 10 * MIB), (10 * MIB + 1, 0)], ids=["10 MiB", "more"]
)
def test_drops_body_over_the_limit(api, size, read):
    stream = ChunkedStream(bytes(size))

    response = send_request(
        "POST",
        "/1.6/dummies/",
        HTTP_X_API_KEY=api.key,
        CONTENT_LENGTH=str(size),
        **{"wsgi.input": stream},
    )

    assert response.status == 413
    assert stream.tell() == read
    assert stream.largest_read <= MIB


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_receives_body_that_nobody_reads(api, method):
    stream = ChunkedStream(b"[")

    response = send_request(
        method,
        "/1.6/dummies/any/",
        HTTP_X_API_KEY=api.key,
        CONTENT_LENGTH="1",
        **{"wsgi.input": stream},
    )

    assert response.status in (200, 204)
    assert stream.tell() == 1


@pytest.mark.parametrize("size", [2000, 2 * MIB], ids=["small", "over the limit"])
def test_does_not_handle_body_that_ends_early(api, size):
    with pytest.raises(ConnectionResetError):
        send_request(
            "POST",
            "/1.6/dummies/",
            body=build_padded_body(1000),
            HTTP_X_API_KEY=api.key,
            CONTENT_LENGTH=str(size),
        )


class BrokenStream(io.BytesIO):
    """A body with invalid chunks."""

    def read(self, size=-1):
        raise OSError("invalid chunk size")


@pytest.mark.usefixtures("behind_proxy")
def test_does_not_handle_broken_chunked_body(api):
    with pytest.raises(OSError, match="invalid chunk size"):
        post_chunked(api, b"", **{"wsgi.input": BrokenStream()})


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
    settings = SimpleNamespace(DATABASES=databases, TIME_LIMITS={"statement_timeout": 10})
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
