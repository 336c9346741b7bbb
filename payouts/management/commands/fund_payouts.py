from datetime import datetime
from decimal import Decimal
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import AccountCommand, amount
from accounts.models.accounts import Account
from payouts.services.funding import top_up
from tracking.money import spelled


class Command(AccountCommand):
    help = "Add to the account's payout balance. Each run adds."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("amount", metavar="AMOUNT", type=amount, help="above 0")
        parser.add_argument("currency", metavar="CURRENCY", help="ISO 4217, e.g. EUR")

    def act(self, account: Account, *, at: datetime, **options: Any) -> None:
        added: Decimal = options["amount"]
        currency, balance = top_up(
            account, amount=added, currency=options["currency"], at=at
        )
        self.tell(spelled(balance, currency), currency=currency, balance=balance)
