"""Reliability T31 and T32: a body without a length arrives, within the limit."""

import io

import pytest

from affiliate_site import wsgi
from tests.wire import send

pytestmark = pytest.mark.urls("tests.probes")

MIB = 1024 * 1024


class Wire(io.BytesIO):
    """A body as it arrives: remembers how much of it was asked for."""

    most_asked = 0

    def read(self, size=-1):
        self.most_asked = max(self.most_asked, size)
        assert size >= 0, "a body without a length was read without a limit"
        return super().read(size)


def post_chunked(api, body, **environ):
    """POST a body whose length nobody announced."""
    wire = Wire(body)
    said = {
        "HTTP_X_API_KEY": api.key,
        "HTTP_TRANSFER_ENCODING": "chunked",
        "CONTENT_LENGTH": "",
        "wsgi.input": wire,
    }
    answer = send("POST", "/1.6/probes/", **said | environ)
    return answer, wire


def padded(size):
    """A right body of exactly so many bytes."""
    body = b'{"name": "lamp"}'
    return body + b" " * (size - len(body))


def test_reads_a_body_without_a_length(api):
    answer, _ = post_chunked(api, b'{"name": "lamp"}')

    assert answer.status == 200
    assert answer.content == b'{"name":"lamp"}'


@pytest.mark.parametrize("word", ["Chunked", "CHUNKED", "gzip, chunked"])
def test_knows_every_spelling_of_chunked(api, word):
    answer, _ = post_chunked(api, padded(100), HTTP_TRANSFER_ENCODING=word)

    assert answer.status == 200


def test_takes_a_mebibyte_without_a_length(api):
    answer, _ = post_chunked(api, padded(MIB))

    assert answer.status == 200


def test_refuses_a_byte_more_without_a_length(api):
    answer, _ = post_chunked(api, padded(MIB + 1))

    assert answer.status == 413
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.content == (
        b'{"message":"Request Entity Too Large","code":413,"traceId":"%s"}'
        % answer.headers["X-Trace-Id"].encode()
    )


def test_reads_no_more_than_it_needs_to_refuse(api):
    answer, wire = post_chunked(api, padded(3 * MIB))

    assert answer.status == 413
    assert wire.most_asked <= MIB + 1


def test_takes_an_empty_body_without_a_length_for_no_json(api):
    answer, _ = post_chunked(api, b"")

    assert answer.status == 400
    assert answer.content == (
        b'{"errors":[{"message":"Request body was not valid JSON"}]}'
    )


def test_announces_the_length_that_was_read(monkeypatch):
    seen = {}

    def django(environ, start_response):
        seen.update(environ)
        start_response("200 OK", [])
        return [b""]

    monkeypatch.setattr(wsgi, "django", django)
    send(
        "POST",
        "/",
        HTTP_TRANSFER_ENCODING="chunked",
        CONTENT_LENGTH="",
        **{"wsgi.input": io.BytesIO(b"lamp")},
    )

    assert seen["CONTENT_LENGTH"] == "4"
    assert seen["wsgi.input"].read() == b"lamp"


def test_leaves_a_body_with_a_length_alone(monkeypatch):
    seen = {}

    def django(environ, start_response):
        seen.update(environ)
        start_response("200 OK", [])
        return [b""]

    body = io.BytesIO(b"lamp")
    monkeypatch.setattr(wsgi, "django", django)
    send("POST", "/", CONTENT_LENGTH="4", **{"wsgi.input": body})

    assert seen["wsgi.input"] is body
    assert body.tell() == 0


@pytest.mark.parametrize(
    ("size", "status"), [(MIB, 200), (MIB + 1, 413)], ids=["1 MiB", "a byte more"]
)
def test_bounds_a_body_with_a_length(api, size, status):
    answer = send("POST", "/1.6/probes/", body=padded(size), HTTP_X_API_KEY=api.key)

    assert answer.status == status


def test_refuses_by_the_announced_length_before_it_reads(api):
    wire = Wire(b"")

    answer = send(
        "POST",
        "/1.6/probes/",
        HTTP_X_API_KEY=api.key,
        CONTENT_LENGTH=str(MIB + 1),
        **{"wsgi.input": wire},
    )

    assert answer.status == 413
    assert wire.most_asked == 0


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_never_reads_the_body_of_a_method_without_one(api, method):
    wire = Wire(b"[")

    answer = send(
        method,
        "/1.6/probes/any/",
        HTTP_X_API_KEY=api.key,
        CONTENT_LENGTH="1",
        **{"wsgi.input": wire},
    )

    assert answer.status in (200, 204)
    assert wire.tell() == 0


class Broken(io.BytesIO):
    """A body whose chunks make no sense."""

    def read(self, size=-1):
        raise OSError("invalid chunk size")


@pytest.mark.parametrize(
    ("method", "status"), [("POST", 400), ("GET", 200)], ids=["read", "not read"]
)
def test_takes_a_broken_body_for_an_empty_one(api, method, status):
    answer = send(
        method,
        "/1.6/probes/" if method == "POST" else "/1.6/programs/",
        HTTP_X_API_KEY=api.key,
        HTTP_TRANSFER_ENCODING="chunked",
        CONTENT_LENGTH="",
        **{"wsgi.input": Broken()},
    )

    assert answer.status == status
