from datetime import datetime
from decimal import Decimal
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import AccountCommand, parse_amount_argument
from accounts.models.accounts import Account
from payouts.services.payout_settings import fund_payouts
from tracking.money import format_amount


class Command(AccountCommand):
    help = "Top up the account's payout balance. Every run adds the amount."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("amount", metavar="AMOUNT", type=parse_amount_argument, help="above 0")
        parser.add_argument("currency", metavar="CURRENCY", help="ISO 4217, e.g. EUR")

    def run_for_account(self, account: Account, *, at: datetime, **options: Any) -> None:
        added: Decimal = options["amount"]
        currency, balance = fund_payouts(account, amount=added, currency=options["currency"], at=at)
        self.write_result(format_amount(balance, currency), currency=currency, balance=balance)
