from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import AccountCommand
from accounts.models.accounts import Account
from accounts.services.webhooks import add_webhook


class Command(AccountCommand):
    help = "Tell a URL of changes, signed. Prints its id, and this once its secret."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("url", metavar="URL", help="https, port 443")
        parser.add_argument(
            "--event",
            action="append",
            default=[],
            dest="events",
            metavar="NAME",
            help="of this event alone, like conversion.created; may be repeated",
        )

    def act(
        self,
        account: Account,
        *,
        at: datetime,
        url: str = "",
        events: Sequence[str] = (),
        **options: Any,
    ) -> None:
        webhook = add_webhook(account, url=url, events=events, at=at)
        self.tell(
            f"{webhook}\n{webhook.secret}",
            webhook=webhook.public_id,
            url=webhook.url,
            events=webhook.events,
            secret=webhook.secret,
        )
