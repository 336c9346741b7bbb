"""`import_account --file`: read the file of an account, and say what was done."""

from pathlib import Path

from django.core.management import CommandError

from accounts.commands import JsonCommand
from affiliate_site.moving.account_files import AccountFileReader
from affiliate_site.moving.account_import import import_account_file


def import_file(command: JsonCommand, account: str, file: Path, *, is_dry_run: bool) -> None:
    """Create the account from a file, and write the result of the command."""
    with command.show_progress("Rows") as bar:
        try:
            reader = AccountFileReader(file)
            total = sum(size.rows for size in reader.sizes.values())
            bar.update(total=total if is_dry_run else 2 * total)
            result = import_account_file(
                account,
                reader,
                is_dry_run=is_dry_run,
                on_rows=bar.advance,
            )
        except OSError as error:
            raise CommandError(f"The file cannot be read: {error}") from error
    verb = "would be imported" if is_dry_run else "imported"
    lines = [f"{account}: {sum(result.rows.values()):,} rows {verb}"]
    if result.offsets:
        lines.append(f"IDs changed in: {', '.join(result.offsets)}")
    if result.missing_images:
        lines.append(f"{result.missing_images} images of creatives are missing.")
    if result.rows["tracking.PortalSettings"]:
        lines.append("A portal's own host is not moved: run set_portal_host.")
    command.write_result(
        "\n".join(lines),
        account=account,
        rows=result.rows,
        changed_ids=result.offsets,
        missing_images=result.missing_images,
        dry_run=is_dry_run,
    )
