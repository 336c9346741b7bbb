"""The confirmation of a payout run.

It locks all balances of the included lines, selects again, and pays only if nothing has
changed since the draft.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction

from accounts.actor import get_actor
from accounts.compiled_writes import update_each
from accounts.db_compat import split_into_batches, use_snapshot
from accounts.exact_json import format_decimal
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from payouts.errors import (
    PayoutRunChanged,
    PayoutRunEmpty,
    SecondPersonRequired,
    Unprintable,
)
from payouts.fonts import PACKAGES
from payouts.models.commissions import BalanceKey
from payouts.models.runs import (
    LeftOutReason,
    PayoutLine,
    PayoutLineState,
    PayoutRun,
    PayoutRunState,
)
from payouts.services.documents import describe_unprintable
from payouts.services.ledger import LedgerSession, open_ledger_session
from payouts.services.payables import load_payable_balances
from payouts.services.payments import build_payment, insert_payments
from payouts.services.payout_limits import get_withheld_balances
from payouts.services.payout_runs import ensure_draft, lock_run
from payouts.services.payout_settings import (
    build_payer,
    get_payout_settings,
)
from payouts.services.run_selection import (
    Recipients,
    RunCandidate,
    Selection,
    build_receiver,
    calculate_fingerprint,
)
from tracking.money import ZERO
from tracking.services.concurrency import ConcurrentUpdate, retry_on_conflict

MAX_NAMED_CHANGES = 20
ProgressWrapper = Callable[[Sequence[Any]], Iterable[Any]]


@retry_on_conflict
def confirm_run(
    account: Account, *, pk: int, at: datetime, progress: ProgressWrapper = iter
) -> PayoutRun:
    """Pay all included lines of a draft, or none; a confirmed run is returned as it is.

    The caller lets the risk rules look at all sales first, outside of any transaction.

    Raises `PayoutRunChanged`, which names what is not as it was in the draft,
    `SecondPersonRequired`, `PayoutRunEmpty` and `PayoutRunNotDraft`, and `Unprintable`
    for characters that no installed font prints.
    """
    ensure_printable(account, pk)
    with transaction.atomic():
        run, locked = lock_with_affiliates(account, pk)
        if run.state not in (PayoutRunState.DRAFT, PayoutRunState.DISCARDED):
            return run
        ensure_draft(run)
        if needs_second_person(run):
            raise SecondPersonRequired
        lines = _list_included_lines(run)
        if not lines:
            raise PayoutRunEmpty(run=run)
        if not locked.issuperset(line.affiliate_id for line in lines):
            raise ConcurrentUpdate  # somebody has made the draft again
        keys = [(line.affiliate_id, line.currency) for line in lines]
        with open_ledger_session(account, keys, at=at) as ledger:
            ledger.lock_balances()
            balances = {key: ledger.get_payable_balance(key) for key in keys}
            recipients = Recipients(account, account.get_day(at))
            commissions = _check_lines(run, lines, recipients, balances)
            for batch in progress(split_into_batches(lines, is_large=True)):
                _pay_lines(batch, commissions, recipients, ledger)
        run.update_row(
            state=PayoutRunState.CONFIRMED,
            confirmed_by=get_actor().name,
            confirmed_at=at,
            payer=build_payer(get_payout_settings(account)),
        )
        log_event(account, "payout_run.confirmed", run, at=at, lines=len(lines))
    return run


def ensure_printable(account: Account, pk: int) -> None:
    """Raise `Unprintable` for a draft whose documents no font prints; before any lock,
    because another program is asked. Another name changes the draft."""
    run = account.payout_runs.filter(pk=pk, state=PayoutRunState.DRAFT).first()
    if run:
        run.account = account
        if texts := describe_unprintable(run):
            raise Unprintable(texts=texts, packages=PACKAGES)


def lock_with_affiliates(account: Account, pk: int) -> tuple[PayoutRun, set[int]]:
    """Lock who is paid, then the run; return the run and the affiliates.

    Until the commit, none of them can be erased, renamed or withheld. Raises `PayoutRunNotFound`.
    """
    lines = account.payout_lines.filter(run=pk, state=PayoutLineState.INCLUDED)
    rows = account.affiliates.filter(pk__in=lines.values("affiliate"))
    locked = rows.select_for_update(no_key=True).order_by("pk")
    affiliates = set(locked.values_list("pk", flat=True))
    return lock_run(account, pk), affiliates


def describe_changes(run: PayoutRun, *, at: datetime) -> str:
    """Return what is not as it was in the draft; empty if a confirmation can pay it."""
    with use_snapshot():
        recipients = Recipients(run.account, run.account.get_day(at))
        lines = _list_included_lines(run)
        balances = load_payable_balances(run.account)
        try:
            _check_lines(run, lines, recipients, balances)
        except PayoutRunChanged as error:
            return str(error.params["changes"])
    return ""


def _list_included_lines(run: PayoutRun) -> list[PayoutLine]:
    lines = run.account.payout_lines.filter(run=run, state=PayoutLineState.INCLUDED)
    return list(lines.order_by("affiliate_id", "currency").defer("receiver", "note"))


def _check_lines(
    run: PayoutRun,
    lines: Sequence[PayoutLine],
    recipients: Recipients,
    balances: Mapping[BalanceKey, Decimal],
) -> dict[BalanceKey, list[int]]:
    """Return the commissions that each line covers.

    Raises `PayoutRunChanged` if a line is not what it was in the draft.
    """
    keys = {(line.affiliate_id, line.currency) for line in lines}
    candidates = {
        candidate.balance_key: candidate
        for candidate in Selection(run).list_candidates(balances, keeps_ids=True)
        if candidate.balance_key in keys
    }
    changes = [(0, text) for text in _list_payer_changes(run)]
    withheld = get_withheld_balances(run.account)
    for line in lines:
        key = line.affiliate_id, line.currency
        candidate = candidates.get(key) or RunCandidate(key, ZERO)
        texts = _list_changes(line, candidate, recipients)
        changes += [(line.affiliate_id, text) for text in texts]
        if key in withheld:
            text = f"the {line.currency} balance is withheld, lift that to pay it"
            changes.append((line.affiliate_id, text))
    if changes:
        first = changes[:MAX_NAMED_CHANGES]
        affiliates = run.account.affiliates.in_bulk({pk for pk, _ in first})
        named = "; ".join(f"{affiliates[pk]}: {text}" if pk else text for pk, text in first)
        more = len(changes) - MAX_NAMED_CHANGES
        raise PayoutRunChanged(
            changes=f"{named}; and {more} more" if more > 0 else named,
            count=len(changes),
        )
    return {key: candidate.commission_ids for key, candidate in candidates.items()}


def _list_payer_changes(run: PayoutRun) -> Iterator[str]:
    """Yield what files say of another payer than when the draft was made."""
    if not run.payer:
        yield "an earlier release made the draft"
    elif run.payer["iban"]:  # else the payer of the confirmation is the first one
        payer = build_payer(get_payout_settings(run.account))
        names = [name for name, text in payer.items() if text != run.payer.get(name)]
        if names:
            yield f"the payer ({', '.join(names).replace('_', ' ')})"


def _list_changes(
    line: PayoutLine, candidate: RunCandidate, recipients: Recipients
) -> Iterator[str]:
    """Yield what differs from the draft, how it was and how it is."""
    fingerprint, drafted = (
        calculate_fingerprint(candidate, recipients),
        line.fingerprint,
    )
    if line.affiliate_id in recipients.removed and fingerprint != drafted:
        yield "the affiliate was there, is removed"
        return
    if candidate.amount != line.amount:
        was, now = format_decimal(line.amount), format_decimal(candidate.amount)
        yield f"the amount was {was} {line.currency}, is {now} {line.currency}"
    tax = recipients.calculate_withholding(line.affiliate_id, line.amount, line.currency)
    if tax != line.tax_withheld:
        was, now = (format_decimal(it or ZERO) for it in (line.tax_withheld, tax))
        yield f"the withholding tax was {was} {line.currency}, is {now} {line.currency}"
    if fingerprint[:32] != drafted[:32]:
        was, now = f"{line.commission_count:,}", f"{candidate.count:,}"
        more = " others" if now == was else ""
        yield f"the number of commissions was {was}, is {now}{more}"
    if fingerprint[32:48] != drafted[32:48]:
        kind = recipients.get_kind(line.affiliate_id)
        reason = recipients.find_reason(line.affiliate_id)
        now = LeftOutReason(reason).label if reason else kind
        more = " with other details" if now == line.method else ""
        yield f"the payout method was {line.method}, is {now}{more}"
    elif fingerprint[48:] != drafted[48:]:
        yield "the name or address is another one"
    if problems := recipients.document_problems.get(line.affiliate_id):
        yield f"its document is incomplete: {problems}"


def _pay_lines(
    lines: Sequence[PayoutLine],
    commissions: Mapping[BalanceKey, Sequence[int]],
    recipients: Recipients,
    ledger: LedgerSession,
) -> None:
    """Create the payments of these lines, and freeze who receives them."""
    account = ledger.account
    affiliates = account.affiliates.in_bulk({line.affiliate_id for line in lines})
    keys = [(line.affiliate_id, line.currency) for line in lines]
    payments = [
        build_payment(
            ledger,
            key,
            line.amount,
            recipients.methods[line.affiliate_id],
            tax_withheld=line.tax_withheld,
        )
        for line, key in zip(lines, keys, strict=True)
    ]
    payments = insert_payments(ledger, payments, [commissions[key] for key in keys])
    for payment in payments:
        ledger.post_payment(payment)
    values = [
        (
            line.pk,
            PayoutLineState.UNKNOWN,
            payment.pk,
            build_receiver(affiliates[line.affiliate_id], recipients.methods[line.affiliate_id]),
        )
        for line, payment in zip(lines, payments, strict=True)
    ]
    names = ["state", "payment", "receiver"]
    update_each(PayoutLine, account.pk, names, values)


def needs_second_person(run: PayoutRun) -> bool:
    """Return whether somebody else than the current actor has to confirm the draft."""
    settings = run.account.payout_settings.filter(requires_second_person=True)
    return run.created_by == get_actor().name and settings.exists()
