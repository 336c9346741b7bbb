from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import AccountCommand, parse_currency_amount
from accounts.models.accounts import Account
from payouts.services.payout_limits import remove_minimum, set_minimum

COLUMNS = ("affiliate__slug", "currency", "amount")


class Command(AccountCommand):
    help = "List from which balance on affiliates are paid; set or remove one minimum."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--affiliate", metavar="ID", help="the minimum of this affiliate alone")
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--set", type=parse_currency_amount, metavar="EUR=50")
        what.add_argument("--remove", metavar="EUR")

    def run_for_account(self, account: Account, *, at: datetime, **options: Any) -> None:
        affiliate = options["affiliate"]
        if options["set"]:
            currency, amount = options["set"]
            set_minimum(
                account,
                currency=currency,
                amount=amount,
                affiliate_id=affiliate,
                at=at,
            )
        elif options["remove"]:
            currency = options["remove"].upper()
            remove_minimum(account, currency=currency, affiliate_id=affiliate, at=at)
        found = account.payout_minimums.order_by("affiliate__slug", "currency")
        if affiliate:
            found = found.filter(affiliate__slug=affiliate)
        rows = [
            {name.removesuffix("__slug"): value for name, value in row.items()}
            for row in found.values(*COLUMNS)
        ]
        self.write_table(
            ("Affiliate", "Currency", "Minimum"),
            [(row["affiliate"] or "all", row["currency"], row["amount"]) for row in rows],
            minimums=rows,
        )
