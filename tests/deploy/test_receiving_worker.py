"""When a request has been received completely (deploy/receiving_worker.py)."""

import socket
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy import receiving_worker
from deploy.receiving_worker import (
    MIB,
    IncomingRequest,
    ReceivingWorker,
    ResponseSocket,
)

HEAD = b"POST / HTTP/1.1\r\nHost: a\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
REQUESTS = {
    "no body": HEAD + b"\r\n",
    "empty body": HEAD + b"Content-Length: 0\r\n\r\n",
    "length": HEAD + b"content-length:  4 \r\n\r\nlamp",
    "a body like a head": HEAD + b"Content-Length: 8\r\n\r\na\r\n\r\nb\r\n",
    "last field": HEAD + b"X: y\r\nContent-Length: 4\r\nX: z\r\n\r\nlamp",
    "no chunks": CHUNKED + b"0\r\n\r\n",
    "chunks": CHUNKED + b"2\r\nla\r\n2;a=b\r\nmp\r\n0\r\n\r\n",
    "chunk like the last": CHUNKED + b"A\r\n0\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n",
    "trailers": CHUNKED + b"1\r\na\r\n0\r\nX: y\r\nZ: 0\r\n\r\n",
    "two codings": HEAD
    + b"Transfer-Encoding: gzip\r\nTransfer-Encoding: Chunked\r\n\r\n"
    b"1\r\na\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("data", REQUESTS.values(), ids=REQUESTS)
def test_request_is_complete_at_its_last_byte(data):
    for split in range(len(data)):
        request = IncomingRequest()
        request.add(data[:split])
        assert not request.is_complete, data[:split]

        request.add(data[split:])

        assert request.is_complete
        assert request.data == data


@pytest.mark.parametrize("data", REQUESTS.values(), ids=REQUESTS)
def test_request_that_arrives_byte_by_byte(data):
    request = IncomingRequest()

    complete = []
    for byte in data:
        request.add(bytes([byte]))
        complete.append(request.is_complete)

    assert complete.index(True) == len(data) - 1


MALFORMED = {
    "bare line feed": b"GET / HTTP/1.1\nHost: a\n",
    "two lengths": HEAD + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\n",
    "length and chunks": HEAD + b"Content-Length: 4\r\n" + CHUNKED[len(HEAD) :],
    "negative length": HEAD + b"Content-Length: -4\r\n\r\n",
    "endless length": HEAD + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
    "another coding": HEAD + b"Transfer-Encoding: gzip\r\n\r\n",
    "chunk size": CHUNKED + b"lamp\r\n",
    "long chunk size": CHUNKED + b"0" * 9 + b"\r\n",
    "endless chunk size": CHUNKED + b"0" * 9000,
    "endless trailers": CHUNKED + b"0\r\n" + b"X: y\r\n" * 20_000,
}


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED)
def test_malformed_request_is_complete_at_once(data):
    request = IncomingRequest()

    request.add(data)

    assert request.is_complete


@pytest.mark.parametrize(
    ("size", "is_too_large"), [(MIB, False), (MIB + 1, True)], ids=["1 MiB", "more"]
)
def test_discards_body_over_the_limit(size, is_too_large):
    request = IncomingRequest()
    head = HEAD + b"Content-Length: %d\r\n\r\n" % size

    request.add(head + b"a" * 1000)
    request.add(b"a" * (size - 1001))
    assert not request.is_complete
    request.add(b"a")

    assert request.is_complete
    assert (request.is_too_large, request.must_close) == (is_too_large, False)
    assert len(request.data) == len(head) + (0 if is_too_large else size)


def test_stores_no_endless_chunks():
    request = IncomingRequest()
    request.add(CHUNKED)
    largest = 0

    while not request.is_complete:
        request.add(b"FFFF\r\n" + b"a" * 0xFFFF + b"\r\n")
        largest = max(largest, len(request.data))

    assert request.is_too_large
    assert request.must_close
    assert 10 * MIB < request.discarded < 11 * MIB
    assert largest < 3 * MIB


@given(st.lists(st.binary(max_size=60), max_size=6))
def test_any_bytes_are_received_without_an_error(pieces):
    for start in (b"", HEAD, CHUNKED, HEAD + b"Content-Length: 50\r\n\r\n"):
        request = IncomingRequest()
        for piece in [start, *pieces]:
            if not request.is_complete:
                request.add(piece)
                assert request.max_bytes > 0 or request.is_complete


@pytest.mark.parametrize(
    ("first_line", "field", "expected"),
    [
        (b"POST / HTTP/1.1", b"Expect: 100-Continue", True),
        (b"POST / HTTP/1.0", b"Expect: 100-continue", False),
        (b"POST / HTTP/1.1", b"Expect: something", False),
    ],
)
def test_client_waits_to_send_its_body(first_line, field, expected):
    request = IncomingRequest()

    request.add(b"\r\n".join([first_line, field, b"Content-Length: 9", b"", b""]))

    assert request.expects_continue == expected
    assert not request.is_complete


def test_worker_with_more_connections_accepts_later(monkeypatch):
    """So that of two idle workers the one with fewer takes a new connection."""
    waits, accepted = [], []
    monkeypatch.setattr(receiving_worker.time, "sleep", waits.append)
    worker = object.__new__(ReceivingWorker)
    listener = SimpleNamespace(
        accept=lambda: accepted.append(1) or raise_no_connection()
    )

    for worker.nr_conns in (0, 1, 8, 900):
        worker.accept(listener)

    assert waits[0] == 0
    assert waits == sorted(set(waits))
    assert waits[-1] == receiving_worker.MAX_ACCEPT_DELAY
    assert len(accepted) == len(waits)


def raise_no_connection():
    raise BlockingIOError


@pytest.fixture
def response_socket():
    """A `ResponseSocket` and its other end, which receives each call by itself."""
    own, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ResponseSocket.take_over(own) as own, other:
        other.settimeout(5)
        yield own, other


def test_sends_a_head_with_the_first_part_of_the_body(response_socket):
    own, other = response_socket

    own.head = None
    for part in (b"head ", b"body", b"more"):
        own.sendall(part)

    assert [other.recv(99), other.recv(99)] == [b"head body", b"more"]


def test_sends_a_head_without_a_body_at_the_end(response_socket):
    own, other = response_socket

    own.head = None
    own.sendall(b"head")
    own.flush()
    own.flush()
    own.sendall(b"next")

    assert [other.recv(99), other.recv(99)] == [b"head", b"next"]


def test_sends_a_head_before_a_file(tmp_path):
    own, other = socket.socketpair()
    path = tmp_path / "tap.js"
    path.write_bytes(b"file")

    with ResponseSocket.take_over(own) as own, path.open("rb") as file:
        own.head = None
        own.sendall(b"head ")
        own.sendfile(file)

    with other, other.makefile("rb") as received:
        assert received.read() == b"head file"
