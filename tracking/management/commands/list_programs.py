from typing import Any

from accounts.commands import AccountListCommand
from accounts.models.accounts import Account


class Command(AccountListCommand):
    help = "List the account's programs, oldest first."
    key = "programs"
    columns = {
        "slug": "ID",
        "title": "Title",
        "currency": "Currency",
        "archived_at": "Archived",
    }
    json_keys = {"slug": "program"}

    def list_rows(self, account: Account, **options: Any) -> Any:
        return account.programs.order_by("created_at", "id")
