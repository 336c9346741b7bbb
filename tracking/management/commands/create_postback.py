from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from accounts.models.webhooks import Method
from tracking.services.postbacks import call_for


class Command(AccountCommand):
    help = "Call a URL of an affiliate's for its sales and customers, macros filled in."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("affiliate", metavar="AFFILIATE", help="its id")
        parser.add_argument(
            "url",
            metavar="URL",
            help="like https://track.example.net/?s=${click_subid}"
            "&a=${commission_amount}&c=${currency}",
        )
        parser.add_argument("--method", choices=Method.values, default=Method.GET.value)
        parser.add_argument(
            "--event",
            action="append",
            default=[],
            dest="events",
            metavar="NAME",
            help="for this event alone, like conversion.created; may be repeated",
        )

    def act(
        self,
        account: Account,
        *,
        at: datetime,
        affiliate: str = "",
        url: str = "",
        method: str = Method.GET,
        events: Sequence[str] = (),
        **options: Any,
    ) -> None:
        postback = call_for(
            account,
            affiliate_id=affiliate,
            url=url,
            method=method,
            events=events,
            at=at,
        )
        self.tell(
            postback.public_id,
            webhook=postback.public_id,
            affiliate=postback.affiliate,
            url=postback.url,
            method=postback.method,
            events=postback.events,
        )
