"""The current actor, for the audit log, the ledger and the request log only."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Actor:
    """Who makes a change: an API key, a user, a command, or the system."""

    name: str = "system"
    trace_id: str = ""


SYSTEM_ACTOR = Actor()

_actor: ContextVar[Actor] = ContextVar("actor", default=SYSTEM_ACTOR)


def get_actor() -> Actor:
    """Return the current actor."""
    return _actor.get()


@contextmanager
def use_actor(name: str, trace_id: str = "") -> Iterator[None]:
    """Make this the current actor within the block."""
    token = _actor.set(Actor(name=name, trace_id=trace_id))
    try:
        yield
    finally:
        _actor.reset(token)


def set_actor(name: str) -> None:
    """Rename the current actor until the end of the enclosing `use_actor`."""
    _actor.set(replace(_actor.get(), name=name))
