"""Paths into JSON, such as `data.items.0.sku`. Independent of Django.

A part is the name of a key, a number for a position in a list, or `*` for each item of
a list. A path that leads nowhere has no values, which is no error.
"""

from collections.abc import Iterator, Mapping
from typing import Any

MAX_PATH_LENGTH = 200
MAX_PATH_PARTS = 20
EACH = "*"


def is_path(value: object) -> bool:
    """Whether a value is a path: texts between dots, none of them empty."""
    if not isinstance(value, str) or not value or len(value) > MAX_PATH_LENGTH:
        return False
    parts = value.split(".")
    return (
        value.isprintable()
        and len(parts) <= MAX_PATH_PARTS
        and all(part and part == part.strip() for part in parts)
    )


def list_values(body: Any, path: str) -> list[Any]:
    """Return the values at a path, those of `*` in the order of their list."""
    values = [body]
    for part in path.split("."):
        values = [found for value in values for found in _list_children(value, part)]
    return values


def find_value(body: Any, path: str) -> Any:
    """Return the first value at a path, or None; an empty path leads nowhere."""
    values = list_values(body, path) if path else []
    return values[0] if values else None


def _list_children(value: Any, part: str) -> Iterator[Any]:
    if isinstance(value, Mapping):
        if part in value:
            yield value[part]
    elif isinstance(value, list):
        if part == EACH:
            yield from value
        elif part.isascii() and part.isdecimal() and int(part) < len(value):
            yield value[int(part)]
