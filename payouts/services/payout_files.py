"""The files of payout runs: which lines they pay, and what was recorded of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Q

from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from payouts.errors import PayoutRunNotFound, ReceiverErased
from payouts.models.payments import PayoutMethodKind
from payouts.models.runs import PayoutFile, PayoutLine, PayoutLineState, PayoutRun
from payouts.services.payout_runs import lock_run
from tracking.money import ZERO

SEPA_CURRENCY = "EUR"
BANK_METHODS = {PayoutMethodKind.BANK, PayoutMethodKind.WIRE_TRANSFER}
# What a payout file needs of a line: all columns take 25 MB more per 10,000 lines.
FILE_FIELDS = (
    *("account", "run", "currency", "amount", "tax_withheld", "method", "state"),
    *("receiver", "bank_reference"),
)


def format_bank_reference(public_id: str) -> str:
    """Return an id in the characters that banks accept: `pa-…` for `pa_…`."""
    return public_id.replace("_", "-")


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
