"""Files of rules, which commands read as JSON."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from accounts.commands import read_file
from affiliate_site.api.parsing import parse_strict_json

MAX_FILE_BYTES = 1 << 20
NOT_JSON = "{name} is no JSON object with each key once: UTF-8, at most 32 levels, e.g. {example}"


def read_json_file(path: Path, *, example: str) -> Any:
    """Return what a file has, `-` for standard input; numbers are exact.

    Raises `CommandError`, with the example, if it is not JSON.
    """
    name, content = read_file(path, max_bytes=MAX_FILE_BYTES)
    try:
        return parse_strict_json(content)
    except (ValueError, RecursionError):
        raise CommandError(NOT_JSON.format(name=name, example=example)) from None
