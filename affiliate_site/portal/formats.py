"""Days and numbers as the reader's language writes them."""

from collections.abc import Callable, Iterable
from datetime import date
from decimal import Decimal
from typing import Any

from babel.numbers import format_decimal, get_decimal_symbol
from django.template import Library
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts.written_days import get_locale, write_day
from affiliate_site.cells import format_csv_line, format_semicolon_line

register = Library()


@register.filter
def day(value: date) -> str:
    """`25 Nov 2026`."""
    return write_day(value, "medium")


@register.filter
def long_day(value: date) -> str:
    """`25 November 2026`."""
    return write_day(value)


@register.filter
def whole(text: str) -> SafeString:
    """Begins a new line rather than break after the dots of `…1292`."""
    return format_html('<span class="whole">{}</span>', text)


def choose_csv_format() -> Callable[[Iterable[Any]], str]:
    """The function that writes a line of a CSV file as spreadsheets in the language of
    the page read it: with semicolons where numbers have a decimal comma."""
    has_comma = get_decimal_symbol(get_locale()) == ","
    return format_semicolon_line if has_comma else format_csv_line


def format_number(number: Decimal | int) -> str:
    """`1,250.5`, with as many decimals as it has."""
    return format_decimal(number, locale=get_locale(), decimal_quantization=False)
