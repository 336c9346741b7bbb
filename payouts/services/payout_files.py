"""The files of payout runs: which lines they pay, and what each had when it was made.

An answer about a whole file is an answer about the payments of this record, whatever a
file of the run would pay now.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import Q

from accounts.db_compat import split_into_batches
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from payouts.errors import PayoutRunNotFound, ReceiverErased
from payouts.models.payments import PayoutMethodKind
from payouts.models.runs import PayoutFile, PayoutLine, PayoutLineState, PayoutRun
from payouts.services.payout_runs import lock_run
from tracking.money import ZERO, format_amount

SEPA_CURRENCY = "EUR"
BANK_METHODS = {PayoutMethodKind.BANK, PayoutMethodKind.WIRE_TRANSFER}
PAYMENT_PATTERN = re.compile(r"(?<![A-Za-z0-9])pa[_-]?([A-Za-z0-9]{16})(?![A-Za-z0-9])", re.ASCII)
# What a payout file needs of a line: ten thousand whole ones take 25 MB more.
FILE_FIELDS = (
    *("account", "run", "currency", "amount", "tax_withheld", "method", "state"),
    *("receiver", "bank_reference"),
)


def format_bank_reference(public_id: str) -> str:
    """Return an id in the characters that banks accept: `pa-…` for `pa_…`."""
    return public_id.replace("_", "-")


def find_payment_id(text: str) -> str:
    """Return the id of the payment that a text names in any spelling, or ""."""
    match = PAYMENT_PATTERN.search(text)
    return f"pa_{match[1]}" if match else ""


def get_payout_run(account: Account, run_id: str) -> PayoutRun:
    """Return a payout run, or raise `PayoutRunNotFound`."""
    return get_or_raise(account.payout_runs.all(), PayoutRunNotFound, public_id=run_id)


def list_paid_lines(run: PayoutRun) -> list[PayoutLine]:
    """Return the lines of a confirmed run that a file may pay, in their order.

    Returned ones stay, so that a file is the same each time. One that staff have
    canceled is left out: it is owed again, and a file must not pay it.
    """
    lines = run.account.payout_lines.filter(run=run, payment__isnull=False)
    return list(
        lines.exclude(~Q(state=PayoutLineState.RETURNED), payment__canceled_at__isnull=False)
        .select_related("payment", "affiliate")
        .only(*FILE_FIELDS, "payment__public_id", "affiliate__slug")
        .order_by("id")
    )


def is_sepa_line(line: PayoutLine) -> bool:
    """Return whether a credit transfer in euros to an IBAN pays a line."""
    iban = line.receiver.get("details", {}).get("iban")
    return bool(iban and line.method in BANK_METHODS and line.currency == SEPA_CURRENCY)


def record_file(
    run: PayoutRun,
    lines: Sequence[PayoutLine],
    *,
    format_name: str,
    is_message: bool,
    at: datetime,
) -> PayoutFile:
    """Return the record of a file with exactly these lines; create it the first time.

    With `is_message`, banks name the file by its message id: other lines are another
    message. Raises `ReceiverErased` if a file cannot name who gets a payment.
    """
    for line in lines:
        if not line.receiver:
            raise ReceiverErased(payment=line.payment)
    payments = [str(line.payment) for line in lines]
    with transaction.atomic():
        locked = lock_run(run.account, run.pk)
        files = run.account.payout_files.filter(run=run, format=format_name)
        last = 1 if _has_other_file(locked) else 0
        for file in files.order_by("id"):
            if set(file.payments) == set(payments):
                return file
            last = int((file.message_id or "").partition(".")[2] or 1)
        message_id = format_bank_reference(run.public_id)
        message_id += f".{last + 1}" if last else ""
        return files.create(
            account=run.account,
            run=run,
            format=format_name,
            message_id=message_id if is_message else None,
            currency=lines[0].currency,
            payments=payments,
            control_sum=sum((line.net_amount for line in lines), ZERO),
            created_at=at,
        )


def list_recorded_payments(run: PayoutRun, format_name: str) -> list[set[str]]:
    """Return the ids of the payments of each file of this format that was made."""
    files = run.account.payout_files.filter(run=run, format=format_name)
    return list(map(set, files.order_by("id").values_list("payments", flat=True)))


def _has_other_file(run: PayoutRun) -> bool:
    """Return whether a release without records may have made a file of other lines."""
    lines = run.account.payout_lines.filter(run=run, state=PayoutLineState.CANCELED)
    return run.exported_at is not None and lines.exists()


@dataclass(frozen=True)
class AnsweredFile:
    """What an answer about a whole file is about: a run, and which payments of it.

    Without a record, of an earlier release, the file must have had all lines of the
    run; None: which ones is not known.
    """

    run: PayoutRun
    file: PayoutFile | None
    is_recorded: bool


def find_answered_files(account: Account, message_ids: Collection[str]) -> dict[str, AnsweredFile]:
    """Return the files with these message ids of bank files, as far as there are any.

    A message that names a file often, or many files, needs few statements.
    """
    run_ids = {it: it.replace("-", "_", 1).partition(".")[0] for it in message_ids}
    runs: dict[str, PayoutRun] = {}
    for batch in split_into_batches(sorted(set(run_ids.values()))):
        found = account.payout_runs.filter(public_id__in=batch)
        runs |= {run.public_id: run for run in found}
    files: dict[str, PayoutFile] = {}
    for keys in split_into_batches([run.pk for run in runs.values()]):
        recorded = account.payout_files.filter(run__in=keys)
        files |= {str(it): it for it in recorded.exclude(message_id=None)}
    answered = {}
    for message_id, run_id in run_ids.items():
        if (run := runs.get(run_id)) is not None:
            file = files.get(message_id)
            is_first = message_id == format_bank_reference(run.public_id)
            if file is not None or not is_first:
                answered[message_id] = AnsweredFile(run, file, is_recorded=True)
            else:
                unrecorded = _build_unrecorded_file(run)
                answered[message_id] = AnsweredFile(run, unrecorded, is_recorded=False)
    return answered


def _build_unrecorded_file(run: PayoutRun) -> PayoutFile | None:
    """Return what a bank file had before files were recorded, if it had all lines."""
    lines = run.account.payout_lines.filter(run=run, payment__isnull=False)
    lines = lines.select_related("payment").order_by("id")
    if not all(map(is_sepa_line, lines)):
        return None
    return PayoutFile(
        currency=SEPA_CURRENCY,
        payments=[str(line.payment) for line in lines],
        control_sum=sum((line.net_amount for line in lines), ZERO),
    )


def list_answered_payments(
    answered: AnsweredFile,
    *,
    count: int | None,
    total: Decimal | None,
    currency: str,
) -> tuple[list[str], str]:
    """Return the payments that an answer about a whole file is about, or why none.

    Number, sum and currency are those of the answer, as far as it has them; those of
    the file must agree. One that was not recorded needs number or sum.
    """
    file = answered.file
    has_sums = (count, total) != (None, None)
    if file is None or not (answered.is_recorded or has_sums):
        return [], (
            "it names no payments, and which ones are in this file was not recorded:"
            " ask the bank for each of them"
        )
    known = (len(file.payments), file.control_sum, file.currency)
    given = (
        known[0] if count is None else count,
        known[1] if total is None else total,
        currency or file.currency,
    )
    if given == known:
        return file.payments, ""
    return (
        [],
        f"it is about {describe_sum(*given)}, but the file has {describe_sum(*known)}",
    )


def describe_sum(count: int, total: Decimal, currency: str) -> str:
    """Return `2 payments, 50.00 EUR`."""
    return f"{count:,} payment{'s' * (count != 1)}, {format_amount(total, currency)}"
