"""Which addresses may be called: a name is resolved once, every address looked at."""

import socket
from queue import Empty, Queue
from threading import Thread
from typing import Any

from accounts.targets import Target, is_public


class Unreachable(Exception):
    """No call is made; the text says why."""


def addresses_of(target: Target, *, seconds: float) -> list[str]:
    """The addresses of a host, in the resolver's order; all of them public, unless
    the operator excuses this host and port."""
    found = looked_up(target.host, target.port, seconds=seconds)
    if found is None:
        raise Unreachable(f"the name {target.host} is not known")
    addresses = list(dict.fromkeys(str(place[4][0]) for place in found))
    for address in addresses:
        if not target.excused and not is_public(address):
            raise Unreachable(f"{target.host} leads to {address}, which is not public")
    return addresses


def looked_up(host: str, port: int, *, seconds: float) -> list[Any] | None:
    """What the resolver says in time; None: nothing.

    It knows no limit itself, so it is asked in a thread that may be left behind.
    """
    answers: Queue[list[Any] | None] = Queue()

    def ask() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError):
            answers.put(None)

    Thread(target=ask, daemon=True).start()
    try:
        return answers.get(timeout=seconds)
    except Empty:
        raise Unreachable(f"the name {host} was not found in {seconds} s") from None
