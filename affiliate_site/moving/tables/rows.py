"""Rows of a table as bodies of the API, each cell with its column."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from typing import Any

from affiliate_site.moving.tables.files import Cell, CellError, TableRow
from affiliate_site.moving.tables.kinds import ImportColumn, TableKind
from affiliate_site.moving.tables.problems import Problem
from affiliate_site.moving.tables.references import FINDERS
from affiliate_site.moving.tables.values import (
    Reading,
    fold_word,
    read_cell,
    split_sign,
)
from affiliate_site.moving.tables.words import LEAVE_OUT, SIGNS, TOTALS, WORDS
from tracking.errors import AmountTooLarge
from tracking.money import ROUNDING_CONTEXT, get_exponent, round_and_check_amount
from tracking.services.imports import ImportProblem

AMOUNT_TYPES = ("amount", "signed_amount")
AMOUNT_COLUMNS = ("amount", "commission")
CREATED, KNOWN, NOT_STORED = "created", "known", "not_stored"


@dataclass
class Row:
    """A row: its values by the names of our columns, its body, and what is wrong.

    `defaulted` are the columns whose cell is empty. `outcome` is what happens to it:
    `created`, `known` (nothing changes) or `not_stored`.
    """

    number: int
    values: dict[str, Any] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    is_known: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    defaulted: set[str] = field(default_factory=set)
    signs: dict[str, str] = field(default_factory=dict)  # of currencies, by column
    added: list[int] = field(default_factory=list)  # numbers of rows that it includes
    person: "Row | None" = None  # the affiliate that is created with it

    @property
    def outcome(self) -> str:
        if self.problems:
            return NOT_STORED
        return KNOWN if self.is_known else CREATED

    @property
    def label(self) -> str:
        """What a person calls the row."""
        names = ("id", "email", "external_id", "customer_id", "affiliate", "name")
        return next((str(self.values[it]) for it in names if self.values.get(it)), "")

    def add_problem(self, column: str, code: str, value: Any = "") -> None:
        header = self.headers.get(column, column)
        self.problems.append(Problem(self.number, header, code, str(value)[:1000]))

    def set(self, path: str, value: Any) -> None:
        """Set a value in the body; the path has dots. A key of meta data may, too."""
        *parents, name = path.split(".", 1 if path.startswith(("meta", "custom")) else -1)
        target = self.body
        for parent in parents:
            target = target.setdefault(parent, {})
        target[name] = value


def is_totals(source: TableRow) -> bool:
    """Return whether a row sums up others: it begins so, and half of it is empty."""
    filled = [cell for cell in source.cells if cell is not None]
    if not filled or len(filled) * 2 > len(source.cells) + 1:
        return False
    return str(filled[0]).casefold().strip(" :") in TOTALS


def read_rows(
    sources: Sequence[TableRow],
    header: Sequence[str],
    kind: TableKind,
    mapping: Mapping[str, str],
    defaults: Mapping[str, str],
    reading: Reading,
) -> list[Row]:
    """Read the cells of these rows; what cannot be read is a problem of its row."""
    labels = {column.name: column.label for column in kind.columns}
    headers = labels | dict(mapping)
    indexes = {name: header.index(it) for name, it in mapping.items()}
    names = [*mapping, *(name for name in defaults if name not in mapping)]
    columns = [(column, indexes.get(it)) for it in names if (column := kind.find_column(it))]
    required = [column.name for column in kind.columns if column.is_required]
    utc = replace(reading, zone=UTC)
    readings = {
        name: utc if it.casefold().endswith("(utc)") else reading for name, it in mapping.items()
    }

    def read_row(source: TableRow) -> Row:
        row = Row(source.number, headers=headers)
        error = source.error
        if error is None and is_example(source, kind, columns):
            error = CellError("example_row", "")
        if error is not None:
            row.problems.append(Problem(row.number, "", *error))
            return row
        for column, index in columns:
            cell = None if index is None else source.cells[index]
            if cell is None:
                cell = defaults.get(column.name)
                row.defaulted.add(column.name)
            if cell is not None:
                read_value(row, column, cell, readings.get(column.name, reading))
        check_required(row, required)
        if reading.is_in_cents:
            convert_cents(row)
        check_amounts(row)
        return row

    return [read_row(source) for source in sources]


def is_example(
    source: TableRow, kind: TableKind, columns: Sequence[tuple[ImportColumn, int | None]]
) -> bool:
    """Whether a row has the examples of at least half of the template's columns.

    Spreadsheets write dates and amounts in their own way.
    """
    examples = {
        column.name: column.example
        for column in kind.columns
        if column.example and column.type not in ("date", "amount", "signed_amount")
    }
    cells = {
        column.name: source.cells[index]
        for column, index in columns
        if index is not None and column.name in examples
    }
    is_half = len(cells) * 2 >= len(examples)
    return is_half and all(cells[name] == examples[name] for name in cells)


def read_value(row: Row, column: ImportColumn, cell: Cell, reading: Reading) -> None:
    """Put the value of a cell into the body, or its problem into the row."""
    if column.type in (*WORDS, "program") and isinstance(cell, str):
        word = reading.words.get((column.name, fold_word(cell)), cell)
        if word == LEAVE_OUT:
            row.add_problem(column.name, "left_out", cell)
            return
        cell = word
    if column.type in AMOUNT_TYPES and isinstance(cell, str):
        row.signs[column.name] = split_sign(cell)[1]
    try:
        value = read_cell(cell, column.type, reading)
    except ImportProblem as problem:
        row.add_problem(column.name, problem.code, problem.value)
        return
    if isinstance(value, str) and len(value) > column.max_length:
        row.add_problem(column.name, "too_long", column.max_length)
        return
    row.values[column.name] = value
    if column.type not in FINDERS and value is not None:
        row.set(column.path, value)


def check_required(row: Row, names: Sequence[str]) -> None:
    """Columns that are needed have a value."""
    bad = {problem.column for problem in row.problems}
    for name in names:
        if row.values.get(name) is None and row.headers[name] not in bad:
            row.add_problem(name, "missing")


def convert_cents(row: Row) -> None:
    """Take amounts as minor units of the currency."""
    currency = row.values.get("currency")
    for name in AMOUNT_COLUMNS:
        amount = row.values.get(name)
        if currency and amount is not None:
            whole = amount.scaleb(-get_exponent(currency), ROUNDING_CONTEXT)
            row.values[name] = row.body[name] = whole


def check_amounts(row: Row) -> None:
    """Amounts are stored as they are: nothing is rounded."""
    currency = row.values.get("currency")
    for name in AMOUNT_COLUMNS:
        amount = row.values.get(name)
        sign = row.signs.get(name)
        if currency and sign and currency not in SIGNS.get(sign, (sign.upper(),)):
            row.add_problem(name, "other_currency", sign)
        if currency and amount is not None:
            try:
                rounded = round_and_check_amount(abs(amount), currency)
            except AmountTooLarge:
                row.add_problem(name, "amount_too_large", f"{amount:f}")
                continue
            if rounded != abs(amount):
                row.add_problem(name, "too_many_decimals", f"{amount:f}")


def list_valid_rows(rows: Iterable[Row]) -> list[Row]:
    """Return the rows without problems."""
    return [row for row in rows if not row.problems]


def find_duplicates(
    rows: Iterable[Row],
    columns: Sequence[str],
    named: Sequence[str] = (),
    code: str = "duplicate_row",
) -> None:
    """Refuse rows with the values of an earlier one in these columns.

    The problem is one of the first column of `named`, by default of `columns`, that
    has a value.
    """
    seen: dict[tuple[Any, ...], int] = {}
    for row in list_valid_rows(rows):
        key = tuple(row.values.get(name) for name in columns)
        if key[0] is None:
            continue
        first = seen.setdefault(key, row.number)
        if first != row.number:
            name = next(it for it in named or columns if row.values.get(it))
            row.add_problem(name, code, first)
