"""What banks, PayPal and Wise answer about payments, one by one or a file as a whole.

An answer about a whole file is an answer about the payments that were recorded when it
was made, whatever a file of the run would pay now.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from enum import StrEnum
from hashlib import sha256

from accounts.db_compat import split_into_batches
from accounts.models.accounts import Account
from payouts.errors import ResultsOfOtherRun
from payouts.models.payments import Payment
from payouts.models.runs import PayoutFile, PayoutLine, PayoutRun
from payouts.services.disputes import lock_disputed_sales
from payouts.services.payout_files import SEPA_CURRENCY, format_bank_reference, is_sepa_line
from payouts.services.payout_runs import lock_run
from tracking.money import ZERO, format_amount

# Payments with their lines, if they have one, by id.
Found = dict[str, tuple[Payment, PayoutLine | None]]
IS_DUPLICATE = (
    "it was ordered twice, and one order was refused or returned: that says nothing of"
    " the other one"
)
PAYMENT_PATTERN = re.compile(r"(?<![A-Za-z0-9])pa[_-]?([A-Za-z0-9]{16})(?![A-Za-z0-9])", re.ASCII)
# AM05, DU01 to DU05, DUPL, or in the words of European languages.
DUPLICATE_PATTERN = re.compile(
    r"\b(AM05|DU0[0-9])\b|dupl|doppel|doppi|doubl|dubbel|dublowan|podw[oóÓ]jn|dobro",
    re.ASCII | re.IGNORECASE,
)


def find_payment_id(text: str) -> str:
    """Return the id of the payment that a text names in any spelling, or ""."""
    match = PAYMENT_PATTERN.search(text)
    return f"pa_{match[1]}" if match else ""


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


class ResultState(StrEnum):
    """What an answer says, the strongest last."""

    UNKNOWN = "unknown"
    FAILED = "failed"  # refused: no money has left
    SETTLED = "settled"
    RETURNED = "returned"  # the money is back, also after it was settled
    DUPLICATE = "duplicate"  # refused or returned, as another order of it is known


STRENGTHS = list(ResultState)
NOT_ARRIVED = (ResultState.FAILED, ResultState.RETURNED)


class Booking(StrEnum):
    """What of a statement a result is read from, and what its reference names."""

    NONE = ""  # another answer, or a booking without a reference
    TRANSACTION = "transaction"
    ENTRY = "entry"  # which may have many transactions
    REVERSAL = "reversal"  # a debit that takes back a return
    EARLIER = "earlier"  # what settled it before releases kept debits, maybe no debit


def names_duplicate(reason: str) -> bool:
    """Return whether a reason says that there is another order of a payment."""
    return DUPLICATE_PATTERN.search(reason) is not None


def find_duplicate(state: ResultState, reason: str) -> ResultState:
    """Return the state of an answer, `DUPLICATE` if the reason for it says so."""
    is_duplicate = state in NOT_ARRIVED and names_duplicate(reason)
    return ResultState.DUPLICATE if is_duplicate else state


@dataclass(frozen=True)
class PayoutResult:
    """One answer. `name` is what it calls the payment, our reference if it knows it.

    With `is_message`, it is about all payments of a bank file: `name` is its message
    id, `amount` the sum of `count` payments. `amount` and `day` may be missing.
    """

    name: str
    state: ResultState
    amount: Decimal | None = None
    currency: str = ""
    reference: str = ""  # of the bank
    reason: str = ""
    day: date | None = None
    is_message: bool = False
    count: int | None = None
    booking: Booking = Booking.NONE

    @property
    def debit(self) -> tuple[str, str]:
        """The kind of booking that debited the payment, and its digest, or `""`."""
        if self.state != ResultState.SETTLED or not (self.booking and self.reference):
            return "", ""
        # A reference may hold a name; only its equality counts.
        return self.booking, sha256(self.reference.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class ReportedPayment:
    """One payment in the report of an import."""

    payment: str
    amount: Decimal | None
    currency: str
    reason: str
    reference: str


@dataclass
class AppliedResults:
    """What answers changed, or would change; `already_applied` counts the others."""

    settled: list[ReportedPayment] = field(default_factory=list)
    failed: list[ReportedPayment] = field(default_factory=list)
    unknown: list[ReportedPayment] = field(default_factory=list)
    unmatched: list[ReportedPayment] = field(default_factory=list)
    already_applied: int = 0
    documents: int = 0  # that were issued


def expand_message(
    result: PayoutResult, answered: AnsweredFile | None, run: PayoutRun | None
) -> tuple[list[PayoutResult], str]:
    """Return an answer for each payment of the file that one is about, or why none."""
    if run is not None and (answered is None or answered.run != run):
        raise ResultsOfOtherRun(payment=result.name, run=run.public_id)
    if answered is None:
        return [], "there is no such file"
    if result.state == ResultState.DUPLICATE:
        return [], IS_DUPLICATE
    payments, problem = list_answered_payments(
        answered,
        count=result.count,
        total=result.amount,
        currency=result.currency,
    )
    single = replace(result, amount=None, currency="", count=None, is_message=False)
    return [replace(single, name=payment) for payment in payments], problem


def find_payments(account: Account, names: Sequence[str]) -> Found:
    """Lock the runs of these payments; return them and their lines by their ids.

    Disputed sales are locked before: the cancellation of a payment changes them.
    """
    lock_disputed_sales(account, names)
    # Encrypted columns of payments and lines are not read: no answer depends on them.
    batches = [
        account.payments.filter(public_id__in=batch).defer("payout_details")
        for batch in split_into_batches(names)
    ]
    run_ids: set[int] = set()
    for payments in batches:
        lines = account.payout_lines.filter(payment__in=payments).order_by()
        run_ids |= set(lines.values_list("run", flat=True).distinct())
    # All runs, in one order, before the balances; their lines change with them.
    runs = {pk: lock_run(account, pk) for pk in sorted(run_ids)}
    found: Found = {}
    for payments in batches:
        by_payment = {}
        lines = account.payout_lines.filter(payment__in=payments).defer("receiver")
        for line in lines:
            line.run = runs[line.run_id]
            by_payment[line.payment_id] = line
        # Read after the lock: the payment is as the last import left it.
        found |= {each.public_id: (each, by_payment.get(each.pk)) for each in payments.all()}
    return found
