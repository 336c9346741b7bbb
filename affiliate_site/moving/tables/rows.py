"""Rows of a table as bodies of the API, each cell with its column."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any

from affiliate_site.moving.tables.files import Cell, CellError, Table, TableRow
from affiliate_site.moving.tables.kinds import Column, TableKind
from affiliate_site.moving.tables.problems import Problem
from affiliate_site.moving.tables.references import FINDERS
from affiliate_site.moving.tables.values import Reading, read_cell
from tracking.errors import AmountTooLarge
from tracking.money import validate_amount
from tracking.services.imports import ImportProblem

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
        """Add a problem of the column with this name."""
        header = self.headers.get(column, column)
        self.problems.append(Problem(self.number, header, code, str(value)[:1000]))

    def set(self, path: str, value: Any) -> None:
        """Set a value in the body; the path has dots. A key of meta data may, too."""
        *parents, name = path.split(
            ".", 1 if path.startswith(("meta", "custom")) else -1
        )
        target = self.body
        for parent in parents:
            target = target.setdefault(parent, {})
        target[name] = value


def read_rows(
    table: Table,
    kind: TableKind,
    mapping: Mapping[str, str],
    defaults: Mapping[str, str],
    reading: Reading,
) -> list[Row]:
    """Read the cells of all rows; what cannot be read is a problem of its row."""
    labels = {column.name: column.label for column in kind.columns}
    headers = labels | dict(mapping)
    indexes = {name: table.header.index(header) for name, header in mapping.items()}
    names = [*mapping, *(name for name in defaults if name not in mapping)]
    columns = [
        (column, indexes.get(it)) for it in names if (column := kind.find_column(it))
    ]
    required = [column.name for column in kind.columns if column.is_required]
    utc = Reading(reading.styles, UTC, reading.at)
    readings = {
        name: utc if header.casefold().endswith("(utc)") else reading
        for name, header in mapping.items()
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
        check_amounts(row)
        return row

    return [read_row(source) for source in table.rows]


def is_example(
    source: TableRow, kind: TableKind, columns: Sequence[tuple[Column, int | None]]
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


def read_value(row: Row, column: Column, cell: Cell, reading: Reading) -> None:
    """Put the value of a cell into the body, or its problem into the row."""
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


def check_amounts(row: Row) -> None:
    """Amounts are stored as they are: nothing is rounded."""
    currency = row.values.get("currency")
    for name in ("amount", "commission"):
        amount = row.values.get(name)
        if currency and amount is not None:
            try:
                rounded = validate_amount(abs(amount), currency)
            except AmountTooLarge:
                row.add_problem(name, "amount_too_large", f"{amount:f}")
                continue
            if rounded != abs(amount):
                row.add_problem(name, "too_many_decimals", f"{amount:f}")


def list_good(rows: Iterable[Row]) -> list[Row]:
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
    for row in list_good(rows):
        key = tuple(row.values.get(name) for name in columns)
        if key[0] is None:
            continue
        first = seen.setdefault(key, row.number)
        if first != row.number:
            name = next(it for it in named or columns if row.values.get(it))
            row.add_problem(name, code, first)
