from typing import Any

from accounts.commands import AccountListCommand
from accounts.models.accounts import Account


class Command(AccountListCommand):
    help = "List the account's signing secrets, newest first."
    key = "signing_secrets"
    columns = {"prefix": "Prefix", "created_at": "Created", "revoked_at": "Revoked"}

    def list_rows(self, account: Account, **options: Any) -> Any:
        return account.signing_secrets.order_by("-id")
