from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from accounts.services.deliveries import list_deliveries

TITLES = (
    "ID",
    "Message ID",
    "Event",
    "Subject",
    "Created",
    "Attempts",
    "Last attempt",
    "Status",
    "Error",
    "Delivered",
    "Next attempt",
)
JSON_KEYS = {  # of renamed columns
    "message_id": "webhook_id",
    "error": "trouble",
    "response_body": "answer",
}


class Command(AccountCommand):
    help = "List the 100 newest deliveries of a webhook, newest first."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("webhook", metavar="WEBHOOK", help="the webhook ID, we_…")
        parser.add_argument(
            "--failed",
            action="store_true",
            help="only deliveries whose last attempt failed",
        )

    def run_for_account(
        self,
        account: Account,
        *,
        at: datetime,
        webhook: str = "",
        failed: bool = False,
        **options: Any,
    ) -> None:
        deliveries = list_deliveries(account, webhook=webhook, only_failed=failed)
        rows = [
            tuple(value for name, value in row.items() if name != "response_body")
            for row in deliveries
        ]
        output = [
            {JSON_KEYS.get(name, name): value for name, value in row.items()} for row in deliveries
        ]
        self.write_table(TITLES, rows, deliveries=output)
