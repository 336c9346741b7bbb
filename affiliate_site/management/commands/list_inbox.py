from accounts.commands import AccountCommand, add_limit_argument
from tracking.models.shops import ShopEventState
from tracking.services.connections import get_connection
from tracking.services.inbox import describe_effect

DEFAULT_LIMIT = 100


class Command(AccountCommand):
    help = "List the newest events that shops sent, and what became of them."

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument("--connection", metavar="ID", help="only of this one")
        parser.add_argument("--state", choices=ShopEventState.values)
        add_limit_argument(parser, DEFAULT_LIMIT)

    def run_for_account(self, account, *, at, connection=None, state=None, limit=0, **options):
        rows = account.shop_events.select_related("connection", "order")
        if connection:
            rows = rows.filter(connection=get_connection(account, connection))
        if state:
            rows = rows.filter(state=state)
        events = [
            {
                "event": row.key,
                "connection": row.connection.public_id,
                "kind": row.kind,
                "state": row.state,
                "result": list(map(describe_effect, row.result)),
                "conversion": row.order and row.order.conversion_id,
                "received_at": row.created_at,
                "next_attempt_at": row.due_at,
            }
            for row in rows.order_by("-created_at", "-id")[:limit]
        ]
        self.write_table(
            (
                "Event",
                "Connection",
                "Kind",
                "State",
                "Result",
                "Conversion",
                "Received",
            ),
            [
                (
                    row["event"],
                    row["connection"],
                    row["kind"],
                    row["state"],
                    " ".join(row["result"]),
                    row["conversion"],
                    row["received_at"],
                )
                for row in events
            ],
            events=events,
        )
