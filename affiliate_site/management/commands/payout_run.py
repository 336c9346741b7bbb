from argparse import ArgumentTypeError
from datetime import date
from functools import partial
from pathlib import Path

from django.core.management import CommandError
from django.db import transaction
from rich.console import Console
from rich.progress import track

from accounts.commands import AccountCommand, parse_amount_argument
from accounts.exact_json import format_decimal
from affiliate_site.payout_files.writing import build_files
from payouts.models.runs import PayoutLineState, PayoutRunState
from payouts.services.payout_runs import create_draft, list_totals, record_export
from payouts.services.run_confirmation import confirm_run
from payouts.services.run_selection import METHODS

FORMATS = ("pain001", "paypal", "wise", "csv")


class Command(AccountCommand):
    help = "Draft the payments of what is due; with --confirm, make them."

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument(
            "--until",
            type=parse_day,
            required=True,
            metavar="DAY",
            help="pay what is due until the end of this day, in the account's zone",
        )
        parser.add_argument(
            "--minimum",
            type=parse_minimum,
            action="append",
            default=[],
            metavar="EUR=50",
            help="over the minimum of the account",
        )
        parser.add_argument(
            "--program", action="append", default=[], metavar="P", help="its slug"
        )
        parser.add_argument("--method", action="append", default=[], choices=METHODS)
        parser.add_argument("--dry-run", action="store_true", help="store nothing")
        parser.add_argument("--confirm", action="store_true", help="make the payments")
        parser.add_argument(
            "--export", action="append", default=[], choices=FORMATS, metavar="FORMAT"
        )
        parser.add_argument("--output", type=Path, default=Path(), metavar="DIR")

    def run_for_account(self, account, *, at, **options):
        is_dry_run = options["dry_run"]
        if options["export"] and not (options["confirm"] or is_dry_run):
            raise CommandError("--export needs --confirm", returncode=2)
        console = Console(stderr=True)
        progress = partial(
            track,
            description="Payments",
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        with transaction.atomic():
            run = create_draft(
                account,
                due_until=options["until"],
                programs=options["program"],
                methods=options["method"],
                minimums=dict(options["minimum"]),
                at=at,
            )
            included = account.payout_lines.filter(
                run=run, state=PayoutLineState.INCLUDED
            )
            is_kept = included.exists() and not is_dry_run
            if is_kept and options["confirm"]:
                run = confirm_run(account, pk=run.pk, at=at, progress=progress)
            lines, left_out = list_lines(account, run)
            totals = list_totals(run)
            transaction.set_rollback(not is_kept)
        files = []
        if is_kept and options["export"]:
            files = write_files(run, options["export"], options["output"], at=at)
            record_export(run, at=at)
        result = {
            "run": run.public_id if is_kept else None,
            "state": run.state,
            "lines": lines,
            "left_out": left_out,
            "totals": totals,
            "files": files,
        }
        self.write_result(describe(result, is_dry_run=is_dry_run), **result)


def parse_day(text: str) -> date:
    """Parse a day like 2026-11-30."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a day like 2026-11-30") from None


def parse_minimum(text: str):
    """Parse a currency and an amount: `EUR=50`."""
    currency, _, amount = text.partition("=")
    if len(currency) != 3 or not currency.isalpha():
        raise ArgumentTypeError(f"{text!r} is not a minimum like EUR=50")
    return currency.upper(), abs(parse_amount_argument(amount))


def list_lines(account, run):
    """The lines that are paid, and the balances that are left out, for JSON."""
    paid, left_out = [], []
    rows = account.payout_lines.filter(run=run).order_by("id")
    columns = ("affiliate__slug", "currency", "amount", "method", "reason", "state")
    for affiliate, currency, amount, method, reason, state, payment in rows.values_list(
        *columns, "payment__public_id"
    ).iterator():
        line = {"affiliate": affiliate, "currency": currency, "amount": amount}
        if state in (PayoutLineState.LEFT_OUT, PayoutLineState.TAKEN_OUT):
            left_out.append(line | {"reason": reason})
        else:
            paid.append(line | {"method": method, "payment": payment})
    return paid, left_out


def write_files(run, formats, directory, *, at):
    """Write the files of a run into the directory; what they are, for JSON."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for file in build_files(run, formats=formats, at=at):
        path = directory / file.name
        path.write_bytes(file.content)
        written.append(
            {
                "path": str(path),
                "format": file.format,
                "currency": file.currency,
                "lines": file.line_count,
                "control_sum": file.control_sum,
            }
        )
    return written


def describe(result, *, is_dry_run: bool) -> str:
    """The result in lines of text."""
    totals = ", ".join(
        f"{format_decimal(n)} {currency}" for currency, n in result["totals"].items()
    )
    if result["lines"]:
        name = result["run"] or "Dry run"
        state = PayoutRunState(result["state"]).label.lower()
        texts = [f"{name}: {state}, {len(result['lines'])} payments, {totals}"]
    else:
        texts = ["Nobody to pay: no run was made."]
    texts += [
        f"{line['affiliate']}: {format_decimal(line['amount'])} {line['currency']}"
        f" {line['method']} {line['payment'] or ''}".rstrip()
        for line in result["lines"]
    ]
    texts += [
        f"left out: {line['affiliate']}: {format_decimal(line['amount'])}"
        f" {line['currency']} {line['reason']}"
        for line in result["left_out"]
    ]
    texts += [
        f"{file['path']}: {file['lines']} lines, {file['control_sum']}"
        f" {file['currency']}"
        for file in result["files"]
    ]
    return "\n".join(texts)
