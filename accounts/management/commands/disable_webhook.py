from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from accounts.services.webhooks import disable, webhook_named


class Command(AccountCommand):
    help = "Tell a webhook nothing more: what waits waits, what comes is not kept."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("webhook", metavar="WEBHOOK", help="its id, we_…")

    def act(
        self, account: Account, *, at: datetime, webhook: str = "", **options: Any
    ) -> None:
        endpoint = webhook_named(account, webhook)
        disable(endpoint, at=at)
        self.tell(None, webhook=webhook, disabled_at=endpoint.disabled_at)
