"""Amounts as shops print them: `49,90`, ` 49.90 `, `€49.90`. Independent of Django.

An amount is read where it has one meaning. `1.249` and `1,249` have two: the browser
script and the server refuse them, but `1.249` in a currency with three decimals. The
rules of `tap.js` are the same (tests/e2e/test_amounts.py).
"""

import re
from dataclasses import dataclass

from tracking.money import get_exponent, list_currencies

# What is printed beside an amount, and the currencies that it stands for.
DOLLARS = (
    "ARS AUD BBD BMD BND BSD BZD CAD CLP COP DOP FJD GYD HKD JMD KYD LRD MXN NAD NZD"
    " SBD SGD SRD TTD TWD USD UYU XCD"
)
MARKS = {
    "$": DOLLARS,
    "US$": "USD",
    "CA$": "CAD",
    "A$": "AUD",
    "AU$": "AUD",
    "NZ$": "NZD",
    "HK$": "HKD",
    "S$": "SGD",
    "R$": "BRL",
    "\N{POUND SIGN}": "GBP EGP FKP GIP SHP",
    "\N{YEN SIGN}": "JPY CNY",
    "\N{THAI CURRENCY SYMBOL BAHT}": "THB",
    "\N{NAIRA SIGN}": "NGN",
    "\N{WON SIGN}": "KRW KPW",
    "\N{NEW SHEQEL SIGN}": "ILS",
    "\N{DONG SIGN}": "VND",
    "\N{EURO SIGN}": "EUR",
    "\N{PESO SIGN}": "PHP",
    "\N{HRYVNIA SIGN}": "UAH",
    "\N{INDIAN RUPEE SIGN}": "INR",
    "\N{TURKISH LIRA SIGN}": "TRY",
    "\N{RUBLE SIGN}": "RUB",
    "kr": "SEK NOK DKK ISK",
    "zł": "PLN",
    "Kč": "CZK",
    "Ft": "HUF",
    "lei": "RON MDL",
    "Fr": "CHF",
    "Rp": "IDR",
    "RM": "MYR",
}
MARK = (
    r"(?P<mark>[A-Z]{3}|[A-Z]{0,2}[$\u00a3\u00a5\u0e3f\u20a0-\u20cf]"
    r"|kr|zł|Kč|Ft|lei|Fr|Rp|RM)\.?"
)
LEADING = re.compile(rf"{MARK}\s*(?P<rest>[0-9].*)")
TRAILING = re.compile(rf"(?P<rest>[0-9][^A-Za-z$]*?)\s*{MARK}")
# Whole units, in groups of three or as in India, then decimals, or a dash for none.
NUMBER = re.compile(
    r"(?P<whole>[0-9]+|[0-9]{1,3}(?P<group>[.,'\u2019\s])[0-9]{3}((?P=group)[0-9]{3})*"
    r"|[0-9]{1,2}(?P<lakh>,)([0-9]{2},)+[0-9]{3})"
    r"((?P<point>[.,])(?P<decimals>[0-9]+|[-\u2013\u2014]{1,2}))?"
)
AMBIGUOUS = re.compile(r"[1-9][0-9]{0,2}[.,][0-9]{3}")
MAX_LENGTH = 64


@dataclass(frozen=True)
class PrintedAmount:
    """The digits of an amount with a point, and the currencies that the mark beside it
    stands for; empty without a mark."""

    digits: str
    currencies: frozenset[str] = frozenset()


def read_printed_amount(text: str, currency: str | None) -> PrintedAmount | None:
    """Read an amount; None where it has no meaning, or more than one.

    `currency` is the one that the caller names beside it, if any.
    """
    text = text.strip()
    if len(text) > MAX_LENGTH:
        return None
    found = LEADING.fullmatch(text) or TRAILING.fullmatch(text)
    currencies: frozenset[str] = frozenset()
    if found:
        text, mark = found["rest"], found["mark"]
        currencies = frozenset(MARKS.get(mark, mark).split()) & list_currencies()
        if not currencies or (currency and currency not in currencies):
            return None
    digits = _read_number(text, {currency} if currency else currencies)
    return PrintedAmount(digits, currencies) if digits else None


def _read_number(text: str, currencies: set[str | None] | frozenset[str]) -> str | None:
    found = NUMBER.fullmatch(text)
    if found is None:
        return None
    point = found["point"]
    if point and point in (found["group"], found["lakh"]):
        return None
    has_thousandths = any(code and get_exponent(code) == 3 for code in currencies)
    if AMBIGUOUS.fullmatch(text) and not (point == "." and has_thousandths):
        return None
    whole = re.sub("[^0-9]", "", found["whole"])
    decimals = found["decimals"] or ""
    return f"{whole}.{decimals}" if decimals.isdigit() else whole
