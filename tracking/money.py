"""Currencies; parsing, rounding and validating amounts. Independent of Django."""

import re
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from functools import cache

from babel.core import get_global
from babel.numbers import get_currency_symbol

from tracking.errors import (
    AmountTooLarge,
    InvalidNumber,
    NegativeAmount,
    UnknownCurrency,
)

ZERO = Decimal(0)
ROUNDING_CONTEXT = Context(prec=80)  # enough digits for products of amounts

# The minor units of ISO 4217 that are not hundredths. Babel's data describes cash and
# gives RSD no decimals, which would round 49.90 RSD to 50.
DEFAULT_EXPONENT = 2
ZERO_DECIMAL_CURRENCIES = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"
THREE_DECIMAL_CURRENCIES = "BHD IQD JOD KWD LYD OMR TND"
FOUR_DECIMAL_CURRENCIES = "CLF UYW"
UNUSUAL_EXPONENTS = {
    **dict.fromkeys(ZERO_DECIMAL_CURRENCIES.split(), 0),
    **dict.fromkeys(THREE_DECIMAL_CURRENCIES.split(), 3),
    **dict.fromkeys(FOUR_DECIMAL_CURRENCIES.split(), 4),
}
MAX_SIGNIFICANT_DIGITS = 15
MAX_INTEGER_DIGITS = 13
DECIMAL_PATTERN = re.compile(r"^-?[0-9]+(\.[0-9]+)?$", re.ASCII)


@cache
def list_currencies() -> frozenset[str]:
    """ISO 4217 codes that are legal tender in some territory today."""
    return frozenset(
        code
        for currencies in get_global("territory_currencies").values()
        for code, _, end_date, is_tender in currencies
        if is_tender and end_date is None
    )


def get_currency(code: str) -> str:
    """The code in upper case, without surrounding white space."""
    stripped = code.strip(" \t\r\n\f\v")
    # Outside ASCII, upper() may turn one letter into three.
    if not stripped.isascii() or stripped.upper() not in list_currencies():
        raise UnknownCurrency
    return stripped.upper()


def get_exponent(currency: str) -> int:
    """The number of decimals of a currency: JPY 0, EUR 2, KWD 3."""
    return UNUSUAL_EXPONENTS.get(currency, DEFAULT_EXPONENT)


def format_amount(amount: Decimal, currency: str) -> str:
    """Format an amount for display with its currency's decimals: `1250.50 EUR`."""
    return f"{amount:.{get_exponent(currency)}f} {currency}"


@cache
def get_symbol(currency: str) -> str:
    """The symbol of a currency (`€`), or its code if it has none."""
    return get_currency_symbol(currency, locale="en")


def round_amount(exact: Decimal, currency: str) -> Decimal:
    """Round to whole minor units, half up (away from zero)."""
    unit = Decimal(1).scaleb(-get_exponent(currency))
    rounded = exact.quantize(unit, rounding=ROUND_HALF_UP, context=ROUNDING_CONTEXT)
    return rounded or ZERO


def parse_amount(value: object) -> Decimal:
    """Convert a JSON number or an ASCII decimal string to an exact decimal."""
    if isinstance(value, Decimal):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    if isinstance(value, str) and DECIMAL_PATTERN.fullmatch(value):
        return Decimal(value)
    raise InvalidNumber


def round_and_check_amount(exact: Decimal, currency: str | None) -> Decimal:
    """Return the amount rounded to minor units, or raise if it is out of range.

    Without a currency the amount is returned exactly, after the checks that do not
    depend on one. Raises `AmountTooLarge` and `NegativeAmount`.
    """
    exact = exact or ZERO  # drops the exponent of a zero like 0e50
    if exact.adjusted() >= MAX_INTEGER_DIGITS:
        raise AmountTooLarge
    if currency is None:
        _ensure_not_negative(_round_to_integer(exact))
        return exact
    amount = round_amount(exact, currency)
    if (
        amount.adjusted() >= MAX_INTEGER_DIGITS
        or count_significant_digits(amount) > MAX_SIGNIFICANT_DIGITS
    ):
        raise AmountTooLarge
    return _ensure_not_negative(amount)


def _round_to_integer(exact: Decimal) -> Decimal:
    return exact.quantize(Decimal(1), rounding=ROUND_DOWN if exact > 0 else ROUND_HALF_UP)


def _ensure_not_negative(amount: Decimal) -> Decimal:
    if amount < 0:
        raise NegativeAmount
    return amount


def count_significant_digits(number: Decimal) -> int:
    """The number of digits without leading and trailing zeros."""
    return len("".join(map(str, number.as_tuple().digits)).strip("0"))
