from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from tracking.services.programs import archive


class Command(AccountCommand):
    help = "Archive a program: it takes no more conversions and cannot be changed."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("program", metavar="PROGRAM", help="the program's slug")

    def act(
        self, account: Account, *, at: datetime, program: str = "", **options: Any
    ) -> None:
        changed = archive(account, slug=program, at=at)
        self.tell(None, program=changed.slug, archived_at=changed.archived_at)
