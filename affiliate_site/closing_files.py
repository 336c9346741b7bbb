"""The closing of a period as tables, and that of a closed month as CSV and PDF."""

import csv
from collections.abc import Iterable, Mapping
from decimal import Decimal
from itertools import groupby
from typing import Any

from affiliate_site import cells
from affiliate_site.columns import CURRENCY_TITLE, Table, list_places
from affiliate_site.pdf import find_weasyprint, write_pdf
from payouts.errors import Unprintable
from payouts.models.closed_months import ClosedMonth
from payouts.services.bookkeeping import PeriodClosing
from payouts.statistics import get_month

TITLES = ("What", "Pending", "Balance due", "Together")
Line = tuple[Any, ...]  # a balance or movement with its amounts


def list_lines(closing: PeriodClosing) -> list[Line]:
    """The movements of a currency, between the balances."""
    rows = [
        ("Open at the start", closing.opening),
        *((str(kind.label), owed) for kind, owed in closing.movements.items()),
        ("Open at the end", closing.closing),
    ]
    return [(title, *owed, owed.total) for title, owed in rows]


def build_table(table_class: Any, currency: str, lines: Iterable[Line], notes=()) -> Any:
    """A currency as a table of this class."""
    return table_class(
        currency,
        notes=notes,
        columns=list_places(*TITLES, amounts_from=1),
        rows=[
            (title, *(cells.format_money(amount, currency) for amount in amounts))
            for title, *amounts in lines
        ],
    )


def render_closing_csv(closings: Mapping[str, PeriodClosing]) -> str:
    """The lines of all currencies."""
    titles = (*TITLES, CURRENCY_TITLE.format(title="Amounts"))
    lines = [
        (*line, currency) for currency, closing in closings.items() for line in list_lines(closing)
    ]
    return cells.render_csv([titles, *lines])


def build_kept_tables(closed_month: ClosedMonth, table_class: Any = Table) -> list[Any]:
    """The figures of a closed month, as its CSV file has them."""
    _, *rows = csv.reader(closed_month.csv.splitlines())
    return [
        build_table(
            table_class, currency, [(title, *map(Decimal, rest[:-1])) for title, *rest in group]
        )
        for currency, group in groupby(rows, key=lambda row: row[-1])
    ]


def render_closing_pdf(closed_month: ClosedMonth) -> bytes | None:
    """The same as a PDF; None where no PDF or not the name of the account can be printed."""
    if not find_weasyprint():
        return None
    context = {
        "account": closed_month.account,
        "closed_month": closed_month,
        "period": get_month(closed_month.month),
        "sections": build_kept_tables(closed_month),
    }
    try:
        return write_pdf("statements/closed_month.html", context)
    except Unprintable:
        return None
