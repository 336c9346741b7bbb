"""Money without Django: what a currency is, and how an amount is rounded, once."""

import re
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from functools import cache

from babel.core import get_global
from babel.numbers import get_currency_symbol

from tracking.errors import (
    BelowNought,
    NotANumber,
    TooManyDigits,
    UnknownCurrency,
)

NOUGHT = Decimal(0)
ROOM = Context(prec=80)  # the product of two amounts is longer than one

# The minor units of ISO 4217, where they are not hundredths. Babel's are those of
# everyday cash, which leaves out the para of the dinar: 49.90 RSD would become 50.
USUAL_EXPONENT = 2
WITHOUT_DECIMALS = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"
WITH_THREE = "BHD IQD JOD KWD LYD OMR TND"
WITH_FOUR = "CLF UYW"
EXPONENTS = {
    **dict.fromkeys(WITHOUT_DECIMALS.split(), 0),
    **dict.fromkeys(WITH_THREE.split(), 3),
    **dict.fromkeys(WITH_FOUR.split(), 4),
}
SIGNIFICANT_DIGITS = 15
WHOLE_DIGITS = 13
DECIMAL_TEXT = re.compile(r"^-?[0-9]+(\.[0-9]+)?$", re.ASCII)


@cache
def currencies() -> frozenset[str]:
    """The codes of ISO 4217 that are legal tender somewhere today."""
    return frozenset(
        code
        for used in get_global("territory_currencies").values()
        for code, _, until, tender in used
        if tender and until is None
    )


def currency_named(code: str) -> str:
    """The currency in upper case, without outer white space."""
    found = code.strip(" \t\r\n\f\v")
    # Beyond ASCII, upper case may make three letters out of one.
    if not found.isascii() or found.upper() not in currencies():
        raise UnknownCurrency
    return found.upper()


def exponent(currency: str) -> int:
    """Decimals of the minor unit: JPY 0, EUR 2, KWD 3."""
    return EXPONENTS.get(currency, USUAL_EXPONENT)


def spelled(amount: Decimal, currency: str) -> str:
    """`1250.50 EUR`: the amount with its currency's decimals, for people."""
    return f"{amount:.{exponent(currency)}f} {currency}"


@cache
def symbol(currency: str) -> str:
    """`€`; the code where there is no symbol."""
    return get_currency_symbol(currency, locale="en")


def round_to(currency: str, exact: Decimal) -> Decimal:
    """The amount in whole minor units, rounded half up (away from nought)."""
    unit = Decimal(1).scaleb(-exponent(currency))
    rounded = exact.quantize(unit, rounding=ROUND_HALF_UP, context=ROOM)
    return rounded or NOUGHT


def read_amount(value: object) -> Decimal:
    """The exact decimal that a JSON number or an ASCII decimal string spells."""
    if isinstance(value, Decimal):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    if isinstance(value, str) and DECIMAL_TEXT.fullmatch(value):
        return Decimal(value)
    raise NotANumber


def admit(exact: Decimal, currency: str | None) -> Decimal:
    """The amount as it is kept: rounded, then not too long and not below nought.

    While the currency is not known yet, only what no currency could mend is
    refused, and the exact amount comes back.
    """
    exact = exact or NOUGHT  # 0e50 is nought, whatever its exponent says
    if exact.adjusted() >= WHOLE_DIGITS:
        raise TooManyDigits
    if currency is None:
        _refuse_below_nought(_rounded_to_whole(exact))
        return exact
    amount = round_to(currency, exact)
    if amount.adjusted() >= WHOLE_DIGITS or significant(amount) > SIGNIFICANT_DIGITS:
        raise TooManyDigits
    return _refuse_below_nought(amount)


def _rounded_to_whole(exact: Decimal) -> Decimal:
    return exact.quantize(
        Decimal(1), rounding=ROUND_DOWN if exact > 0 else ROUND_HALF_UP
    )


def _refuse_below_nought(amount: Decimal) -> Decimal:
    if amount < 0:
        raise BelowNought
    return amount


def significant(number: Decimal) -> int:
    """How many digits count: leading and trailing noughts do not."""
    return len("".join(map(str, number.as_tuple().digits)).strip("0"))
