from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from accounts.services.keys import revoke


class Command(AccountCommand):
    help = "Revoke an API key: it answers 401 from the next request on."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "prefix", metavar="PREFIX", help="the key's first 12 characters"
        )

    def act(
        self, account: Account, *, at: datetime, prefix: str = "", **options: Any
    ) -> None:
        key = revoke(account, prefix=prefix, at=at)
        self.tell(None, prefix=key.prefix, revoked_at=key.revoked_at)
