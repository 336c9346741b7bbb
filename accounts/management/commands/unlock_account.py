from datetime import datetime
from typing import Any

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from accounts.services.accounts import unlock


class Command(AccountCommand):
    help = "Unlock an account: tracking is accepted again."

    def act(self, account: Account, *, at: datetime, **options: Any) -> None:
        unlock(account, at=at)
        self.tell(None, account=account.slug, locked=False)
