from datetime import datetime
from typing import Any

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from accounts.services.accounts import lock


class Command(AccountCommand):
    help = "Lock an account: tracking is refused until it is unlocked."

    def act(self, account: Account, *, at: datetime, **options: Any) -> None:
        lock(account, at=at)
        self.tell(None, account=account.slug, locked=True)
