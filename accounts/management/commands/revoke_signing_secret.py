from datetime import datetime
from typing import Any

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from accounts.services.api_keys import revoke_signing_secret


class Command(AccountCommand):
    help = "Revoke a signing secret: pages signed with it are refused."
    arguments = {"prefix": "the secret's first 12 characters"}

    def run_for_account(
        self, account: Account, *, at: datetime, prefix: str = "", **options: Any
    ) -> None:
        secret = revoke_signing_secret(account, prefix=prefix, at=at)
        self.write_result(
            f"The secret {secret.prefix}… is revoked",
            prefix=secret.prefix,
            revoked_at=secret.revoked_at,
        )
