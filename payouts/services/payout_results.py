"""What banks, PayPal and Wise answer about payments: settled, refused or returned.

No word means unknown, never paid: only an answer that says so settles a line.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from accounts.compiled_writes import update_each
from accounts.models.accounts import Account
from accounts.services.changes import log_event, log_events
from payouts.errors import PaymentNotFound, ResultsOfOtherRun
from payouts.models.payments import Payment
from payouts.models.runs import PayoutLine, PayoutLineState, PayoutRun
from payouts.services.documents import issue_documents
from payouts.services.ledger import open_ledger_session
from payouts.services.mails import queue_payment_mails
from payouts.services.payments import cancel_payment
from payouts.services.payout_answers import (
    IS_DUPLICATE,
    NOT_ARRIVED,
    STRENGTHS,
    AppliedResults,
    Booking,
    Found,
    PayoutResult,
    ReportedPayment,
    ResultState,
    expand_message,
    find_answered_files,
    find_payment_id,
    find_payments,
)
from payouts.services.payout_methods import (
    MAX_REASON_LENGTH,
    RETURNED_WITHOUT_REASON,
    describe_return,
)
from payouts.services.payout_runs import update_run_state
from tracking.money import format_amount
from tracking.services.concurrency import ConcurrentUpdate, retry_on_conflict

NO_ANSWER = "no answer in this file"
MAX_REFERENCE_LENGTH = 255
Debited = tuple[int, dict[str, list[str]]]  # a line and its debits
DEBITED_TWICE = "the bank has debited it twice, under different references"
SETTLED_BEFORE = (
    "it was settled before under another reference: look whether the bank has debited it twice"
)
RETURN_REVERSED = "the bank has taken back what it had returned"
# Before the confirmation, for time zones, and after today: other days are wrong.
DAYS_BEFORE, DAYS_AHEAD = timedelta(days=1), timedelta(days=7)
MAX_DEBITS = 2  # of a kind that a line keeps: more than one need staff


@dataclass
class _Answer:
    """An answer with its payment, and the line if a payout run made it."""

    result: PayoutResult
    payment: Payment
    line: PayoutLine | None
    difference: str  # why it does not fit the payment; empty if it does

    def find_other_debit(self, debits: dict[str, list[str]]) -> str:
        """Return whether another booking has debited the payment, too.

        Which of them a return has taken back, only the bank knows.
        """
        if self.result.booking == Booking.REVERSAL:
            return RETURN_REVERSED
        if self.result.state == ResultState.RETURNED:
            is_twice = any(len(digests) > 1 for digests in debits.values())
            if not is_twice and len(debits) > 1 and Booking.EARLIER in debits:
                return SETTLED_BEFORE
            return DEBITED_TWICE if is_twice else ""
        kind, digest = self.result.debit
        if digest and Booking.EARLIER in debits:
            return SETTLED_BEFORE
        is_other = digest and debits[kind][0] != digest
        return DEBITED_TWICE if is_other else ""

    def find_problem(
        self,
        strongest: _Answer | None,
        *,
        has_arrived: bool,
        debits: dict[str, list[str]],
    ) -> str:
        """Return why staff must look at it: it then changes nothing.

        `strongest` is the answer about the same payment that counts, `has_arrived` says
        whether one in the file says that it is settled, and `debits` are known ones.
        """
        result = self.result
        if result.state == ResultState.DUPLICATE:
            return IS_DUPLICATE
        if problem := self.difference or self.find_other_debit(debits):
            return problem
        if result.state == ResultState.FAILED:
            return self.find_settlement(has_arrived=has_arrived)
        if result.state != ResultState.SETTLED:
            return ""
        if strongest is None:
            return self.find_conflict()
        first = strongest.result
        if first.state == result.state and first.reference != result.reference:
            return f"it is settled twice in the file, also as {first.reference}"
        return ""

    def find_conflict(self) -> str:
        """Return how it can have arrived although it counts as canceled."""
        day, line = self.result.day, self.line
        if self.payment.canceled_at is None:
            return ""
        if line is None or line.state != PayoutLineState.RETURNED:
            return "it was canceled, but has arrived"
        if line.settled_on is None:
            return f"it was refused on {line.answered_on}, but has arrived"
        if day and line.answered_on and day > line.answered_on:
            return f"it was returned on {line.answered_on}, but has arrived"
        return ""

    def find_settlement(self, *, has_arrived: bool) -> str:
        """Return what says that a payment has arrived which is refused now."""
        line = self.line
        if line is not None and line.state == PayoutLineState.SETTLED:
            return (
                f"it was settled on {line.settled_on}, but is refused: only its return"
                " makes it owed again"
            )
        return "it is refused, but settled in the same file" if has_arrived else ""

    @property
    def is_new(self) -> bool:
        """Whether the answer says more than is known."""
        if self.result.state in NOT_ARRIVED:
            return self.payment.canceled_at is None
        return (
            self.line is not None
            and self.line.state == PayoutLineState.UNKNOWN
            and self.payment.canceled_at is None
        )


@retry_on_conflict
def apply_payout_results(
    account: Account,
    results: Sequence[PayoutResult],
    *,
    run: PayoutRun | None = None,
    is_dry_run: bool = False,
    at: datetime,
) -> AppliedResults:
    """Apply the answers of one file, all or none; a second time changes nothing.

    A settled line gets reference and date. A payment that was refused before, or
    returned even after it was settled, is canceled with the reason and owed again, and
    payout runs leave its payout method out until staff have looked at it. With `run`,
    raises `ResultsOfOtherRun` for an answer about anything else; `is_dry_run` changes
    nothing.
    """
    with transaction.atomic():
        applied, answers, found, debited = _judge(account, results, run=run, at=at)
        touched = {line.run_id for _, line in found.values() if line is not None}
        named = {payment.pk for payment, _ in found.values()}
        changes = [it for it in answers if it.is_new]
        for answer in answers:
            if answer.result.state == ResultState.UNKNOWN and answer.is_new:
                applied.unknown.append(_report(answer.result, answer.payment))
        touched |= {run.pk} if run else set()
        applied.unknown += _list_open(account, touched, named)
        settled = [it for it in changes if it.result.state == ResultState.SETTLED]
        failed = [it for it in changes if it.result.state in NOT_ARRIVED]
        applied.settled = [_report(it.result, it.payment) for it in settled]
        applied.failed = [_report(it.result, it.payment) for it in failed]
        applied.already_applied = len(answers) - len(changes)
        if not is_dry_run:
            update_each(PayoutLine, account.pk, ["debits"], debited)
        if not is_dry_run and (settled or failed):
            _settle(account, settled, at=at)
            _return(account, failed, at=at)
            _update_runs(account, [*settled, *failed], len(applied.unmatched), at=at)
            runs = {it.line.run_id for it in settled if it.line}
            applied.documents = len(issue_documents(account, run_ids=runs, at=at))
            queue_payment_mails(account, [it.payment for it in settled], at=at)
    return applied


def _judge(
    account: Account,
    results: Sequence[PayoutResult],
    *,
    run: PayoutRun | None,
    at: datetime,
) -> tuple[AppliedResults, list[_Answer], Found, list[Debited]]:
    """Return what cannot be applied, one answer for each other payment, all payments,
    and the new debits of lines."""
    applied = AppliedResults()
    by_name = _group_by_payment(account, results, run, applied)
    found = find_payments(account, list(by_name))
    if run is not None:
        _ensure_results_of_run(by_name, found, run)
    answers, debited = [], []
    for name, group in by_name.items():
        if name not in found:
            reason = "there is no such payment"
            applied.unmatched += [_report(it, reason=reason) for it in group]
            continue
        strongest = None
        has_arrived = any(it.state == ResultState.SETTLED for it in group)
        group.sort(key=lambda it: STRENGTHS.index(it.state), reverse=True)
        about = [
            _Answer(it, *found[name], _find_difference(account, it, *found[name], at))
            for it in group
        ]
        debits, new = _collect_debits(about)
        debited += new
        for answer in about:
            if problem := answer.find_problem(strongest, has_arrived=has_arrived, debits=debits):
                reported = _report(answer.result, answer.payment, problem)
                applied.unmatched.append(reported)
            else:
                strongest = strongest or answer
        answers += [strongest] if strongest else []
    return applied, answers, found, debited


def _find_difference(
    account: Account,
    result: PayoutResult,
    payment: Payment,
    line: PayoutLine | None,
    at: datetime,
) -> str:
    """Return which amount or day of an answer cannot be that of the payment."""
    currency, day = result.currency or payment.currency, result.day
    if result.amount is not None and (result.amount, currency) != (
        payment.net_amount,
        payment.currency,
    ):
        paid = format_amount(payment.net_amount, payment.currency)
        return f"the file says {result.amount:f} {currency}, the payment is {paid}"
    if day is None:
        return ""
    confirmed_at = line and line.run.confirmed_at
    first = account.get_day(confirmed_at) - DAYS_BEFORE if confirmed_at else day
    if first <= day <= account.get_day(at) + DAYS_AHEAD:
        return ""
    return f"the file says {day}, which is before the payment or in the future"


def _collect_debits(
    answers: Sequence[_Answer],
) -> tuple[dict[str, list[str]], list[Debited]]:
    """Return the known debits of one payment, and what is new for its line."""
    line = answers[0].line
    known = (line and line.debits) or {}
    debits = {kind: list(digests) for kind, digests in known.items()}
    for answer in answers:
        kind, digest = answer.result.debit
        if digest and not answer.difference:
            if digest in debits.get(Booking.EARLIER, ()):
                del debits[Booking.EARLIER]
            digests = debits.setdefault(kind, [])
            if digest not in digests and len(digests) < MAX_DEBITS:
                digests.append(digest)
    return debits, [(line.pk, debits)] if line and debits != known else []


def _group_by_payment(
    account: Account,
    results: Sequence[PayoutResult],
    run: PayoutRun | None,
    applied: AppliedResults,
) -> dict[str, list[PayoutResult]]:
    """Return the answers by payment; those about files that cannot be, in `applied`."""
    by_name: dict[str, list[PayoutResult]] = defaultdict(list)
    messages = {result.name for result in results if result.is_message}
    files = find_answered_files(account, messages)
    for result in dict.fromkeys(results):
        expanded, problem = [result], ""
        if result.is_message:
            expanded, problem = expand_message(result, files.get(result.name), run)
        if problem:
            applied.unmatched.append(_report(result, reason=problem))
        for each in expanded:
            by_name[find_payment_id(each.name) or each.name].append(each)
    return by_name


def _ensure_results_of_run(
    by_name: dict[str, list[PayoutResult]],
    found: Found,
    run: PayoutRun,
) -> None:
    for name in by_name:
        _, line = found.get(name, (None, None))
        if line is None or line.run_id != run.pk:
            raise ResultsOfOtherRun(payment=name, run=run.public_id)


def _list_open(account: Account, run_ids: Iterable[int], named: set[int]) -> list[ReportedPayment]:
    """Return the payments of these runs without any answer."""
    lines = account.payout_lines.filter(
        run__in=run_ids, state=PayoutLineState.UNKNOWN, payment__canceled_at=None
    )
    return [
        ReportedPayment(line.payment.public_id, line.net_amount, line.currency, NO_ANSWER, "")
        for line in lines.select_related("payment").order_by("id")
        if line.payment and line.payment_id not in named
    ]


def _report(
    result: PayoutResult, payment: Payment | None = None, reason: str = ""
) -> ReportedPayment:
    """Return a line of the report; what the file says of an unmatched one."""
    is_matched = payment is not None and not reason
    return ReportedPayment(
        payment=payment.public_id if payment else result.name,
        amount=payment.net_amount if payment and is_matched else result.amount,
        currency=payment.currency if payment else result.currency,
        reason=reason or result.reason,
        reference=result.reference,
    )


def _store_lines(
    account: Account, answers: Iterable[_Answer], state: PayoutLineState, at: datetime
) -> None:
    """Store what was answered on the lines; a payment by hand has none."""
    values = [
        (
            line.pk,
            state,
            result.reference[:MAX_REFERENCE_LENGTH],
            result.reason[:MAX_REASON_LENGTH],
            result.day or account.get_day(at),
        )
        for line, result in ((answer.line, answer.result) for answer in answers)
        if line is not None
    ]
    names = ["state", "bank_reference", "bank_reason", "answered_on"]
    update_each(PayoutLine, account.pk, names, values)


def _settle(account: Account, answers: Sequence[_Answer], *, at: datetime) -> None:
    _store_lines(account, answers, PayoutLineState.SETTLED, at)
    days = [(it.line.pk, it.result.day or account.get_day(at)) for it in answers if it.line]
    update_each(PayoutLine, account.pk, ["settled_on"], days)
    events = [("payment.settled", answer.payment) for answer in answers]
    log_events(account, events, at=at)


def _return(account: Account, answers: Sequence[_Answer], *, at: datetime) -> None:
    """Cancel payments that did not arrive, and hold the methods that they went to."""
    _store_lines(account, answers, PayoutLineState.RETURNED, at)
    keys = {(it.payment.affiliate_id, it.payment.currency) for it in answers}
    # One session locks all balances in their order before the first one changes.
    with open_ledger_session(account, keys, at=at) as ledger:
        ledger.lock_balances()
        # In the order in which documents are issued, which also locks payments.
        for answer in sorted(answers, key=_get_age):
            reason = answer.result.reason or RETURNED_WITHOUT_REASON
            try:
                cancel_payment(
                    account,
                    payment_id=answer.payment.public_id,
                    reason=reason[:MAX_REASON_LENGTH],
                    at=at,
                )
            except PaymentNotFound:  # somebody canceled it meanwhile
                raise ConcurrentUpdate from None
            _hold_method(account, answer, reason)


def _get_age(answer: _Answer) -> tuple[datetime, int]:
    """Return what the payments of answers are sorted by, oldest first."""
    return answer.payment.created_at, answer.payment.pk


def _hold_method(account: Account, answer: _Answer, reason: str) -> None:
    """Leave the method out of the next run, unless it was changed since."""
    payment, line = answer.payment, answer.line
    kind = line.method if line else payment.payout_kind
    used_at = (line and line.run.confirmed_at) or payment.created_at
    account.payout_methods.filter(
        Q(details_changed_at=None) | Q(details_changed_at__lte=used_at),
        affiliate=payment.affiliate_id,
        kind=kind or "",
    ).update(on_hold_reason=describe_return(payment.public_id, reason))


def _update_runs(
    account: Account, answers: Sequence[_Answer], unmatched: int, *, at: datetime
) -> None:
    """Update the states of the runs, and log the answers about each.

    `unmatched` is the number of answers in the file that were not applied.
    """
    groups: dict[int, list[bool]] = defaultdict(list)
    runs: dict[int, PayoutRun] = {}
    for answer in answers:
        if answer.line:
            runs[answer.line.run_id] = answer.line.run
            is_settled = answer.result.state == ResultState.SETTLED
            groups[answer.line.run_id].append(is_settled)
    for pk in sorted(runs):
        update_run_state(runs[pk])
        log_event(
            account,
            "payout_run.results_imported",
            runs[pk],
            at=at,
            settled=groups[pk].count(True),
            failed=groups[pk].count(False),
            **({"not_applied": unmatched} if unmatched else {}),
        )
