"""Statements as their affiliates read them, in their language."""

from collections.abc import Callable, Iterable
from datetime import date
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext_lazy as _

from accounts.written_days import write_day
from affiliate_site.columns import list_places
from affiliate_site.portal import formats
from affiliate_site.portal.earnings import find_order_id
from affiliate_site.statement_files import PERIODS, StatementFile
from payouts.services.statements import MovementKind, Statement, StatementLine
from tracking.written_amounts import write_amount

MOVEMENTS = {
    MovementKind.COMMISSION: _("Commission"),
    MovementKind.LEVEL: _("Commission from a recruited affiliate"),
    MovementKind.BONUS: _("Bonus"),
    MovementKind.CORRECTION: _("Correction"),
    MovementKind.REFUND: _("Refund"),
    MovementKind.DISAPPROVED: _("Commission disapproved"),
    MovementKind.REOPENED: _("Commission pending again"),
    MovementKind.REMOVED: _("Sale removed"),
    MovementKind.PAYMENT: _("Payment"),
    MovementKind.PAYMENT_CANCELED: _("Payment canceled or returned"),
    MovementKind.TAX_WITHHELD: _("Withholding tax"),
    MovementKind.TAX_RETURNED: _("Withholding tax taken back"),
    MovementKind.OPENING_BALANCE: _("Opening balance"),
    MovementKind.OPENING_REVERSED: _("Opening balance taken back"),
}


class OwnStatementFile(StatementFile):
    """The statement of an affiliate, with order IDs as far as the account shows them."""

    formats = ("csv", "pdf")
    columns = list_places(_("Date"), _("What"), _("Order or payment"), _("Amount"), amounts_from=3)
    currency_title = _("Currency")
    opening = _("Balance before")
    closing = _("Balance")
    total = _("Movements: {}")
    totals_note = _("More than {limit} movements: these are totals. All are in the CSV.")
    pending_note = _("Waits for approval, and is no part of the balance: {amount}")

    def __init__(self, statement: Statement, order_ids: str) -> None:
        super().__init__(statement)
        self.order_ids = order_ids

    def __str__(self) -> str:
        """`statement-2026-10-01-to-2026-10-31`."""
        return f"statement-{self.statement.start}-to-{self.statement.end}"

    @property
    def person(self) -> str:
        affiliate = self.statement.affiliate
        return f"{affiliate.firstname} {affiliate.lastname}"

    def describe(self, line: StatementLine) -> tuple[str, ...]:
        """What it is, and its order or payment."""
        return str(MOVEMENTS[line.kind]), find_reference(line, self.order_ids)

    def format_day(self, day: Any) -> str:
        """A day as the language writes it; the months and years of totals as they are."""
        text = str(day)
        is_day = len(text) == PERIODS[0]
        return write_day(date.fromisoformat(text), "medium") if is_day else text

    def format_money(self, amount: Decimal, currency: str) -> str:
        return write_amount(amount, currency)

    def choose_csv_format(self) -> Callable[[Iterable[Any]], str]:
        return formats.choose_csv_format()


def find_reference(line: StatementLine, order_ids: str) -> str:
    """The payment, or the order ID as far as the account shows it."""
    if line.payment_id or line.commission is None:
        return line.payment_id
    return find_order_id(line.commission, order_ids)
