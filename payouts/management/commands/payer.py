from argparse import ArgumentTypeError
from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from payouts.services.payout_settings import (
    PAYER_COLUMNS,
    build_payer,
    get_payout_settings,
    update_payout_settings,
)


class Command(AccountCommand):
    help = "Show who pays, as bank files name it; --set changes a part."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--set",
            type=parse_part,
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help=f"one of {', '.join(PAYER_COLUMNS)} (repeatable)",
        )

    def run_for_account(self, account: Account, *, at: datetime, **options: Any) -> None:
        payer = build_payer(get_payout_settings(account))
        if options["set"]:
            payer |= dict(options["set"])  # an address is checked as a whole
            changes = {PAYER_COLUMNS[name]: text for name, text in payer.items()}
            payer = build_payer(update_payout_settings(account, changes=changes, at=at))
        self.write_table(("Part", "Value"), list(payer.items()), payer=payer)


def parse_part(text: str) -> tuple[str, str]:
    """Parse `NAME=VALUE`."""
    name, mark, value = text.partition("=")
    if not mark or name not in PAYER_COLUMNS:
        names = ", ".join(PAYER_COLUMNS)
        raise ArgumentTypeError(f"{text!r} is not NAME=VALUE with one of {names}")
    return name, value.strip()
