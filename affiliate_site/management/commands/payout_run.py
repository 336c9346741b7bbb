from contextlib import ExitStack
from functools import partial
from pathlib import Path

from django.core.management import CommandError
from django.db import transaction

from accounts.commands import AccountCommand, parse_currency_amount, parse_day
from accounts.exact_json import format_decimal
from accounts.lookups import get_or_raise
from affiliate_site.payout_files.folders import write_into_folder
from affiliate_site.payout_files.writing import (
    FILES_OF_METHODS,
    list_other_files,
    list_unfit_lines,
    plan_files,
)
from payouts.errors import PayoutRunNotFound
from payouts.models.runs import LeftOutReason, PayoutLineState, PayoutRunState
from payouts.services.documents import list_lines_without_document
from payouts.services.payout_runs import (
    count_shared_balances,
    create_draft,
    discard_run,
    list_totals,
    record_export,
)
from payouts.services.risk_cases import evaluate_rules
from payouts.services.run_confirmation import confirm_run
from payouts.services.run_selection import METHODS

FORMATS = (*FILES_OF_METHODS, "csv")
UNFIT_FIELDS = ("currency", "amount", "method")


class Command(AccountCommand):
    help = "Draft the payments of what is due; with --confirm, make them."
    json_help = (
        "run (null if none is kept), state, lines (affiliate, currency, amount, method,"
        " payment, and tax_withheld of the amount), left_out (with reason:"
        f" {', '.join(LeftOutReason)}; and why of the last), totals by currency, files"
        " (path, format, currency, lines, control_sum), not_in_files (lines that no asked"
        " format pays), unfit (lines that no file of their method can have, and why),"
        " without_document (affiliate, why), other_drafts (IDs of drafts, and how many of"
        " these balances they pay, too)"
    )

    def add_arguments(self, parser):
        super().add_arguments(parser)
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument(
            "--until",
            type=parse_day,
            metavar="DAY",
            help="pay what is due until the end of this day, in the account's zone",
        )
        which.add_argument("--run", metavar="RUN", help="a run that was made before")
        parser.add_argument(
            "--minimum",
            type=parse_currency_amount,
            action="append",
            default=[],
            metavar="EUR=50",
            help="over the minimum of the account",
        )
        parser.add_argument("--program", action="append", default=[], metavar="P", help="its slug")
        parser.add_argument("--method", action="append", default=[], choices=METHODS)
        parser.add_argument("--dry-run", action="store_true", help="store nothing")
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--confirm", action="store_true", help="make the payments")
        what.add_argument("--discard", action="store_true", help="discard the draft")
        parser.add_argument(
            "--export",
            action="append",
            default=[],
            choices=FORMATS,
            metavar="FORMAT",
            help="write files that only you can read, before anything is stored"
            f" ({', '.join(FORMATS)}; repeatable)",
        )
        parser.add_argument(
            "--again",
            action="store_true",
            help="also if a file with others of these payments was made before, which"
            " nobody must have handed in: both together pay twice",
        )
        parser.add_argument(
            "--output",
            type=Path,
            default=Path(),
            metavar="DIR",
            help="the folder of the files, by default the current one",
        )

    def run_for_account(self, account, *, at, **options):
        ensure_fitting(options)
        is_dry_run, formats = options["dry_run"], options["export"]
        with ExitStack() as stack:
            write_file = None
            if formats and not is_dry_run:
                # Before the payments are made: a folder that cannot be written stops.
                write_file = stack.enter_context(write_into_folder(options["output"]))
            with transaction.atomic():
                run, is_kept = self.change_run(account, at=at, **options)
                paid, left_out = list_lines(account, run)
                files, not_in_files = [], []
                if is_kept and write_file:
                    planned = plan_files(run, formats=formats)
                    if not options["again"]:
                        ensure_only_files(run, planned)
                    files = [write(it, run, write_file, at=at) for it in planned]
                    in_files = {str(it.payment) for each in planned for it in each.lines}
                    not_in_files = [it for it in paid if it["payment"] not in in_files]
                    record_export(run, at=at)
                    run.refresh_from_db()
                totals, drafts = list_totals(run), count_shared_balances(run)
                unfit = [
                    {
                        "affiliate": str(line.affiliate),
                        **{name: getattr(line, name) for name in UNFIT_FIELDS},
                        "why": reason,
                    }
                    for line, reason in list_unfit_lines(run)
                ]
                without_document = [
                    {"affiliate": str(line.affiliate), "why": why}
                    for line, why in list_lines_without_document(run, at=at)
                ]
                transaction.set_rollback(not is_kept)
        result = {
            "run": run.public_id if is_kept else None,
            "state": run.state,
            "lines": paid,
            "left_out": left_out,
            "totals": totals,
            "files": files,
            "not_in_files": not_in_files,
            "unfit": unfit,
            "without_document": without_document,
            "other_drafts": drafts,
        }
        self.write_result(describe(result, is_dry_run=is_dry_run), **result)

    def change_run(self, account, *, at, **options):
        """Make or find the run, confirm or discard it; return it and if it is kept."""
        if options["run"]:
            runs = account.payout_runs
            run = get_or_raise(runs, PayoutRunNotFound, public_id=options["run"])
            is_kept = not options["dry_run"]
        else:
            run = create_draft(
                account,
                due_until=options["until"],
                programs=options["program"],
                methods=options["method"],
                minimums=dict(options["minimum"]),
                at=at,
            )
            lines = account.payout_lines.filter(run=run)
            is_empty = not lines.filter(state=PayoutLineState.INCLUDED).exists()
            is_kept = not (is_empty or options["dry_run"])
        if is_kept and options["confirm"]:
            progress = partial(self.track, description="Payments")
            evaluate_rules(account, at=at, is_complete=True)
            run = confirm_run(account, pk=run.pk, at=at, progress=progress)
        if is_kept and options["discard"]:
            run = discard_run(account, pk=run.pk, at=at)
        return run, is_kept


