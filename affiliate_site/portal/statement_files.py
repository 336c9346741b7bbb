"""Statements of affiliates as CSV and, where WeasyPrint is installed, as PDF."""

from collections.abc import Iterable
from datetime import date
from typing import Any

from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from accounts.written_days import write_day
from affiliate_site import cells
from affiliate_site.pdf import find_weasyprint, write_pdf
from affiliate_site.portal.earnings import find_order_id
from affiliate_site.portal.formats import choose_csv_format, format_money
from affiliate_site.statement_totals import MAX_LINES, PERIODS, add_up_rows, choose_period
from payouts.services.statements import (
    CurrencyStatement,
    MovementKind,
    Statement,
    StatementLine,
)

MOVEMENTS = {
    MovementKind.COMMISSION: gettext_lazy("Commission"),
    MovementKind.LEVEL: gettext_lazy("Commission from a recruited affiliate"),
    MovementKind.BONUS: gettext_lazy("Bonus"),
    MovementKind.CORRECTION: gettext_lazy("Correction"),
    MovementKind.REFUND: gettext_lazy("Refund"),
    MovementKind.DISAPPROVED: gettext_lazy("Commission disapproved"),
    MovementKind.REOPENED: gettext_lazy("Commission pending again"),
    MovementKind.REMOVED: gettext_lazy("Sale removed"),
    MovementKind.PAYMENT: gettext_lazy("Payment"),
    MovementKind.PAYMENT_CANCELED: gettext_lazy("Payment canceled"),
    MovementKind.TAX_WITHHELD: gettext_lazy("Withholding tax"),
    MovementKind.TAX_RETURNED: gettext_lazy("Withholding tax taken back"),
    MovementKind.OPENING_BALANCE: gettext_lazy("Opening balance"),
    MovementKind.OPENING_REVERSED: gettext_lazy("Opening balance taken back"),
}


def list_formats() -> list[str]:
    """The formats that can be made here."""
    return ["csv", *(["pdf"] if find_weasyprint() else [])]


def find_reference(line: StatementLine, order_ids: str) -> str:
    """The payment, or the order ID as far as the account shows it."""
    if line.payment_id or line.commission is None:
        return line.payment_id
    return find_order_id(line.commission, order_ids)


def get_file_name(statement: Statement) -> str:
    """`statement-2026-10-01-to-2026-10-31`."""
    return f"statement-{statement.start}-to-{statement.end}"


def render(statement: Statement, file_format: str, order_ids: str) -> bytes:
    """The statement as a file of a format."""
    if file_format == "csv":
        return render_csv(statement, order_ids)
    period = choose_period(statement)
    context = {
        "account": statement.affiliate.account,
        "person": f"{statement.affiliate.firstname} {statement.affiliate.lastname}",
        "statement": statement,
        "language": get_language(),
        "sections": [
            build_section(statement, each, order_ids, period) for each in statement.currencies
        ],
    }
    return write_pdf("statements/statement.html", context)


def list_titles() -> list[str]:
    """The titles of the columns."""
    return [_("Date"), _("What"), _("Order or payment"), _("Amount")]


def list_rows(
    statement: Statement, currency: CurrencyStatement, order_ids: str
) -> list[tuple[Any, ...]]:
    """Day, text, reference and amount of each line, between the balances."""
    account = statement.affiliate.account
    return [
        (statement.start, _("Balance before"), "", currency.opening),
        *(
            (
                account.get_day(line.at),
                str(MOVEMENTS[line.kind]),
                find_reference(line, order_ids),
                line.amount,
            )
            for line in currency.lines
        ),
        (statement.end, _("Balance"), "", currency.closing),
    ]


def render_csv(statement: Statement, order_ids: str) -> bytes:
    """A CSV file with all currencies."""
    lines: list[Any] = [[*list_titles(), _("Currency")]]
    for each in statement.currencies:
        rows = list_rows(statement, each, order_ids)
        lines += [(*row, each.currency) for row in rows]
    return cells.render_csv(lines, choose_csv_format()).encode()


def format_day(day: Any) -> str:
    """A day as the language writes it; the months and years of totals as they are."""
    text = str(day)
    is_day = len(text) == PERIODS[0]
    return write_day(date.fromisoformat(text), "medium") if is_day else text


def build_section(
    statement: Statement, each: CurrencyStatement, order_ids: str, period: int
) -> dict[str, Any]:
    """The lines of a currency, or with `period` their totals, for the template."""
    titles = list_titles()
    columns = [{"title": title, "is_amount": title == titles[-1]} for title in titles]
    lines: Iterable[tuple[Any, ...]] = list_rows(statement, each, order_ids)
    notes = []
    if period:
        lines = add_up_rows([*lines], period, _("Movements: {}").format)
        note = _("More than {limit} movements: these are totals. All are in the CSV.")
        notes.append(note.format(limit=MAX_LINES))
    rows = [
        (format_day(day), *texts, format_money(amount, each.currency))
        for day, *texts, amount in lines
    ]
    if each.pending:
        pending = _("Waits for approval, and is no part of the balance: {amount}")
        notes.append(pending.format(amount=format_money(each.pending, each.currency)))
    return {
        "title": each.currency,
        "columns": columns,
        "cells": [list(zip(columns, row, strict=True)) for row in rows],
        "notes": notes,
    }
