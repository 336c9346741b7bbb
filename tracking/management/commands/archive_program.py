from datetime import datetime
from typing import Any

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from tracking.services.programs import archive_program


class Command(AccountCommand):
    help = "Archive a program: it accepts no clicks, customers, sales and affiliates."
    arguments = {"program": "the program's slug"}

    def run_for_account(
        self, account: Account, *, at: datetime, program: str = "", **options: Any
    ) -> None:
        changed = archive_program(account, slug=program, at=at)
        self.write_result(
            f"{changed.slug} is archived: it takes no new sales",
            program=changed.slug,
            archived_at=changed.archived_at,
        )
