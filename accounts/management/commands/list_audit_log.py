from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import AccountListCommand
from accounts.models.accounts import Account


class Command(AccountListCommand):
    help = "List what was changed in an account, by whom, newest first."
    key = "audit_log"
    default_limit = 100
    columns = {
        "created_at": "At",
        "actor": "By",
        "kind": "What",
        "subject": "Of",
        "details": "Details",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--kind", metavar="KIND", help="such as staff.created")

    def list_rows(self, account: Account, **options: Any) -> Any:
        rows = account.audit_log.order_by("-id")
        return rows.filter(kind=options["kind"]) if options["kind"] else rows
