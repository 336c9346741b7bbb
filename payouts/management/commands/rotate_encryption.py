from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import JsonCommand
from payouts.services.encryption import count_encrypted_values, rotate_encryption


class Command(JsonCommand):
    help = (
        "Encrypt all encrypted columns by the first of ENCRYPTION_KEYS, after all processes"
        " were restarted with it (docs/operations.md, section 5)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="only count")

    def run(self, *, at: datetime, dry_run: bool = False, **options: Any) -> None:
        with self.show_progress("Values", total=count_encrypted_values) as bar:
            columns = rotate_encryption(is_dry_run=dry_run, on_batch=bar.advance)
        self.write_result(
            "\n".join(f"{name}: {count}" for name, count in columns.items()),
            columns=columns,
            dry_run=dry_run,
        )
