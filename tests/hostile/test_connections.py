"""Connections to gunicorn: a promise to keep one is held, half-sent requests stop
nobody (docs/reliability.md, section 7).
"""

import os
import select
import socket
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from signal import SIGCONT, SIGHUP, SIGSTOP, SIGTERM

import pytest
from django.db import connection

from tests.concurrency.conftest import is_test_database
from tests.concurrency.server import make_key, run_server
from tests.factories.accounts import AccountFactory

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

KIB, MIB = 1024, 1024 * 1024
TIMEOUT_SECONDS = 60  # an upper limit for slow machines
HALF_SENT = 200


class RawConnection:
    """A connection that sends bytes and reads responses."""

    def __init__(self, server) -> None:
        self.socket = socket.create_connection(
            ("127.0.0.1", server.port), TIMEOUT_SECONDS
        )
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
        body += b"0\r\n\r\n"
    else:
        lines.append(f"Content-Length: {size}")
    return "\r\n".join([*lines, "", ""]).encode() + body


@pytest.fixture(scope="module")
def start_server(django_db_setup, django_db_blocker):
    """Start gunicorn with further arguments: `with start_server("--timeout=2"): …`."""
    assert is_test_database(connection)

    @contextmanager
    def start(*arguments, workers=2):
        running = run_server(*arguments, workers=workers)
        with django_db_blocker.unblock(), running as server:
            yield server

    return start


@pytest.fixture(scope="module")
def server(start_server):
    with start_server() as server:
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


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
@pytest.mark.parametrize("case", REFUSALS.values(), ids=REFUSALS)
def test_keeps_connection_whose_body_was_not_read(server, connect, key, case, chunked):
    method, path, has_key, status = case
    client = connect(server)
    used_key = key if has_key else ""

    for size in SIZES:
        client.send(build_request(method, path, size, chunked=chunked, key=used_key))
        answered, headers, _ = client.read_response()

        assert answered == status
        assert headers["connection"] == "keep-alive"
        assert client.ask("GET", "/healthz") == (200, "keep-alive")


@pytest.mark.parametrize("path", ["/1.6/conversions/", "/1.6/nothing/", "/nothing"])
def test_body_of_five_megabytes_gets_its_answer(server, connect, key, path):
    client = connect(server)

    client.send(build_request("POST", path, 5_000_000, key=key))
    status, headers, _ = client.read_response()

    assert status == (413 if path == "/1.6/conversions/" else 404)
    assert headers["connection"] == "keep-alive"
    assert client.ask("GET", "/healthz") == (200, "keep-alive")


@pytest.mark.parametrize(
    ("size", "chunked"),
    [(5_000_000, True), (12 * MIB, False), (12 * MIB, True)],
    ids=["5 MB in chunks", "12 MiB", "12 MiB in chunks"],
)
def test_says_close_where_it_does_not_keep(server, connect, key, size, chunked):
    client = connect(server)

    client.send(build_request("POST", "/1.6/clicks/", size, chunked=chunked, key=key))
    status, headers, _ = client.read_response()

    assert (status, headers["connection"]) == (413, "close")
    assert client.is_closed()


def test_answers_client_that_waits_to_send_its_body(server, connect, key):
    client = connect(server)
    request = build_request(
        "POST", "/1.6/clicks/", 20, key=key, headers=["Expect: 100-continue"]
    )

    client.send(request[:-20])
    continued = client.received.readline() + client.received.readline()
    client.send(request[-20:])
    status, headers, _ = client.read_response()

    assert continued == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert (status, headers["connection"]) == (400, "keep-alive")


def test_refuses_large_body_before_it_is_sent(server, connect, key):
    client = connect(server)
    expect = ["Expect: 100-continue"]
    request = build_request("POST", "/1.6/clicks/", 2 * MIB, key=key, headers=expect)

    client.send(request[: -2 * MIB])
    status, headers, _ = client.read_response()

    assert (status, headers["connection"]) == (413, "close")


def test_reads_body_that_arrives_in_pieces(server, connect, key):
    client = connect(server)
    request = build_request("GET", "/1.6/programs/", 9, chunked=True, key=key)

    for byte in request:
        client.send(bytes([byte]))
    status, _, body = client.read_response()

    assert (status, body) == (200, b"[]")
    assert client.ask("GET", "/healthz") == (200, "keep-alive")


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
def test_answers_requests_sent_at_once_in_order(server, connect, key, chunked):
    client = connect(server)
    requests = [
        build_request("POST", "/nothing", 100, chunked=chunked),
        build_request("GET", "/1.6/programs/", 9, chunked=chunked, key=key),
        build_request("GET", "/healthz"),
        build_request("POST", "/healthz", 70 * KIB, chunked=chunked),
        build_request("GET", "/healthz"),
    ]

    client.send(b"".join(requests))

    statuses = [client.read_response()[0] for _ in requests]
    assert statuses == [404, 200, 200, 405, 200]


