import sqlite3
from pathlib import Path

from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.commands import JsonCommand, use_path
from accounts.db_compat import use_snapshot
from affiliate_site.management.commands.backup import get_database_file
from affiliate_site.operations.backups import restore_backup
from affiliate_site.operations.doctor import check_encryption_keys
from affiliate_site.operations.findings import FAILURE
from payouts.services.reconciliation import reconcile_all


class Command(JsonCommand):
    help = (
        "Replace the embedded database by a backup, migrate it and check its ledger."
        " The service must be stopped; the previous database is kept. The keys of the"
        " backup must be in var/ or the environment."
    )

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument("file", type=Path, metavar="FILE", help="- is standard input")
        parser.add_argument(
            "--force",
            action="store_true",
            help="replace a database that holds accounts",
        )

    def run(self, *, at, file=None, force=False, **options):
        database = get_database_file()
        try:
            with use_path(file) as path:
                kept = restore_backup(path.resolve(), database, force=force, at=at)
        except (OSError, sqlite3.Error) as error:
            raise CommandError(f"The backup cannot be restored: {error}") from error
        call_command("migrate", verbosity=0, interactive=False)
        with use_snapshot():
            report = reconcile_all(at=timezone.now())
        if report.discrepancies:
            raise CommandError(
                f"{file} is restored, but its ledger is not consistent: run"
                f" check_ledger. The previous database is {kept}"
            )
        keys = check_encryption_keys(at)
        if keys.status == FAILURE:
            self.stderr.write(f"{keys.detail}: {keys.advice}")
        lines = [f"Restored {file}: {report.transfer_count} transfers, ledger OK"]
        if kept:
            lines.append(f"The previous database is {kept}")
        self.write_result(
            "\n".join(lines),
            file=str(file),
            kept=str(kept) if kept else None,
            ok=True,
        )