def ensure_fitting(options):
    """Refuse options that say nothing about what is asked for."""
    if options["run"] and (options["minimum"] or options["program"] or options["method"]):
        text = "--minimum, --program and --method choose what a new run pays"
        raise CommandError(f"{text}; --run has it already", returncode=2)
    if options["discard"] and (options["export"] or not options["run"]):
        raise CommandError("--discard needs --run, and no --export", returncode=2)
    if options["export"] and not (options["confirm"] or options["run"] or options["dry_run"]):
        raise CommandError("--export needs --confirm or --run", returncode=2)


def ensure_only_files(run, planned):
    """Refuse to make a second file of a format for payments that an earlier one pays."""
    formats = {it.format for it in planned}
    if others := [it for it in list_other_files(run, planned) if it.format in formats]:
        made = "; ".join(
            f"{file.format}, {file.created_at:%Y-%m-%d %H:%M} UTC, {len(file.payments)} payments,"
            f" {format_decimal(file.control_sum)} {file.currency}"
            for file in others
        )
        raise CommandError(
            f"{run.public_id} has changed since files were made of it ({made}). A bank or"
            " PayPal that gets both pays twice. If nobody has handed in those, add --again."
        )


def list_lines(account, run):
    """The lines that are paid, and the balances that are left out, for JSON."""
    paid, left_out = [], []
    rows = account.payout_lines.filter(run=run).order_by("id")
    columns = ("currency", "amount", "method", "reason", "note", "state")
    named = ("affiliate__slug", "payment__public_id", "tax_withheld")
    for row in rows.values(*columns, *named).iterator():
        line = {"affiliate": row["affiliate__slug"]}
        line |= {name: row[name] for name in ("currency", "amount")}
        if row["state"] in (PayoutLineState.LEFT_OUT, PayoutLineState.TAKEN_OUT):
            is_incomplete = row["reason"] == LeftOutReason.DOCUMENT_INCOMPLETE
            why = {"why": row["note"]} if is_incomplete else {}
            left_out.append(line | {"reason": row["reason"]} | why)
        else:
            tax = row["tax_withheld"]
            withheld = {} if tax is None else {"tax_withheld": tax}
            paid.append(
                line | {"method": row["method"], "payment": row["payment__public_id"]} | withheld
            )
    return paid, left_out


def write(planned, run, write_file, *, at):
    """Record and write one file of a run; what it is, for JSON."""
    file = planned.build(run, at=at)
    return {
        "path": str(write_file(file)),
        "format": file.format,
        "currency": file.currency,
        "lines": file.line_count,
        "control_sum": file.control_sum,
    }


def describe(result, *, is_dry_run: bool) -> str:
    """The result in lines of text."""
    totals = ", ".join(
        f"{format_decimal(n)} {currency}" for currency, n in result["totals"].items()
    )
    if result["lines"]:
        name = result["run"] or "Dry run"
        state = PayoutRunState(result["state"]).label.lower()
        number = len(result["lines"])
        texts = [f"{name}: {state}, {number} payment{'s' * (number != 1)}, {totals}"]
    else:
        texts = ["Nobody to pay: no run was made."]
    texts += [
        f"{line['affiliate']}: {format_decimal(line['amount'])} {line['currency']}"
        f" {line['method']} {line['payment'] or ''}".rstrip()
        for line in result["lines"]
    ]
    texts += [
        f"left out: {line['affiliate']}: {format_decimal(line['amount'])} {line['currency']},"
        f" {LeftOutReason(line['reason']).label}. {line.get('why', '')}".rstrip()
        for line in result["left_out"]
    ]
    texts += [
        f"{file['path']}: {file['lines']} lines, {format_decimal(file['control_sum'])}"
        f" {file['currency']}"
        for file in result["files"]
    ]
    texts += [
        f"in no file: {line['affiliate']}: {format_decimal(line['amount'])}"
        f" {line['currency']} {line['method']}"
        for line in result["not_in_files"]
    ]
    texts += [
        f"pay by hand: {line['affiliate']}: {format_decimal(line['amount'])}"
        f" {line['currency']} {line['method']}: {line['why']}"
        for line in result["unfit"]
    ]
    texts += [
        f"without a document: {line['affiliate']}: {line['why']}"
        for line in result["without_document"]
    ]
    texts += [
        f"{run} is a draft, too, and pays {count} of these balances: only one of both"
        " can be confirmed"
        for run, count in result["other_drafts"].items()
    ]
    return "\n".join(texts)
