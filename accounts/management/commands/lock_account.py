from datetime import datetime
from typing import Any

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from accounts.services.accounts import lock_account


class Command(AccountCommand):
    help = "Lock an account: tracking requests are rejected until it is unlocked."

    def run_for_account(self, account: Account, *, at: datetime, **options: Any) -> None:
        lock_account(account, at=at)
        self.write_result(
            f"{account} is locked: tracking requests are refused",
            account=account.slug,
            locked=True,
        )
