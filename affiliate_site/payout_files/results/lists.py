"""Lists of results as CSV: those of PayPal and Wise, and a plain one."""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from io import TextIOWrapper

from accounts.decimals import parse_decimal
from affiliate_site.payout_files.results.bounds import BoundedFile
from affiliate_site.payout_files.results.xml_messages import parse_day
from payouts.errors import InvalidResultsFile
from payouts.services.payout_files import find_payment_id
from payouts.services.payout_results import PayoutResult, ResultState, find_duplicate
from tracking.money import get_exponent

SEPARATORS = ",;\t"
THREE_DECIMALS = 3
MAX_HEADER_BYTES = 100_000
GROUPED_THOUSANDS = re.compile(r"[0-9]{1,3}([.,' ][0-9]{3})+", re.ASCII)


@dataclass(frozen=True)
class ListFormat:
    """The columns of a list, each with its possible titles, and the words of states."""

    label: str
    columns: Mapping[str, tuple[str, ...]]
    states: Mapping[str, ResultState]
    # A list of all transfers of an account: others than payouts are passed over, and
    # further states are no news.
    is_statement: bool = True


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
        },
        {
            **dict.fromkeys(("completed", "success"), SETTLED),
            **dict.fromkeys(("failed", "denied", "canceled", "cancelled"), FAILED),
            **dict.fromkeys(("returned", "refunded", "reversed"), RETURNED),
        },
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
        },
        {
            **dict.fromkeys(("completed", "outgoing payment sent"), SETTLED),
            **dict.fromkeys(("cancelled", "canceled"), FAILED),
            **dict.fromkeys(("refunded", "funds refunded", "charged back"), RETURNED),
        },
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


def read_list(
    content: bytes, encoding: str, list_format: ListFormat | None
) -> list[PayoutResult]:
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
                return list(iterate_rows(rows, len(titles), positions, each))
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
) -> Iterator[PayoutResult]:
    """One answer per row. A row with too few cells may be half of one."""
    for number, row in enumerate(rows, start=2):
        if not any(map(str.strip, row)):
            continue
        if len(row) <= max(positions.values()):
            raise InvalidResultsFile(
                reason=f"Row {number} has {len(row)} of {width} columns: the"
                " file may be incomplete"
            )
        values = {column: row[at].strip() for column, at in positions.items()}
        name = find_payment_id(values["name"])
        if name or not list_format.is_statement:
            values["name"] = name or values["name"]
            yield read_row(values, number, list_format)


def read_row(
    values: dict[str, str], number: int, list_format: ListFormat
) -> PayoutResult:
    """The answer in the cells of a row."""
    word = normalize(values["state"])
    state = list_format.states.get(word)
    reason = values.get("reason", "")
    if state is None and not list_format.is_statement:
        words = ", ".join(filter(None, list_format.states))
        raise InvalidResultsFile(
            reason=f"“{word[:50]}” in row {number} is no state: use {words}"
        )
    if state != SETTLED and not reason and list_format.is_statement:
        reason = f"status {values['state']}"
    currency = values.get("currency", "").upper()
    return PayoutResult(
        name=values["name"] or f"row {number}",
        state=find_duplicate(state or UNKNOWN, reason),
        amount=parse_amount(values.get("amount", ""), currency, number),
        currency=currency,
        reference=values.get("reference", ""),
        reason=reason,
        day=parse_day(values.get("day", "")),
    )


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
    try:
        text_of_number = (
            re.sub(r"[.,' ]", "", whole) + ("." if point else "") + decimals
        )
        return parse_decimal(text_of_number)
    except ValueError:
        reason = f"“{text[:50]}” in row {number} is no amount"
        raise InvalidResultsFile(reason=reason) from None
