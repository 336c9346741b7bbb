"""Paths into JSON, such as `data.items.0.sku`. Independent of Django.

A part is the name of a key, a number for a position in a list, or `*` for each item of
a list. After `?` a path names a parameter of the address that it leads to, such as
`landing_page?ref`. A path that leads nowhere has no values, which is no error.

An expression is one path or several with ` + ` and ` - ` between them, as
`total - tax`. In an expression of texts, which has no ` - `, a part may be a constant
in double quotes, as `"EUR"`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from accounts.url_safety import read_parameters

MAX_PATH_LENGTH = 200
MAX_PATH_PARTS = 20
MAX_TERMS = 10  # of an expression
MAX_EXPRESSION_LENGTH = 500
EACH = "*"
PARAMETER = "?"
MINUS = "-"
OPERATOR_PATTERN = re.compile(r" ([+-]) ")
NO_OPERAND_PATTERN = re.compile(r'"|^[+-] | [+-]$')  # begun, and not ended
CONSTANT_PATTERN = re.compile(r'"([^"]{1,100})"')


def is_path(value: object) -> bool:
    """Whether a value is a path: texts between dots, none of them empty."""
    if not isinstance(value, str) or not value or len(value) > MAX_PATH_LENGTH:
        return False
    path, separator, parameter = value.partition(PARAMETER)
    parts = path.split(".")
    return (
        value.isprintable()
        and bool(parameter) == bool(separator)
        and len(parts) <= MAX_PATH_PARTS
        and all(part and part == part.strip() for part in parts)
    )


def is_expression(value: object, *, is_text: bool = False) -> bool:
    """Whether a value is an expression, of texts or else of amounts."""
    if not isinstance(value, str) or len(value) > MAX_EXPRESSION_LENGTH:
        return False
    terms = split_terms(value)
    return len(terms) <= MAX_TERMS and all(
        _is_term(sign, operand, is_text=is_text) for sign, operand in terms
    )


def split_terms(expression: str) -> list[tuple[str, str]]:
    """Return the operands of an expression, each with `+` or `-` before it."""
    parts = OPERATOR_PATTERN.split(expression)
    return list(zip(["+", *parts[1::2]], parts[::2], strict=True))


def find_constant(operand: str) -> str | None:
    """Return the text of a constant; None if it is a path."""
    found = CONSTANT_PATTERN.fullmatch(operand)
    return found[1] if found and found[1].isprintable() else None


def list_values(body: Any, path: str) -> list[Any]:
    """Return the values at a path, those of `*` in the order of their list."""
    path, _, parameter = path.partition(PARAMETER)
    values = [body]
    for part in path.split("."):
        values = [found for value in values for found in _list_children(value, part)]
    if not parameter:
        return values
    addresses = [read_parameters(value) for value in values]
    return [found[parameter] for found in addresses if parameter in found]


def find_value(body: Any, path: str) -> Any:
    """Return the first value at a path, or None; an empty path leads nowhere."""
    values = list_values(body, path) if path else []
    return values[0] if values else None


def _is_term(sign: str, operand: str, *, is_text: bool) -> bool:
    if is_text and sign == MINUS:
        return False
    if is_text and find_constant(operand) is not None:
        return True
    return is_path(operand) and not NO_OPERAND_PATTERN.search(operand)


def _list_children(value: Any, part: str) -> Iterator[Any]:
    if isinstance(value, Mapping):
        if part in value:
            yield value[part]
    elif isinstance(value, list):
        if part == EACH:
            yield from value
        elif part.isascii() and part.isdecimal() and int(part) < len(value):
            yield value[int(part)]
