from typing import Any

from accounts.commands import AccountListCommand
from accounts.models.accounts import Account


class Command(AccountListCommand):
    help = "List who signs in to the back office of an account."
    key = "staff"
    columns = {
        "email": "E-mail address",
        "role": "Role",
        "is_active": "Active",
        "last_login": "Last sign-in",
        "created_at": "Created",
    }

    def list_rows(self, account: Account, **options: Any) -> Any:
        return account.staff.order_by("email")
