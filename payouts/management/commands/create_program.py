from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import AccountCommand, parse_amount_argument
from accounts.models.accounts import Account
from payouts.models.commission_types import RateKind
from payouts.services.programs import ProgramSettings, create_program
from tracking.models.programs import Visibility


class Command(AccountCommand):
    help = "Create a program with its commission type `standard`."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("program", metavar="PROGRAM", help="the program's slug")
        parser.add_argument("--title", required=True)
        parser.add_argument("--currency", required=True, help="ISO 4217, e.g. EUR")
        parser.add_argument(
            "--cookie-time", type=int, default=45, metavar="DAYS", help="default: 45"
        )
        rate = parser.add_mutually_exclusive_group()
        rate.add_argument(
            "--commission-percent",
            type=parse_amount_argument,
            metavar="P",
            help="default: 10",
        )
        rate.add_argument("--commission-fixed", type=parse_amount_argument, metavar="A")
        parser.add_argument("--landing-page", default="", metavar="URL")
        parser.add_argument(
            "--visibility",
            choices=Visibility.values,
            default=Visibility.PUBLIC.value,
            help="who finds it in the portal: everybody (default), who has its link, or who is"
            " invited",
        )
        parser.add_argument("--auto-approve-affiliates", action="store_true")
        parser.add_argument("--auto-approve-commissions", action="store_true")

    def run_for_account(self, account: Account, *, at: datetime, **options: Any) -> None:
        settings = ProgramSettings(
            title=options["title"],
            currency=options["currency"],
            cookie_time=options["cookie_time"],
            landing_page=options["landing_page"],
            visibility=options["visibility"],
            auto_approve_affiliates=options["auto_approve_affiliates"],
            auto_approve_commissions=options["auto_approve_commissions"],
            **_get_rate(options),
        )
        program = create_program(account, slug=options["program"], settings=settings, at=at)
        self.write_result(
            program.slug,
            program=program.slug,
            title=program.title,
            currency=program.currency,
            cookie_time=program.cookie_time,
        )


def _get_rate(options: dict[str, Any]) -> dict[str, Any]:
    if options["commission_fixed"] is not None:
        return {"rate_kind": RateKind.FIXED, "rate": options["commission_fixed"]}
    if options["commission_percent"] is not None:
        return {"rate": options["commission_percent"]}
    return {}
