import sys
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import JsonCommand
from accounts.db_compat import use_snapshot
from accounts.services.accounts import get_account
from accounts.services.command_runs import record_command_run
from payouts.services.ledger_digests import DigestReport, count_covered_rows
from payouts.services.ledger_invariants import Discrepancy
from payouts.services.reconciliation import (
    ReconciliationReport,
    reconcile,
    reconcile_all,
    record_result,
)


class Command(JsonCommand):
    help = "Reconcile the ledger: recompute every balance from the transfers and check"
    help += " every invariant. Read-only, except with --note."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        scope = parser.add_mutually_exclusive_group()
        scope.add_argument(
            "account",
            nargs="?",
            metavar="ACCOUNT",
            help="check only this account; no digests",
        )
        scope.add_argument(
            "--expect",
            metavar="DIGEST",
            help="fail unless this digest, printed earlier, is still in the chain",
        )
        parser.add_argument(
            "--note",
            action="store_true",
            help="store the result for the dashboards, and the digest of new rows",
        )

    def run(
        self,
        *,
        at: datetime,
        note: bool = False,
        account: str | None = None,
        expect: str | None = None,
        **options: Any,
    ) -> None:
        with (
            use_snapshot(),
            self.show_progress("Rows", total=count_covered_rows) as bar,
        ):
            report = (
                reconcile([get_account(account)], at=at)
                if account
                else reconcile_all(at=at, expected_digest=expect, on_rows=bar.advance)
            )
        if note:
            record_result(report, at=at)
            if account is None:
                record_command_run(self.command_name, at=at)
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
            digest=_serialize_digest(report.digest_report),
        )
        if report.discrepancies:
            self.stderr.write(
                f"{len(report.discrepancies)} discrepancies:"
                " make no payments until they are explained."
            )
            sys.exit(1)


def _serialize_digest(report: DigestReport | None) -> dict[str, Any] | None:
    """Return the last digest of the chain, or None if there is none."""
    if report is None or report.head is None:
        return None
    return {
        "digest": report.head.digest,
        "sealed_until": report.head.sealed_until,
        "links": len(report.digests),
    }


def _serialize_discrepancy(discrepancy: Discrepancy) -> dict[str, str]:
    values = asdict(discrepancy)
    return {"equation": values.pop("invariant"), **values}


def _render_summary(report: ReconciliationReport) -> str:
    lines = [
        f"{row.invariant} {row.account}: {row.row}: stored {row.stored}, computed {row.computed}"
        for row in report.discrepancies
    ]
    if not lines:
        lines = [
            f"{report.ledger_account_count} ledger accounts,"
            f" {report.transfer_count} transfers,"
            f" {report.negative_balance_count} balances below zero: OK"
        ]
    if report.digest_report:
        lines.append(_render_digest(report.digest_report))
    return "\n".join(lines)


def _render_digest(report: DigestReport) -> str:
    if report.head is None:
        return "no digest yet: --note stores the first when there are rows older than an hour"
    until = f"{report.head.sealed_until:%Y-%m-%d %H:%M:%S} UTC"
    return f"digest {report.head.digest} of the rows before {until}"
