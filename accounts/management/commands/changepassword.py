import sys
from datetime import datetime
from getpass import getpass
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import JsonCommand
from accounts.services.staff import get_staff_user_to_sign_in, set_password


class Command(JsonCommand):
    help = "Set the password of a back-office user, or of an operator."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("email", metavar="EMAIL")
        parser.add_argument(
            "--account",
            metavar="ACCOUNT",
            help='needed if the address signs in to several; "" for an operator',
        )
        parser.add_argument(
            "--password-stdin",
            action="store_true",
            help="read the password from standard input (one line)",
        )

    def run(
        self,
        *,
        at: datetime,
        email: str = "",
        account: str | None = None,
        password_stdin: bool = False,
        **options: Any,
    ) -> None:
        user = get_staff_user_to_sign_in(email, account=account)
        if password_stdin:
            password = sys.stdin.readline().rstrip("\n")
        else:
            password = getpass(f"New password of {user}: ")
        set_password(user, password, at=at)
        slug = user.account.slug if user.account else None
        self.write_result(
            f"Password changed: {user} ({slug or 'operator'})",
            email=user.email,
            account=slug,
        )
