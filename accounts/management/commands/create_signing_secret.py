from datetime import datetime
from typing import Any

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from accounts.services.api_keys import create_signing_secret


class Command(AccountCommand):
    help = (
        "Create a secret that signs what pages report. It is shown only once; two can"
        " be valid while a shop changes over."
    )

    def run_for_account(self, account: Account, *, at: datetime, **options: Any) -> None:
        secret = create_signing_secret(account, at=at)
        self.write_result(secret.secret, secret=secret.secret, prefix=secret.prefix)
