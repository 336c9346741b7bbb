from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import AccountCommand, add_events_argument
from accounts.models.accounts import Account
from accounts.models.webhooks import PostbackMethod
from tracking.services.postbacks import create_postback


class Command(AccountCommand):
    help = (
        "Create an affiliate postback: a URL with macros that is called for the"
        " affiliate's conversions and customers."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("affiliate", metavar="AFFILIATE", help="the affiliate ID")
        parser.add_argument(
            "url",
            metavar="URL",
            help="e.g. https://track.example.net/?s=${click_subid}"
            "&a=${commission_amount}&c=${currency}",
        )
        parser.add_argument(
            "--method", choices=PostbackMethod.values, default=PostbackMethod.GET.value
        )
        add_events_argument(parser)

    def run_for_account(
        self,
        account: Account,
        *,
        at: datetime,
        affiliate: str = "",
        url: str = "",
        method: str = PostbackMethod.GET,
        events: Sequence[str] = (),
        **options: Any,
    ) -> None:
        postback = create_postback(
            account,
            affiliate_id=affiliate,
            url=url,
            method=method,
            events=events,
            at=at,
        )
        self.write_result(
            postback.public_id,
            webhook=postback.public_id,
            affiliate=postback.affiliate,
            url=postback.url,
            method=postback.method,
            events=postback.events,
        )
