from functools import partial
from pathlib import Path

from django.core.management import CommandError

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
        with self.show_progress("Rows", total=partial(count_rows, account)) as bar:
            try:
                result = export_account(
                    account,
                    options["file"],
                    on_rows=bar.advance,
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
