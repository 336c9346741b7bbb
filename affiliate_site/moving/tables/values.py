"""Cells as values. Numbers and dates have styles, which are never guessed."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError

from accounts.countries import find_country
from accounts.decimals import parse_decimal
from accounts.email_addresses import validate_address
from affiliate_site.moving.tables.files import Cell, CellError
from affiliate_site.moving.tables.words import MONTHS, SIGNS, WORDS
from payouts.services.conversion_creation import FIRST_YEAR
from payouts.services.imported_people import find_code
from tracking.errors import UnknownCurrency
from tracking.money import get_currency, list_currencies
from tracking.services.imports import ImportProblem

SPACES = " \u00a0\u202f'\u2019"
NUMBER_STYLES = {
    "point": re.compile(rf"-?(\d+|\d{{1,3}}([,{SPACES}]\d{{3}})+)(\.\d+)?", re.ASCII),
    "comma": re.compile(rf"-?(\d+|\d{{1,3}}([.{SPACES}]\d{{3}})+)(,\d+)?", re.ASCII),
}
# A sign or code of a currency before or after a number.
MARKED_NUMBER = re.compile(r"(-?)([^\d\s-]{0,3}?)\s*(-?[\d.].*?\d|\d)\s*([^\d\s]{0,3})")
TIME = (
    r"(?:[T, ]+(?P<H>\d{1,2}):(?P<M>\d\d)(?::(?P<S>\d\d)(?:\.\d+)?)?"
    r"(?: ?(?P<half>[APap])[Mm])?)?"
)
ZONE = r"(?P<zone> ?(?:UTC|GMT|Z|[+-]\d\d:?\d\d))?"
DAY, MONTH, YEAR, SHORT_YEAR = (
    *(r"(?P<d>\d{1,2})", r"(?P<m>\d{1,2})", r"(?P<y>\d{4})", r"(?P<y>\d\d)"),
)
NAME = r"(?P<m>[^\W\d]{3,10})\.?"  # of a month
DATE_STYLES = {
    name: re.compile(rf"{day}{TIME}{ZONE}")
    for name, day in {
        "iso": r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)",
        "day.month.year": rf"{DAY}\.{MONTH}\.{YEAR}",
        "day/month/year": rf"{DAY}/{MONTH}/{YEAR}",
        "month/day/year": rf"{MONTH}/{DAY}/{YEAR}",
        "year/month/day": rf"{YEAR}/{MONTH}/{DAY}",
        "day.month.yy": rf"{DAY}\.{MONTH}\.{SHORT_YEAR}",
        "day/month/yy": rf"{DAY}/{MONTH}/{SHORT_YEAR}",
        "month/day/yy": rf"{MONTH}/{DAY}/{SHORT_YEAR}",
        "day-month-year": rf"{DAY}-{MONTH}-{YEAR}",
        "month-day-year": rf"{MONTH}-{DAY}-{YEAR}",
        "name-day-year": rf"{NAME} {DAY},? {YEAR}",
        "day-name-year": rf"{DAY}\.?[ -](?:de )?{NAME}[ -](?:de )?{YEAR}",
    }.items()
} | {
    "seconds": re.compile(r"(?P<epoch>\d{10})(?:\.0)?"),
    "milliseconds": re.compile(r"(?P<epoch>\d{10})(?P<milliseconds>\d{3})(?:\.0)?"),
}
EPOCHS = frozenset({"seconds", "milliseconds"})  # styles of bare numbers
# Styles that read the same texts, so that one of them has to be chosen.
ALIKE = {
    "month/day/year": "day/month/year",
    "month/day/yy": "day/month/yy",
    "month-day-year": "day-month-year",
}
CODE_MARKS = re.compile(r"[\s,;|]+")
COUNTED_STATUS = re.compile(r"\d+ (\w+)")  # `1 approved` in our list of affiliates


@dataclass(frozen=True)
class Styles:
    """How the file writes numbers and dates; None: not said.

    `decimal` is a name of `NUMBER_STYLES`, `dates` are some of `DATE_STYLES` with
    spaces between them.
    """

    decimal: str | None = None
    dates: str | None = None


NO_STYLES = Styles()


@dataclass(frozen=True)
class Reading:
    """What the readers of cells need to know besides the cell.

    `words` has a word of `WORDS`, or `LEAVE_OUT`, by the names of columns and the words
    of the file. In `is_in_cents`, amounts are whole minor units.
    """

    styles: Styles
    zone: tzinfo  # of times without one
    at: datetime  # now
    words: Mapping[tuple[str, str], str] = field(default_factory=dict)
    is_in_cents: bool = False


def find_styles(cells: Sequence[str], read: Callable[[str, str], Any], styles: Sequence[str]):
    """Return the only style of these cells, and the styles to ask about.

    A cell that no style can read says nothing. The style is found if each other cell
    has one meaning, and one style can read them all. Those that can are asked about;
    without one, all that read a cell.
    """
    possible: set[str] = set()
    common, has_several_meanings = set(styles), False
    for cell in cells:
        meanings = {}
        for style in styles:
            try:
                meanings[style] = read(cell, style)
            except ImportProblem:
                continue
        if meanings:
            possible |= meanings.keys()
            common &= meanings.keys()
            has_several_meanings |= len(set(meanings.values())) > 1
    if not possible or (common and not has_several_meanings):
        return next((style for style in styles if style in common), styles[0]), []
    return None, [style for style in styles if style in (common or possible)]


def split_sign(text: str) -> tuple[str, str]:
    """Return a number without the sign or code of a currency, and that mark."""
    match = MARKED_NUMBER.fullmatch(text)
    if match is None:
        return text, ""
    minus, before, number, after = match.groups()
    mark = (before or after).casefold()
    is_known = mark in SIGNS or mark.upper() in list_currencies()
    if not is_known or (before and after):
        return text, ""
    return minus + number, mark


def parse_number(text: str, style: str) -> Decimal:
    """Return the number of a text in this style, which may have a currency's sign."""
    number, _ = split_sign(text)
    if not NUMBER_STYLES[style].fullmatch(number):
        raise ImportProblem("invalid_number", "", text)
    mark = "," if style == "comma" else "."
    whole, _, decimals = number.partition(mark)
    digits = re.sub(r"[^\d-]", "", whole) + (f".{decimals}" if decimals else "")
    try:
        return parse_decimal(digits)
    except ValueError:
        raise ImportProblem("invalid_number", "", text) from None


