"""Amounts and persons as texts, and cells of CSV files.

Texts that a spreadsheet would run as a formula are escaped: docs/reliability.md,
section 9.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from html import unescape

from django.utils.html import conditional_escape, strip_tags
from django.utils.safestring import SafeString, mark_safe

from accounts.exact_json import format_decimal
from tracking.money import get_exponent

# Begins CSV files that people open: without it spreadsheets misread the UTF-8.
BYTE_ORDER_MARK = "\ufeff"
EMPTY_VALUE = mark_safe('<span class="empty">-</span>')  # cards leave it out
TIME_LENGTH = len("2026-11-20T23:54:00")
# Formulas, and the vertical bar of calls to other programs, may begin with white space
# or control characters, and in full width.
INVISIBLE_CHARACTERS = r"\s\x00-\x1f\x7f\u200b-\u200f\u2060\ufeff"
FORMULA_PATTERN = re.compile(
    rf"[{INVISIBLE_CHARACTERS}]*[=+\-@|\uff1d\uff0b\uff0d\uff20\uff5c]|[\t\r\n]"
)
# What may begin a cell or a line if the reader takes another separator than a comma:
# it then splits quoted texts too, except at the beginning of a line.
SEPARATOR_PATTERN = re.compile(
    rf"([;|\t\r\n][{INVISIBLE_CHARACTERS};|\"]*)([=+\-@\uff1d\uff0b\uff0d\uff20\uff5c]?)"
)
# A vertical bar begins a cell only if another character separates cells.
OTHER_SEPARATOR_PATTERN = re.compile(r"[;\t\r\n]")
FIRST_BAR_PATTERN = re.compile(r"(?<!\|)\|")
# Most texts: neither a formula nor a separator, and nothing to escape.
PLAIN_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.,:/@+=-]*")
ADDED_APOSTROPHE = re.compile(
    rf"([;|\t\r\n][{INVISIBLE_CHARACTERS};|\"]*+)"
    rf"('(?=[=+\-@|\uff1d\uff0b\uff0d\uff20\uff5c]))?"  # a run is read once
)
# Readers that split at commas read files with semicolons, too.
COMMA_PATTERN = re.compile(
    rf"(,[{INVISIBLE_CHARACTERS},;\"]*)([=+\-@|\uff1d\uff0b\uff0d\uff20\uff5c]?)"
)
NUMBER_PATTERN = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)


class Money(SafeString):
    """An amount as text, with its number for spreadsheets; None if there is none."""

    amount: Decimal | None
    currency: str

    def __new__(cls, text: str, amount: Decimal | None = None, currency: str = ""):
        money = super().__new__(cls, text)
        money.amount, money.currency = amount, currency
        return money


def format_money(amount, currency: str) -> Money:
    """`4,263.74 EUR`; more decimals than the currency has are kept."""
    if amount is None:
        return Money(EMPTY_VALUE)
    whole, _, decimals = f"{amount:,f}".partition(".")
    decimals = decimals.rstrip("0").ljust(get_exponent(currency), "0")
    number = f"{whole}.{decimals}" if decimals else whole
    return Money(f"{number} {conditional_escape(currency)}", amount, currency)


def format_person(affiliate) -> str:
    """`Mina Kessler (mina)`, where there is no room for two lines; an ID that is the
    name, too, is there once."""
    name = f"{affiliate.firstname} {affiliate.lastname}".strip()
    if name in ("", affiliate.slug):
        return affiliate.slug
    return f"{name} ({affiliate.slug})"


def format_cell(value) -> str:
    """A value as text; an apostrophe is added to texts that could be formulas."""
    if value is None or (isinstance(value, SafeString) and value == EMPTY_VALUE):
        return ""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M:%SZ}"
    if isinstance(value, Decimal):
        return format_decimal(value)
    text = unescape(strip_tags(value)) if isinstance(value, SafeString) else str(value)
    if FORMULA_PATTERN.match(text) and not NUMBER_PATTERN.fullmatch(text):
        return f"'{text}"
    return text


def format_csv_cell(value) -> str:
    """A cell of a CSV file: numbers as they are, texts in quotation marks.

    A text holds no formula after a semicolon, vertical bar, tab or line break either.
    """
    if isinstance(value, Money):
        value = value.amount
    if value is None:
        return ""
    if type(value) is str and PLAIN_PATTERN.fullmatch(value):
        return f'"{value}"'
    if isinstance(value, datetime):
        return f'"{value.isoformat()[:TIME_LENGTH]}Z"'
    text = format_cell(value)
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return text
    text = SEPARATOR_PATTERN.sub(_escape_separated_formula, text).replace('"', '""')
    return f'"{text}"' if text else ""


def is_kept_in_csv(text: str) -> bool:
    """Whether a cell of a CSV file has exactly this text, without an apostrophe."""
    quoted = text.replace('"', '""')
    return format_csv_cell(text) in (f'"{quoted}"', quoted)


def _escape_separated_formula(match: re.Match[str]) -> str:
    separator, formula_start = match.groups()
    if "|" in separator and (other := OTHER_SEPARATOR_PATTERN.search(separator)):
        start = other.start()
        separator = separator[:start] + FIRST_BAR_PATTERN.sub("'|", separator[start:])
    return f"{separator}'{formula_start}" if formula_start else separator


def restore_cell(text: str) -> str:
    """Return the text of a cell without the apostrophes that exports have added."""
    if text.startswith("'") and FORMULA_PATTERN.match(text[1:]):
        text = text[1:]
    return ADDED_APOSTROPHE.sub(r"\1", text)


def format_csv_line(values: Iterable) -> str:
    """A line of a CSV file, with its line break."""
    return ",".join(map(format_csv_cell, values)) + "\r\n"


def format_semicolon_line(values: Iterable) -> str:
    """A line of a CSV file for spreadsheets in languages with a decimal comma."""
    return ";".join(map(_format_semicolon_cell, values)) + "\r\n"


def iterate_csv(
    chunks: Iterable[Iterable[Iterable]],
    format_line: Callable[[Iterable], str] = format_csv_line,
) -> Iterator[str]:
    """A CSV file that people open, from chunks of lines."""
    yield BYTE_ORDER_MARK
    for lines in chunks:
        yield "".join(map(format_line, lines))


def render_csv(
    lines: Iterable[Iterable], format_line: Callable[[Iterable], str] = format_csv_line
) -> str:
    """The same, as a whole."""
    return "".join(iterate_csv([lines], format_line))


def _format_semicolon_cell(value) -> str:
    text = format_csv_cell(value)
    if isinstance(value, Decimal | Money):
        return text.replace(".", ",")
    return COMMA_PATTERN.sub(lambda it: f"{it[1]}'{it[2]}" if it[2] else it[0], text)
