"""One webhook request: signed, to a validated IP address, ten seconds in total.

Rules: docs/api-contract.md, sections 6.2 and 6.3.
"""

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cache
from queue import Empty, Queue
from threading import Thread
from time import monotonic
from typing import Any

import httpcore
import httpx
from django.conf import settings
from standardwebhooks import Webhook

from accounts.errors import InvalidUrl
from accounts.models.webhooks import Delivery
from accounts.services.deliveries import DeliveryResult
from accounts.url_safety import (
    DEFAULT_PORTS,
    ParsedUrl,
    format_host,
    is_public,
    parse_url,
)


class HostUnreachable(Exception):
    """The host must not or cannot be called; the message has the reason."""


def resolve_addresses(target: ParsedUrl, *, timeout_seconds: float) -> list[str]:
    """Return the IP addresses of a host, in the order of the resolver.

    Raise HostUnreachable if one of them is not public, unless the operator allows this
    host and port.
    """
    results = resolve_host(target.host, target.port, timeout_seconds=timeout_seconds)
    if results is None:
        raise HostUnreachable(f"the name {target.host} is not known")
    addresses = list(dict.fromkeys(str(result[4][0]) for result in results))
    for address in addresses:
        if not target.is_allowed and not is_public(address):
            raise HostUnreachable(
                f"{target.host} leads to {address}, which is not public; your operator"
                f" can add {format_host(target.host)}:{target.port} to"
                " WEBHOOK_ALLOWED_HOSTS"
            )
    return addresses


def resolve_host(host: str, port: int, *, timeout_seconds: float) -> list[Any] | None:
    """Return the result of `getaddrinfo`, or None for an unknown name.

    `getaddrinfo` has no timeout, so it runs in a thread that may outlive this call.
    Raise HostUnreachable after `timeout_seconds`.
    """
    results: Queue[list[Any] | None] = Queue()

    def resolve() -> None:
        try:
            results.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError):
            results.put(None)

    Thread(target=resolve, daemon=True).start()
    try:
        return results.get(timeout=timeout_seconds)
    except Empty:
        raise HostUnreachable(
            f"the name {host} was not found in {timeout_seconds} s"
        ) from None


TIMEOUT_SECONDS = 10  # of the whole request: name resolution, connection, response
MIN_TIMEOUT_SECONDS = 0.001  # a timeout of 0 would mean no timeout
MAX_RESPONSE_BYTES = 64 * 1024
MAX_STORED_RESPONSE_BYTES = 2 * 1024
TIMEOUT_ERROR = f"no whole answer within {TIMEOUT_SECONDS} s"
USER_AGENT = "Affiliate-Site-Webhooks"
SUCCESS = range(200, 300)
REDIRECT = range(300, 400)

Headers = list[tuple[str, str]]


def send_delivery(delivery: Delivery, *, at: datetime) -> DeliveryResult:
    """Send a delivery to its endpoint, without any database query."""
    endpoint, deadline = delivery.endpoint, monotonic() + TIMEOUT_SECONDS
    try:
        url = delivery.url or endpoint.url
        target = parse_url(url, allowed_hosts=settings.WEBHOOK_ALLOWED_HOSTS)
        addresses = resolve_addresses(target, timeout_seconds=TIMEOUT_SECONDS)
    except (InvalidUrl, HostUnreachable) as error:
        return DeliveryResult(error=str(error))
    backend = DeadlineBackend(addresses, deadline)
    if endpoint.affiliate:
        return send_request(target, backend, method=endpoint.method)
    headers = build_headers(delivery, at=at)
    return send_request(target, backend, headers=headers, body=bytes(delivery.body))


def build_headers(delivery: Delivery, *, at: datetime) -> Headers:
    """Return the headers; until a day after a rotation, with two signatures."""
    body, message_id = bytes(delivery.body).decode(), delivery.message_id
    signatures = [
        Webhook(secret).sign(message_id, at, body)
        for secret in delivery.endpoint.get_signing_secrets(at=at)
    ]
    return [
        ("Content-Type", "application/json"),
        ("webhook-id", message_id),
        ("webhook-timestamp", str(int(at.timestamp()))),
        ("webhook-signature", " ".join(signatures)),
        ("webhook-event", delivery.event.kind),
    ]


