from argparse import BooleanOptionalAction
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from accounts.services.accounts import update_page_tracking
from tracking.services.programs import update_program

PROGRAM_SWITCHES = ("auto_approve_browser_sales", "trust_browser_customers")


class Command(AccountCommand):
    help = (
        "Set what the pages of a shop may report: limits of the account, and how far a"
        " program trusts them. Without an option it shows the settings."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--require-signatures",
            action=BooleanOptionalAction,
            help="drop unsigned conversions and customers",
        )
        parser.add_argument(
            "--max-browser-amount",
            type=int,
            metavar="UNITS",
            help="the highest amount of an unsigned conversion",
        )
        parser.add_argument("--program", metavar="PROGRAM", help="the program's slug")
        parser.add_argument(
            "--auto-approve-browser-sales",
            action=BooleanOptionalAction,
            help="approve its commissions as those of API calls",
        )
        parser.add_argument(
            "--trust-browser-customers",
            action=BooleanOptionalAction,
            help="customers that pages name need no confirmation",
        )

    def run_for_account(
        self,
        account: Account,
        *,
        at: datetime,
        program: str | None = None,
        **options: Any,
    ) -> None:
        switches = {name: options[name] for name in PROGRAM_SWITCHES if options[name] is not None}
        if program is None and switches:
            raise CommandError("these switches belong to a program: add --program")
        update_page_tracking(
            account,
            require_signatures=options["require_signatures"],
            max_browser_amount=options["max_browser_amount"],
            at=at,
        )
        result: dict[str, Any] = {
            "account": account.slug,
            "require_signatures": account.require_signatures,
            "max_browser_amount": account.max_browser_amount,
        }
        if program is not None:
            changed = update_program(account, slug=program, changes=switches, at=at)
            result |= {"program": changed.slug} | {
                name: getattr(changed, name) for name in PROGRAM_SWITCHES
            }
        self.write_table(("Setting", "Value"), list(result.items()), **result)
