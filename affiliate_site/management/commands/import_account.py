import os
import sys
from pathlib import Path

from django.core.management.base import CommandError

from accounts.commands import AccountCommand, JsonCommand, use_path
from affiliate_site.moving.account_files import AccountFileReader
from affiliate_site.moving.account_import import import_account_file
from affiliate_site.moving.balances import (
    KEPT_OURS,
    WORKED_HERE,
    explain_differences,
)
from affiliate_site.moving.importing import AccountImport
from affiliate_site.moving.progress import Progress
from affiliate_site.moving.source import SourceError, SourceServer

NOT_SWITCHED = (
    "Not switched: mend what was left out or differs, and run it again; or add --accept-problems."
)
REASONS = {KEPT_OURS: "changed there", WORKED_HERE: "worked here"}


class Command(AccountCommand):
    help = (
        "Import an account from another server of the API 1.6: programs, affiliates,"
        " customers, conversions, commissions and payments as they stand there. A"
        " second run goes on and doubles nothing. The key is SOURCE_API_KEY,"
        " SOURCE_API_KEY_FILE, or one line of standard input. With --file: create an"
        " account from what export_account has written."
    )
    json_help = (
        "read, created, updated, removed, left_out, kept_ours by kind; problems and notes"
        " (kind, id, code, path, value); differences (affiliate, currency, here, source,"
        " reasons: kept_ours, worked_here); switched_at; requests. With --file: rows by"
        " table, missing_images, changed_ids"
    )

    def add_arguments(self, parser):
        super().add_arguments(parser)
        origin = parser.add_mutually_exclusive_group(required=True)
        origin.add_argument(
            "--from",
            dest="base_url",
            metavar="BASE_URL",
            help="the address of the API, such as https://aff.example.com/1.6",
        )
        origin.add_argument(
            "--file",
            metavar="FILE",
            type=Path,
            help="of export_account; - is standard input",
        )
        parser.add_argument("--dry-run", action="store_true", help="read everything, store nothing")
        parser.add_argument(
            "--mirror",
            action="store_true",
            help="also take over what has changed or ended at the source since",
        )
        parser.add_argument(
            "--final",
            action="store_true",
            help="with --mirror: what is here afterwards is changed only here",
        )

        parser.add_argument(
            "--accept-problems",
            action="store_true",
            help="with --final: switch although something is left out or differs",
        )

    def run(self, *, at, account="", file=None, **options):
        if options["final"] and not options["mirror"]:
            raise CommandError("--final needs --mirror: it ends the last mirror.")
        if options["accept_problems"] and not options["final"]:
            raise CommandError("--accept-problems needs --final.")
        if file is None:
            super().run(at=at, account=account, **options)
        elif options["mirror"]:
            raise CommandError("--mirror needs --from: a file is read once.")
        else:
            with use_path(file) as path:
                import_file(self, account, path, is_dry_run=options["dry_run"])

    def run_for_account(
        self,
        account,
        *,
        at,
        base_url="",
        dry_run=False,
        mirror=False,
        final=False,
        accept_problems=False,
        **options,
    ):
        try:
            source = SourceServer(base_url, read_key(), on_pause=self.stderr.write)
            moving = AccountImport(
                account,
                source,
                at,
                is_dry_run=dry_run,
                is_mirror=mirror,
                is_final=final,
                accepts_problems=accept_problems,
                on_progress=Progress(self.stderr.write),
            )
            report = moving.run()
            differences = explain_differences(moving, moving.differences)
        except SourceError as error:
            raise CommandError(f"The source cannot be read: {error}") from error
        result = {
            "read": report.read,
            "created": report.created,
            "updated": report.updated,
            "removed": report.removed,
            "left_out": report.left_out,
            "kept_ours": report.kept_ours,
            "problems": report.problems,
            "notes": report.notes,
            "differences": differences,
            "switched_at": moving.switched_at or (at if moving.has_switched else None),
            "requests": source.request_count,
        }
        text = format_report(result, is_dry_run=dry_run)
        if final and not dry_run and not result["switched_at"]:
            text += f"\n{NOT_SWITCHED}"
        self.write_result(text, **result)
        if report.left_out or not all(each["reasons"] for each in differences):
            sys.exit(1)


def read_key() -> str:
    if key := os.environ.get("SOURCE_API_KEY"):
        return key
    if path := os.environ.get("SOURCE_API_KEY_FILE"):
        return Path(path).read_text().strip()
    return sys.stdin.readline().strip()


def format_report(result, *, is_dry_run: bool) -> str:
    """Numbers by kind, then what could not be stored, then differences of balances."""
    lines = ["Dry run: nothing was stored."] if is_dry_run else []
    lines += [
        f"{kind}: read {count:,}, new {result['created'].get(kind, 0):,},"
        f" changed {result['updated'].get(kind, 0):,},"
        f" ended {result['removed'].get(kind, 0):,},"
        f" left out {result['left_out'].get(kind, 0):,}"
        f"{format_kept(result['kept_ours'].get(kind, 0))}"
        for kind, count in result["read"].items()
    ]
    lines += [
        f"{each['kind']} {each['id']}: {each['code']} {each['path']} {each['value']}"
        for each in [*result["problems"], *result["notes"]]
    ]
    lines += [
        f"balance of {each['affiliate']} in {each['currency']}: {each['here']} here,"
        f" {each['source']} there{format_reasons(each['reasons'])}"
        for each in result["differences"]
    ]
    if not result["differences"] and not is_dry_run:
        lines.append("All balances agree.")
    if result["switched_at"] and not is_dry_run:
        lines.append(f"Ours since {result['switched_at']:%Y-%m-%d %H:%M} UTC.")
    return "\n".join(lines)


def format_kept(count: int) -> str:
    """How many changes of the source were not taken over after the switch."""
    return f", kept ours {count:,}" if count else ""


def format_reasons(reasons) -> str:
    """Why a balance differs, if the switch explains it."""
    texts = [REASONS[each] for each in reasons]
    return f" ({' and '.join(texts)} since the switch)" if texts else ""


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
