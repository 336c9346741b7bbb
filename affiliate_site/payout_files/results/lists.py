"""Lists of results as CSV: those of PayPal and Wise, and a plain one."""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from io import TextIOWrapper

from affiliate_site.payout_files.results.bounds import BoundedFile, read_amount
from affiliate_site.payout_files.results.xml_messages import parse_bank_day
from payouts.errors import InvalidResultsFile
from payouts.services.payout_answers import (
    PayoutResult,
    ResultState,
    find_duplicate,
    find_payment_id,
)
from tracking.money import get_exponent

SEPARATORS = ",;\t"
THREE_DECIMALS = 3
MAX_HEADER_BYTES = 100_000
# `04/30/2026`, or with the day first. PayPal writes it as the account's country does.
DAY_PATTERN = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})\2([0-9]{4})\b", re.ASCII)
MONTHS = 12
GROUPED_THOUSANDS = re.compile(r"[0-9]{1,3}([.,' ][0-9]{3})+", re.ASCII)


Row = tuple[int, dict[str, str]]  # its number, and its cells by column


@dataclass(frozen=True)
class ListFormat:
    """The columns of a list, each with its possible titles, and the words of states."""

    label: str
    columns: Mapping[str, tuple[str, ...]]
    states: Mapping[str, ResultState]
    # A list of all transfers of an account: others than payouts are passed over, and
    # further states are no news.
    is_statement: bool = True
    # The kinds of rows that are money which came back, however complete they are.
    returns: re.Pattern[str] = re.compile("(?!)")


SETTLED, FAILED, RETURNED, UNKNOWN = (
    ResultState.SETTLED,
    ResultState.FAILED,
    ResultState.RETURNED,
    ResultState.UNKNOWN,
)
LISTS = {
    "paypal": ListFormat(
        "PayPal",
        {
            "name": ("customer id", "unique id", "custom number", "sender item id"),
            "state": ("transaction status", "status", "payout status"),
            "amount": ("gross", "gross amount", "amount", "payment amount"),
            "currency": ("currency", "currency code"),
            "reference": ("transaction id", "payout item id"),
            "reason": ("reason", "error", "reason code", "error message"),
            "day": ("date", "time processed"),
            "kind": ("type", "transaction type"),
        },
        {
            **dict.fromkeys(("completed", "success"), SETTLED),
            **dict.fromkeys(("failed", "denied", "canceled", "cancelled"), FAILED),
            **dict.fromkeys(("returned", "refunded", "reversed"), RETURNED),
        },
        returns=re.compile("refund|revers|return|charge ?back"),
    ),
    "wise": ListFormat(
        "Wise",
        {
            "name": ("reference", "payment reference", "paymentreference"),
            "state": ("status", "transfer status"),
            "amount": ("target amount (after fees)", "target amount", "amount"),
            "currency": ("target currency", "targetcurrency"),
            "reference": ("id", "transfer id", "transferwise id"),
            "reason": ("reason", "error"),
            "day": ("finished on", "finished"),
            "kind": ("direction",),
        },
        {
            **dict.fromkeys(("completed", "outgoing payment sent"), SETTLED),
            **dict.fromkeys(("cancelled", "canceled"), FAILED),
            **dict.fromkeys(("refunded", "funds refunded", "charged back"), RETURNED),
        },
        returns=re.compile("^in$"),
    ),
    "csv": ListFormat(
        "a plain list",
        {
            "name": ("payment", "payment id"),
            "state": ("state", "status"),
            "reference": ("reference", "bank reference"),
            "amount": ("amount",),
            "currency": ("currency",),
            "reason": ("reason",),
            "day": ("date", "day"),
        },
        {
            **dict.fromkeys(("settled", "paid"), SETTLED),
            **dict.fromkeys(("failed", "refused", "rejected"), FAILED),
            **dict.fromkeys(("returned", "refunded"), RETURNED),
            **dict.fromkeys(("unknown", "pending", "open", ""), UNKNOWN),
        },
        is_statement=False,
    ),
}

DETECTED = ("csv", "paypal", "wise")  # in this order: Wise's titles are not its own


def read_list(content: bytes, encoding: str, list_format: ListFormat | None) -> list[PayoutResult]:
    """Return the answers of a list of this format, or of the first that fits."""
    header = content[:MAX_HEADER_BYTES].decode(encoding, "ignore").partition("\n")[0]
    separator = max(SEPARATORS, key=header.count)
    file = BoundedFile(content)
    lines = TextIOWrapper(file, encoding, newline="")
    rows = file.iterate(csv.reader(lines, delimiter=separator, strict=True))
    try:
        titles = [normalize(title) for title in next(rows, ())]
        for each in [list_format] if list_format else map(LISTS.__getitem__, DETECTED):
            positions = find_columns(titles, each)
            if {"name", "state"} <= positions.keys():
                found = iterate_rows(rows, len(titles), positions, each)
                return read_rows(list(found), each)
    except csv.Error as error:
        raise InvalidResultsFile(reason=f"The list is damaged: {error}") from None
    wanted = LISTS["csv"] if list_format is None else list_format
    needed = " and ".join(f"“{wanted.columns[it][0]}”" for it in ("name", "state"))
    raise InvalidResultsFile(
        reason=f"The first row names the columns: {wanted.label} has {needed}, this"
        f" file has {', '.join(titles)[:200] or 'none'}"
    )


