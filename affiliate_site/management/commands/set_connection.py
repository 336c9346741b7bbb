from accounts.commands import AccountCommand
from tracking.models.shops import ConnectionMode
from tracking.services.connections import update_connection

TEXTS = {
    ConnectionMode.OFF: "is off: its address answers 404",
    ConnectionMode.LISTEN: "listens: events are stored and shown, and change nothing",
    ConnectionMode.LIVE: "is live: its events count",
}


class Command(AccountCommand):
    help = "Switch a connection on or off."
    arguments = {"connection": "the connection's ID"}

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument("--mode", choices=ConnectionMode.values, required=True)

    def run_for_account(self, account, *, at, connection="", mode="", **options):
        changed = update_connection(
            account, connection_id=connection, changes={"mode": mode}, at=at
        )
        self.write_result(
            f"{changed} {TEXTS[ConnectionMode(changed.mode)]}",
            connection=changed.public_id,
            mode=changed.mode,
        )
