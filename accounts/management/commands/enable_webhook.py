from datetime import datetime
from typing import Any

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from accounts.services.webhooks import enable_webhook


class Command(AccountCommand):
    help = "Enable a webhook and send its pending deliveries."
    arguments = {"webhook": "the webhook ID, we_…"}

    def run_for_account(
        self, account: Account, *, at: datetime, webhook: str = "", **options: Any
    ) -> None:
        endpoint = enable_webhook(account, webhook=webhook, at=at)
        self.write_result(
            f"{webhook} is enabled", webhook=webhook, disabled_at=endpoint.disabled_at
        )
