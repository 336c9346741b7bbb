"""gunicorn worker that receives a request completely before a thread handles it.

In gunicorn's own worker the threads read the requests: a few half-sent ones occupy all
of them, and a body that the site does not read breaks the connection after the
response promised to keep it. Here the main loop receives requests and closes
connections; a thread never waits for a client to send.
"""

import io
import re
import selectors
import socket
import time
from collections import deque
from contextlib import suppress
from functools import partial

from django.conf import settings
from gunicorn import util
from gunicorn.http.parser import RequestParser
from gunicorn.workers.gthread import TConn, ThreadWorker

KIB, MIB = 1024, 1024 * 1024
RECEIVE_BYTES = 64 * KIB
MAX_HEAD_BYTES = 64 * KIB
# Chunk sizes and line breaks count here: chunks of a few bytes double a body.
MAX_CHUNKED_BYTES = 2 * MIB
MAX_CHUNK_LINE_BYTES = 8 * KIB
# A longer body is received and discarded up to this size, so that the client reads
# the response and may keep its connection.
MAX_DISCARDED_BYTES = 10 * MIB
# Memory of one worker for the requests of all connections; when it is exhausted, only
# requests of less than RECEIVE_BYTES are accepted.
MAX_REQUESTS_BYTES = 64 * MIB
CLOSING_SECONDS = 2
ACCEPT_DELAY, MAX_ACCEPT_DELAY = 0.000_05, 0.002  # seconds; per connection, and of all

# gunicorn refuses a head with a line feed alone, so it need not be received further.
END_OF_HEAD = re.compile(rb"\r\n\r\n|(?<!\r)\n")
FRAMING_FIELD = re.compile(
    rb"(?i)\r\n(content-length|transfer-encoding|expect):[ \t]*([^\r\n]*)"
)
CHUNK_SIZE = re.compile(rb"[0-9a-fA-F]{1,8}(?=[ \t;]|\Z)")
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class IncomingRequest:
    """The bytes of a request; finds out whether all of them have arrived.

    gunicorn parses and validates the request afterwards: a malformed request counts as
    complete, so that gunicorn refuses it.
    """

    def __init__(self) -> None:
        self.data = bytearray()
        self.head_size = 0
        self.missing = 0  # bytes of a body with `Content-Length`
        self.is_chunked = False
        self.next_chunk = 0  # position in `data`; can be after its end
        self.discarded = 0
        self.is_complete = False
        self.is_too_large = False
        self.must_close = False
        self.expects_continue = False

    @property
    def max_bytes(self) -> int:
        """Return how many bytes to receive at once: none after a body's end."""
        return min(self.missing, RECEIVE_BYTES) if self.missing else RECEIVE_BYTES

    def add(self, received: bytes) -> None:
        """Add bytes that have arrived."""
        searched = len(self.data)
        self.data += received
        if self.head_size:
            self.missing -= 0 if self.is_chunked else len(received)
        elif end := END_OF_HEAD.search(self.data, max(0, searched - 3)):
            self.head_size = end.end()
            self.read_framing()
        else:
            return
        if self.is_chunked:
            self.is_complete = self.find_last_chunk()
        else:
            self.is_complete = self.missing <= 0
            if self.is_too_large:
                self.discard_until(len(self.data))
        if self.discarded > MAX_DISCARDED_BYTES:
            self.is_complete = self.must_close = True

    def read_framing(self) -> None:
        """Read from the head how the body ends and whether the client waits."""
        head = self.data[: self.head_size]
        values: dict[bytes, list[bytes]] = {}
        for name, value in FRAMING_FIELD.findall(head):
            values.setdefault(name.lower(), []).append(value.strip().lower())
        encoding, length, expectation = (
            b",".join(values.get(name, ()))
            for name in (b"transfer-encoding", b"content-length", b"expect")
        )
        if encoding.endswith(b"chunked") and not length:
            self.is_chunked = True
            self.next_chunk = self.head_size
        elif re.fullmatch(rb"[0-9]{1,18}", length) and not encoding:
            self.is_too_large = int(length) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE
            self.missing = self.head_size + int(length) - len(self.data)
        is_http_1_1 = head.partition(b"\r\n")[0].endswith(b" HTTP/1.1")
        self.expects_continue = is_http_1_1 and expectation == b"100-continue"
        if self.is_too_large and (
            self.expects_continue or self.missing > MAX_DISCARDED_BYTES
        ):
            self.missing = 0
            self.must_close = True

    def find_last_chunk(self) -> bool:
        """Walk over the chunks that have arrived; return whether the last one has."""
        if len(self.data) - self.head_size > MAX_CHUNKED_BYTES:
            # gunicorn will not validate these chunks: no request may follow them.
            self.is_too_large = self.must_close = True
        while (line_end := self.data.find(b"\r\n", self.next_chunk)) >= 0:
            size = CHUNK_SIZE.match(self.data, self.next_chunk, line_end)
            if size is None:
                return True
            if int(size[0], 16) == 0:
                return (
                    self.data.find(b"\r\n\r\n", line_end) >= 0
                    or len(self.data) - line_end > MAX_HEAD_BYTES
                )
            self.next_chunk = line_end + 2 + int(size[0], 16) + 2
        is_malformed = len(self.data) - self.next_chunk > MAX_CHUNK_LINE_BYTES
        if self.is_too_large:
            end = min(self.next_chunk, len(self.data))
            self.next_chunk -= end - self.head_size
            self.discard_until(end)
        return is_malformed

    def discard_until(self, end: int) -> None:
        """Drop the received part of the body up to this position."""
        self.discarded += end - self.head_size
        del self.data[self.head_size : end]


