from datetime import datetime
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import INTEGER_PATTERN, AccountCommand, parse_id_argument
from accounts.models.accounts import Account
from payouts.explanation import render_explanation, render_verification
from payouts.services.explanation import explain_conversion
from tracking.errors import ConversionNotFound

MAX_NAMED = 20


class Command(AccountCommand):
    help = "Explain one conversion: attribution, commission calculation and transfers."
    arguments = {"conversion": "its ID, or the order ID that the shop gave it"}

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--verify",
            action="store_true",
            help="attribute and calculate again; exit 1 when anything differs",
        )

    def run_for_account(self, account: Account, *, at: datetime, **options: Any) -> None:
        conversion_id = find_conversion_id(account, options["conversion"])
        explanation = explain_conversion(account, conversion_id=conversion_id)
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


def find_conversion_id(account: Account, text: str) -> int:
    """Return the ID of a conversion that is named by its ID, or else its order ID."""
    if INTEGER_PATTERN.fullmatch(text):
        pk = parse_id_argument(text)
        if account.conversions.filter(pk=pk).exists():
            return pk
    rows = account.conversions.filter(external_id=text).order_by("id")
    found = list(rows.values_list("pk", flat=True)[: MAX_NAMED + 1])
    if len(found) > 1:
        names = ", ".join(map(str, found[:MAX_NAMED]))
        raise CommandError(f"Several conversions have this order ID, name one: {names}")
    if not found:
        raise ConversionNotFound
    return found[0]
