"""JSON output: exact decimals, and times in UTC with seconds.

See docs/api-contract.md, section 1.3.
"""

from decimal import Decimal
from typing import Any

import orjson

ORJSON_OPTIONS = orjson.OPT_OMIT_MICROSECONDS


def serialize_exact_json(data: Any) -> bytes:
    """Serialize data to JSON bytes: `20`, `49.9`, `2026-03-04T09:15:27+00:00`."""
    return orjson.dumps(data, default=_serialize_decimal, option=ORJSON_OPTIONS)


def format_decimal(amount: Decimal) -> str:
    """Format a decimal without exponent or trailing zeros after the point."""
    if not amount:
        return "0"
    digits = format(amount, "f")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _serialize_decimal(value: Any) -> Any:
    if isinstance(value, Decimal):
        return orjson.Fragment(format_decimal(value))
    raise TypeError(f"{type(value).__name__} is not JSON serializable")
