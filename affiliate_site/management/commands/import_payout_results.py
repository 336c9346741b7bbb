from dataclasses import asdict
from pathlib import Path

from accounts.commands import AccountCommand, read_file
from affiliate_site.payout_files.results.reading import (
    AUTO,
    MAX_RESULTS_BYTES,
    RESULT_FORMATS,
    read_results,
)
from payouts.services.payout_files import get_payout_run
from payouts.services.payout_results import apply_payout_results
from tracking.money import format_amount

LISTS = ("settled", "failed", "unknown", "unmatched")
COLUMNS = ("", "PAYMENT", "AMOUNT", "REFERENCE", "REASON")


class Command(AccountCommand):
    help = (
        "Apply what a bank, PayPal or Wise answers about payments. No word: unknown. A"
        " second time changes nothing."
    )
    json_help = (
        "settled, failed, unknown, unmatched (each with payment, amount, reason and"
        " reference), already_applied (a number)"
    )

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument(
            "file",
            metavar="FILE",
            type=Path,
            help="pain.002, camt.053/054 or CSV; - is standard input",
        )
        parser.add_argument("--run", metavar="RUN", help="refuse answers about other payments")
        parser.add_argument(
            "--format", choices=RESULT_FORMATS, default=AUTO, help="auto by default"
        )
        parser.add_argument("--dry-run", action="store_true", help="change nothing")

    def run_for_account(self, account, *, at, **options):
        run = get_payout_run(account, options["run"]) if options["run"] else None
        with self.show_progress("Reading", total=2) as bar:
            _, content = read_file(options["file"], max_bytes=MAX_RESULTS_BYTES)
            results = read_results(content, options["format"])
            bar.update(advance=1, description="Applying")
            applied = apply_payout_results(
                account, results, run=run, is_dry_run=options["dry_run"], at=at
            )
        rows = [(name, each) for name in LISTS for each in getattr(applied, name)]
        result = asdict(applied)
        del result["documents"]
        for each in [row for name in LISTS for row in result[name]]:
            del each["currency"]
        self.write_table(
            COLUMNS,
            [
                (name, it.payment, format_reported_amount(it), it.reference, it.reason)
                for name, it in rows
            ],
            **result,
        )
        if not self.as_json:
            self.stdout.write(f"Already applied: {applied.already_applied}")


def format_reported_amount(reported) -> str:
    """The amount of the payment or of the file, which may have none."""
    if reported.amount is None:
        return "-"
    return format_amount(reported.amount, reported.currency).strip()
