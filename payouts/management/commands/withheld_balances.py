from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from payouts.services.payout_limits import lift_withheld_balance


class Command(AccountCommand):
    help = "List the balances that payout runs leave out until somebody lifts that."
    json_help = "withheld (affiliate, currency, reason, created_by, created_at)"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--lift",
            metavar="AFFILIATE=EUR",
            help="no longer withhold this balance, then list the others",
        )

    def run_for_account(self, account: Account, *, at: datetime, **options: Any) -> None:
        if options["lift"]:
            slug, _, currency = options["lift"].rpartition("=")
            lift_withheld_balance(account, affiliate_id=slug, currency=currency.upper(), at=at)
        columns = ("affiliate__slug", "currency", "reason", "created_by", "created_at")
        rows = account.withheld_balances.order_by("affiliate", "currency")
        withheld = [
            {name.removesuffix("__slug"): value for name, value in row.items()}
            for row in rows.values(*columns)
        ]
        self.write_table(
            ("Affiliate", "Currency", "Reason", "By", "Since"),
            [tuple(row.values()) for row in withheld],
            withheld=withheld,
        )
