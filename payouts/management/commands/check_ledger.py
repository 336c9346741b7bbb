import sys
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import JsonCommand
from accounts.db_compat import use_snapshot
from accounts.models.accounts import Account
from accounts.services.accounts import get_account, record_reconciliation
from payouts.services.ledger_invariants import Discrepancy
from payouts.services.reconciliation import ReconciliationReport, reconcile


class Command(JsonCommand):
    help = "Reconcile the ledger: recompute every balance from the transfers and check"
    help += " every invariant. Read-only, except with --note."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--account", metavar="ACCOUNT", help="check only this account"
        )
        parser.add_argument(
            "--note", action="store_true", help="store the result for the dashboards"
        )

    def run(
        self,
        *,
        at: datetime,
        note: bool = False,
        account: str | None = None,
        **options: Any,
    ) -> None:
        accounts = [get_account(account)] if account else list(Account.objects.all())
        with use_snapshot():
            report = reconcile(accounts, at=at)
        for checked_account in accounts if note else ():
            count = report.count_discrepancies(checked_account)
            record_reconciliation(checked_account, discrepancy_count=count, at=at)
        self.write_result(
            _render_summary(report),
            ok=not report.discrepancies,
            checked={
                "ledger_accounts": report.ledger_account_count,
                "transfers": report.transfer_count,
                "balances_below_zero": report.negative_balance_count,
            },
            failures=[_serialize_discrepancy(row) for row in report.discrepancies],
            closed_days={
                "count": report.closed_transfer_count,
                "last_id": report.last_closed_transfer_id,
                "sum": report.closed_transfer_total,
            },
        )
        if report.discrepancies:
            self.stderr.write(
                f"{len(report.discrepancies)} discrepancies:"
                " make no payments until they are explained."
            )
            sys.exit(1)


def _serialize_discrepancy(discrepancy: Discrepancy) -> dict[str, str]:
    values = asdict(discrepancy)
    return {"equation": values.pop("invariant"), **values}


def _render_summary(report: ReconciliationReport) -> str:
    lines = [
        f"{row.invariant} {row.account}: {row.row}: stored {row.stored},"
        f" computed {row.computed}"
        for row in report.discrepancies
    ]
    if not lines:
        lines = [
            f"{report.ledger_account_count} ledger accounts,"
            f" {report.transfer_count} transfers,"
            f" {report.negative_balance_count} balances below zero: OK"
        ]
    return "\n".join(lines)
