from datetime import datetime
from typing import Any

from accounts.commands import JsonCommand
from accounts.models.accounts import Account

COLUMNS = {
    "slug": "Account",
    "name": "Name",
    "plan__name": "Plan",
    "locked_at": "Locked",
    "created_at": "Created",
}
KEYS = {"slug": "account", "plan__name": "plan"}  # of JSON


class Command(JsonCommand):
    help = "List all accounts of this installation."

    def run(self, *, at: datetime, **options: Any) -> None:
        rows = list(Account.objects.order_by("slug").values(*COLUMNS))
        output = [{KEYS.get(it, it): value for it, value in row.items()} for row in rows]
        table = [tuple(row.values()) for row in rows]
        self.write_table(tuple(COLUMNS.values()), table, accounts=output)
