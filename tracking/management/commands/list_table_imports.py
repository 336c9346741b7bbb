from typing import Any

from accounts.commands import AccountListCommand
from accounts.models.accounts import Account


class Command(AccountListCommand):
    help = "List the imports of tables, newest first; undo_table_import takes one back."
    key = "table_imports"
    default_limit = 100
    columns = {
        "public_id": "ID",
        "kind": "Kind",
        "file_name": "File",
        "actor": "By",
        "created": "New rows",
        "known": "Known rows",
        "not_stored": "Not stored",
        "created_at": "At",
        "undone_at": "Undone",
    }
    json_keys = {"public_id": "id"}

    def list_rows(self, account: Account, **options: Any) -> Any:
        return account.table_imports.order_by("-id")
