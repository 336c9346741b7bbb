import sys

from django.core.management import CommandError

from accounts.commands import AccountCommand, escape_controls
from accounts.exact_json import format_decimal
from affiliate_site.operations.account_deletion import (
    count_rows,
    delete_account,
    ensure_all_paid,
    get_due,
)
from payouts.services.ledger_digests import find_last_digest


class Command(AccountCommand):
    help = (
        "Delete an account: all its rows, ledger and audit log included, and the images"
        " of its creatives. It cannot be undone, so export_account first, and the books"
        " from Bookkeeping: tax law may ask for them. Keys, sessions and sign-ins end"
        " first; run it again if it was interrupted. Refused while check_ledger finds"
        " something."
    )
    json_help = "rows by table, digest (which check_ledger --expect needs from then on)"

    def add_arguments(self, parser):
        super().add_arguments(parser)
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--dry-run", action="store_true", help="count, delete nothing")
        how.add_argument("--yes", action="store_true", help="do not ask")
        parser.add_argument(
            "--accept-unpaid",
            action="store_true",
            help="although payments of confirmed runs have no answer of the bank yet",
        )

    def run_for_account(self, account, *, at, **options):
        is_dry_run, accepts_unpaid = options["dry_run"], options["accept_unpaid"]
        if not accepts_unpaid and not account.deletions.exists():
            ensure_all_paid(account)
        due = [
            f"{format_decimal(amount)} {currency}" for currency, amount in get_due(account).items()
        ]
        owed = f"Owed to affiliates: {', '.join(due)}" if due else "Nobody is owed."
        if not is_dry_run and not options["yes"]:
            confirm(account, owed)
        rows, digest = count_rows(account), None
        number = sum(rows.values())
        if is_dry_run:
            lines = [f"{label}: {count:,}" for label, count in rows.items()]
            lines += [owed, f"{number:,} rows would be deleted. Nothing was deleted."]
        else:
            with self.show_progress("Rows", total=number) as bar:
                rows = delete_account(
                    account,
                    at=at,
                    accepts_unpaid=accepts_unpaid,
                    on_rows=bar.advance,
                )
            number = sum(rows.values())
            lines = [f"Deleted {account.slug}: {number:,} rows"]
            if last := find_last_digest():
                digest = last.digest
                lines.append(f"digest {digest}, for check_ledger --expect")
        self.write_result(
            "\n".join(lines),
            account=account.slug,
            rows=rows,
            digest=digest,
            dry_run=is_dry_run,
        )


def confirm(account, owed: str) -> None:
    """Ask for the account's slug at the terminal; raise `CommandError` without it."""
    if not sys.stdin.isatty():
        raise CommandError("Deletion cannot be undone: add --yes, or --dry-run first.")
    question = f"{owed} Type {account.slug} to delete {account.name} with all of it: "
    if input(escape_controls(question)).strip() != account.slug:
        raise CommandError("Nothing was deleted.")
