from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import JsonCommand
from accounts.services.accounts import create_account


class Command(JsonCommand):
    help = "Create an account (a tenant) on a plan."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("account", metavar="ACCOUNT", help="the account's slug")
        parser.add_argument("--name", required=True, help="the company's name")
        parser.add_argument("--plan", default="pro", help="default: pro")
        parser.add_argument(
            "--use-payouts",
            action="store_true",
            help="the account pays through the payout feature",
        )
        parser.add_argument(
            "--pending-as-null",
            action="store_true",
            help="pending commissions have approved: null",
        )

    def run(self, *, at: datetime, **options: Any) -> None:
        account = create_account(
            slug=options["account"],
            name=options["name"],
            plan=options["plan"],
            uses_payouts=options["use_payouts"],
            pending_as_null=options["pending_as_null"],
            at=at,
        )
        self.write_result(
            account.slug,
            account=account.slug,
            name=account.name,
            plan=account.plan.name,
            use_payouts=account.uses_payouts,
            pending_as_null=account.pending_as_null,
        )
