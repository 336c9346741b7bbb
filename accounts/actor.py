"""Who acts, for the diary and the log alone; no rule may read it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Actor:
    """The one behind a change: an API key, a command, nobody known."""

    name: str = "system"
    trace_id: str = ""


NOBODY = Actor()

_actor: ContextVar[Actor] = ContextVar("actor", default=NOBODY)


def present_actor() -> Actor:
    """Who acts at this moment."""
    return _actor.get()


@contextmanager
def acting(name: str, trace_id: str = "") -> Iterator[None]:
    """Everything noted inside was done by this actor."""
    token = _actor.set(Actor(name=name, trace_id=trace_id))
    try:
        yield
    finally:
        _actor.reset(token)


def known_as(name: str) -> None:
    """From here to the end of `acting`, it is this one who acts."""
    _actor.set(replace(_actor.get(), name=name))
