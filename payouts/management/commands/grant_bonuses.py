from collections import defaultdict
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import TellingCommand
from accounts.errors import Rejected
from accounts.models.accounts import Account
from accounts.services.accounts import account_named
from payouts.services.bonuses import grant_bonuses
from tracking.money import spelled


class Command(TellingCommand):
    help = "Grant the bonuses of periods that are over. A second run grants none."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--account", metavar="ACCOUNT", help="this one alone")

    def work(self, *, at: datetime, account: str | None = None, **options: Any) -> None:
        everybody = Account.objects.select_related("plan").order_by("id")
        accounts = [account_named(account)] if account else list(everybody)
        totals: dict[str, Decimal] = defaultdict(Decimal)
        granted = 0
        refused = []
        for each in accounts:
            try:
                for commission in grant_bonuses(each, at=at):
                    granted += 1
                    totals[commission.currency] += commission.amount
            except Rejected as refusal:
                refused.append(f"{each.slug}: {refusal}")
        lines = [f"{granted} bonuses"]
        lines += [spelled(totals[it], it) for it in sorted(totals)]
        self.tell(
            "\n".join(lines), granted=granted, totals=dict(sorted(totals.items()))
        )
        if refused:
            raise CommandError(f"Not every bonus was granted: {'; '.join(refused)}")
