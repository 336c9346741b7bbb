"""Decimal numbers in texts from outside: their size is bounded before they are read.

`Decimal("1e400000000")` is small, but any sum with it, and any text of it, fills the
memory; `Decimal("sNaN")` raises whenever it is compared.
"""

import re
from decimal import Decimal

MAX_NUMBER_LENGTH = 64
MAX_EXPONENT = 99
NUMBER_PATTERN = re.compile(
    r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]([+-]?[0-9]+))?", re.ASCII
)


def parse_decimal(text: str) -> Decimal:
    """Return exactly the digits of a text; raise `ValueError` for what is no number.

    That includes numbers of more than 64 characters and exponents beyond ±99.
    """
    match = NUMBER_PATTERN.fullmatch(text) if len(text) <= MAX_NUMBER_LENGTH else None
    if match is None or abs(int(match[1] or 0)) > MAX_EXPONENT:
        raise ValueError(f"{text[:MAX_NUMBER_LENGTH]!r} is no number")
    return Decimal(text)
