from accounts.commands import AccountCommand, parse_id_argument
from affiliate_site.moving.tables.undo import undo_table_import


class Command(AccountCommand):
    help = (
        "Remove all that an import of a table made, as long as nothing was built on it:"
        " no sale, payment or decision since."
    )

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument(
            "number", metavar="ID", type=parse_id_argument, help="of the import"
        )

    def run_for_account(self, account, *, at, number=0, **options):
        removed = undo_table_import(account, number=number, at=at)
        lines = [f"{kind}: {count:,} removed" for kind, count in removed.items()]
        self.write_result("\n".join(lines), id=number, removed=removed)
