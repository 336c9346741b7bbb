from datetime import datetime
from typing import Any

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from accounts.services.accounts import set_plan


class Command(AccountCommand):
    help = "Move an account to another plan."
    arguments = {"plan": "basic, pro or enterprise"}

    def run_for_account(
        self, account: Account, *, at: datetime, plan: str = "", **options: Any
    ) -> None:
        set_plan(account, plan=plan, at=at)
        self.write_result(
            f"{account} has the plan {account.plan.name}",
            account=account.slug,
            plan=account.plan.name,
        )
