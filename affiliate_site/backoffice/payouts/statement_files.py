"""Statements as files: CSV, XLSX and, where WeasyPrint is installed, PDF."""

from collections.abc import Iterator

from affiliate_site import cells
from affiliate_site.backoffice.formatters import format_money, format_person
from affiliate_site.backoffice.lists.exports import CURRENCY_TITLE
from affiliate_site.backoffice.object_pages import Section, link_to
from affiliate_site.columns import Column, list_places
from affiliate_site.pdf import find_weasyprint, write_pdf
from affiliate_site.statement_totals import MAX_LINES, add_up_rows, choose_period
from affiliate_site.workbooks import render_workbook
from payouts.services.statements import CurrencyStatement, Statement

OPENING, CLOSING = "Balance at the start", "Balance at the end"
TOTALS_NOTE = (
    f"Totals: the statement has more than {MAX_LINES:,} lines. All lines are in its CSV file."
)
COLUMNS = list_places("Date", "What", "Order ID", "Payment", "Amount", amounts_from=4)
FILE_COLUMNS = [*COLUMNS, Column(CURRENCY_TITLE.format(title="Amount"))]


def list_rows(
    statement: Statement, currency: CurrencyStatement, *, has_links: bool
) -> Iterator[tuple]:
    """Day, text, order ID, payment and amount of each line, between the balances."""
    account = statement.affiliate.account
    yield statement.start, OPENING, "", "", currency.opening
    for line in currency.lines:
        order, payment = line.order_id, line.payment_id
        if has_links:
            order = link_to(line.commission and line.commission.conversion, order)
            payment = link_to(line.payment)
        day = account.get_day(line.at)
        text = ": ".join(filter(None, (line.kind.label, line.bank_reason)))
        yield day, text, order, payment, line.amount
    yield statement.end, CLOSING, "", "", currency.closing


def build_sections(statement: Statement, *, has_links: bool, period: int = 0) -> list[Section]:
    """The lines of each currency as a table; with `period`, their totals."""
    return [
        Section(
            each.currency,
            notes=[
                *([TOTALS_NOTE] if period else []),
                *(
                    [
                        "Pending at the end, not part of the balance:"
                        f" {format_money(each.pending, each.currency)}"
                    ]
                    if each.pending
                    else []
                ),
            ],
            columns=COLUMNS,
            rows=[
                (f"{day}", *texts, format_money(amount, each.currency))
                for day, *texts, amount in list_table_rows(
                    statement, each, has_links=has_links, period=period
                )
            ],
        )
        for each in statement.currencies
    ]


def list_table_rows(
    statement: Statement, currency: CurrencyStatement, *, has_links: bool, period: int
) -> Iterator[tuple]:
    """The lines, or with `period` their totals."""
    rows = list_rows(statement, currency, has_links=has_links)
    if not period:
        return rows
    return add_up_rows([*rows], period, "Movements: {:,}".format)


def list_lines(statement: Statement) -> list[tuple]:
    """The lines of a file, with the currency of the amounts."""
    return [
        (*row, each.currency)
        for each in statement.currencies
        for row in list_rows(statement, each, has_links=False)
    ]


def render_csv(statement: Statement) -> bytes:
    """A CSV file with all currencies."""
    lines = [[it.title for it in FILE_COLUMNS], *list_lines(statement)]
    return cells.render_csv(lines).encode()


def render_xlsx(statement: Statement) -> bytes:
    """A sheet with all currencies."""
    return render_workbook("Statement", FILE_COLUMNS, list_lines(statement))


def render_pdf(statement: Statement) -> bytes:
    """The statement as a PDF; a long one has totals."""
    context = {
        "account": statement.affiliate.account,
        "person": format_person(statement.affiliate),
        "statement": statement,
        "sections": build_sections(statement, has_links=False, period=choose_period(statement)),
    }
    return write_pdf("statements/statement.html", context)


RENDERERS = {"csv": render_csv, "xlsx": render_xlsx, "pdf": render_pdf}


def get_file_name(statement: Statement) -> str:
    """`statement-adastone-2026-10-01-to-2026-10-31`."""
    return f"statement-{statement.affiliate.slug}-{statement.start}-to-{statement.end}"


def list_formats() -> list[str]:
    """The formats that can be made here."""
    return [name for name in RENDERERS if name != "pdf" or find_weasyprint()]