def parse_date(text: str, style: str) -> datetime:
    """Return the time of a text in this style; naive if the text has no zone."""
    match = DATE_STYLES[style].fullmatch(text) if text.isprintable() else None
    if match is None:
        raise ImportProblem("invalid_date", "", text)
    parts = match.groupdict()
    if parts.get("epoch"):
        return datetime.fromtimestamp(int(parts["epoch"]), UTC)
    try:
        return build_time(parts)
    except (ValueError, KeyError):
        raise ImportProblem("invalid_date", "", text) from None


def build_time(parts: Mapping[str, str | None]) -> datetime:
    """Return the time of the parts of a date; raise `ValueError` or `KeyError`."""
    year, month, day = (parts[name] or "" for name in "ymd")
    zone, hour = (parts["zone"] or "").strip(), int(parts["H"] or 0)
    if parts["half"]:
        if not 1 <= hour <= 12:
            raise ValueError("no hour of a half day")
        hour = hour % 12 + (12 if parts["half"] in "pP" else 0)
    month = month if month.isdecimal() else str(MONTHS[month.casefold()])
    date = f"{year if len(year) == 4 else '20' + year}-{month:0>2}-{day:0>2}"
    offset = "+00:00" if zone in ("UTC", "GMT", "Z") else zone
    time = ":".join((f"{hour:02}", *(parts[name] or "00" for name in "MS")))
    return datetime.fromisoformat(f"{date}T{time}{offset}")


def find_shape(text: str) -> str:
    """Return the first style whose pattern a text has; empty without one."""
    matching = (name for name, it in DATE_STYLES.items() if it.fullmatch(text))
    return next(matching, "")


def list_alike(style: str) -> list[str]:
    """Return the styles that read the texts of this one."""
    return [style, *(it for it, first in ALIKE.items() if first == style)]


def parse_any_date(text: str, styles: str | None) -> datetime:
    """Return the time of a text in the first of these styles that can read it."""
    for style in (styles or "iso").split():
        try:
            return parse_date(text, style)
        except ImportProblem:
            continue
    raise ImportProblem("invalid_date", "", text)


def read_text(cell: Cell, reading: Reading) -> str:
    """Return a cell as text; a whole number has no decimals."""
    if isinstance(cell, Decimal):
        return f"{cell:f}".removesuffix(".0")
    if isinstance(cell, datetime):
        return cell.isoformat()
    text = str(cell)
    if any(ord(character) < ord(" ") and character not in "\t\r\n" for character in text):
        raise ImportProblem("control_character", "", text)
    return text


