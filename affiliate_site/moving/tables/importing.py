"""Import a table: what would happen to each row, then all rows or the good ones."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import islice

from django.db import transaction

from accounts.actor import get_actor
from accounts.errors import InvalidInput
from accounts.ids import generate_public_id
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from accounts.services.outbox import publish_no_events
from affiliate_site.moving.importing import STORE_ERRORS, describe_problem
from affiliate_site.moving.tables.asking import Answered, ask, is_open
from affiliate_site.moving.tables.checks import check_rows
from affiliate_site.moving.tables.files import ReadTable, TableRow
from affiliate_site.moving.tables.kinds import TableKind
from affiliate_site.moving.tables.notes import list_notes, list_notes_of_totals
from affiliate_site.moving.tables.paid_sales import store_payments
from affiliate_site.moving.tables.problems import Problem
from affiliate_site.moving.tables.questions import CENTS, ImportQuestion
from affiliate_site.moving.tables.rows import (
    CREATED,
    KNOWN,
    NOT_STORED,
    Row,
    is_totals,
    list_valid_rows,
    read_rows,
)
from affiliate_site.moving.tables.storing import STORES, store_parent
from affiliate_site.moving.tables.values import NO_STYLES, Reading, Styles
from payouts.services.closed_months import find_closed_before
from payouts.services.imported_people import lock_affiliates
from payouts.services.ledger import LedgerSession, open_ledger_session
from payouts.services.opening_balances import ensure_none_stands
from tracking.models.imports import TableImport
from tracking.services.affiliates import lock_hierarchy
from tracking.services.concurrency import retry_on_conflict
from tracking.services.imports import ImportMap

PAGE_SIZE = 100  # rows of one savepoint
OUTCOMES = (CREATED, KNOWN, NOT_STORED)


class UnansweredQuestions(InvalidInput):
    """The file can be read in several ways."""

    message = "Say first how the file writes {questions}"


class UnknownAnswer(InvalidInput):
    """An answer is none of the options of its question."""

    message = "The answer to {name} is one of {options}, not '{answer}'"


class UnknownColumn(InvalidInput):
    """A mapping names a column or header that is not there."""

    message = "There is no {what} '{name}'; there are: {names}"


@dataclass
class TableReport:
    """What happens to each row, or has happened if `table_import` is there."""

    rows: list[Row]
    questions: list[ImportQuestion]
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
    are empty or whose column is missing, `styles` and `answers` the answers to
    questions. Lines of totals are left out. Unless `only_good`, a row that cannot be
    stored keeps all from being stored. Raises `UnknownColumn` and `UnknownAnswer`.
    """

    account: Account
    kind: TableKind
    table: ReadTable
    mapping: Mapping[str, str]
    at: datetime
    file_name: str = ""
    styles: Styles = NO_STYLES
    defaults: Mapping[str, str] = field(default_factory=dict)
    only_good: bool = False
    answers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = list(self.kind.by_name)
        for name in (*self.mapping, *self.defaults):
            if self.kind.find_column(name) is None:
                raise UnknownColumn(what="column", name=name, names=", ".join(names))
        for header in self.mapping.values():
            if header not in self.table.header:
                known = ", ".join(self.table.header)
                raise UnknownColumn(what="header", name=header, names=known)

    @property
    def sources(self) -> list[TableRow]:
        """The rows of the file without lines of totals."""
        return [row for row in self.table.rows if not is_totals(row)]

    def ask(self) -> Answered:
        """Return how the file is read, and all questions about the chosen columns."""
        return ask(
            *(self.account, self.kind, self.table, self.sources, self.mapping),
            *(self.styles, self.answers),
        )

    def describe_settings(self) -> dict[str, dict[str, str]]:
        """Return how the table is read, as `TableImport.settings` keeps it."""
        given = {**asdict(self.styles), **self.answers}
        answers = {it.name: str(given.get(it.name) or it.suggestion) for it in self.ask().questions}
        answers |= {name: it for name, it in given.items() if it}
        return {
            "columns": dict(self.mapping),
            "defaults": dict(self.defaults),
            "answers": answers,
        }

    def list_questions(self) -> list[ImportQuestion]:
        """Return the questions that have to be answered yet."""
        return self._list_open(self.ask())

    def _list_open(self, answered: Answered) -> list[ImportQuestion]:
        """Return the questions without an answer; raise `UnknownAnswer`."""
        for question in answered.questions:
            answer = self.answers.get(question.name)
            if answer and question.options and answer not in question.options:
                options = ", ".join(question.options)
                raise UnknownAnswer(name=question.name, answer=answer, options=options)
        return [it for it in answered.questions if is_open(it, self.styles, self.answers)]

    def preview(self) -> TableReport:
        """Say what would happen to each row; nothing is written, nor locked."""
        return self._check(ImportMap(self.account, "", self.at))

    @retry_on_conflict
    def store(self) -> TableReport:
        """Store the rows in one transaction, or nothing; raise `UnansweredQuestions`.

        Nothing is stored if no row is new.
        """
        with publish_no_events(), transaction.atomic():
            lock_hierarchy(self.account)  # one import at a time
            table_import = self.account.table_imports.create(
                public_id=generate_public_id("ti"),
                kind=self.kind.name,
                file_name=self.file_name[:255],
                actor=get_actor().name,
                settings=self.describe_settings(),
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
            log_event(self.account, "table_import.stored", table_import, at=self.at, **counts)
        report.table_import = table_import
        return report

    def _check(self, imports: ImportMap) -> TableReport:
        answered = self.ask()
        notes = list(self.table.notes)
        if questions := self._list_open(answered):
            return TableReport([], questions, notes)
        reading = Reading(
            answered.styles,
            self.account.zone,
            self.at,
            answered.words,
            is_in_cents=self.answers.get("units") == CENTS,
        )
        header = self.table.header
        rows = read_rows(self.sources, header, self.kind, self.mapping, self.defaults, reading)
        imports.closed_before = find_closed_before(self.account)
        check_rows(self.kind, imports, rows, self.answers)
        unused = [it for it in header if it not in self.mapping.values()]
        if unused:
            notes.append(f"Columns that are not read: {', '.join(unused)}.")
        notes += list_notes_of_totals(self.table.rows, self.sources)
        notes += list_notes(self.kind.name, imports, rows)
        return TableReport(rows, [], notes)

    def _store_rows(self, imports: ImportMap, rows: Sequence[Row]) -> None:
        """Store the new rows."""
        good = [row for row in list_valid_rows(rows) if not row.is_known]
        if self.kind.name == "affiliates":
            lock_affiliates(imports, [row.body for row in good])
        self._store_people(imports, good)
        ledger = self._store_pages(imports, good)
        if self.kind.name == "opening_balances":
            stored = [row for row in good if not row.problems]
            for row, transfer in zip(stored, ledger.written, strict=True):
                imports.remember("opening_balance", f"row {row.number}", transfer, row.body)
            imports.write_page()
        if self.kind.name == "affiliates":
            for row in list_valid_rows(rows):
                store_parent(imports, row)
            imports.write_page()
            imports.clear_page()

    def _store_people(self, imports: ImportMap, rows: Sequence[Row]) -> None:
        """Store the affiliates that are created with rows that name them.

        One that cannot be stored is a problem of these rows.
        """
        people = {id(row.person): row.person for row in rows if row.person}
        session = LedgerSession(self.account, [], [], self.at)
        for person in people.values():
            try:
                self._store_page(imports, [person], session, "affiliates")
            except STORE_ERRORS as error:
                problem = describe_problem(error)
                for row in rows:
                    if row.person is person:
                        row.add_problem("affiliate", problem.code, problem.value)

    def _store_pages(self, imports: ImportMap, rows: Sequence[Row]) -> LedgerSession:
        """Store the rows; balances are locked last, so that sales wait least."""
        remaining = iter(list_valid_rows(rows))
        with open_ledger_session(self.account, [], at=self.at) as ledger:
            while page := list(islice(remaining, PAGE_SIZE)):
                try:
                    self._store_page(imports, page, ledger)
                except STORE_ERRORS:
                    for row in page:
                        self._store_alone(imports, row, ledger)
            paid = [row for row in list_valid_rows(rows) if row.values.get("paid_at")]
            if paid:
                ledger.take_over(store_payments(imports, paid))
                imports.write_page()
                imports.clear_page()
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
        self,
        imports: ImportMap,
        page: Sequence[Row],
        ledger: LedgerSession,
        kind: str = "",
    ) -> None:
        """Store some rows in one savepoint, or none of them; post them later."""
        try:
            with transaction.atomic():
                own = LedgerSession(self.account, [], [], self.at)
                for row in page:
                    STORES[kind or self.kind.name](imports, row, own)
                imports.write_page()
                ledger.take_over(own)
        except Exception:
            imports.drop_page()
            raise
        imports.clear_page()
