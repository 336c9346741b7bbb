from datetime import datetime
from typing import Any

from accounts.commands import AccountCommand
from accounts.models.accounts import Account

COLUMNS = ("prefix", "name", "role", "created_at", "last_used_at", "revoked_at")
TITLES = ("Prefix", "Label", "Role", "Created", "Last used", "Revoked")


class Command(AccountCommand):
    help = "List the account's API keys, newest first."

    def run_for_account(
        self, account: Account, *, at: datetime, **options: Any
    ) -> None:
        keys = account.api_keys.order_by("-created_at", "-id").values(*COLUMNS)
        self.write_table(
            TITLES, [tuple(key.values()) for key in keys], api_keys=list(keys)
        )
