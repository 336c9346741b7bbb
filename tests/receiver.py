"""A receiver of webhooks on loopback, as good or as bad as a test wants it."""

import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Call:
    """A request as it came; the headers' names in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Receiver(ThreadingHTTPServer):
    """Keeps what it is told; `answer` writes what it says, 204 by itself."""

    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.calls: list[Call] = []
        self.connections = 0
        self.answer: Callable[[Handler], None] = says(204)
        self.released = threading.Event()  # for those who keep a caller waiting

    @property
    def place(self) -> str:
        """As `WEBHOOK_ALLOWED_HOSTS` lists it."""
        return f"127.0.0.1:{self.server_port}"

    @property
    def url(self) -> str:
        return f"http://{self.place}/hook"

    def get_request(self):
        self.connections += 1
        return super().get_request()

    def handle_error(self, request, client_address):
        """Callers hang up on those who keep them waiting."""


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        headers = {name.lower(): value for name, value in self.headers.items()}
        call = Call(self.command, self.path, headers, self.rfile.read(length))
        self.server.calls.append(call)
        self.server.answer(self)

    do_GET = do_POST  # noqa: N815 - the library's name

    def log_message(self, *words):
        pass

    def say(self, data: bytes) -> None:
        """Write as it is, at once."""
        self.wfile.write(data)
        self.wfile.flush()


def says(status: int, body: bytes = b"", **headers: str):
    """An answer with this status."""

    def answer(handler: Handler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def is_silent(handler: Handler) -> None:
    """Takes the call, and says nothing."""
    handler.server.released.wait(30)


def drips_headers(handler: Handler) -> None:
    """A header now and then, for ever: no single read takes long."""
    handler.say(b"HTTP/1.1 200 OK\r\n")
    while not handler.server.released.wait(0.01):
        handler.say(b"X-Patience: please\r\n")


def drips_body(handler: Handler) -> None:
    """A byte now and then, for ever."""
    handler.say(b"HTTP/1.1 200 OK\r\n\r\n")
    while not handler.server.released.wait(0.01):
        handler.say(b".")


def floods(handler: Handler) -> None:
    """As much as the caller takes."""
    handler.say(b"HTTP/1.1 200 OK\r\n\r\n")
    while not handler.server.released.is_set():
        handler.say(b"x" * 65536)


def speaks_no_http(handler: Handler) -> None:
    handler.say(b"220 mail.example.org ESMTP\r\n")


@contextmanager
def receiving():
    """A receiver that listens while the block lasts."""
    with Receiver() as receiver:
        thread = threading.Thread(target=receiver.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield receiver
        finally:
            receiver.released.set()
            receiver.shutdown()
            thread.join()
