from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import AccountCommand, number
from accounts.models.accounts import Account
from accounts.services.deliveries import send_again


class Command(AccountCommand):
    help = "Send a delivery once more, with all its retries, whatever became of it."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "delivery", metavar="DELIVERY", type=number, help="see list_deliveries"
        )

    def act(
        self, account: Account, *, at: datetime, delivery: int = 0, **options: Any
    ) -> None:
        again = send_again(account, number=delivery, at=at)
        self.tell(None, delivery=again.pk, due_at=again.due_at)
