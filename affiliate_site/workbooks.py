"""XLSX files, written in constant memory.

Texts are written as texts, never as formulas or links. Times are real dates in UTC;
numbers are numbers if a spreadsheet keeps all their digits, and so are amounts, with
their currency in the next column.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from io import BytesIO
from itertools import chain
from typing import Any

from xlsxwriter import Workbook

from accounts.exact_json import format_decimal
from affiliate_site.cells import Money, format_cell
from tracking.money import get_exponent

MAX_ROWS = 10_000  # a file is complete before its first byte is sent
MAX_CELL_LENGTH = 32_767  # UTF-16 code units
MAX_SHEET_NAME_LENGTH = 31  # characters
MAX_EXACT_DIGITS = 15  # significant digits that a spreadsheet keeps
WORKBOOK_OPTIONS = {  # texts are not converted
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_numbers": False,
    "strings_to_urls": False,
    "default_date_format": "yyyy-mm-dd hh:mm:ss",
    "remove_timezone": True,
}
TOO_MANY_ROWS = "Excel exports hold at most {:,} rows. Filter the list, or export as CSV."
DATE_FORMAT = "yyyy-mm-dd"
FIRST_YEAR = 1900  # of dates in a spreadsheet
# Not allowed in XML; the writer escapes the other control characters.
INVALID_XML_CHARACTERS = {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}


class ExportTooLarge(Exception):
    """Lines do not fit into a spreadsheet; the text is a message for the user."""


def limit_rows(lines: Iterable) -> Iterator:
    """The same lines. Raises `ExportTooLarge` after the last one that a file may have."""
    for number, line in enumerate(lines):
        if number == MAX_ROWS:
            raise ExportTooLarge(TOO_MANY_ROWS.format(MAX_ROWS))
        yield line


def write_workbook(
    file,
    name,
    columns: Sequence[Any],
    lines: Iterable,
    created_at: datetime | None = None,
) -> None:
    """Write a sheet with the titles of columns, which say what are amounts, and lines.

    With `created_at`, the file is the same each time.
    """
    with Workbook(file, WORKBOOK_OPTIONS) as book:
        if created_at:
            book.set_properties({"created": created_at})
        sheet = book.add_worksheet(str(name)[:MAX_SHEET_NAME_LENGTH])
        sheet.freeze_panes(1, 0)
        formats = NumberFormats(book)
        titles = [it.title for it in columns]
        for row_index, line in enumerate(chain([titles], lines)):
            write_row(sheet, row_index, line, columns, formats)


def render_workbook(
    name, columns: Sequence[Any], lines: Iterable, created_at: datetime | None = None
) -> bytes:
    """The same, as bytes."""
    file = BytesIO()
    write_workbook(file, name, columns, lines, created_at)
    return file.getvalue()


class NumberFormats(dict):
    """The number formats of a workbook, each created once: `formats["0.00"]`."""

    def __init__(self, book) -> None:
        super().__init__()
        self.book = book

    def __missing__(self, number_format: str):
        self[number_format] = self.book.add_format({"num_format": number_format})
        return self[number_format]


def write_row(sheet, row_index: int, values, cells: Sequence[Any], formats) -> None:
    """Write the cells in order; in constant memory, rows cannot be changed later."""
    for column, value in enumerate(values):
        amount: Any = value.amount if isinstance(value, Money) else value
        if is_exact_number(amount):
            number_format = None
            if cells[column].is_amount:
                decimals = get_exponent(values[column + 1])
                number_format = formats[f"#,##0.{'0' * decimals}".rstrip(".")]
            number = to_cell_number(amount)
            sheet.write_number(row_index, column, number, number_format)
            continue
        if isinstance(value, datetime) and value.year >= FIRST_YEAR:
            sheet.write_datetime(row_index, column, value)
            continue
        if isinstance(value, date) and value.year >= FIRST_YEAR:
            sheet.write_datetime(row_index, column, value, formats[DATE_FORMAT])
            continue
        if sheet.write_string(row_index, column, format_xlsx_text(value)):
            raise ExportTooLarge(
                f"{cells[column].title} in row {row_index + 1} is longer than"
                f" {MAX_CELL_LENGTH:,} characters, the limit of an Excel cell. Export"
                " as CSV instead."
            )


def is_exact_number(value) -> bool:
    """Whether a value is a number that a spreadsheet keeps without loss."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return False
    return Decimal(format(float(value), f".{MAX_EXACT_DIGITS}g")) == value


def to_cell_number(value: int | Decimal) -> Decimal:
    """A number without trailing zeros. The writer would store the float of 77.99 as
    77.98999999999999, which other programs than Excel read as such."""
    return Decimal(format_decimal(Decimal(value)))


def format_xlsx_text(value) -> str:
    """The text of the CSV cell without characters that XML does not allow.

    The writer would copy a text in `<r>…</r>` into the file as its own markup.
    """
    text = format_cell(value).translate(INVALID_XML_CHARACTERS)
    return f"'{text}" if text.startswith("<r>") else text
