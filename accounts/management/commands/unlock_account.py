from datetime import datetime
from typing import Any

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from accounts.services.accounts import unlock_account


class Command(AccountCommand):
    help = "Unlock an account: tracking requests are accepted again."

    def run_for_account(self, account: Account, *, at: datetime, **options: Any) -> None:
        unlock_account(account, at=at)
        self.write_result(f"{account} is unlocked", account=account.slug, locked=False)
