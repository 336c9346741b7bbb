from datetime import datetime
from typing import Any

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from accounts.services.api_keys import revoke_api_key


class Command(AccountCommand):
    help = "Revoke an API key: later requests with it return 401."
    arguments = {"prefix": "the key's first 12 characters"}

    def run_for_account(
        self, account: Account, *, at: datetime, prefix: str = "", **options: Any
    ) -> None:
        key = revoke_api_key(account, prefix=prefix, at=at)
        self.write_result(
            f"The key {key.prefix}… is revoked",
            prefix=key.prefix,
            revoked_at=key.revoked_at,
        )
