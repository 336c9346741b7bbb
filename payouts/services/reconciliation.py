"""Reconciliation: every ledger invariant checked for some accounts, with counts."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from django.db.models import Count, Max

from accounts.db_compat import count_non_integer_rows, list_invalid_triggers
from accounts.models.accounts import Account
from accounts.models.audit_log import AuditLogEntry
from payouts.models.ledger import Transfer
from payouts.services.ledger_invariants import (
    Discrepancy,
    LedgerInvariants,
    list_tenant_models,
)
from tracking.amounts import AmountField, ExactSum
from tracking.money import ZERO

APPEND_ONLY_MODELS = (AuditLogEntry, Transfer)


@dataclass
class ReconciliationReport:
    """What was checked and which discrepancies were found.

    `closed_…` describes the transfers of the days before today.
    """

    ledger_account_count: int = 0
    transfer_count: int = 0
    negative_balance_count: int = 0
    discrepancies: list[Discrepancy] = field(default_factory=list)
    closed_transfer_count: int = 0
    last_closed_transfer_id: int | None = None
    closed_transfer_total: Decimal = ZERO

    def count_discrepancies(self, account: Account) -> int:
        """Count the discrepancies of an account and of the whole database."""
        return sum(
            discrepancy.account in (account.slug, "-")
            for discrepancy in self.discrepancies
        )


def reconcile(accounts: Iterable[Account], *, at: datetime) -> ReconciliationReport:
    """Recompute every balance from the transfers and check each invariant."""
    report = ReconciliationReport()
    report.discrepancies += check_e10_triggers_and_e13_precision()
    for account in accounts:
        invariants = LedgerInvariants(account)
        report.ledger_account_count += len(invariants.ledger_accounts)
        report.negative_balance_count += sum(
            (row.balance or 0) < 0 for row in invariants.ledger_accounts
        )
        report.discrepancies += invariants.list_discrepancies()
        _count_transfers(report, account, at)
    return report


def check_e10_triggers_and_e13_precision() -> Iterator[Discrepancy]:
    """E10: append-only triggers exist. E13: stored amounts are integers."""
    for append_only in APPEND_ONLY_MODELS:
        table = append_only._meta.db_table
        for name, problem in list_invalid_triggers(table).items():
            yield Discrepancy("E10", "-", table, problem, name)
    for model in list_tenant_models():
        table = model._meta.db_table
        for column in model._meta.fields:
            if isinstance(column, AmountField):
                count = count_non_integer_rows(table, column.attname)
                if count:
                    yield Discrepancy(
                        "E13", "-", table, f"{count} odd rows", column.attname
                    )


def _count_transfers(
    report: ReconciliationReport, account: Account, at: datetime
) -> None:
    today = at.replace(hour=0, minute=0, second=0, microsecond=0)
    closed = account.transfers.filter(created_at__lt=today).aggregate(
        n=Count("id"), last=Max("id"), total=ExactSum("amount")
    )
    report.transfer_count += account.transfers.count()
    report.closed_transfer_count += closed["n"]
    report.closed_transfer_total += closed["total"] or ZERO
    if closed["last"] is not None:
        report.last_closed_transfer_id = max(
            report.last_closed_transfer_id or 0, closed["last"]
        )
