"""Parses request bodies as strict JSON with exact decimals.

Rules: docs/api-contract.md, section 1.2.
"""

import json
import re

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from rest_framework.parsers import BaseParser

from accounts.decimals import MAX_NUMBER_LENGTH, parse_decimal
from accounts.errors import InvalidInput
from affiliate_site.api.errors import PayloadTooLarge
from affiliate_site.http_errors import CHARSETS

MAX_NESTING_DEPTH = 32
CHARSET_PATTERN = re.compile(r";\s*charset\s*=\s*\"?([^\s\";]*)", re.IGNORECASE)


class InvalidBody(InvalidInput):
    """The body is not the JSON that the operation accepts."""

    message = "Request body was not valid JSON"


class StrictJSONParser(BaseParser):
    """Parses `request.data`, regardless of the content type."""

    media_type = "application/json"

    def parse(self, stream, media_type=None, parser_context=None):
        serializer_class = parser_context["view"].get_serializer_class()
        return parse_json_body(stream, allow_array=bool(serializer_class.max_items))


def check_content_length(request) -> None:
    """Raise PayloadTooLarge if `Content-Length` exceeds 1 MiB."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    if length.isascii() and length.isdigit() and int(length) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        raise PayloadTooLarge


def parse_json_body(request, *, allow_array: bool = False):
    """Return the JSON object of the body, or the array if one is allowed."""
    check_encoding(request)
    try:
        data = parse_strict_json(get_raw_body(request))
    except (ValueError, RecursionError) as error:
        raise InvalidBody from error
    if not isinstance(data, dict | list if allow_array else dict):
        raise InvalidBody
    return data


def parse_strict_json(content: bytes):
    """Return the data of UTF-8 JSON; raise `ValueError` or `RecursionError`."""
    data = json.loads(
        content.decode("utf-8"),
        object_pairs_hook=parse_object,
        parse_int=parse_integer,
        parse_float=parse_decimal,
        parse_constant=reject_constant,
    )
    validate_json(data, depth=1)
    return data


def get_raw_body(request) -> bytes:
    """Return the bytes of the body; raise PayloadTooLarge above the limit."""
    try:
        return request.body
    except RequestDataTooBig as error:
        raise PayloadTooLarge from error


def check_encoding(request) -> None:
    """Reject compressed bodies and any character set other than UTF-8."""
    encoding = request.META.get("HTTP_CONTENT_ENCODING", "").strip().lower()
    charset = CHARSET_PATTERN.search(request.META.get("CONTENT_TYPE", ""))
    if encoding not in ("", "identity"):
        raise InvalidBody
    if charset and charset[1].lower() not in CHARSETS:
        raise InvalidBody


def parse_object(pairs):
    """Return an object; reject a repeated key."""
    parsed = dict(pairs)
    if len(parsed) != len(pairs):
        raise ValueError("repeated key")
    return parsed


def parse_integer(literal: str) -> int:
    """Return an integer of at most `MAX_NUMBER_LENGTH` characters."""
    if len(literal) > MAX_NUMBER_LENGTH:
        raise ValueError("number too long")
    return int(literal)


def reject_constant(literal: str):
    """Reject NaN and Infinity, which are not JSON."""
    raise ValueError(f"{literal} is not a number")


def validate_json(data, *, depth: int) -> None:
    """Reject text that the database cannot store, and excessive nesting."""
    if isinstance(data, str):
        if "\x00" in data:
            raise ValueError("NUL in text")
        data.encode("utf-8")  # a lone surrogate raises a ValueError
        return
    if not isinstance(data, dict | list):
        return
    if depth > MAX_NESTING_DEPTH:
        raise ValueError("nested too deeply")
    for inner in data:
        validate_json(inner, depth=depth + 1)
    if isinstance(data, dict):
        for inner in data.values():
            validate_json(inner, depth=depth + 1)
