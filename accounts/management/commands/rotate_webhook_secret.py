from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from accounts.services.webhooks import rotate_secret


class Command(AccountCommand):
    help = "Give a webhook another secret; for 24 h the old one signs as well."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("webhook", metavar="WEBHOOK", help="its id, we_…")

    def act(
        self, account: Account, *, at: datetime, webhook: str = "", **options: Any
    ) -> None:
        endpoint = rotate_secret(account, webhook=webhook, at=at)
        self.tell(
            endpoint.secret,
            webhook=webhook,
            secret=endpoint.secret,
            both_sign_until=endpoint.old_secret_until,
        )
