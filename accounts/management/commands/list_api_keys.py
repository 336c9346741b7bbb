from typing import Any

from accounts.commands import AccountListCommand
from accounts.models.accounts import Account


class Command(AccountListCommand):
    help = "List the account's API keys, newest first."
    key = "api_keys"
    columns = {
        "prefix": "Prefix",
        "name": "Label",
        "role": "Role",
        "created_at": "Created",
        "last_used_at": "Last used",
        "revoked_at": "Revoked",
    }

    def list_rows(self, account: Account, **options: Any) -> Any:
        return account.api_keys.order_by("-created_at", "-id")
