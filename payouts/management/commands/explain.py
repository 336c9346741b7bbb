from datetime import datetime
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import AccountCommand, parse_id_argument
from accounts.models.accounts import Account
from payouts.explanation import render_explanation, render_verification
from payouts.services.explanation import explain_conversion


class Command(AccountCommand):
    help = "Explain one conversion: attribution, commission calculation and transfers."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "conversion_id", metavar="CONVERSION_ID", type=parse_id_argument
        )
        parser.add_argument(
            "--verify",
            action="store_true",
            help="attribute and calculate again; exit 1 when anything differs",
        )

    def run_for_account(
        self, account: Account, *, at: datetime, **options: Any
    ) -> None:
        explanation = explain_conversion(
            account, conversion_id=options["conversion_id"]
        )
        verify: bool = options["verify"]
        self.write_result(
            "\n".join(
                [
                    *render_explanation(explanation, at=at),
                    *(render_verification(explanation) if verify else []),
                ]
            ),
            conversion=explanation.conversion,
            attribution=explanation.attribution,
            commissions=explanation.commissions,
            verified=not explanation.differences if verify else None,
        )
        if verify and explanation.differences:
            raise CommandError("; ".join(explanation.differences))
