from datetime import datetime
from functools import partial
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console
from rich.progress import Progress

from accounts.commands import JsonCommand
from payouts.services.encryption import count_encrypted_values, rotate_encryption


class Command(JsonCommand):
    help = "Encrypt all encrypted columns by the first of ENCRYPTION_KEYS."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="only count")

    def run(self, *, at: datetime, dry_run: bool = False, **options: Any) -> None:
        console = Console(stderr=True)
        with Progress(
            console=console, transient=True, disable=not console.is_terminal
        ) as progress:
            task = progress.add_task("Values", total=count_encrypted_values())
            columns = rotate_encryption(
                is_dry_run=dry_run, on_batch=partial(progress.advance, task)
            )
        self.write_result(
            "\n".join(f"{name}: {count}" for name, count in columns.items()),
            columns=columns,
            dry_run=dry_run,
        )
