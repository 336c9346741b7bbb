"""Connections to gunicorn: a promise to keep one is held, requests end where they say
(docs/reliability.md, section 7).
"""

import json
import socket
import time
from contextlib import ExitStack, contextmanager, suppress
from signal import SIGHUP

import pytest
from django.db import connection

from tests.concurrency.conftest import is_test_database
from tests.concurrency.server import make_key, run_server
from tests.factories.accounts import AccountFactory

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

KIB, MIB = 1024, 1024 * 1024
LAST_CHUNK = b"0\r\n\r\n"
TIMEOUT_SECONDS = 60  # an upper limit for slow machines


class RawConnection:
    """A connection that sends bytes and reads responses."""

    def __init__(self, server) -> None:
        self.socket = socket.create_connection(("127.0.0.1", server.port), TIMEOUT_SECONDS)
        self.received = self.socket.makefile("rb")

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def read_response(self) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers with lower-case names, and body."""
        status_line = self.received.readline()
        assert status_line, "the connection was closed instead of an answer"
        headers = {}
        while (line := self.received.readline().strip()) != b"":
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        body = self.received.read(int(headers.get("content-length", 0)))
        return int(status_line.split()[1]), headers, body

    def ask(self, *request) -> tuple[int, str]:
        """Send a request; return status and `Connection` of the response."""
        self.send(build_request(*request))
        status, headers, _ = self.read_response()
        return status, headers["connection"]

    def is_closed(self) -> bool:
        """Wait for the end of the connection."""
        return self.received.read() == b""

    def close(self) -> None:
        self.received.close()
        self.socket.close()


def build_request(method, path, size=0, *, chunked=False, key="", headers=()) -> bytes:
    """Return a request with a body of `size` bytes."""
    body = b" " * size
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"X-Api-Key: {key}"]
    lines += ["Content-Type: application/json", *headers]
    if chunked:
        lines.append("Transfer-Encoding: chunked")
        pieces = [body[at : at + 64_000] for at in range(0, size, 64_000)]
        body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
        body += LAST_CHUNK
    else:
        lines.append(f"Content-Length: {size}")
    return "\r\n".join([*lines, "", ""]).encode() + body


@pytest.fixture(scope="module")
def start_server(django_db_setup, django_db_blocker):
    """Start gunicorn: `with start_server("--timeout=2", LOG_LEVEL="INFO"): …`."""
    assert is_test_database(connection)

    @contextmanager
    def start(*arguments, workers=2, **environment):
        running = run_server(*arguments, workers=workers, **environment)
        with django_db_blocker.unblock(), running as server:
            yield server

    return start


@pytest.fixture(scope="module")
def server(start_server):
    with start_server() as server:
        yield server


@pytest.fixture(scope="module")
def trusting_server(start_server):
    """It takes clients for a proxy, from which it accepts chunked bodies."""
    with start_server(TRUSTED_PROXY_COUNT="1") as server:
        yield server


@pytest.fixture
def open_connections():
    """Open connections that are closed after the test."""
    with ExitStack() as stack:

        def open_to(server, number):
            opened = [RawConnection(server) for _ in range(number)]
            for each in opened:
                stack.callback(each.close)
            return opened

        yield open_to


@pytest.fixture
def connect(open_connections):
    return lambda server: open_connections(server, 1)[0]


@pytest.fixture
def key(committed_db):
    return make_key(AccountFactory(plan__name="enterprise"))


# Bodies that nobody reads

# With and without a key, as the key decides who refuses.
REFUSALS = {
    "no key": ("POST", "/1.6/conversions/", False, 401),
    "unknown path": ("POST", "/1.6/nothing/", True, 404),
    "unknown page": ("POST", "/nothing", False, 404),
    "method": ("DELETE", "/1.6/programs/", True, 405),
    "method of a page": ("POST", "/healthz", False, 405),
    "unknown customer": ("PUT", "/1.6/customers/nobody/status/", True, 404),
    "GET with a body": ("GET", "/1.6/programs/", True, 200),
    "static file": ("POST", "/static/none.css", False, 404),
    "preflight": ("OPTIONS", "/1.6/conversions/", False, 204),
}
SIZES = [1, KIB, 70 * KIB, MIB]


@pytest.mark.parametrize("case", REFUSALS.values(), ids=REFUSALS)
def test_keeps_connection_whose_body_was_not_read(server, connect, key, case):
    method, path, has_key, status = case
    client = connect(server)
    used_key = key if has_key else ""

    for size in SIZES:
        client.send(build_request(method, path, size, key=used_key))
        answered, headers, _ = client.read_response()

        assert answered == status
        assert headers["connection"] == "keep-alive"
        assert client.ask("GET", "/healthz") == (200, "keep-alive")


@pytest.mark.parametrize("case", REFUSALS.values(), ids=REFUSALS)
def test_closes_after_chunked_body(trusting_server, open_connections, key, case):
    method, path, has_key, status = case
    used_key = key if has_key else ""

    for size in SIZES:
        (client,) = open_connections(trusting_server, 1)
        client.send(build_request(method, path, size, chunked=True, key=used_key))
        answered, headers, _ = client.read_response()

        assert (answered, headers["connection"]) == (status, "close")
        assert client.is_closed()


@pytest.mark.parametrize("path", ["/1.6/conversions/", "/track/click/", "/nothing"])
def test_refuses_chunked_body_without_a_proxy(server, connect, key, path):
    client = connect(server)

    client.send(build_request("POST", path, KIB, chunked=True, key=key))
    status, headers, body = client.read_response()

    assert (status, headers["connection"]) == (411, "close")
    assert json.loads(body) == {
        "message": "Length Required",
        "code": 411,
        "traceId": headers["x-trace-id"],
    }
    assert client.is_closed()


@pytest.mark.parametrize("path", ["/1.6/conversions/", "/1.6/nothing/", "/nothing"])
def test_body_of_five_megabytes_gets_its_answer(server, connect, key, path):
    client = connect(server)

    client.send(build_request("POST", path, 5_000_000, key=key))
    status, headers, _ = client.read_response()

    assert status == (413 if path == "/1.6/conversions/" else 404)
    assert headers["connection"] == "keep-alive"
    assert client.ask("GET", "/healthz") == (200, "keep-alive")


@pytest.mark.parametrize("size", [12 * MIB, 10**18, 10**19, 10**30])
def test_does_not_take_a_body_for_the_next_request(server, connect, key, size):
    """The answer comes before the body, which is not read and not executed."""
    client = connect(server)
    head = build_request("POST", "/1.6/clicks/", key=key)

    client.send(head.replace(b"Content-Length: 0", b"Content-Length: %d" % size))
    status, headers, _ = client.read_response()
    with suppress(OSError):
        client.send(build_request("GET", "/healthz"))

    assert (status, headers["connection"]) == (413, "close")
    assert client.is_closed()


def test_a_refused_body_does_not_hide_its_answer(server, connect, key):
    """The client sends all of it before it reads, as curl and most libraries do."""
    client = connect(server)

    client.send(build_request("POST", "/1.6/clicks/", 11 * MIB, key=key))
    status, headers, _ = client.read_response()

    assert (status, headers["connection"]) == (413, "close")
    assert client.is_closed()


def test_closes_after_chunks_over_the_limit(trusting_server, connect, key):
    client = connect(trusting_server)
    request = build_request("POST", "/1.6/clicks/", MIB + 64_000, chunked=True, key=key)

    client.send(request)
    status, headers, _ = client.read_response()

    assert (status, headers["connection"]) == (413, "close")
    assert client.is_closed()


def test_answers_client_that_waits_to_send_its_body(server, connect, key):
    client = connect(server)
    request = build_request("POST", "/1.6/clicks/", 20, key=key, headers=["Expect: 100-continue"])

    client.send(request[:-20])
    continued = client.received.readline() + client.received.readline()
    client.send(request[-20:])
    status, headers, _ = client.read_response()

    assert continued == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert (status, headers["connection"]) == (400, "keep-alive")


def test_reads_body_that_arrives_in_pieces(server, connect, key):
    client = connect(server)
    request = build_request("GET", "/1.6/programs/", 9, key=key)

    for byte in request:
        client.send(bytes([byte]))
    status, _, body = client.read_response()

    assert (status, body) == (200, b"[]")
    assert client.ask("GET", "/healthz") == (200, "keep-alive")


def test_answers_requests_sent_at_once_in_order(server, connect, key):
    client = connect(server)
    requests = [
        build_request("POST", "/nothing", 100),
        build_request("GET", "/1.6/programs/", 9, key=key),
        build_request("GET", "/healthz"),
        build_request("POST", "/healthz", 70 * KIB),
        build_request("GET", "/healthz"),
    ]

    client.send(b"".join(requests))

    statuses = [client.read_response()[0] for _ in requests]
    assert statuses == [404, 200, 200, 405, 200]


MALFORMED = {
    "bare line feed": (b"GET /healthz HTTP/1.1\nHost: a\n\n", 400),
    "two lengths": (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na",
        400,
    ),
    "length and chunks": (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    "length is no number": (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +9\r\n\r\n",
        400,
    ),
    "negative length": (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -4\r\n\r\n",
        400,
    ),
    "endless length": (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        400,
    ),
    "another coding": (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
        400,
    ),
    "no host": (b"GET /healthz HTTP/1.1\r\n\r\n", 400),
    "endless head": (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * MIB, 431),
}


@pytest.mark.parametrize("case", MALFORMED.values(), ids=MALFORMED)
def test_refuses_malformed_request_and_closes(server, connect, case):
    request, expected = case
    client = connect(server)

    client.send(request)
    status, headers, _ = client.read_response()

    assert (status, headers["connection"]) == (expected, "close")
    assert client.is_closed()


CHUNKS = {
    "nine digits": (b"000000001\r\n \r\n0\r\n\r\n", 401),
    "a chunk like the last": (b"A\r\n0\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n", 401),
    "trailers": (b"1\r\na\r\n0\r\nX: y\r\nZ: 0\r\n\r\n", 401),
    "no number": (b"x\r\n\r\n", 400),
    "wrong end": (b"1\r\naXX0\r\n\r\n", 400),
    "endless size": (b"0" * 9000, 400),
}


@pytest.mark.parametrize("case", CHUNKS.values(), ids=CHUNKS)
def test_reads_chunks_of_a_proxy(trusting_server, connect, case):
    chunks, expected = case
    client = connect(trusting_server)

    client.send(build_request("POST", "/1.6/clicks/", chunked=True)[: -len(LAST_CHUNK)])
    client.send(chunks)
    status, headers, _ = client.read_response()

    assert (status, headers["connection"]) == (expected, "close")
    assert client.is_closed()


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
def test_does_not_handle_truncated_request(trusting_server, connect, chunked):
    client = connect(trusting_server)
    request = build_request("POST", "/1.6/clicks/", 22, chunked=chunked)

    client.send(request[:-9])
    client.socket.shutdown(socket.SHUT_WR)

    assert client.is_closed()


# Workers that stop


def ask_until_close(requests) -> list[int]:
    """Repeat the request of each connection in turn until its response says close.

    Return the numbers of responses; `requests` maps connections to requests.
    """
    limit = time.monotonic() + TIMEOUT_SECONDS
    responses = dict.fromkeys(requests, 0)
    unclosed = list(requests)
    while unclosed and time.monotonic() < limit:
        for client in list(unclosed):
            responses[client] += 1
            status, kept = client.ask(*requests[client])
            assert status in (200, 401, 413)
            if kept == "close":
                assert client.is_closed()
                client.close()
                unclosed.remove(client)
    assert unclosed == []
    return list(responses.values())


REQUESTS = {
    "read": ("GET", "/healthz"),
    "not read": ("POST", "/1.6/conversions/", 70 * KIB),
    "too large": ("POST", "/1.6/conversions/", 2 * MIB),
}


def test_says_close_before_worker_is_recycled(start_server, connect):
    with start_server("--max-requests=7", "--max-requests-jitter=0") as server:
        for request in REQUESTS.values():
            (responses,) = ask_until_close({connect(server): request})
            assert responses <= 7


@pytest.mark.slow
def test_answers_kept_connections_of_recycled_worker(start_server, open_connections, connect):
    arguments = ["--max-requests=20", "--max-requests-jitter=0"]
    with start_server(*arguments, workers=1) as server:
        kept = open_connections(server, 5)
        for client in kept:
            assert client.ask("GET", "/healthz") == (200, "keep-alive")
        ask_until_close({connect(server): ("GET", "/healthz")})

        answers = []
        for client in kept:
            answers.append(client.ask(*REQUESTS["not read"]))
            client.close()

    assert answers == [(401, "close")] * 5


def test_says_close_before_worker_is_reloaded(start_server, open_connections, connect):
    with start_server(workers=1) as server:
        clients = open_connections(server, len(REQUESTS))
        for client in clients:
            client.ask("GET", "/healthz")

        server.process.send_signal(SIGHUP)
        ask_until_close(dict(zip(clients, REQUESTS.values(), strict=True)))

        assert connect(server).ask("GET", "/healthz") == (200, "keep-alive")


@pytest.mark.slow
def test_finishes_half_sent_request_of_reloaded_worker(start_server, connect):
    request = build_request("POST", "/1.6/conversions/", 70 * KIB)
    with start_server(workers=1) as server:
        other, client = connect(server), connect(server)
        other.ask("GET", "/healthz")
        client.send(request[: 60 * KIB])

        server.process.send_signal(SIGHUP)
        ask_until_close({other: ("GET", "/healthz")})
        client.send(request[60 * KIB :])
        status, _, _ = client.read_response()

    assert status == 401


@pytest.mark.slow
def test_silent_connections_do_not_delay_the_stop(start_server, connect):
    with start_server(workers=1) as server:
        silent, kept = connect(server), connect(server)
        assert kept.ask("GET", "/healthz") == (200, "keep-alive")

        server.process.terminate()

        assert server.process.wait(timeout=20) == 0
        assert silent.is_closed()
