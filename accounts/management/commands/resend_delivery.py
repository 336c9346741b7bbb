from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import AccountCommand, parse_id_argument
from accounts.models.accounts import Account
from accounts.services.deliveries import resend_delivery


class Command(AccountCommand):
    help = "Resend a delivery, with all its retries, regardless of its status."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "delivery",
            metavar="DELIVERY",
            type=parse_id_argument,
            help="the ID that list_deliveries prints",
        )

    def run_for_account(
        self, account: Account, *, at: datetime, delivery: int = 0, **options: Any
    ) -> None:
        resent = resend_delivery(account, delivery_id=delivery, at=at)
        self.write_result(
            f"Delivery {resent.pk} is sent again",
            delivery=resent.pk,
            due_at=resent.due_at,
        )
