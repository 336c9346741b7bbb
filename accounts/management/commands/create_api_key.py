from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from accounts.models.api_keys import API_KEY_ROLES, Role
from accounts.services.accounts import validate_name
from accounts.services.api_keys import create_api_key


class Command(AccountCommand):
    help = "Create an API key. It is shown only once and stored hashed."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--name", help="label")
        role = parser.add_mutually_exclusive_group()
        role.add_argument(
            "--role",
            choices=[role for role, _ in API_KEY_ROLES],
            default=Role.VIEWER.value,
            help="the default, viewer, only reads",
        )
        role.add_argument(
            "--read-only",
            action="store_const",
            const=Role.VIEWER.value,
            dest="role",
            help="the same as --role viewer",
        )

    def run_for_account(
        self,
        account: Account,
        *,
        at: datetime,
        name: str | None = None,
        role: str = Role.VIEWER,
        **options: Any,
    ) -> None:
        if name is not None:
            validate_name("The label", name)
        key, text = create_api_key(account, name=name or "", role=role, at=at)
        self.write_result(text, key=text, prefix=key.prefix, name=key.name, role=key.role)
