"""The states of payout runs, which follow what happens to their payments."""

from collections.abc import Iterable, Set

from accounts.db_compat import split_into_batches
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account, TenantQuerySet
from payouts.errors import PayoutRunNotDraft, PayoutRunNotFound
from payouts.models.payments import Payment
from payouts.models.runs import PayoutLine, PayoutLineState, PayoutRun, PayoutRunState

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

    `lines` are those of the accounts of the payments.
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
