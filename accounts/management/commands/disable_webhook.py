from datetime import datetime
from typing import Any

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from accounts.services.webhooks import disable_webhook, get_webhook


class Command(AccountCommand):
    help = "Disable a webhook: pending deliveries wait, new events are not recorded for it."
    arguments = {"webhook": "the webhook ID, we_…"}

    def run_for_account(
        self, account: Account, *, at: datetime, webhook: str = "", **options: Any
    ) -> None:
        endpoint = get_webhook(account, webhook)
        disable_webhook(endpoint, at=at)
        self.write_result(
            f"{webhook} is disabled", webhook=webhook, disabled_at=endpoint.disabled_at
        )