def normalize(text: str) -> str:
    """Titles and states without differences of case, lines and spaces."""
    return " ".join(text.replace("_", " ").split()).casefold()


def find_columns(titles: list[str], list_format: ListFormat) -> dict[str, int]:
    """The positions of the columns that the list has."""
    return {
        column: titles.index(title)
        for column, names in list_format.columns.items()
        if (title := next((it for it in names if it in titles), None)) is not None
    }


def iterate_rows(
    rows: Iterator[list[str]],
    width: int,
    positions: dict[str, int],
    list_format: ListFormat,
) -> Iterator[Row]:
    """The rows of payments. A row with too few cells may be half of one."""
    for number, row in enumerate(rows, start=2):
        if not any(map(str.strip, row)):
            continue
        if len(row) <= max(positions.values()):
            raise InvalidResultsFile(
                reason=f"Row {number} has {len(row)} of {width} columns: the file may be incomplete"
            )
        values = {column: row[at].strip() for column, at in positions.items()}
        name = find_payment_id(values["name"])
        if name or not list_format.is_statement:
            values["name"] = name or values["name"]
            yield number, values


def read_rows(rows: list[Row], list_format: ListFormat) -> list[PayoutResult]:
    """One answer per row. Some columns are read as the others of them need it."""
    days = [DAY_PATTERN.match(values.get("day", "")) for _, values in rows]
    is_day_first = any(int(it[1]) > MONTHS for it in days if it)
    is_signed = list_format.is_statement and any(
        values.get("amount", "").startswith("-") for _, values in rows
    )
    return [
        read_row(*row, list_format, is_day_first=is_day_first, is_signed=is_signed) for row in rows
    ]


def has_come_back(values: dict[str, str], list_format: ListFormat, *, is_signed: bool) -> bool:
    """Whether a row is money that was received, in a list where what is sent is below
    zero, or by its kind."""
    amount = values.get("amount", "")
    is_received = is_signed and amount != "" and not amount.startswith("-")
    kind = normalize(values.get("kind", ""))
    return is_received or bool(list_format.returns.search(kind))


def read_row(
    number: int,
    values: dict[str, str],
    list_format: ListFormat,
    *,
    is_day_first: bool,
    is_signed: bool,
) -> PayoutResult:
    """The answer in the cells of a row."""
    word = normalize(values["state"])
    state = list_format.states.get(word)
    reason = values.get("reason", "")
    if state is None and not list_format.is_statement:
        words = ", ".join(filter(None, list_format.states))
        raise InvalidResultsFile(reason=f"“{word[:50]}” in row {number} is no state: use {words}")
    if state != SETTLED and not reason and list_format.is_statement:
        reason = f"status {values['state']}"
    if state == SETTLED and has_come_back(values, list_format, is_signed=is_signed):
        state = RETURNED
        reason = reason or values.get("kind") or "the money came back"
    currency = values.get("currency", "").upper()
    return PayoutResult(
        name=values["name"] or f"row {number}",
        state=find_duplicate(state or UNKNOWN, reason),
        amount=parse_amount(values.get("amount", ""), currency, number),
        currency=currency,
        reference=values.get("reference", ""),
        reason=reason,
        day=read_day(values.get("day", ""), is_day_first=is_day_first)
        if list_format.is_statement
        else read_plain_day(values.get("day", ""), number),
    )


def read_plain_day(text: str, number: int) -> date | None:
    """The day of a row of a plain list: none, or one that can be read."""
    day = parse_bank_day(text)
    if text and day is None:
        raise InvalidResultsFile(
            reason=f"“{text[:50]}” in row {number} is no day: write it as 2026-04-30"
        )
    return day


def read_day(text: str, *, is_day_first: bool) -> date | None:
    """The day of a row, as PayPal and Wise write it."""
    match = DAY_PATTERN.match(text)
    if match is None:
        return parse_bank_day(text)
    first, sign, second, year = match.groups()
    is_first = is_day_first or sign != "/"
    month, day_number = (second, first) if is_first else (first, second)
    try:
        return date(int(year), int(month), int(day_number))
    except ValueError:
        return None


def parse_amount(text: str, currency: str, number: int) -> Decimal | None:
    """`1,234.50`, `1.234,50`, `1234,5` or `-12.00`, which a sender's list has.

    `1,234` are a thousand, unless the currency has three decimals. Whatever is read,
    an amount only confirms a payment.
    """
    digits = text.strip().removeprefix("-").replace("\xa0", " ")
    if not digits:
        return None
    is_grouped = GROUPED_THOUSANDS.fullmatch(digits) and not digits.startswith("0")
    if is_grouped and get_exponent(currency) != THREE_DECIMALS:
        digits = re.sub(r"[^0-9]", "", digits)
    whole, point, decimals = digits.rpartition(max(".,", key=digits.rfind))
    digits = re.sub(r"[.,' ]", "", whole) + ("." if point else "") + decimals
    return read_amount(digits, f"“{text[:50]}” in row {number}")
