from datetime import datetime
from typing import Any

from accounts.commands import AccountCommand
from accounts.models.accounts import Account

COLUMNS = (
    "public_id",
    "url",
    "events",
    "affiliate",
    "method",
    "created_at",
    "failing_since",
    "disabled_at",
    "disabled_because",
)
TITLES = (
    "Id",
    "URL",
    "Events",
    "Affiliate",
    "Created",
    "Failing since",
    "Disabled",
    "Because",
)


class Command(AccountCommand):
    help = "List the account's webhooks and its affiliates' postbacks, oldest first."

    def act(self, account: Account, *, at: datetime, **options: Any) -> None:
        webhooks = list(account.webhook_endpoints.order_by("id").values(*COLUMNS))
        rows = [
            (
                it["public_id"],
                it["url"],
                ", ".join(it["events"]) or "all",
                it["affiliate"] or None,
                it["created_at"],
                it["failing_since"],
                it["disabled_at"],
                it["disabled_because"] or None,
            )
            for it in webhooks
        ]
        told = [{"webhook": it.pop("public_id"), **it} for it in webhooks]
        self.tell_table(TITLES, rows, webhooks=told)
