"""Cells as values. Numbers and dates have styles, which are never guessed."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django_countries import countries

from accounts.decimals import parse_decimal
from accounts.email_addresses import validate_address
from affiliate_site.moving.tables.files import Cell, CellError
from payouts.models.payments import PayoutMethodKind
from tracking.errors import UnknownCurrency
from tracking.models.customers import CustomerStatus
from tracking.money import get_currency
from tracking.services.imports import ImportProblem

SPACES = " \u00a0\u202f'\u2019"
NUMBER_STYLES = {
    "point": re.compile(rf"-?(\d+|\d{{1,3}}([,{SPACES}]\d{{3}})+)(\.\d+)?", re.ASCII),
    "comma": re.compile(rf"-?(\d+|\d{{1,3}}([.{SPACES}]\d{{3}})+)(,\d+)?", re.ASCII),
}
TIME = r"(?:[T ]+(?P<H>\d{1,2}):(?P<M>\d\d)(?::(?P<S>\d\d)(?:\.\d+)?)?)?"
ZONE = r"(?P<zone> ?(?:UTC|GMT|Z|[+-]\d\d:?\d\d))?"
DATE_STYLES = {
    name: re.compile(rf"{day}{TIME}{ZONE}", re.ASCII)
    for name, day in {
        "iso": r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)",
        "day.month.year": r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})",
        "day/month/year": r"(?P<d>\d{1,2})/(?P<m>\d{1,2})/(?P<y>\d{4})",
        "month/day/year": r"(?P<m>\d{1,2})/(?P<d>\d{1,2})/(?P<y>\d{4})",
    }.items()
}
FIRST_YEAR = 1990  # older dates are those of empty cells
APPROVALS = {
    **dict.fromkeys(("approved", "active", "accepted", "true", "yes", "1", "a"), True),
    **dict.fromkeys(("pending", "new", "waiting", "p"), None),
    **dict.fromkeys(("disapproved", "declined", "rejected", "blocked", "d"), False),
    **dict.fromkeys(("inactive", "disabled", "false", "no", "0"), False),
}
STATUSES = {
    **dict.fromkeys(("approved", "due", "unpaid", "a"), "approved"),
    **dict.fromkeys(("pending", "open", "p"), "pending"),
    **dict.fromkeys(
        ("disapproved", "declined", "rejected", "denied", "voided", "d"), "disapproved"
    ),
    "paid": "paid",
}
CODE_MARKS = re.compile(r"[\s,;|]+")
COUNTED_STATUS = re.compile(r"\d+ (\w+)")  # `1 approved` in our list of affiliates


@dataclass(frozen=True)
class Styles:
    """How the file writes numbers and dates; None: not said.

    `decimal` is a name of `NUMBER_STYLES`, `dates` one of `DATE_STYLES`.
    """

    decimal: str | None = None
    dates: str | None = None


NO_STYLES = Styles()


@dataclass(frozen=True)
class Reading:
    """What the readers of cells need to know besides the cell."""

    styles: Styles
    zone: tzinfo  # of times without one
    at: datetime  # now


def find_styles(
    cells: Sequence[str], read: Callable[[str, str], Any], styles: Sequence[str]
):
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


def parse_number(text: str, style: str) -> Decimal:
    """Return the number of a text in this style."""
    if not NUMBER_STYLES[style].fullmatch(text):
        raise ImportProblem("invalid_number", "", text)
    mark = "," if style == "comma" else "."
    whole, _, decimals = text.partition(mark)
    digits = re.sub(r"[^\d-]", "", whole) + (f".{decimals}" if decimals else "")
    try:
        return parse_decimal(digits)
    except ValueError:
        raise ImportProblem("invalid_number", "", text) from None


def parse_date(text: str, style: str) -> datetime:
    """Return the time of a text in this style; naive if the text has no zone."""
    match = DATE_STYLES[style].fullmatch(text)
    if match is None:
        raise ImportProblem("invalid_date", "", text)
    parts = match.groupdict()
    zone = (parts["zone"] or "").strip()
    day = "-".join(parts[name].zfill(2) for name in "ymd")
    time = ":".join((parts[name] or "0").zfill(2) for name in "HMS")
    offset = "+00:00" if zone in ("UTC", "GMT", "Z") else zone
    try:
        return datetime.fromisoformat(f"{day}T{time}{offset}")
    except ValueError:
        raise ImportProblem("invalid_date", "", text) from None


def read_text(cell: Cell, reading: Reading) -> str:
    """Return a cell as text; a whole number has no decimals."""
    if isinstance(cell, Decimal):
        return f"{cell:f}".removesuffix(".0")
    if isinstance(cell, datetime):
        return cell.isoformat()
    text = str(cell)
    if any(
        ord(character) < ord(" ") and character not in "\t\r\n" for character in text
    ):
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
    """Return a number that is not negative."""
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
        at = parse_date(text, reading.styles.dates or "iso")
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
    """Return the code of a country, which may be named in English."""
    text = read_text(cell, reading)
    code = text.upper() if text.upper() in dict(countries) else countries.by_name(text)
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


def read_removed(cell: Cell, reading: Reading) -> None:
    """Refuse what the source has removed."""
    if read_word(cell, reading) not in ("false", "0", "no", "n"):
        raise ImportProblem("removed_at_source", "", cell)


def read_choice(choices: dict[str, Any], code: str) -> Callable[[Cell, Reading], Any]:
    """Return the reader of one of some words."""

    def read(cell: Cell, reading: Reading) -> Any:
        word = read_word(cell, reading)
        if match := COUNTED_STATUS.fullmatch(word):
            word = match[1]
        if word not in choices:
            raise ImportProblem(code, "", cell)
        return choices[word]

    return read


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
    "approval": read_choice(APPROVALS, "unknown_approval"),
    "status": read_choice(STATUSES, "unknown_status"),
    "customer_status": read_choice(
        {value: value for value in CustomerStatus.values}, "unknown_customer_status"
    ),
    "payout_method": read_choice(
        {
            **{value: value for value in PayoutMethodKind.values},
            **{label.casefold(): value for value, label in PayoutMethodKind.choices},
        },
        "unknown_payout_method",
    ),
}


def read_cell(cell: Cell, kind: str, reading: Reading) -> Any:
    """Return the value of a cell; raise `ImportProblem` with a code and the value."""
    if isinstance(cell, CellError):
        raise ImportProblem(cell.code, "", cell.text)
    return READERS.get(kind, read_text)(cell, reading)