class ResponseSocket(socket.socket):
    """Sends the head of a response in one call with the first part of its body.

    gunicorn sends them one after the other, which wakes the client twice.
    """

    head: bytes | None = b""  # held back; None: the next bytes are a head

    @classmethod
    def take_over(cls, sock: socket.socket) -> "ResponseSocket":
        """Replace an accepted socket."""
        return cls(sock.family, sock.type, sock.proto, fileno=sock.detach())

    def sendall(self, data, flags=0):
        if self.head is None:
            self.head = data
        else:
            head, self.head = self.head, b""
            super().sendall(head + data, flags)

    def sendfile(self, *arguments, **options):
        self.flush()
        return super().sendfile(*arguments, **options)

    def flush(self) -> None:
        """Send a head that no body follows."""
        if self.head:
            self.sendall(b"")


class Connection(TConn):
    """A connection whose requests the main loop receives."""

    def __init__(self, worker: "ReceivingWorker", cfg, sock, *addresses) -> None:
        super().__init__(cfg, ResponseSocket.take_over(sock), *addresses)
        self.worker = worker
        # No source: the parser reads what `hand_over` puts into its buffer.
        self.parser = RequestParser(self.cfg, (), self.client)
        self.initialized = self.data_ready = True
        self.request = IncomingRequest()
        self.is_ended = False
        self.handed_over_bytes = 0

    def receive(self) -> bool:
        """Receive what has arrived; return whether to stop waiting for more."""
        request = self.request
        try:
            received = self.sock.recv(request.max_bytes)
        except BlockingIOError:
            return False
        except OSError:
            received = b""
        self.is_ended = not received
        request.add(received)
        if request.expects_continue and not request.is_complete:
            request.expects_continue = False
            with suppress(OSError):
                self.sock.send(CONTINUE)
        return request.is_complete or self.is_ended

    def close(self, graceful=False):  # noqa: FBT002 - gunicorn's own signature
        if graceful:
            self.worker.close_gracefully(self)
        else:
            super().close()


