from typing import Any

from accounts.commands import AccountListCommand
from accounts.models.accounts import Account


class Command(AccountListCommand):
    help = "List the account's payout runs, newest first."
    key = "payout_runs"
    default_limit = 100
    columns = {
        "public_id": "ID",
        "state": "State",
        "due_before": "Due before",
        "created_by": "Made by",
        "created_at": "Made",
        "confirmed_by": "Confirmed by",
        "confirmed_at": "Confirmed",
        "note": "Note",
    }
    json_keys = {"public_id": "run"}

    def list_rows(self, account: Account, **options: Any) -> Any:
        return account.payout_runs.order_by("-id")
