"""Import a table: what would happen to each row, then all rows or the good ones."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

from django.db import transaction

from accounts.actor import get_actor
from accounts.errors import InvalidInput
from accounts.ids import generate_public_id
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from affiliate_site.moving.importing import STORE_ERRORS, describe_problem
from affiliate_site.moving.tables.checks import check_rows
from affiliate_site.moving.tables.files import Cell, Table
from affiliate_site.moving.tables.kinds import TableKind
from affiliate_site.moving.tables.notes import list_notes
from affiliate_site.moving.tables.problems import Problem
from affiliate_site.moving.tables.rows import (
    CREATED,
    KNOWN,
    NOT_STORED,
    Row,
    list_good,
    read_rows,
)
from affiliate_site.moving.tables.storing import STORES, store_parent
from affiliate_site.moving.tables.values import (
    DATE_STYLES,
    NO_STYLES,
    NUMBER_STYLES,
    Reading,
    Styles,
    find_styles,
    parse_date,
    parse_number,
)
from payouts.services.imported_people import lock_affiliates
from payouts.services.ledger import LedgerSession, open_ledger_session
from payouts.services.opening_balances import ensure_none_stands
from tracking.models.imports import TableImport
from tracking.services.affiliates import lock_hierarchy
from tracking.services.concurrency import retry_on_conflict
from tracking.services.imports import ImportMap, ImportProblem

PAGE_SIZE = 100  # rows of one savepoint
OUTCOMES = (CREATED, KNOWN, NOT_STORED)


class UnansweredQuestions(InvalidInput):
    """The file can be read in several ways."""

    message = "Say first how the file writes {questions}"


class UnknownColumn(InvalidInput):
    """A mapping names a column or header that is not there."""

    message = "There is no {what} '{name}'; there are: {names}"


@dataclass(frozen=True)
class Question:
    """How does the file write numbers (`decimal`) or dates (`dates`)?

    `options` map each style to what the cell `example` means in it; None: it cannot be
    read.
    """

    name: str
    column: str
    example: str
    options: dict[str, str | None]


@dataclass
class TableReport:
    """What happens to each row, or has happened if `table_import` is there."""

    rows: list[Row]
    questions: list[Question]
    notes: list[str]
    table_import: TableImport | None = None

    @property
    def problems(self) -> list[Problem]:
        """All problems in the order of rows."""
        return [problem for row in self.rows for problem in row.problems]

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows by outcome."""
        counts = Counter(row.outcome for row in self.rows)
        return {name: counts[name] for name in OUTCOMES}


