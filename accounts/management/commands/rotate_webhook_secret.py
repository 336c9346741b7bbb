from datetime import datetime
from typing import Any

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from accounts.services.webhooks import rotate_secret


class Command(AccountCommand):
    help = "Rotate the secret of a webhook; the old secret stays valid for 24 hours."
    arguments = {"webhook": "the webhook ID, we_…"}

    def run_for_account(
        self, account: Account, *, at: datetime, webhook: str = "", **options: Any
    ) -> None:
        endpoint = rotate_secret(account, webhook=webhook, at=at)
        self.write_result(
            endpoint.secret,
            webhook=webhook,
            secret=endpoint.secret,
            both_sign_until=endpoint.old_secret_until,
        )
