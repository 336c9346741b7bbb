from datetime import datetime
from typing import Any

from accounts.commands import AccountCommand
from accounts.models.accounts import Account


class Command(AccountCommand):
    help = "List the account's programs, oldest first."

    def run_for_account(
        self, account: Account, *, at: datetime, **options: Any
    ) -> None:
        programs = list(
            account.programs.order_by("created_at", "id").values_list(
                "slug", "title", "currency", "archived_at"
            )
        )
        self.write_table(
            ("ID", "Title", "Currency", "Archived"),
            programs,
            programs=[
                {
                    "program": slug,
                    "title": title,
                    "currency": currency,
                    "archived_at": archived_at,
                }
                for slug, title, currency, archived_at in programs
            ],
        )
