"""CSV and XLSX files as tables of cells, with limits that hostile files do not pass."""

import csv
import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from itertools import islice, zip_longest
from typing import Any, NamedTuple
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from openpyxl import load_workbook
from openpyxl.utils.exceptions import InvalidFileException

from accounts.decimals import MAX_NUMBER_LENGTH, parse_decimal
from accounts.errors import InvalidInput
from affiliate_site.cells import restore_cell

MAX_FILE_BYTES = 20 * 2**20
MAX_UNPACKED_BYTES = 200 * 2**20
MAX_ROWS = 100_000
MAX_COLUMNS = 200
MAX_HEADER_LENGTH = 100_000
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
GUESSED_ENCODING_NOTE = "The text is not UTF-8; it was read as Windows-1252. Check the accents."
QUOTED_TEXT = re.compile(r'"[^"]*"')
ZIP_START, OLD_EXCEL_START = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
BYTE_ORDER_MARKS = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
TEXT_IN_FORMULA = re.compile(r'="([^"]*)"')  # how some exports keep leading zeros
XLSX_ERRORS = (
    *(zipfile.BadZipFile, InvalidFileException, DefusedXmlException, ParseError),
    *(KeyError, ValueError, TypeError, AttributeError, IndexError, OverflowError),
    *(EOFError, NotImplementedError, RuntimeError, OSError),
)


class UnreadableTable(InvalidInput):
    """The file is no table that can be read."""

    message = "{reason}"


class CellError(NamedTuple):
    """In the place of a cell that cannot be read."""

    code: str
    text: str


Cell = str | Decimal | datetime | bool | CellError | None


class TableRow(NamedTuple):
    """A row with its number in a spreadsheet; `error` if its cells cannot be told:
    they are in `raw` then."""

    number: int
    cells: Sequence[Cell]
    error: CellError | None = None
    raw: Sequence[Cell] = ()


@dataclass
class ReadTable:
    """The header and the rows of a file, without empty rows."""

    header: list[str]
    rows: list[TableRow]
    encoding: str = ""  # of a CSV file
    delimiter: str = ""  # its name
    notes: list[str] = field(default_factory=list)  # sentences


def read_table(data: bytes, file_name: str) -> ReadTable:
    """Read a CSV or XLSX file; raise `UnreadableTable` with what to do about it."""
    if len(data) > MAX_FILE_BYTES:
        raise refuse(f"{file_name} has more than {MAX_FILE_BYTES // 2**20} MB: split it.")
    if data.startswith(OLD_EXCEL_START):
        raise refuse(
            f"{file_name} is an old or encrypted Excel file: save it as .xlsx without"
            " a password, or as CSV."
        )
    if data.startswith(ZIP_START):
        return read_xlsx(data, file_name)
    return read_csv(data, file_name)


def refuse(reason: str) -> UnreadableTable:
    """Return the error with this sentence."""
    return UnreadableTable(reason=reason)


def read_csv(data: bytes, file_name: str) -> ReadTable:
    """Read a CSV file; the encoding and the delimiter are found, and named."""
    text, encoding, notes = decode(data, file_name)
    first_line, _, rest = text.partition("\n")
    delimiter, skipped = "", 0
    if first_line.startswith("sep=") and len(first_line.strip()) == len("sep=,"):
        delimiter, text, skipped = first_line[4], rest, 1
    delimiter = delimiter or find_delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows = (
        (number, [restore_csv_cell(cell) for cell in cells])
        for number, cells in enumerate(reader, 1 + skipped)
    )
    try:
        table = build_table(rows, file_name, is_csv=True)
    except csv.Error as error:
        raise refuse(
            f"{file_name} has a broken cell in line {reader.line_num + skipped}:"
            f" {error}. Quotation marks in a cell are doubled."
        ) from None
    table.encoding, table.delimiter = (
        encoding,
        DELIMITERS.get(delimiter, delimiter),
    )
    table.notes += notes
    return table


def decode(data: bytes, file_name: str) -> tuple[str, str, list[str]]:
    """Return the text, its encoding and notes."""
    encoding = next((name for mark, name in BYTE_ORDER_MARKS.items() if data.startswith(mark)), "")
    notes = []
    try:
        text = data.decode(encoding or "utf-8")
    except UnicodeDecodeError:
        if encoding:
            raise refuse(
                f"{file_name} is damaged: its text is not {encoding}. Export it again."
            ) from None
        encoding = "cp1252"
        notes = [GUESSED_ENCODING_NOTE]
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            raise refuse(f"{file_name} is no table: save it as CSV UTF-8 or .xlsx.") from None
    if "\x00" in text:
        raise refuse(f"{file_name} is no table: save it as CSV UTF-8 or .xlsx.")
    return text, encoding or "utf-8", notes


def find_delimiter(text: str) -> str:
    """Return the delimiter that is most often in the first line that has one."""
    first_lines = text[:MAX_HEADER_LENGTH].splitlines()[:10]
    lines = [QUOTED_TEXT.sub("", line) for line in first_lines]
    delimited = next((line for line in lines if set(line) & set(DELIMITERS)), "")
    return max(DELIMITERS, key=delimited.count)


def restore_csv_cell(text: str) -> Cell:
    """Return a cell as it was before our exports or others made it safe."""
    text = text.strip()
    if match := TEXT_IN_FORMULA.fullmatch(text):
        return match[1]
    if text.startswith("="):
        return CellError("formula", text)
    return restore_cell(text) or None


