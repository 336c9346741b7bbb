"""What the details of audit log entries look like, by their names.

Who reads them looks up rows by them. Entries of an account that moved in may be
foreign: a value of another kind names nothing.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

IDS = range(2**53)  # what JavaScript reads; databases have more


def is_id(value: Any) -> bool:
    """Whether a value can be the primary key of a row."""
    return type(value) is int and value in IDS


def is_word(value: Any) -> bool:
    """Whether a value is a single one, such as a text or number."""
    return value is None or isinstance(value, str | bool) or is_id(value)


def is_text(value: Any) -> bool:
    """Whether a value is a text, or none."""
    return value is None or isinstance(value, str)


def is_time(value: Any) -> bool:
    """Whether a value is a time, as details have it."""
    try:
        return bool(datetime.fromisoformat(value))
    except (TypeError, ValueError):
        return False


def _or_list(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda it: all(map(check, it)) if isinstance(it, list) else check(it)


DETAILS: dict[str, Callable[[Any], bool]] = {
    "affiliate": _or_list(is_text),
    "approved": lambda it: it is None or isinstance(it, bool),
    "fields": lambda it: isinstance(it, list) and all(isinstance(x, str) for x in it),
    "group": _or_list(is_word),
    "parent": is_text,
    "payment": _or_list(is_word),
    "program": _or_list(is_text),
    "status": lambda it: it != [] and _or_list(lambda x: isinstance(x, str))(it),
    "until": is_time,
    "user_id": is_text,
}


def find_odd_detail(details: Mapping[str, Any]) -> str | None:
    """Return the name of the first detail that no service writes so."""
    checks = ((name, DETAILS.get(name)) for name in details)
    return next((name for name, it in checks if it and not it(details[name])), None)


def drop_odd_details(details: Any) -> dict[str, Any]:
    """Return a copy without what no service writes so."""
    if not isinstance(details, dict):
        return {}
    kept = dict(details)
    while (name := find_odd_detail(kept)) is not None:
        del kept[name]
    return kept