def send_request(
    target: ParsedUrl,
    backend: "DeadlineBackend",
    *,
    method: str = "POST",
    headers: Sequence[tuple[str, str]] = (),
    body: bytes = b"",
) -> DeliveryResult:
    """Send a request through the backend; `Host` and TLS use the name in the URL."""
    status, content, error = None, b"", ""
    try:
        with (
            backend.run_timer(),
            _open_response(target, backend, method, headers, body) as response,
        ):
            status = response.status  # kept even if reading the body fails
            content = _read_response(response)
    except (httpcore.ReadTimeout, httpcore.WriteTimeout):
        error = TIMEOUT_ERROR  # the timeout of one read ended before the timer
    except (httpcore.NetworkError, httpcore.TimeoutException) as exception:
        error = f"no connection: {exception or type(exception).__name__}"
    except httpcore.ProtocolError as exception:
        error = f"not HTTP: {exception}"
    text = (
        content[:MAX_STORED_RESPONSE_BYTES]
        .decode(errors="replace")
        .replace("\x00", "\ufffd")
    )
    return DeliveryResult(
        status, text, backend.timeout_error or error or _get_status_error(status)
    )


class DeadlineBackend(httpcore.SyncBackend):
    """Connects to validated addresses only and closes the connection at a deadline.

    The timeouts of httpcore apply to single reads and writes, so a slow receiver could
    keep a request open without end. A timer thread limits the whole request instead.
    """

    def __init__(self, addresses: Sequence[str], deadline: float) -> None:
        self.addresses = addresses
        self.deadline = deadline  # in seconds of `time.monotonic`
        self.has_timed_out = False
        self.sockets: list[socket.socket] = []

    @property
    def timeout_error(self) -> str:
        """The error of a request that reached the deadline, else empty."""
        return TIMEOUT_ERROR if self.has_timed_out else ""

    @property
    def remaining_seconds(self) -> float:
        """Seconds until the deadline, never 0."""
        return max(self.deadline - monotonic(), MIN_TIMEOUT_SECONDS)

    @contextmanager
    def run_timer(self) -> Iterator[None]:
        """Close the connections at the deadline, or when the block ends."""
        timer = threading.Timer(self.remaining_seconds, self.close_connections)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            for connection in self.sockets:
                connection.close()

    def close_connections(self) -> None:
        """Shut the sockets down: pending reads and writes fail."""
        self.has_timed_out = True
        for connection in self.sockets:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def connect_tcp(self, host, port, timeout=None, *args, **kwargs):
        """Connect to the first reachable address, without resolving `host` again."""
        last_error: httpcore.ConnectError | httpcore.ConnectTimeout
        last_error = httpcore.ConnectError(f"{host} has no address")
        for address in self.addresses:
            try:
                stream = super().connect_tcp(
                    address, port, self.remaining_seconds, *args, **kwargs
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                last_error = error
                continue
            # A duplicate: TLS takes over the original socket object.
            self.sockets.append(stream.get_extra_info("socket").dup())
            if self.has_timed_out:
                self.close_connections()
            return stream
        raise last_error


@contextmanager
def _open_response(
    target: ParsedUrl,
    backend: DeadlineBackend,
    method: str,
    headers: Sequence[tuple[str, str]],
    body: bytes,
) -> Iterator[httpcore.Response]:
    pool = httpcore.ConnectionPool(
        network_backend=backend, ssl_context=_get_ssl_context()
    )
    url = httpcore.URL(
        scheme=target.scheme.encode(),
        host=target.host.encode(),
        port=target.port,
        target=target.path.encode(),
    )
    timeouts = dict.fromkeys(("connect", "read", "write"), backend.remaining_seconds)
    host = format_host(target.host)
    if target.port != DEFAULT_PORTS[target.scheme]:
        host = f"{host}:{target.port}"
    all_headers = [("Host", host), ("User-Agent", USER_AGENT), *headers]
    with (
        pool,
        pool.stream(
            method,
            url,
            headers=all_headers,
            content=body,
            extensions={"timeout": timeouts},
        ) as response,
    ):
        yield response


def _read_response(response: httpcore.Response) -> bytes:
    """Read the body up to `MAX_RESPONSE_BYTES`; the rest is not read."""
    content = b""
    for chunk in response.iter_stream():
        content += chunk
        if len(content) >= MAX_RESPONSE_BYTES:
            break
    return content


def _get_status_error(status: int | None) -> str:
    if status in SUCCESS:
        return ""
    if status in REDIRECT:
        return f"answered {status}, a redirect, and none is followed"
    return f"answered {status}"


@cache
def _get_ssl_context():
    """Load the trusted certificates once: `SSL_CERT_FILE`, or those of certifi."""
    return httpx.create_ssl_context()
