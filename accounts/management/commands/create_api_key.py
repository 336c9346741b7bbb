from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from accounts.models.keys import Role
from accounts.services.keys import issue


class Command(AccountCommand):
    help = "Make an API key. It is shown this once and stored hashed."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--name", default="", help="a label, to know it again")
        role = parser.add_mutually_exclusive_group()
        role.add_argument("--role", choices=Role.values, default=Role.OWNER.value)
        role.add_argument(
            "--read-only",
            action="store_const",
            const=Role.VIEWER.value,
            dest="role",
            help="the same as --role viewer",
        )

    def act(
        self,
        account: Account,
        *,
        at: datetime,
        name: str = "",
        role: str = Role.OWNER,
        **options: Any,
    ) -> None:
        key, text = issue(account, name=name, role=role, at=at)
        self.tell(text, key=text, prefix=key.prefix, name=key.name, role=key.role)
