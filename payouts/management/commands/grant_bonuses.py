from collections import defaultdict
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import JsonCommand
from accounts.errors import InvalidInput
from accounts.services.accounts import get_account, list_accounts
from accounts.services.command_runs import record_command_run
from payouts.services.bonuses import grant_bonuses
from tracking.money import format_amount


class Command(JsonCommand):
    help = "Grant the bonuses of finished periods. Running it again grants nothing twice."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("account", nargs="?", metavar="ACCOUNT", help="only this account")

    def run(self, *, at: datetime, account: str | None = None, **options: Any) -> None:
        accounts = [get_account(account)] if account else list_accounts()
        totals: dict[str, Decimal] = defaultdict(Decimal)
        granted, put_back = 0, []
        errors = []
        for granting_account in accounts:
            with self.go_on_after_errors(granting_account):
                try:
                    run = grant_bonuses(granting_account, at=at)
                except InvalidInput as error:
                    errors.append(f"{granting_account.slug}: {error}")
                    continue
                granted += len(run.granted)
                put_back += [commission.pk for commission in run.put_back]
                for commission in run.granted:
                    totals[commission.currency] += commission.amount
        lines = [f"{granted} bonuses"]
        lines += [format_amount(totals[currency], currency) for currency in sorted(totals)]
        if put_back:
            lines.append(f"put back to pending: commissions {', '.join(map(str, put_back))}")
        self.write_result(
            "\n".join(lines),
            granted=granted,
            totals=dict(sorted(totals.items())),
            put_back=put_back,
        )
        if errors:
            raise CommandError(f"Not every bonus was granted: {'; '.join(errors)}")
        if account is None and not self.failed_accounts:
            record_command_run(self.command_name, at=at)
