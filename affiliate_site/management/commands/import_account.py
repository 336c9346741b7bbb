from pathlib import Path

from django.core.management import CommandError
from rich.console import Console
from rich.progress import Progress

from accounts.commands import JsonCommand
from affiliate_site.moving.account_files import AccountFileReader
from affiliate_site.moving.account_import import import_account_file


class Command(JsonCommand):
    help = "Create an account from the file that export_account has written."

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument("account", metavar="ACCOUNT", help="the new slug")
        parser.add_argument("--file", metavar="FILE", type=Path, required=True)
        parser.add_argument("--dry-run", action="store_true", help="only check")

    def run(self, *, at, account="", file=Path(), dry_run=False, **options):
        console = Console(stderr=True)
        with Progress(
            console=console, transient=True, disable=not console.is_terminal
        ) as progress:
            task = progress.add_task("Rows", total=None)
            try:
                reader = AccountFileReader(file)
                number = sum(size.rows for size in reader.sizes.values())
                progress.update(task, total=number if dry_run else 2 * number)
                result = import_account_file(
                    account,
                    reader,
                    is_dry_run=dry_run,
                    on_rows=lambda number: progress.advance(task, number),
                )
            except OSError as error:
                raise CommandError(f"The file cannot be read: {error}") from error
        verb = "would be imported" if dry_run else "imported"
        lines = [f"{account}: {sum(result.rows.values()):,} rows {verb}"]
        if result.offsets:
            lines.append(f"IDs changed in: {', '.join(result.offsets)}")
        if result.missing_images:
            lines.append(f"{result.missing_images} images of creatives are missing.")
        self.write_result(
            "\n".join(lines),
            account=account,
            rows=result.rows,
            changed_ids=result.offsets,
            missing_images=result.missing_images,
            dry_run=dry_run,
        )
