from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from accounts.models.api_keys import Role
from accounts.services.staff import (
    activate_staff_user,
    deactivate_staff_user,
    get_staff_user,
    remove_second_factor,
    update_email,
    update_role,
)


class Command(AccountCommand):
    help = "Change one thing about a back-office user."
    arguments = {"email": "the user's e-mail address"}

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--role", choices=Role.values)
        what.add_argument("--email", dest="new_email", help="the address of future sign-ins")
        what.add_argument("--deactivate", action="store_true", help="ends all sessions")
        what.add_argument("--activate", action="store_true", help="prints a new password")
        what.add_argument(
            "--remove-second-factor",
            action="store_true",
            help="the password alone signs in, until another one is set up",
        )

    def run_for_account(
        self, account: Account, *, at: datetime, email: str = "", **options: Any
    ) -> None:
        password = None
        if role := options["role"]:
            update_role(account, email=email, role=role, by=None, at=at)
            text = f"{email} has the role {role}"
        elif (new_email := options["new_email"]) is not None:
            old_email = email
            email = update_email(account, email=email, new_email=new_email, at=at).email
            text = f"{old_email} signs in as {email}"
        elif options["deactivate"]:
            deactivate_staff_user(account, email=email, by=None, at=at)
            text = f"{email} can no longer sign in"
        elif options["activate"]:
            password = activate_staff_user(account, email=email, by=None, at=at)
            text = f"{email} signs in with {password}"
        else:
            remove_second_factor(get_staff_user(account, email), at=at)
            text = f"{email} signs in without a second factor"
        user = get_staff_user(account, email)
        self.write_result(
            text,
            account=account.slug,
            email=user.email,
            role=user.role,
            is_active=user.is_active,
            password=password,
        )
