from datetime import datetime
from typing import Any

from accounts.commands import AccountCommand
from accounts.models.accounts import Account

COLUMNS = ("prefix", "created_at", "revoked_at")
TITLES = ("Prefix", "Created", "Revoked")


class Command(AccountCommand):
    help = "List the account's signing secrets, newest first."

    def run_for_account(
        self, account: Account, *, at: datetime, **options: Any
    ) -> None:
        rows = list(account.signing_secrets.order_by("-id").values(*COLUMNS))
        table = [tuple(row.values()) for row in rows]
        self.write_table(TITLES, table, signing_secrets=rows)