def read_word(cell: Cell, reading: Reading) -> str:
    """Return a cell as text without case."""
    return read_text(cell, reading).casefold()


def read_signed_amount(cell: Cell, reading: Reading) -> Decimal:
    """Return a number, negative ones too."""
    if isinstance(cell, Decimal):
        return cell
    text = read_text(cell, reading).replace("\u2212", "-")
    return parse_number(text, reading.styles.decimal or "point")


def read_amount(cell: Cell, reading: Reading) -> Decimal:
    number = read_signed_amount(cell, reading)
    if number < 0:
        raise ImportProblem("negative_amount", "", number)
    return number


def read_date(cell: Cell, reading: Reading) -> str:
    """Return a time in ISO 8601, UTC."""
    if isinstance(cell, datetime):
        at = cell
    else:
        text = read_text(cell, reading)
        at = parse_any_date(text, reading.styles.dates)
    if at.year < FIRST_YEAR or at.year > reading.at.year + 1:
        raise ImportProblem("date_out_of_range", "", cell)
    at = (at if at.tzinfo else at.replace(tzinfo=reading.zone)).astimezone(UTC)
    if at > reading.at:
        raise ImportProblem("date_out_of_range", "", cell)
    return at.isoformat()


def read_email(cell: Cell, reading: Reading) -> str:
    """Return an e-mail address."""
    text = read_text(cell, reading)
    try:
        validate_address(text)
    except ValidationError:
        raise ImportProblem("invalid_email", "", text) from None
    return text


def read_currency(cell: Cell, reading: Reading) -> str:
    """Return the code of a currency."""
    text = read_text(cell, reading)
    try:
        return get_currency(text)
    except UnknownCurrency:
        raise ImportProblem("unknown_currency", "", text) from None


def read_country(cell: Cell, reading: Reading) -> str:
    """Return the code of a country, which may be named in a language of the portal."""
    text = read_text(cell, reading)
    code = find_country(text)
    if not code:
        raise ImportProblem("unknown_country", "", text)
    return code


def read_code(cell: Cell, reading: Reading) -> str:
    """Return a code or coupon; a program has one of each for an affiliate."""
    text = read_text(cell, reading)
    if CODE_MARKS.search(text):
        raise ImportProblem("several_codes", "", text)
    return text


def read_codes(cell: Cell, reading: Reading) -> list[str]:
    """Return codes, which spaces or commas separate."""
    return [text for text in CODE_MARKS.split(read_text(cell, reading)) if text]


def read_link(cell: Cell, reading: Reading) -> str | None:
    """Return the referral code of a link; None without one."""
    return find_code(read_text(cell, reading)) or None


def read_removed(cell: Cell, reading: Reading) -> None:
    """Refuse what the source has removed."""
    if read_word(cell, reading) not in ("false", "0", "no", "n"):
        raise ImportProblem("removed_at_source", "", cell)


def fold_word(cell: Cell) -> str:
    """Return the text of a cell that is one of some words."""
    word = str(cell).casefold()
    match = COUNTED_STATUS.fullmatch(word)
    return match[1] if match else word


def read_choice(choices: dict[str, Any], code: str) -> Callable[[Cell, Reading], Any]:
    """Return the reader of one of some words."""

    def read(cell: Cell, reading: Reading) -> Any:
        word = fold_word(read_text(cell, reading))
        if word not in choices:
            raise ImportProblem(code, "", cell)
        return choices[word]

    return read


def read_payment_status(cell: Cell, reading: Reading) -> bool:
    """Return True of a payment that was made; refuse others."""
    words = WORDS["payment_status"]
    if not read_choice(words, "unknown_payment_status")(cell, reading):
        raise ImportProblem("removed_at_source", "", cell)
    return True


READERS: dict[str, Callable[[Cell, Reading], Any]] = {
    "text": read_text,
    "name": read_text,
    "custom_field": read_text,
    "email": read_email,
    "amount": read_amount,
    "signed_amount": read_signed_amount,
    "date": read_date,
    "currency": read_currency,
    "country": read_country,
    "code": read_code,
    "codes": read_codes,
    "removed": read_removed,
    "link": read_link,
    **{name: read_choice(words, f"unknown_{name}") for name, words in WORDS.items()},
    "payment_status": read_payment_status,
}


def read_cell(cell: Cell, kind: str, reading: Reading) -> Any:
    """Return the value of a cell; raise `ImportProblem` with a code and the value."""
    if isinstance(cell, CellError):
        raise ImportProblem(cell.code, "", cell.text)
    return READERS.get(kind, read_text)(cell, reading)
