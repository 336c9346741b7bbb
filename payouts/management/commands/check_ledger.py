import sys
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import TellingCommand
from accounts.engines import one_snapshot
from accounts.models.accounts import Account
from accounts.services.accounts import account_named, note_proof
from payouts.services.proof import Report, prove


class Command(TellingCommand):
    help = "Recompute every balance from the transfers and prove the books. Reads only,"
    help += " but with --note."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--account", metavar="ACCOUNT", help="this one alone")
        parser.add_argument(
            "--note", action="store_true", help="let the dashboards show the result"
        )

    def work(
        self,
        *,
        at: datetime,
        note: bool = False,
        account: str | None = None,
        **options: Any,
    ) -> None:
        accounts = [account_named(account)] if account else list(Account.objects.all())
        with one_snapshot():
            report = prove(accounts, at=at)
        for one in accounts if note else ():
            differing = report.differing_rows(one)
            note_proof(one, differing_rows=differing, at=at)
        self.tell(
            _summary(report),
            ok=not report.failures,
            checked={
                "ledger_accounts": report.ledger_accounts,
                "transfers": report.transfers,
                "balances_below_zero": report.below_nought,
            },
            failures=[asdict(failure) for failure in report.failures],
            closed_days={
                "count": report.closed_count,
                "last_id": report.closed_last_id,
                "sum": report.closed_sum,
            },
        )
        if report.failures:
            self.stderr.write(
                f"{len(report.failures)} rows differ: pay nobody before you know why."
            )
            sys.exit(1)


def _summary(report: Report) -> str:
    lines = [
        f"{it.equation} {it.account}: {it.row}: stored {it.stored},"
        f" computed {it.computed}"
        for it in report.failures
    ]
    if not lines:
        lines = [
            f"{report.ledger_accounts} ledger accounts, {report.transfers} transfers,"
            f" {report.below_nought} balances below zero: OK"
        ]
    return "\n".join(lines)
