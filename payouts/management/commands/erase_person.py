import sys
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from accounts.commands import AccountCommand
from accounts.db_compat import without_statement_timeout
from accounts.exact_json import format_decimal
from accounts.models.accounts import Account
from payouts.services.erasure import erase_person

KEEP_IDS = "Keep the IDs: after restoring a backup, erase them again."


class Command(AccountCommand):
    help = (
        "Erase the personal data of an affiliate, prospect or customer, whose amounts"
        " stay; who is not removed yet is removed. It cannot be undone."
    )
    arguments = {"id": "an affiliate's ID, cu_…, ap_… or e-mail address"}

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--dry-run", action="store_true", help="erase nothing")
        how.add_argument("--yes", action="store_true", help="do not ask")

    def run_for_account(self, account: Account, *, at: datetime, **options: Any) -> None:
        is_dry_run: bool = options["dry_run"]
        if not is_dry_run and not options["yes"]:
            confirm(options["id"])
        with without_statement_timeout(), transaction.atomic():
            erasure = erase_person(account, identifier=options["id"], at=at)
            transaction.set_rollback(is_dry_run)
        title, closing = "Erased", KEEP_IDS
        if is_dry_run:
            title, closing = "Would be erased", "Nothing was erased."
        due = [
            f"Balance due to {person}: {format_decimal(amount)} {currency}. It stays"
            " payable, but there is no payout method any more."
            for person, totals in erasure.balances.items()
            for currency, amount in totals.items()
        ]
        self.write_result(
            "\n".join(
                [
                    *(f"{title}: {person}" for person in erasure.ids),
                    f"Rows: {erasure.row_count}",
                    *due,
                    closing,
                ]
            ),
            account=account.slug,
            ids=erasure.ids,
            rows=erasure.row_count,
            balances=erasure.balances,
            dry_run=is_dry_run,
        )


def confirm(identifier: str) -> None:
    """Ask at the terminal; raise `CommandError` without a yes."""
    if not sys.stdin.isatty():
        raise CommandError("Erasure cannot be undone: add --yes, or --dry-run first.")
    answer = input(f"Erase {identifier}? It cannot be undone. Type yes: ")
    if answer.strip().lower() != "yes":
        raise CommandError("Nothing was erased.")
