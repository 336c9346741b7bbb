"""JSON that leaves the house: decimals digit by digit, times in UTC with seconds."""

from decimal import Decimal
from typing import Any

import orjson

SHAPE = orjson.OPT_OMIT_MICROSECONDS


def exact_json(data: Any) -> bytes:
    """Plain data as JSON bytes: `20`, `49.9`, `2026-03-04T09:15:27+00:00`."""
    return orjson.dumps(data, default=_odd_one, option=SHAPE)


def plain(amount: Decimal) -> str:
    """A decimal without exponent and without trailing zeros after the point."""
    if not amount:
        return "0"
    digits = format(amount, "f")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _odd_one(value: Any) -> Any:
    if isinstance(value, Decimal):
        return orjson.Fragment(plain(value))
    raise TypeError(f"{type(value).__name__} has no form in our JSON")