def read_xlsx(data: bytes, file_name: str) -> ReadTable:
    """Read the first sheet of a workbook: values, never formulas."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            ensure_small(archive, file_name)
            has_formulas = any(
                re.search(rb"<(\w+:)?f[ >/]", archive.read(name))
                for name in archive.namelist()
                if name.startswith("xl/worksheets/")
            )
        others: list[str] = []
        rows = iterate_sheet(data, others, has_formulas=has_formulas)
        table = build_table(rows, file_name, is_csv=False)
    except XLSX_ERRORS as error:
        if isinstance(error, UnreadableTable):
            raise
        raise refuse(f"{file_name} cannot be read as .xlsx: save it again, or as CSV.") from error
    if others:
        names = ", ".join(others)
        table.notes.append(f"Only the first sheet was read, not: {names}.")
    return table


def ensure_small(archive: zipfile.ZipFile, file_name: str) -> None:
    """Raise `UnreadableTable` for what unpacks to more than a table needs."""
    if sum(each.file_size for each in archive.infolist()) > MAX_UNPACKED_BYTES:
        raise refuse(
            f"{file_name} unpacks to more than {MAX_UNPACKED_BYTES // 2**20} MB:"
            " save only the cells, as CSV."
        )


def iterate_sheet(
    data: bytes, others: list[str], *, has_formulas: bool
) -> Iterator[tuple[int, list[Cell]]]:
    """Yield the numbered rows of the first sheet; fill in the names of the others."""
    limits = {"max_row": MAX_ROWS + 10, "max_col": MAX_COLUMNS + 1}

    def iterate(*, data_only: bool) -> Iterator[Any]:
        book = load_workbook(
            io.BytesIO(data), read_only=True, data_only=data_only, keep_links=False
        )
        names = book.sheetnames
        sheet = book[names[0]]
        sheet.reset_dimensions()
        yield names[1:]
        yield from sheet.iter_rows(values_only=data_only, **limits)

    values = iterate(data_only=True)
    others += next(values)
    formulas: Iterable[Any] = ()
    if has_formulas:
        formulas = iterate(data_only=False)
        next(formulas)
    for number, (cells, sources) in enumerate(zip_longest(values, formulas, fillvalue=()), 1):
        row = [convert_xlsx_cell(cell) for cell in cells]
        for index, source in enumerate(sources):
            if source.data_type == "f" and index < len(row) and row[index] is None:
                row[index] = CellError("formula", str(source.value))
        while row and row[-1] is None:
            row.pop()
        yield number, row


def convert_xlsx_cell(value: Any) -> Cell:
    """Return a cell without the types of the library."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        # Of a float the shortest text that means it: 0.1, not its binary expansion.
        try:
            return parse_decimal(repr(value))
        except ValueError:
            return CellError("cell_error", repr(value)[:MAX_NUMBER_LENGTH])
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time())
    text = str(value).strip()
    if text.startswith("#") and text.rstrip("!?").isupper() and text[1:2].isalpha():
        return CellError("cell_error", text)  # such as #REF!
    return restore_cell(text) or None


def build_table(
    rows: Iterable[tuple[int, list[Cell]]], file_name: str, *, is_csv: bool
) -> ReadTable:
    """Find the header, and compare the rows with it; empty rows take no memory."""
    numbered = ((n, row) for n, row in rows if any(cell is not None for cell in row))
    filled = list(islice(numbered, MAX_ROWS + 3))  # with header, title and one too many
    notes = []
    if len(filled) > 1 and count_filled(filled[0][1]) == 1 < count_filled(filled[1][1]):
        notes.append(f"Row {filled[0][0]} above the header was skipped.")
        del filled[0]
    if not filled:
        raise refuse(f"{file_name} is empty: its first row names the columns.")
    width = len(filled[0][1])
    header = read_header(filled.pop(0)[1], file_name)
    if not filled:
        raise refuse(f"{file_name} has a header, but no rows.")
    if len(filled) > MAX_ROWS or filled[-1][0] > MAX_ROWS + 9:
        raise refuse(f"{file_name} has more than {MAX_ROWS:,} rows: split it.")
    found = [
        build_row(number, cells, len(header), width if is_csv else None) for number, cells in filled
    ]
    return ReadTable(header, found, notes=notes)


def count_filled(cells: Sequence[Cell]) -> int:
    """Return how many cells are not empty."""
    return sum(cell is not None for cell in cells)


def read_header(cells: Sequence[Cell], file_name: str) -> list[str]:
    """Return the names of the columns, which are there and differ."""
    names = [
        "" if cell is None else cell.text if isinstance(cell, CellError) else str(cell)
        for cell in cells
    ]
    while not names[-1]:
        names.pop()
    if len(names) > MAX_COLUMNS:
        raise refuse(f"{file_name} has more than {MAX_COLUMNS} columns.")
    folded: set[str] = set()
    for number, name in enumerate(names, 1):
        if not name:
            raise refuse(f"Column {number} of {file_name} has no name in the header.")
        if name.casefold() in folded:
            raise refuse(f"{file_name} has two columns {name[:80]}: rename one.")
        folded.add(name.casefold())
    return names


def build_row(number: int, cells: list[Cell], columns: int, width: int | None) -> TableRow:
    """Return a row as long as the header.

    A row of a CSV file with another number of cells than the header has (`width`) is
    broken: nobody can say which cell belongs where.
    """
    extra = [cell for cell in cells[columns:] if cell is not None]
    if extra or (width is not None and len(cells) < columns):
        error = CellError("wrong_number_of_cells", f"{len(cells)} cells")
        return TableRow(number, [None] * columns, error, cells)
    return TableRow(number, [*cells[:columns], *[None] * (columns - len(cells))])
