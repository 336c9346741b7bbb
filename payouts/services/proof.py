"""The proof of the books: what was looked at, and each equation that does not hold."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from django.db.models import Count, Max

from accounts.engines import missing_triggers, rows_not_whole
from accounts.models.accounts import Account
from accounts.models.events import Event
from payouts.models.ledger import Transfer
from payouts.services.equations import Books, Failure, tenant_models
from tracking.amounts import AmountField, ExactSum
from tracking.money import NOUGHT

APPEND_ONLY = (Event, Transfer)


@dataclass
class Report:
    """What was looked at, and what was found."""

    ledger_accounts: int = 0
    transfers: int = 0
    below_nought: int = 0
    failures: list[Failure] = field(default_factory=list)
    closed_count: int = 0
    closed_last_id: int | None = None
    closed_sum: Decimal = NOUGHT

    def differing_rows(self, account: Account) -> int:
        """How many rows of an account differ, those of the whole database included."""
        return sum(it.account in (account.slug, "-") for it in self.failures)


def prove(accounts: Iterable[Account], *, at: datetime) -> Report:
    """Recompute every balance from the transfers, and hold each equation."""
    report = Report()
    report.failures += whole_database()
    for account in accounts:
        books = Books(account)
        report.ledger_accounts += len(books.rows)
        report.below_nought += sum((row.balance or 0) < 0 for row in books.rows)
        report.failures += books.failures()
        _count_transfers(report, account, at)
    return report


def whole_database() -> Iterator[Failure]:
    """E10: the triggers are there. E13: amounts are whole in every row."""
    for grown in APPEND_ONLY:
        table = grown._meta.db_table
        for name in missing_triggers(table):
            yield Failure("E10", "-", table, "no trigger", name)
    for model in tenant_models():
        table = model._meta.db_table
        for column in model._meta.fields:
            if isinstance(column, AmountField):
                odd = rows_not_whole(table, column.attname)
                if odd:
                    yield Failure("E13", "-", table, f"{odd} odd rows", column.attname)


def _count_transfers(report: Report, account: Account, at: datetime) -> None:
    today = at.replace(hour=0, minute=0, second=0, microsecond=0)
    closed = account.transfers.filter(created_at__lt=today).aggregate(
        n=Count("id"), last=Max("id"), total=ExactSum("amount")
    )
    report.transfers += account.transfers.count()
    report.closed_count += closed["n"]
    report.closed_sum += closed["total"] or NOUGHT
    if closed["last"] is not None:
        report.closed_last_id = max(report.closed_last_id or 0, closed["last"])