@dataclass
class TableImporter:
    """The import of one table.

    `mapping` has the header of each of our columns, `defaults` the texts of cells that
    are empty or whose column is missing, `styles` the answers to questions. Unless
    `only_good`, a row that cannot be stored keeps all from being stored. Raises
    `UnknownColumn`.
    """

    account: Account
    kind: TableKind
    table: Table
    mapping: Mapping[str, str]
    at: datetime
    file_name: str = ""
    styles: Styles = NO_STYLES
    defaults: Mapping[str, str] = field(default_factory=dict)
    only_good: bool = False

    def __post_init__(self) -> None:
        names = list(self.kind.by_name)
        for name in (*self.mapping, *self.defaults):
            if self.kind.find_column(name) is None:
                raise UnknownColumn(what="column", name=name, names=", ".join(names))
        for header in self.mapping.values():
            if header not in self.table.header:
                known = ", ".join(self.table.header)
                raise UnknownColumn(what="header", name=header, names=known)

    def list_questions(self) -> list[Question]:
        """Return what has to be asked about the chosen columns."""
        return self._choose_styles()[1]

    def preview(self) -> TableReport:
        """Say what would happen to each row; nothing is written, nor locked."""
        return self._check(ImportMap(self.account, "", self.at))

    @retry_on_conflict
    def store(self) -> TableReport:
        """Store the rows in one transaction, or nothing; raise `UnansweredQuestions`.

        Nothing is stored if no row is new.
        """
        self.account.uses_webhooks = False  # of this object: an import sends none
        with transaction.atomic():
            lock_hierarchy(self.account)  # one import at a time
            table_import = self.account.table_imports.create(
                public_id=generate_public_id("ti"),
                kind=self.kind.name,
                file_name=self.file_name[:255],
                actor=get_actor().name,
                created_at=self.at,
            )
            imports = ImportMap(self.account, table_import.source, self.at)
            report = self._check(imports)
            if report.questions:
                names = ", ".join(each.name for each in report.questions)
                raise UnansweredQuestions(questions=names)
            if self.only_good or not report.problems:
                self._store_rows(imports, report.rows)
            counts = report.counts
            if not counts[CREATED] or (report.problems and not self.only_good):
                transaction.set_rollback(True)
                return report
            created, known, not_stored = (counts[name] for name in OUTCOMES)
            table_import.update_row(created=created, known=known, not_stored=not_stored)
            log_event(
                self.account, "table_import.stored", table_import, at=self.at, **counts
            )
        report.table_import = table_import
        return report

    def _check(self, imports: ImportMap) -> TableReport:
        styles, questions = self._choose_styles()
        notes = list(self.table.notes)
        if questions:
            return TableReport([], questions, notes)
        reading = Reading(styles, self.account.zone, self.at)
        rows = read_rows(self.table, self.kind, self.mapping, self.defaults, reading)
        check_rows(self.kind, imports, rows)
        unused = [it for it in self.table.header if it not in self.mapping.values()]
        if unused:
            notes.append(f"Columns that are not read: {', '.join(unused)}.")
        notes += list_notes(self.kind.name, imports, rows)
        return TableReport(rows, [], notes)

    def _choose_styles(self) -> tuple[Styles, list[Question]]:
        """Return the styles that were said or found, and what has to be asked."""
        decimal, first = self._choose_style(
            "decimal", ("amount", "signed_amount"), parse_number, list(NUMBER_STYLES)
        )
        dates, second = self._choose_style(
            "dates", ("date",), parse_date, list(DATE_STYLES)
        )
        return Styles(decimal, dates), [*first, *second]

    def _choose_style(
        self, name: str, types: Sequence[str], parse: Any, styles: Sequence[str]
    ) -> tuple[str | None, list[Question]]:
        if answer := getattr(self.styles, name):
            return answer, []
        cells = []
        for column_name, header in self.mapping.items():
            column, index = (
                self.kind.find_column(column_name),
                self.table.header.index(header),
            )
            if column and column.type in types:
                found = [row.cells[index] for row in self.table.rows]
                cells += [(header, cell) for cell in found if isinstance(cell, str)]
        style, options = find_styles([cell for _, cell in cells], parse, styles)
        if style:
            return style, []
        header, example = choose_example(cells, parse, options)
        readings = {option: read_or_none(parse, example, option) for option in options}
        return None, [Question(name, header, example, readings)]

    def _store_rows(self, imports: ImportMap, rows: Sequence[Row]) -> None:
        """Store the new rows."""
        good = [row for row in list_good(rows) if not row.is_known]
        if self.kind.name == "affiliates":
            lock_affiliates(imports, [row.body for row in good])
        ledger = self._store_pages(imports, good)
        if self.kind.name == "opening_balances":
            stored = [row for row in good if not row.problems]
            for row, transfer in zip(stored, ledger.written, strict=True):
                imports.remember("opening_balance", row.number, transfer, row.body)
            imports.write_page()
        if self.kind.name == "affiliates":
            for row in list_good(rows):
                store_parent(imports, row)

    def _store_pages(self, imports: ImportMap, rows: Sequence[Row]) -> LedgerSession:
        """Store the rows; balances are locked last, so that sales wait least."""
        remaining = iter(rows)
        with open_ledger_session(self.account, [], at=self.at) as ledger:
            while page := list(islice(remaining, PAGE_SIZE)):
                try:
                    self._store_page(imports, page, ledger)
                except STORE_ERRORS:
                    for row in page:
                        self._store_alone(imports, row, ledger)
            if ledger.transfers:
                ledger.lock_balances()
            if self.kind.name == "opening_balances":
                ensure_none_stands(self.account, ledger.balance_keys)
        return ledger

    def _store_alone(self, imports: ImportMap, row: Row, ledger: LedgerSession) -> None:
        try:
            self._store_page(imports, [row], ledger)
        except STORE_ERRORS as error:
            problem = describe_problem(error)
            row.add_problem(problem.path, problem.code, problem.value)

    def _store_page(
        self, imports: ImportMap, page: Sequence[Row], ledger: LedgerSession
    ) -> None:
        """Store some rows in one savepoint, or none of them; post them later."""
        try:
            with transaction.atomic():
                own = LedgerSession(self.account, [], [], self.at)
                for row in page:
                    STORES[self.kind.name](imports, row, own)
                imports.write_page()
                ledger.take_over(own)
        except Exception:
            imports.drop_page()
            raise
        imports.clear_page()


def choose_example(
    cells: Iterable[tuple[str, Cell]], parse: Any, options: Sequence[str]
) -> tuple[str, str]:
    """Return header and cell that differ most between the styles."""

    def count_meanings(cell: str) -> int:
        return len({read_or_none(parse, cell, option) for option in options})

    header, cell = max(cells, key=lambda pair: count_meanings(str(pair[1])))
    return header, str(cell)


def read_or_none(parse: Any, cell: str, style: str) -> str | None:
    """Return what a cell means in a style; None if it cannot be read."""
    try:
        value = parse(cell, style)
    except ImportProblem:
        return None
    return value.isoformat(" ") if isinstance(value, datetime) else f"{value:f}"
