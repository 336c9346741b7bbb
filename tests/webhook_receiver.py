"""A webhook receiver on loopback whose behaviour a test can choose."""

import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class ReceivedRequest:
    """A received request; header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class WebhookReceiver(ThreadingHTTPServer):
    """Records requests; `respond` writes the response, by default 204."""

    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), ReceiverHandler)
        self.requests: list[ReceivedRequest] = []
        self.connections = 0
        self.respond: Callable[[ReceiverHandler], None] = respond_with(204)
        self.released = threading.Event()  # set at the end, to stop slow responses

    @property
    def host_and_port(self) -> str:
        """The value for `WEBHOOK_ALLOWED_HOSTS`."""
        return f"127.0.0.1:{self.server_port}"

    @property
    def url(self) -> str:
        return f"http://{self.host_and_port}/hook"

    def get_request(self):
        self.connections += 1
        return super().get_request()

    def handle_error(self, request, client_address):
        """Ignore callers that close the connection of a slow response."""


class ReceiverHandler(BaseHTTPRequestHandler):
    server: WebhookReceiver

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = ReceivedRequest(self.command, self.path, headers, self.rfile.read(length))
        self.server.requests.append(request)
        self.server.respond(self)

    do_GET = do_POST  # noqa: N815 - name given by http.server

    def log_message(self, *args):
        pass

    def write(self, data: bytes) -> None:
        """Write raw bytes immediately."""
        self.wfile.write(data)
        self.wfile.flush()


def respond_with(status: int, body: bytes = b"", **headers: str):
    """Return a function that sends a response with this status."""

    def respond(handler: ReceiverHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return respond


def hang(handler: ReceiverHandler) -> None:
    """Accept the request and send nothing."""
    handler.server.released.wait(30)


def drip_headers(handler: ReceiverHandler) -> None:
    """Send headers without end, each of them quickly."""
    handler.write(b"HTTP/1.1 200 OK\r\n")
    while not handler.server.released.wait(0.01):
        handler.write(b"X-Patience: please\r\n")


def drip_body(handler: ReceiverHandler) -> None:
    """Send single bytes of the body without end."""
    handler.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while not handler.server.released.wait(0.01):
        handler.write(b".")


def flood(handler: ReceiverHandler) -> None:
    """Send an endless body as fast as possible."""
    handler.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while not handler.server.released.is_set():
        handler.write(b"x" * 65536)


def respond_without_http(handler: ReceiverHandler) -> None:
    handler.write(b"220 mail.example.org ESMTP\r\n")


@contextmanager
def run_receiver():
    """Run a receiver during the block."""
    with WebhookReceiver() as receiver:
        thread = threading.Thread(target=receiver.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield receiver
        finally:
            receiver.released.set()
            receiver.shutdown()
            thread.join()
