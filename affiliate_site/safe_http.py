"""HTTP requests to addresses that others name: to public hosts, with one deadline.

The name of a host is resolved once and checked; then only that address is called. No
redirect is followed. Rules: docs/api-contract.md, sections 6.2 and 6.3.
"""

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from queue import Empty, Queue
from threading import Thread
from time import monotonic
from typing import Any

import httpcore
import httpx
from django.conf import settings

from accounts.url_safety import (
    DEFAULT_PORTS,
    ParsedUrl,
    format_host,
    is_public,
    parse_url,
)

MIN_TIMEOUT_SECONDS = 0.001  # a timeout of 0 would mean no timeout

Headers = Sequence[tuple[str, str]]


class HostUnreachable(Exception):
    """The host must not or cannot be called; the message has the reason."""


def resolve_addresses(target: ParsedUrl, *, timeout_seconds: float) -> list[str]:
    """Return the IP addresses of a host, in the order of the resolver.

    Raise HostUnreachable if one of them is not public, unless the operator allows this
    host and port. The message is the same for an unknown name and an inner one: else
    it would say which inner names there are.
    """
    results = resolve_host(target.host, target.port, timeout_seconds=timeout_seconds)
    addresses = list(dict.fromkeys(str(result[4][0]) for result in results or ()))
    if target.is_allowed and not addresses:
        raise HostUnreachable(f"the name {target.host} is not known")
    if not target.is_allowed and not (addresses and all(map(is_public, addresses))):
        raise HostUnreachable(
            f"the name {target.host} is not known, or not public; your operator can add"
            f" {format_host(target.host)}:{target.port} to WEBHOOK_ALLOWED_HOSTS"
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
        raise HostUnreachable(f"the name {host} was not found in {timeout_seconds} s") from None


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
                stream = super().connect_tcp(address, port, self.remaining_seconds, *args, **kwargs)
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
def open_response(
    target: ParsedUrl,
    backend: DeadlineBackend,
    method: str,
    headers: Headers,
    body: bytes = b"",
) -> Iterator[httpcore.Response]:
    """Send a request through the backend; `Host` and TLS use the name in the URL."""
    pool = httpcore.ConnectionPool(network_backend=backend, ssl_context=get_ssl_context())
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
    all_headers = [("Host", host), *headers]
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


def read_response(response: httpcore.Response, *, max_bytes: int) -> bytes:
    """Read the body up to `max_bytes`; the rest is not read."""
    content = b""
    for chunk in response.iter_stream():
        content += chunk
        if len(content) >= max_bytes:
            break
    return content


@cache
def get_ssl_context():
    """Load the trusted certificates once: `SSL_CERT_FILE`, or those of certifi."""
    return httpx.create_ssl_context()


class RequestFailed(Exception):
    """A request got no whole answer; the message has the reason."""


@dataclass(frozen=True)
class FetchedResponse:
    """The answer to a GET; the names of its headers are in lower case."""

    status: int
    headers: dict[str, str]
    content: bytes


def fetch(url: str, *, headers: Headers, timeout_seconds: float, max_bytes: int) -> FetchedResponse:
    """Send a GET to a public host. Raises `InvalidUrl` and `RequestFailed`."""
    target = parse_url(url, allowed_hosts=settings.WEBHOOK_ALLOWED_HOSTS)
    deadline = monotonic() + timeout_seconds
    late = f"no whole answer within {timeout_seconds:g} s"
    try:
        addresses = resolve_addresses(target, timeout_seconds=timeout_seconds)
        backend = DeadlineBackend(addresses, deadline)
        with (
            backend.run_timer(),
            open_response(target, backend, "GET", headers) as response,
        ):
            content = read_response(response, max_bytes=max_bytes + 1)
            names = {
                name.decode().lower(): value.decode("latin-1") for name, value in response.headers
            }
    except HostUnreachable as error:
        raise RequestFailed(str(error)) from error
    except httpcore.TimeoutException as error:
        raise RequestFailed(late) from error
    except (httpcore.NetworkError, httpcore.ProtocolError) as error:
        reason = str(error) or type(error).__name__
        raise RequestFailed(late if backend.has_timed_out else reason) from error
    if backend.has_timed_out:
        raise RequestFailed(late)
    if len(content) > max_bytes:
        raise RequestFailed(f"the answer has more than {max_bytes:,} bytes")
    return FetchedResponse(response.status, names, content)
