from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from tracking.services.account_settings import update_customer_email_keys


class Command(AccountCommand):
    help = (
        "Set the meta data keys that hold a customer's e-mail address, the best one"
        " first: the back office finds customers by it. With --none it does not."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument(
            "--meta-data-key",
            action="append",
            default=[],
            metavar="KEY",
            help="repeatable",
        )
        which.add_argument("--none", action="store_true", help="no key")

    def run_for_account(self, account: Account, *, at: datetime, **options: Any) -> None:
        update_customer_email_keys(account, keys=options["meta_data_key"], at=at)
        keys = account.customer_email_keys
        result: dict[str, Any] = {"account": account.slug, "customer_email_keys": keys}
        self.write_table(("Setting", "Value"), list(result.items()), **result)
