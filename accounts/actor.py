"""The current actor, for the audit log, the ledger and the request log only, and how
the names of actors are written in columns: `staff 12`.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple


class ActorKind(StrEnum):
    """What makes changes; its name goes on with what identifies it, if anything."""

    STAFF = "staff"  # its ID in the log
    OPERATOR = "operator"  # its ID in the log
    AFFILIATE = "affiliate"  # its ID in the log
    CONNECTION = "connection"  # ID
    KEY = "key"  # prefix
    COMMAND = "command"  # name
    IMPORT = "import from"  # host
    UNKNOWN = "unknown"  # a page or form
    SYSTEM = "system"


class Actor(NamedTuple):
    """What a name says; of no kind if an older version or a foreign file wrote it."""

    kind: ActorKind | None
    key: str


PATTERN = re.compile(rf"({'|'.join(ActorKind)})(?: (.+))?", re.DOTALL)


def build_actor(kind: ActorKind, key: object = "") -> str:
    """Return the name of an actor."""
    return f"{kind} {key}" if key else str(kind)


def parse_actor(name: str | None) -> Actor:
    """Return what the name of an actor says."""
    match = PATTERN.fullmatch(name or "")
    return Actor(ActorKind(match[1]), match[2] or "") if match else Actor(None, "")


@dataclass(frozen=True)
class CurrentActor:
    """Who makes a change, by name, and the request that asked for it."""

    name: str = build_actor(ActorKind.SYSTEM)
    trace_id: str = ""


_actor: ContextVar[CurrentActor] = ContextVar("actor", default=CurrentActor())  # noqa: B039


def get_actor() -> CurrentActor:
    """Return the current actor."""
    return _actor.get()


@contextmanager
def use_actor(name: str, trace_id: str = "") -> Iterator[None]:
    """Make this the current actor within the block."""
    token = _actor.set(CurrentActor(name=name, trace_id=trace_id))
    try:
        yield
    finally:
        _actor.reset(token)


def set_actor(name: str) -> None:
    """Rename the current actor until the end of the enclosing `use_actor`."""
    _actor.set(replace(_actor.get(), name=name))
