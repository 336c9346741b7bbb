from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import AccountCommand, add_events_argument
from accounts.models.accounts import Account
from accounts.services.webhooks import create_webhook


class Command(AccountCommand):
    help = (
        "Create a webhook that sends signed events to a URL."
        " Prints its ID and, only once, its secret."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("url", metavar="URL", help="https, port 443")
        add_events_argument(parser)

    def run_for_account(
        self,
        account: Account,
        *,
        at: datetime,
        url: str = "",
        events: Sequence[str] = (),
        **options: Any,
    ) -> None:
        webhook = create_webhook(account, url=url, events=events, at=at)
        self.write_result(
            f"{webhook}\n{webhook.secret}",
            webhook=webhook.public_id,
            url=webhook.url,
            events=webhook.events,
            secret=webhook.secret,
        )
