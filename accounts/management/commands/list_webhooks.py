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
    "ID",
    "URL",
    "Events",
    "Affiliate",
    "Created",
    "Failing since",
    "Disabled",
    "Reason",
)


class Command(AccountCommand):
    help = "List the account's webhooks and its affiliates' postbacks, oldest first."

    def run_for_account(self, account: Account, *, at: datetime, **options: Any) -> None:
        webhooks = list(account.webhook_endpoints.order_by("id").values(*COLUMNS))
        rows = [
            (
                webhook["public_id"],
                webhook["url"],
                ", ".join(webhook["events"]) or "all",
                webhook["affiliate"] or None,
                webhook["created_at"],
                webhook["failing_since"],
                webhook["disabled_at"],
                webhook["disabled_because"] or None,
            )
            for webhook in webhooks
        ]
        output = [{"webhook": webhook.pop("public_id"), **webhook} for webhook in webhooks]
        self.write_table(TITLES, rows, webhooks=output)
