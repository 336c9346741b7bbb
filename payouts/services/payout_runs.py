"""Payout runs: from the commissions that are due to the payments of many affiliates.

A draft has a line for each balance of its basis, included or left out with a reason. It
pays nothing and locks nothing; `run_confirmation.py` confirms it. Risk rules look at
all sales first. What staff take out
is withheld until they lift that: see `payout_limits.py`. The state of a run follows
what happens to its payments.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Count, Exists, OuterRef

from accounts.actor import get_actor
from accounts.days import A_DAY, start_of_day
from accounts.db_compat import split_into_batches, use_snapshot
from accounts.errors import InvalidInput, raise_errors
from accounts.exact_json import format_decimal
from accounts.ids import generate_public_id
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account, TenantQuerySet
from accounts.services.changes import log_event
from payouts.errors import (
    PayoutDayOutOfRange,
    PayoutLineInOtherState,
    PayoutRunNotDraft,
    PayoutRunNotFound,
)
from payouts.models.payments import Payment
from payouts.models.runs import (
    LEFT_OUT_STATES,
    LeftOutReason,
    PayoutLine,
    PayoutLineState,
    PayoutRun,
    PayoutRunState,
    WithheldBalance,
)
from payouts.services.payables import load_payable_balances
from payouts.services.payout_limits import (
    get_minimums,
    get_withheld_balances,
    lift_if_withheld,
    withhold_balance,
)
from payouts.services.payout_settings import (
    build_payer,
    get_payer,
    get_payout_settings,
)
from payouts.services.risk_cases import evaluate_rules
from payouts.services.run_selection import Recipients, Selection, calculate_fingerprint
from payouts.statistics import Amounts, Sums
from tracking.amounts import ExactSum
from tracking.errors import UnknownReference
from tracking.money import ZERO

FAILED = (PayoutLineState.RETURNED, PayoutLineState.CANCELED)


def lock_run(account: Account, pk: int) -> PayoutRun:
    """Return a run, locked until the end of the transaction.

    Runs are locked before balances. Raises `PayoutRunNotFound`.
    """
    return get_or_raise(account.payout_runs, PayoutRunNotFound, pk=pk, lock=True)


def ensure_draft(run: PayoutRun) -> None:
    """Raise `PayoutRunNotDraft` unless the run is a draft."""
    if run.state != PayoutRunState.DRAFT:
        raise PayoutRunNotDraft(run=run, state=PayoutRunState(run.state).label.lower())


def update_run_state(run: PayoutRun) -> None:
    """Mark a run as settled or partly failed, if its lines say so.

    The caller has locked the run.
    """
    lines = run.account.payout_lines.filter(run=run, payment__isnull=False)
    states = set(lines.order_by().values_list("state", flat=True).distinct())
    if states.intersection(FAILED):
        run.update_row(state=PayoutRunState.PARTLY_FAILED)
    elif states == {PayoutLineState.SETTLED}:
        run.update_row(state=PayoutRunState.SETTLED)


def lock_line_of_payment(account: Account, payment: Payment) -> PayoutLine | None:
    """Return the line that made a payment, with its run locked; None without one."""
    line = account.payout_lines.filter(payment=payment).first()
    if line is not None:
        line.run = lock_run(account, line.run_id)
    return line


def list_unanswered_payments(
    lines: TenantQuerySet[PayoutLine], pks: Iterable[int | None]
) -> Set[int]:
    """Return those of these payments about which the bank has not answered.

    `lines` are the lines to search, of the accounts of the payments.
    """
    return find_payments_in(lines, pks, PayoutLineState.UNKNOWN).keys()


def find_payments_in(
    lines: TenantQuerySet[PayoutLine],
    pks: Iterable[int | None],
    *states: PayoutLineState,
) -> dict[int, str]:
    """Map those of these payments whose lines are in one of the states to the state."""
    rows = lines.filter(state__in=states)
    return {
        pk: state
        for batch in split_into_batches(sorted({pk for pk in pks if pk}))
        for pk, state in rows.filter(payment__in=batch).values_list("payment", "state")
        if pk
    }


def list_unanswered_runs(account: Account, affiliate_ids: Iterable[int]) -> list[str]:
    """Return the runs with payments to these affiliates that have no answer yet."""
    lines = account.payout_lines.filter(affiliate__in=affiliate_ids, state=PayoutLineState.UNKNOWN)
    runs = lines.order_by("run").values_list("run__public_id", flat=True)
    return list(runs.distinct())


def cancel_line(line: PayoutLine) -> None:
    """Mark the line of a payment that was canceled, unless it was returned.

    `lock_line_of_payment` gave the line.
    """
    if line.state not in FAILED:
        line.update_row(state=PayoutLineState.CANCELED)
        update_run_state(line.run)


def create_draft(
    account: Account,
    *,
    due_until: date,
    programs: Iterable[str] = (),
    groups: Iterable[str] = (),
    methods: Iterable[str] = (),
    currencies: Iterable[str] = (),
    minimums: Mapping[str, Decimal] | None = None,
    note: str = "",
    at: datetime,
) -> PayoutRun:
    """Create the draft of a run over what is due until the end of a day.

    Programs are named by slug, groups by ID, methods as in `METHODS`; empty: all.
    `minimums` are by currency, over those of the account. Raises `UnknownReference`
    and `PayoutDayOutOfRange`.
    """
    try:
        due_before = start_of_day(due_until + A_DAY, account.zone)
    except OverflowError:
        raise PayoutDayOutOfRange from None
    programs, groups = sorted(set(programs)), sorted(set(groups))
    errors: list[InvalidInput] = []
    if account.programs.filter(slug__in=programs).count() < len(programs):
        errors.append(UnknownReference(what="program", path="programs"))
    if account.affiliate_groups.filter(public_id__in=groups).count() < len(groups):
        errors.append(UnknownReference(what="affiliate group", path="groups"))
    raise_errors(errors)
    run = PayoutRun(
        account=account,
        public_id=generate_public_id("pr"),
        due_before=due_before,
        basis={
            "programs": programs,
            "groups": groups,
            "methods": sorted(set(methods)),
            "currencies": sorted(set(currencies)),
            "minimums": {
                currency: format_decimal(amount)
                for currency, amount in sorted((minimums or {}).items())
            },
        },
        note=note,
        created_by=get_actor().name,
        created_at=at,
        payer=build_payer(get_payout_settings(account)),
    )
    evaluate_rules(account, at=at, is_complete=True)
    with use_snapshot():
        lines = _list_lines(run, at=at)
    with transaction.atomic():
        account.payout_runs.bulk_create([run])
        for line in lines:
            line.run = run  # which has a primary key now
        account.payout_lines.bulk_create(lines)
        log_event(account, "payout_run.created", run, at=at)
    return run


def remake_draft(account: Account, *, pk: int, at: datetime) -> PayoutRun:
    """Select again what the draft pays, whose basis stays."""
    evaluate_rules(account, at=at, is_complete=True)
    with use_snapshot():
        lines = _list_lines(get_or_raise(account.payout_runs, PayoutRunNotFound, pk=pk), at=at)
    with transaction.atomic():
        run = _lock_draft(account, pk)
        account.payout_lines.filter(run=run).delete()
        account.payout_lines.bulk_create(lines)
        payer = build_payer(get_payout_settings(account))
        run.update_row(created_by=get_actor().name, payer=payer)
        log_event(account, "payout_run.remade", run, at=at)
    return run


def _list_lines(run: PayoutRun, *, at: datetime) -> list[PayoutLine]:
    """Return the lines of a draft, sorted by affiliate and currency."""
    account, selection = run.account, Selection(run)
    recipients = Recipients(account, account.get_day(at))
    minimums, withheld = get_minimums(account), get_withheld_balances(account)
    of_run = {currency: Decimal(n) for currency, n in run.basis["minimums"].items()}
    lines = []
    balances = load_payable_balances(account, **selection.conditions)
    for candidate in selection.list_candidates(balances):
        affiliate_id, currency = candidate.balance_key
        kind = recipients.get_kind(affiliate_id)
        if kind and selection.kinds and kind not in selection.kinds:
            continue
        minimum = minimums.find(candidate.balance_key, of_run=of_run) or ZERO
        reason = amount = None
        if candidate.amount > 0:
            amount = candidate.amount
            reason = (
                LeftOutReason.BELOW_MINIMUM
                if amount < minimum
                else recipients.find_reason(affiliate_id)
            )
        elif candidate.balance < 0 or candidate.due:
            reason, amount = LeftOutReason.NEGATIVE_BALANCE, candidate.amount
        elif candidate.on_hold:
            reason, amount = LeftOutReason.ON_HOLD, candidate.on_hold
        if reason is None or amount is None:
            continue
        state, note = PayoutLineState.LEFT_OUT, ""
        if not reason:
            balance = withheld.get(candidate.balance_key)
            problems = recipients.document_problems.get(affiliate_id, "")
            state, reason, note = _find_own_reason(balance, problems)
        lines.append(
            PayoutLine(
                account=account,
                run=run,
                affiliate_id=affiliate_id,
                currency=currency,
                amount=amount,
                tax_withheld=recipients.calculate_withholding(  # type: ignore[misc]
                    affiliate_id, amount, currency
                ),
                method=kind,
                commission_count=candidate.count,
                fingerprint=calculate_fingerprint(candidate, recipients),
                state=state,
                reason=reason,
                note=note,
            )
        )
    lines.sort(key=lambda line: (line.affiliate_id, line.currency))
    return lines


def _find_own_reason(
    withheld: WithheldBalance | None, problems: str
) -> tuple[PayoutLineState, str, str]:
    """Return state, reason and note of a line that could be paid."""
    if withheld is not None:
        return PayoutLineState.TAKEN_OUT, LeftOutReason.WITHHELD, withheld.reason
    if problems:
        return PayoutLineState.LEFT_OUT, LeftOutReason.DOCUMENT_INCOMPLETE, problems
    return PayoutLineState.INCLUDED, "", ""


def take_out(account: Account, *, pk: int, reason: str, at: datetime) -> PayoutLine:
    """Leave a balance out of a draft and withhold it, for a reason that staff give.

    No other draft that includes it can be confirmed.
    """
    with transaction.atomic():
        line = _lock_line(account, pk, PayoutLineState.INCLUDED)
        affiliate, currency = line.affiliate, line.currency
        withhold_balance(account, affiliate, currency=currency, reason=reason, at=at)
        line.update_row(state=PayoutLineState.TAKEN_OUT, reason=LeftOutReason.WITHHELD, note=reason)
        log_event(account, "payout_run.taken_out", line.run, at=at, affiliate=affiliate.log_id)
    return line


def put_back(account: Account, *, pk: int, at: datetime) -> PayoutLine:
    """Include a balance in a draft again, and no longer withhold it."""
    with transaction.atomic():
        line = _lock_line(account, pk, PayoutLineState.TAKEN_OUT)
        affiliate = line.affiliate
        lift_if_withheld(account, affiliate, currency=line.currency, at=at)
        line.update_row(state=PayoutLineState.INCLUDED, reason="", note="")
        log_event(account, "payout_run.put_back", line.run, at=at, affiliate=affiliate.log_id)
    return line


def set_note(account: Account, *, pk: int, note: str, at: datetime) -> PayoutRun:
    """Set the note of a run, in whatever state it is."""
    with transaction.atomic():
        run = lock_run(account, pk)
        run.update_row(note=note)
        log_event(account, "payout_run.noted", run, at=at)
    return run


def discard_run(account: Account, *, pk: int, at: datetime) -> PayoutRun:
    """Discard a draft; its lines stay."""
    with transaction.atomic():
        run = _lock_draft(account, pk)
        run.update_row(state=PayoutRunState.DISCARDED)
        log_event(account, "payout_run.discarded", run, at=at)
    return run


def record_export(run: PayoutRun, *, at: datetime) -> None:
    """Record that files of a run were made, and keep the payer that they name.

    The run keeps the payer of the confirmation, unless none was known then.
    """
    account = run.account
    with transaction.atomic():
        locked = lock_run(account, run.pk)
        values: dict[str, Any] = {}
        if locked.state == PayoutRunState.CONFIRMED:
            values = {"state": PayoutRunState.EXPORTED, "exported_at": at}
        if not locked.payer.get("iban"):
            values["payer"] = get_payer(locked)
        if values:
            run.update_row(**values)
        log_event(account, "payout_run.exported", run, at=at)


def list_withheld_taxes(run: PayoutRun) -> dict[str, Decimal]:
    """Return what a run withholds for the tax office, by currency; payments that came
    back are included."""
    rows = run.account.payout_lines.filter(run=run).exclude(state__in=LEFT_OUT_STATES)
    totals = rows.exclude(tax_withheld=None).order_by("currency")
    return dict(totals.values_list("currency").annotate(ExactSum("tax_withheld")))


def list_totals(run: PayoutRun) -> dict[str, Decimal]:
    """Return what a run pays, by currency."""
    rows = run.account.payout_lines.filter(run=run).exclude(state__in=LEFT_OUT_STATES)
    totals = rows.order_by("currency").values_list("currency")
    return dict(totals.annotate(ExactSum("amount")))


@dataclass(frozen=True)
class PaidTotals:
    """What a run was to pay, and what of it came back or was canceled, by currency."""

    total: Amounts
    returned: Amounts

    @property
    def paid(self) -> Sums:
        """What was paid minus what came back, by currency; a zero is kept."""
        return {
            currency: amount - self.returned.get(currency, ZERO)
            for currency, amount in self.total.items()
        }


def get_paid_totals(run: PayoutRun) -> PaidTotals:
    """Return what a run pays, and what of it came back."""
    rows = run.account.payout_lines.filter(run=run, state__in=FAILED)
    returned = rows.order_by("currency").values_list("currency")
    return PaidTotals(Amounts(list_totals(run)), Amounts(returned.annotate(ExactSum("amount"))))


def count_shared_balances(run: PayoutRun) -> dict[str, int]:
    """Count the balances of a draft that other drafts pay, too, by their IDs.

    Only one of them can be confirmed as it is; for other runs there are none.
    """
    if run.state != PayoutRunState.DRAFT:
        return {}
    included = run.account.payout_lines.filter(state=PayoutLineState.INCLUDED)
    same = included.filter(run=run, affiliate=OuterRef("affiliate"), currency=OuterRef("currency"))
    others = included.filter(Exists(same), run__state=PayoutRunState.DRAFT)
    rows = others.exclude(run=run).order_by("run").values_list("run__public_id")
    return dict(rows.annotate(Count("pk")))


def _lock_draft(account: Account, pk: int) -> PayoutRun:
    run = lock_run(account, pk)
    ensure_draft(run)
    return run


def _lock_line(account: Account, pk: int, expected: PayoutLineState) -> PayoutLine:
    """Return a line in this state, with its affiliate and its draft locked."""
    line = get_or_raise(account.payout_lines, PayoutRunNotFound, pk=pk)
    get_or_raise(account.affiliates, PayoutRunNotFound, pk=line.affiliate_id, lock=True)
    run = _lock_draft(account, line.run_id)
    # A draft that was made again has other lines.
    rows = account.payout_lines.select_related("affiliate")
    line = get_or_raise(rows, PayoutRunNotFound, pk=pk)
    line.run = run
    if line.state != expected:
        state = PayoutLineState(line.state).label.lower()
        raise PayoutLineInOtherState(affiliate=line.affiliate, state=state)
    return line
