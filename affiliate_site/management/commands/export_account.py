from pathlib import Path

from django.core.management import CommandError
from rich.console import Console
from rich.progress import Progress

from accounts.commands import AccountCommand
from affiliate_site.moving.account_export import count_rows, export_account


class Command(AccountCommand):
    help = (
        "Write everything that belongs to an account into a new file, compressed if its"
        " name ends with .gz. It has personal and bank data in clear."
    )

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument("file", metavar="FILE", type=Path)

    def run_for_account(self, account, *, at, **options):
        console = Console(stderr=True)
        with Progress(
            console=console, transient=True, disable=not console.is_terminal
        ) as progress:
            total = None if progress.disable else count_rows(account)
            task = progress.add_task("Rows", total=total)
            try:
                result = export_account(
                    account,
                    options["file"],
                    on_rows=lambda number: progress.advance(task, number),
                )
            except OSError as error:
                raise CommandError(f"The file cannot be written: {error}") from error
        lines = [f"{options['file']}: {sum(result.rows.values()):,} rows"]
        if result.missing_images:
            lines.append(f"{result.missing_images} images of creatives have no file.")
        self.write_result(
            "\n".join(lines),
            file=str(options["file"]),
            rows=result.rows,
            missing_images=result.missing_images,
            sha256=result.sha256,
        )
