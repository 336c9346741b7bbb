"""Amounts and rates as the language in use writes them."""

from decimal import Decimal

from babel.numbers import format_decimal

from accounts.written_days import get_locale
from tracking.amounts import SCALE
from tracking.money import get_exponent


def write_amount(amount: Decimal, currency: str) -> str:
    """`1,250.50 EUR`, in German `1.250,50 EUR`; no decimal that counts is left out."""
    return f"{write_number(amount, get_exponent(currency))} {currency}"


def write_number(number: Decimal, decimals: int) -> str:
    """`1,250.50`, with at least so many decimals."""
    pattern = f"#,##0.{'0' * decimals}{'#' * (SCALE - decimals)}"
    return str(format_decimal(number, pattern, locale=get_locale()))
