from accounts.commands import AccountCommand
from affiliate_site.moving.tables.undo import undo_table_import


class Command(AccountCommand):
    help = (
        "Remove all that an import of a table made, as long as nothing was built on it:"
        " no sale, payment or decision since."
    )

    arguments = {"id": "of the import"}

    def run_for_account(self, account, *, at, id="", **options):
        removed = undo_table_import(account, public_id=id, at=at)
        lines = [f"{kind}: {count:,} removed" for kind, count in removed.items()]
        self.write_result("\n".join(lines), id=id, removed=removed)
