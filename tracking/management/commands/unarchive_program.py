from datetime import datetime
from typing import Any

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from tracking.services.programs import unarchive_program


class Command(AccountCommand):
    help = "Unarchive a program."
    arguments = {"program": "the program's slug"}

    def run_for_account(
        self, account: Account, *, at: datetime, program: str = "", **options: Any
    ) -> None:
        changed = unarchive_program(account, slug=program, at=at)
        self.write_result(
            f"{changed.slug} takes new sales again",
            program=changed.slug,
            archived_at=changed.archived_at,
        )