class ReceivingWorker(ThreadWorker):
    """gthread whose main loop receives the requests, each within `timeout` seconds.

    `pending_conns` are the connections with an unfinished request.
    """

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.closing_conns: deque = deque()
        self.handed_over_bytes = 0

    def accept(self, listener):
        """Accept a connection; the more there are already, the later.

        All workers wake up for it. Without the wait, the first one that is awake takes
        most connections, and proxies keep them open for long.
        """
        delay = min(self.nr_conns * ACCEPT_DELAY, MAX_ACCEPT_DELAY)
        time.sleep(max(delay, 0))
        with suppress(BlockingIOError, ConnectionAbortedError):
            self.add_connection(listener)

    def add_connection(self, listener) -> None:
        sock, address = listener.accept()
        self.nr_conns += 1
        server = listener.getsockname()
        self.enqueue_req(Connection(self, self.cfg, sock, address, server))

    def accept_last_connections(self) -> None:
        """The worker stops: accept who has connected already, and refuse all others.

        Otherwise the kernel would reset these connections when the listener is closed.
        """
        for listener in self.sockets:
            with suppress(BlockingIOError, ConnectionAbortedError):
                while self.nr_conns < self.worker_connections:
                    self.add_connection(listener)
            listener.close()

    def enqueue_req(self, conn):
        """Receive the next request: the connection is new, or readable, or bytes of
        this request came with the one before."""
        conn.sock.setblocking(0)
        conn.request = IncomingRequest()
        conn.request.add(conn.parser.unreader.take_buffered())
        if conn.request.is_complete or conn.receive():
            self.hand_over(conn)
        else:
            self.wait_until_readable(
                conn,
                self.pending_conns,
                self.on_pending_socket_readable,
                self.cfg.timeout,
            )

    def on_pending_socket_readable(self, conn, client):
        if conn.receive():
            self.stop_waiting(conn, self.pending_conns)
            self.hand_over(conn)
        elif not conn.request.head_size and len(conn.request.data) > MAX_HEAD_BYTES:
            self.refuse(conn, 431, "Request Header Fields Too Large")
        elif len(conn.request.data) > RECEIVE_BYTES and self.is_memory_exhausted():
            self.refuse(conn, 503, "Service Unavailable")

    def is_memory_exhausted(self) -> bool:
        """Return whether the requests of all connections exceed their memory."""
        unfinished = sum(len(conn.request.data) for conn in self.pending_conns)
        return unfinished + self.handed_over_bytes > MAX_REQUESTS_BYTES

    def hand_over(self, conn) -> None:
        """Let a thread handle the request."""
        conn.parser.unreader.buf = io.BytesIO(conn.request.data)
        conn.handed_over_bytes = len(conn.request.data)
        self.handed_over_bytes += conn.handed_over_bytes
        conn.request.data.clear()
        super().enqueue_req(conn)

    def finish_request(self, conn, fs):
        self.handed_over_bytes -= conn.handed_over_bytes
        super().finish_request(conn, fs)

    def handle_request(self, req, conn):
        """Handle a request without a socket behind its body."""
        if conn.is_ended and not conn.request.is_complete:
            return False
        req._expected_100_continue = False  # noqa: SLF001 - sent by `receive`
        if conn.request.must_close:
            req.force_close()
        if conn.request.is_too_large:
            # The site refuses any body of this length.
            req.body = io.BytesIO(bytes(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1))
        else:
            req.body = io.BytesIO(req.body.read())
        conn.sock.settimeout(self.cfg.timeout)
        conn.sock.head = None
        try:
            keeps_open = super().handle_request(req, conn)
            conn.sock.flush()
            return keeps_open
        except TimeoutError:
            return False  # the client does not read the response
        finally:
            conn.sock.head = b""  # gunicorn may send an error page

    def _keepalive_after(self, conn, keepalive):
        return keepalive  # nothing is left to read of the body

    def refuse(self, conn, status: int, reason: str) -> None:
        """Answer an unfinished request and close the connection."""
        self.stop_waiting(conn, self.pending_conns)
        with suppress(OSError):
            util.write_error(conn.sock, status, reason, "")
        self.nr_conns -= 1
        conn.close(graceful=True)

    def close_gracefully(self, conn) -> None:
        """Close for writing, and discard for a moment what the client still sends:
        otherwise it might lose the response (RFC 9112, section 9.6)."""
        try:
            conn.sock.shutdown(socket.SHUT_WR)
        except OSError:
            conn.close()
            return
        conn.sock.setblocking(0)
        self.nr_conns += 1
        self.wait_until_readable(
            conn, self.closing_conns, self.discard_received, CLOSING_SECONDS
        )

    def discard_received(self, conn, client) -> None:
        try:
            if client.recv(RECEIVE_BYTES):
                return
        except BlockingIOError:
            return
        except OSError:
            pass  # the client closed the connection
        self.close_at_once(conn, self.closing_conns)

    def murder_pending(self):
        """End what has taken too long."""
        for conn in get_expired(self.pending_conns):
            if conn.request.data:
                self.refuse(conn, 408, "Request Timeout")
            else:
                self.close_at_once(conn, self.pending_conns)
        for conn in get_expired(self.closing_conns):
            self.close_at_once(conn, self.closing_conns)

    def _cap_keepalive(self, deadline):
        """The worker stops: end idle connections by the deadline, new ones too."""
        self.accept_last_connections()
        super()._cap_keepalive(deadline)
        for conn in self.pending_conns:
            if not conn.request.data:
                conn.timeout = min(conn.timeout, deadline)

    def wait_until_readable(self, conn, waiting: deque, callback, seconds) -> None:
        conn.timeout = time.monotonic() + seconds
        waiting.append(conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(callback, conn))

    def stop_waiting(self, conn, waiting: deque) -> None:
        self.poller.unregister(conn.sock)
        waiting.remove(conn)

    def close_at_once(self, conn, waiting: deque) -> None:
        self.stop_waiting(conn, waiting)
        self.nr_conns -= 1
        conn.close()


def get_expired(waiting: deque) -> list:
    """Return the connections whose time is over."""
    now = time.monotonic()
    return [conn for conn in waiting if conn.timeout <= now]
