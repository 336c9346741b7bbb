import sqlite3
import sys
from pathlib import Path

from django.core.management import CommandError
from django.db import connection

from accounts.commands import JsonCommand
from accounts.services.command_runs import record_command_run
from affiliate_site.env import VAR_DIR
from affiliate_site.operations.backups import (
    TIME_FORMAT,
    create_backup,
    delete_old_backups,
)

OTHER_DATABASE = (
    "This command is for the embedded SQLite database. For PostgreSQL see"
    " docs/operations.md, section 4"
)


class Command(JsonCommand):
    help = (
        "Copy the embedded database while it is in use, and check the copy. FILE is by"
        " default var/backups/<UTC time>.sqlite3. The keys of var/ and of the"
        " environment are not in it."
    )

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument("file", nargs="?", type=Path, metavar="FILE")
        parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
        parser.add_argument(
            "--keep",
            type=parse_days,
            metavar="DAYS",
            help="then delete older files of var/backups/",
        )

    def run(self, *, at, file=None, force=False, keep=None, **options):
        database = get_database_file()
        directory = VAR_DIR / "backups"
        try:
            if file is None:
                directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                file = directory / f"{at.strftime(TIME_FORMAT)}.sqlite3"
            with self.show_progress("backup") as bar:
                backup = create_backup(
                    database,
                    file.resolve(),
                    force=force,
                    on_step=lambda step: bar.update(description=step),
                )
            deleted = delete_old_backups(directory, days=keep, at=at) if keep else 0
        except (OSError, sqlite3.Error) as error:
            raise CommandError(f"The backup cannot be written: {error}") from error
        self.write_result(
            str(backup.file),
            file=str(backup.file),
            bytes=backup.bytes,
            sha256=backup.sha256,
            ledger_ok=not backup.problem,
            deleted=deleted,
        )
        if backup.problem:
            self.stderr.write(f"The copy is complete, keep it, but {backup.problem}")
            sys.exit(1)
        record_command_run(self.command_name, at=at)


def get_database_file() -> Path:
    """Return the path of the SQLite database; CommandError on PostgreSQL."""
    if connection.vendor != "sqlite":
        raise CommandError(OTHER_DATABASE)
    database = Path(str(connection.settings_dict["NAME"])).resolve()
    connection.close()
    return database


def parse_days(text: str) -> int:
    """Parse a whole number of days, 1 or more."""
    days = int(text)
    if days < 1:
        raise ValueError(text)
    return days
