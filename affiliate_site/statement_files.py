"""Statements as files: CSV, XLSX and, where WeasyPrint is installed, PDF.

A long PDF has totals in place of lines: one of 6,000 lines takes 21 s of a server's
thread and 640 MB.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import groupby
from typing import Any

from django.utils.translation import get_language

from affiliate_site import cells
from affiliate_site.columns import CURRENCY_TITLE, Column, Table, list_places
from affiliate_site.pdf import find_weasyprint, write_pdf
from affiliate_site.workbooks import render_workbook
from payouts.services.statements import CurrencyStatement, Statement, StatementLine
from tracking.money import ZERO

MAX_LINES = 1_000  # of a PDF, of all currencies
PERIODS = (len("2026-03-04"), len("2026-03"), len("2026"))  # beginnings of a day


class StatementFile:
    """The statement of an affiliate for staff; the portal has words of its own.

    Rows are a day, texts and an amount.
    """

    formats: Sequence[str] = ("csv", "xlsx", "pdf")
    columns = list_places("Date", "What", "Order ID", "Payment", "Amount", amounts_from=4)
    currency_title: Any = CURRENCY_TITLE.format(title="Amount")
    opening: Any = "Balance at the start"
    closing: Any = "Balance at the end"
    total: Any = "Movements: {:,}"
    totals_note: Any = (
        "Totals: the statement has more than {limit:,} lines. All lines are in its CSV file."
    )
    pending_note: Any = "Pending at the end, not part of the balance: {amount}"

    def __init__(self, statement: Statement) -> None:
        self.statement = statement

    def __str__(self) -> str:
        """`statement-adastone-2026-10-01-to-2026-10-31`."""
        statement = self.statement
        return f"statement-{statement.affiliate.slug}-{statement.start}-to-{statement.end}"

    @property
    def person(self) -> str:
        return cells.format_person(self.statement.affiliate)

    def describe(self, line: StatementLine) -> tuple[str, ...]:
        """The texts of a line: what it is, its order and its payment."""
        text = ": ".join(filter(None, (line.kind.label, line.bank_reason)))
        return text, line.order_id, line.payment_id

    def format_day(self, day: Any) -> str:
        """A day in tables, or the month or year of a total."""
        return f"{day}"

    def format_money(self, amount: Decimal, currency: str) -> str:
        return cells.format_money(amount, currency)

    def choose_csv_format(self) -> Callable[[Iterable[Any]], str]:
        return cells.format_csv_line

    @classmethod
    def list_formats(cls) -> list[str]:
        """The formats that can be made here."""
        return [name for name in cls.formats if name != "pdf" or find_weasyprint()]

    def render(self, file_format: str) -> bytes:
        """The file with all currencies."""
        if file_format == "pdf":
            return self.render_pdf()
        columns = [*self.columns, Column(self.currency_title)]
        lines = [
            (*row, each.currency)
            for each in self.statement.currencies
            for row in self.list_rows(each)
        ]
        if file_format == "xlsx":
            return render_workbook("Statement", columns, lines)
        titles = [it.title for it in columns]
        return cells.render_csv([titles, *lines], self.choose_csv_format()).encode()

    def render_pdf(self) -> bytes:
        context = {
            "account": self.statement.affiliate.account,
            "person": self.person,
            "statement": self.statement,
            "language": get_language(),
            "sections": self.build_tables(choose_period(self.statement)),
        }
        return write_pdf("statements/statement.html", context)

    def build_tables(self, period: int = 0) -> list[Table]:
        """The lines of each currency; with `period`, their totals."""
        return [self.build_table(each, period) for each in self.statement.currencies]

    def build_table(self, each: CurrencyStatement, period: int) -> Table:
        rows, notes = self.list_rows(each), []
        if period:
            rows = add_up_rows([*rows], period, self.total.format)
            notes.append(self.totals_note.format(limit=MAX_LINES))
        if each.pending:
            amount = self.format_money(each.pending, each.currency)
            notes.append(self.pending_note.format(amount=amount))
        texts = [
            (self.format_day(day), *texts, self.format_money(amount, each.currency))
            for day, *texts, amount in rows
        ]
        return Table(each.currency, self.columns, texts, notes)

    def list_rows(self, each: CurrencyStatement) -> Iterator[tuple[Any, ...]]:
        """The lines of a currency, between the balances."""
        get_day = self.statement.affiliate.account.get_day
        empty = [""] * (len(self.columns) - 3)
        yield self.statement.start, self.opening, *empty, each.opening
        for line in each.lines:
            yield get_day(line.at), *self.describe(line), line.amount
        yield self.statement.end, self.closing, *empty, each.closing


def choose_period(statement: Statement) -> int:
    """Return which beginning of a day the totals share; 0 if no totals are needed."""
    if sum(len(each.lines) for each in statement.currencies) <= MAX_LINES:
        return 0
    get_day = statement.affiliate.account.get_day
    days = {
        (each.currency, str(get_day(line.at)))
        for each in statement.currencies
        for line in each.lines
    }
    for length in PERIODS:
        if len({(currency, day[:length]) for currency, day in days}) <= MAX_LINES:
            break
    return length


def add_up_rows(
    rows: Sequence[tuple[Any, ...]], period: int, describe: Callable[[int], str]
) -> Iterator[tuple[Any, ...]]:
    """Replace the rows between the balances by one for each day, or longer period.

    A row begins with its day and ends with its amount; `describe` returns the text of a
    total of so many rows.
    """
    first, *movements, last = rows
    yield first
    for day, group in groupby(movements, key=lambda row: str(row[0])[:period]):
        amounts = [row[-1] for row in group]
        empty = [""] * (len(first) - 3)
        yield day, describe(len(amounts)), *empty, sum(amounts, ZERO)
    yield last
