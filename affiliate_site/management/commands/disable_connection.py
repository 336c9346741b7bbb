from accounts.commands import AccountCommand
from tracking.models.shops import ConnectionMode
from tracking.services.connections import update_connection


class Command(AccountCommand):
    help = "Switch a connection off: its address answers 404 until it is switched on."
    arguments = {"connection": "the connection's ID"}

    def run_for_account(self, account, *, at, connection="", **options):
        changes = {"mode": ConnectionMode.OFF}
        changed = update_connection(
            account, connection_id=connection, changes=changes, at=at
        )
        self.write_result(
            f"{changed} is off", connection=changed.public_id, mode=changed.mode
        )
