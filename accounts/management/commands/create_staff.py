import sys
from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from accounts.models.api_keys import Role
from accounts.services.staff import create_staff_user


class Command(AccountCommand):
    help = "Create a back-office user with access to one account."
    arguments = {"email": "the address that signs in"}

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--role", choices=Role.values, required=True)
        parser.add_argument(
            "--password-stdin",
            action="store_true",
            help="read the password from standard input (one line); without it, a"
            " password is generated and printed",
        )

    def run_for_account(
        self,
        account: Account,
        *,
        at: datetime,
        email: str = "",
        role: str = "",
        password_stdin: bool = False,
        **options: Any,
    ) -> None:
        password = sys.stdin.readline().rstrip("\n") if password_stdin else None
        user, generated = create_staff_user(
            account, email=email, role=role, password=password, at=at
        )
        self.write_result(
            "\n".join(filter(None, [user.email, generated])),
            email=user.email,
            account=account.slug,
            role=user.role,
            password=generated,
        )
