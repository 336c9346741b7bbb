from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from accounts.services.deliveries import log_of

TITLES = (
    "Number",
    "Id",
    "Event",
    "Subject",
    "Made",
    "Tries",
    "Last try",
    "Status",
    "Trouble",
    "Delivered",
    "Next try",
)


class Command(AccountCommand):
    help = "List what a webhook was told or is to be told, the newest 100 first."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("webhook", metavar="WEBHOOK", help="its id, we_…")
        parser.add_argument(
            "--failed",
            action="store_true",
            help="only those whose last try failed",
        )

    def act(
        self,
        account: Account,
        *,
        at: datetime,
        webhook: str = "",
        failed: bool = False,
        **options: Any,
    ) -> None:
        rows = log_of(account, webhook=webhook, failed=failed)
        told = [
            tuple(value for name, value in row.items() if name != "answer")
            for row in rows
        ]
        self.tell_table(TITLES, told, deliveries=rows)
