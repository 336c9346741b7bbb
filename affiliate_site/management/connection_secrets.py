"""Secrets that commands read from a file or from standard input."""

import sys
from pathlib import Path

from django.core.management.base import CommandError


def read_secret(path: str | None) -> str:
    """Return the first line of a file, of standard input for `-`; "" without a path."""
    if path is None:
        return ""
    if path == "-":
        return sys.stdin.readline().strip()
    try:
        return Path(path).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"Cannot read {path}: {error}") from error
