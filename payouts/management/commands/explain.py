from datetime import datetime
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import AccountCommand, number
from accounts.models.accounts import Account
from payouts.services.explaining import explain
from payouts.telling import proof_of, story_of


class Command(AccountCommand):
    help = "Tell one conversion from the clues that were sent to the cent."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("conversion_id", metavar="CONVERSION_ID", type=number)
        parser.add_argument(
            "--verify",
            action="store_true",
            help="decide and reckon again; exit 1 when anything differs",
        )

    def act(self, account: Account, *, at: datetime, **options: Any) -> None:
        told = explain(account, conversion_id=options["conversion_id"])
        verify: bool = options["verify"]
        self.tell(
            "\n".join([*story_of(told), *(proof_of(told) if verify else [])]),
            conversion=told.conversion,
            attribution=told.attribution,
            commissions=told.commissions,
            verified=not told.differences if verify else None,
        )
        if verify and told.differences:
            raise CommandError("; ".join(told.differences))
