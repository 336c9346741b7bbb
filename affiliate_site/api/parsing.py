"""One JSON parser: any content type, exact decimals, nothing that poisons a row."""

import json
import re
from decimal import Decimal

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from rest_framework.parsers import BaseParser

from accounts.errors import Rejected
from affiliate_site.api.errors import TooLarge

DEEPEST = 32
LONGEST_NUMBER = 64
HIGHEST_EXPONENT = 99
CHARSETS = ("utf-8", "us-ascii")
CHARSET = re.compile(r";\s*charset\s*=\s*\"?([^\s\";]*)", re.IGNORECASE)
EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)$")


class InvalidBody(Rejected):
    """Not the JSON that the operation takes."""

    message = "Request body was not valid JSON"


class StrictJSON(BaseParser):
    """Names the body's type for the API's description; viewsets call `read_json`."""

    media_type = "application/json"


def refuse_large(request) -> None:
    """413 for a body over 1 MiB, by its announced length."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    if (
        length.isascii()
        and length.isdigit()
        and int(length) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    ):
        raise TooLarge


def read_json(request, *, or_array: bool = False):
    """The request's JSON object (or array, where one is allowed)."""
    refuse_packed(request)
    try:
        text = raw_body(request).decode("utf-8")
        data = json.loads(
            text,
            object_pairs_hook=no_key_twice,
            parse_int=whole_number,
            parse_float=exact_number,
            parse_constant=no_number,
        )
        inspect(data, depth=1)
    except (ValueError, RecursionError) as error:
        raise InvalidBody from error
    if not isinstance(data, dict | list if or_array else dict):
        raise InvalidBody
    return data


def raw_body(request) -> bytes:
    """The bytes that were sent."""
    try:
        return request.body
    except RequestDataTooBig as error:
        raise TooLarge from error


def refuse_packed(request) -> None:
    """UTF-8 as it is: no other character set, and nothing is ever unpacked."""
    encoding = request.META.get("HTTP_CONTENT_ENCODING", "").strip().lower()
    charset = CHARSET.search(request.META.get("CONTENT_TYPE", ""))
    if encoding not in ("", "identity"):
        raise InvalidBody
    if charset and charset[1].lower() not in CHARSETS:
        raise InvalidBody


def no_key_twice(pairs):
    """An object whose keys are all different."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def whole_number(literal: str) -> int:
    """An integer of a bearable length."""
    if len(literal) > LONGEST_NUMBER:
        raise ValueError("a number is too long")
    return int(literal)


def exact_number(literal: str) -> Decimal:
    """The very digits that were sent."""
    exponent = EXPONENT.search(literal)
    if len(literal) > LONGEST_NUMBER:
        raise ValueError("a number is too long")
    if exponent and abs(int(exponent[1])) > HIGHEST_EXPONENT:
        raise ValueError("an exponent is out of bounds")
    return Decimal(literal)


def no_number(literal: str):
    """NaN and Infinity are no JSON."""
    raise ValueError(f"{literal} is not a number")


def inspect(data, *, depth: int) -> None:
    """Refuse text that no database takes, and nesting without end."""
    if isinstance(data, str):
        if "\x00" in data:
            raise ValueError("NUL in text")
        data.encode("utf-8")  # a lone surrogate raises a ValueError
        return
    if not isinstance(data, dict | list):
        return
    if depth > DEEPEST:
        raise ValueError("nested too deeply")
    for inner in data:
        inspect(inner, depth=depth + 1)
    if isinstance(data, dict):
        for inner in data.values():
            inspect(inner, depth=depth + 1)
