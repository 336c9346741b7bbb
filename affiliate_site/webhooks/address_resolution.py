"""Host resolution: a name is resolved once, and all of its addresses must be public.

Rules: docs/api-contract.md, section 6.3.
"""

import socket
from queue import Empty, Queue
from threading import Thread
from typing import Any

from accounts.url_safety import ParsedUrl, is_public


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
                f"{target.host} leads to {address}, which is not public"
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