MALFORMED = {
    "bare line feed": (b"GET /healthz HTTP/1.1\nHost: a\n\n", 400),
    "two lengths": (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
        b"Content-Length: 2\r\n\r\na",
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
    "chunk size": (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n\r\n",
        400,
    ),
    "chunk end": (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"1\r\naXX0\r\n\r\n",
        400,
    ),
    "endless head": (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 200 * KIB, 431),
}


@pytest.mark.parametrize("case", MALFORMED.values(), ids=MALFORMED)
def test_refuses_malformed_request_and_closes(server, connect, case):
    request, expected = case
    client = connect(server)

    client.send(request)
    status, headers, _ = client.read_response()

    assert (status, headers["connection"]) == (expected, "close")
    assert client.is_closed()


def test_does_not_handle_truncated_request(server, connect, key):
    client = connect(server)
    body = b'{"referral_code": "x"}'
    request = build_request("POST", "/1.6/clicks/", len(body), key=key)

    client.send(request[:-1])
    client.socket.shutdown(socket.SHUT_WR)

    assert client.is_closed()


# Half-sent requests


def send_halves(clients) -> None:
    """Send half of a request on each connection."""
    request = build_request("POST", "/1.6/clicks/", 200 * KIB)
    chunked = build_request("POST", "/1.6/clicks/", 200 * KIB, chunked=True)
    halves = [b"P", request[:40], request[: 100 * KIB], chunked[: 100 * KIB]]
    for number, client in enumerate(clients):
        client.send(halves[number % len(halves)])


def test_answers_beside_half_sent_requests(start_server, open_connections, connect):
    with start_server("--timeout=5") as server:
        assert connect(server).ask("GET", "/healthz") == (200, "keep-alive")
        half_sent = open_connections(server, HALF_SENT)
        send_halves(half_sent)

        started = time.monotonic()
        statuses = [connect(server).ask("GET", "/healthz")[0] for _ in range(20)]
        seconds = time.monotonic() - started
        refusals = [client.read_response() for client in half_sent]

    assert set(statuses) == {200}
    assert seconds < 5
    assert {(status, each["connection"]) for status, each, _ in refusals} == {
        (408, "close")
    }


def test_answers_beside_clients_that_never_close(server, open_connections, connect):
    request = build_request("GET", "/healthz", headers=["Connection: close"])
    open_ones = open_connections(server, HALF_SENT)
    for client in open_ones:
        client.send(request)

    started = time.monotonic()
    answer = connect(server).ask("GET", "/healthz")

    assert answer == (200, "keep-alive")
    assert time.monotonic() - started < 5
    assert {client.read_response()[0] for client in open_ones} == {200}


def test_answers_after_clients_that_do_not_read(
    start_server, open_connections, connect
):
    """They occupy all four threads, until their time is over."""
    with start_server("--timeout=5", workers=1) as server:
        unread = open_connections(server, 8)
        for client in unread:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * KIB)
            client.send(build_request("GET", "/openapi.json") * 100)

        assert connect(server).ask("GET", "/healthz") == (200, "keep-alive")
        for client in unread:
            client.close()


def test_half_sent_large_bodies_do_not_exhaust_memory(
    start_server, open_connections, connect
):
    request = build_request("POST", "/1.6/clicks/", MIB)
    with start_server(workers=1) as server:
        half_sent = open_connections(server, 150)
        for client in half_sent:
            client.send(request[: 600 * KIB])

        readable, _, _ = select.select(
            [client.socket for client in half_sent], [], [], TIMEOUT_SECONDS
        )
        refused = next(each for each in half_sent if each.socket in readable)
        status, headers, _ = refused.read_response()

        assert (status, headers["connection"]) == (503, "close")
        assert connect(server).ask("POST", "/nothing", KIB) == (404, "keep-alive")
        for client in half_sent:
            client.close()  # the server would wait for the rest before it stops


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
def test_answers_kept_connections_of_recycled_worker(
    start_server, open_connections, connect
):
    arguments = ["--max-requests=20", "--max-requests-jitter=0"]
    with start_server(*arguments, workers=1) as server:
        kept = open_connections(server, 5)
        for client in kept:
            assert client.ask("GET", "/healthz") == (200, "keep-alive")
        ask_until_close({connect(server): ("GET", "/healthz")})

        answers = [client.ask(*REQUESTS["not read"]) for client in kept]

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
        status, headers, _ = client.read_response()

    assert (status, headers["connection"]) == (401, "close")


@pytest.mark.slow
def test_silent_connections_do_not_delay_the_stop(start_server, connect):
    with start_server(workers=1) as server:
        silent, kept = connect(server), connect(server)
        assert kept.ask("GET", "/healthz") == (200, "keep-alive")

        server.process.terminate()

        assert server.process.wait(timeout=20) == 0
        assert silent.is_closed()


@pytest.mark.slow
def test_answers_who_has_connected_before_the_stop(start_server, connect):
    with start_server(workers=1) as server:
        assert connect(server).ask("GET", "/healthz")[0] == 200
        master = server.process.pid
        tasks = Path(f"/proc/{master}/task/{master}/children").read_text()
        (worker,) = map(int, tasks.split())

        os.kill(worker, SIGSTOP)  # so that the connections wait to be accepted
        clients = [connect(server) for _ in range(5)]
        for client in clients:
            client.send(build_request("GET", "/healthz"))
        server.process.terminate()
        while not has_pending_signal(worker, SIGTERM):
            assert server.process.poll() is None
        os.kill(worker, SIGCONT)
        answers = [client.read_response() for client in clients]

        assert server.process.wait(timeout=TIMEOUT_SECONDS) == 0
    assert [(status, headers["connection"]) for status, headers, _ in answers] == [
        (200, "close")
    ] * 5


def has_pending_signal(pid: int, number: int) -> bool:
    """Return whether a stopped process has been sent the signal."""
    status = Path(f"/proc/{pid}/status").read_text()
    (mask,) = (line.split()[1] for line in status.splitlines() if "ShdPnd" in line)
    return bool(int(mask, 16) >> (number - 1) & 1)
