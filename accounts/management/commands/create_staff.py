import sys
from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import TellingCommand
from accounts.models.keys import Role
from accounts.services.accounts import account_named
from accounts.services.staff import invite_staff


class Command(TellingCommand):
    help = "Make a back-office sign-in that sees one account alone."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("email", metavar="EMAIL")
        parser.add_argument("--account", required=True, metavar="ACCOUNT")
        parser.add_argument("--role", choices=Role.values, default=Role.OWNER.value)
        parser.add_argument(
            "--password-stdin",
            action="store_true",
            help="read the password, one line; without, one is made and printed",
        )

    def work(
        self,
        *,
        at: datetime,
        email: str = "",
        account: str = "",
        role: str = Role.OWNER,
        password_stdin: bool = False,
        **options: Any,
    ) -> None:
        password = sys.stdin.readline().rstrip("\n") if password_stdin else None
        user, made = invite_staff(
            account_named(account), email=email, role=role, password=password, at=at
        )
        self.tell(
            "\n".join(it for it in (user.email, made) if it),
            email=user.email,
            account=account,
            role=user.role,
            password=made,
        )
