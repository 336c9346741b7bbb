import sys
from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import JsonCommand
from accounts.models.api_keys import Role
from accounts.services.accounts import get_account
from accounts.services.staff import create_staff_user


class Command(JsonCommand):
    help = "Create a back-office user with access to one account."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("email", metavar="EMAIL")
        parser.add_argument("--account", required=True, metavar="ACCOUNT")
        parser.add_argument("--role", choices=Role.values, default=Role.OWNER.value)
        parser.add_argument(
            "--password-stdin",
            action="store_true",
            help="read the password from standard input (one line); without it, a"
            " password is generated and printed",
        )

    def run(
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
        user, generated = create_staff_user(
            get_account(account), email=email, role=role, password=password, at=at
        )
        self.write_result(
            "\n".join(filter(None, [user.email, generated])),
            email=user.email,
            account=account,
            role=user.role,
            password=generated,
        )
