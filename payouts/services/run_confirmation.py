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
)
from payouts.models.commissions import BalanceKey
from payouts.models.payments import PayoutMethod
from payouts.models.runs import (
    LeftOutReason,
    PayoutLine,
    PayoutLineState,
    PayoutRun,
    PayoutRunState,
)
from payouts.payout_details import normalize_details
from payouts.services.ledger import LedgerSession, open_ledger_session
from payouts.services.payables import load_payable_balances
from payouts.services.payments import PaymentOrder, create_payments
from payouts.services.payout_settings import (
    build_payer,
    get_payout_settings,
)
from payouts.services.run_selection import (
    Candidate,
    Recipients,
    Selection,
    calculate_fingerprint,
)
from payouts.services.run_states import ensure_draft, lock_run
from tracking.models.affiliates import Affiliate
from tracking.money import ZERO

MAX_NAMED_CHANGES = 20
ProgressWrapper = Callable[[Sequence[Any]], Iterable[Any]]


def confirm_run(
    account: Account, *, pk: int, at: datetime, progress: ProgressWrapper = iter
) -> PayoutRun:
    """Pay all included lines of a draft, or none; a confirmed run is returned as it is.

    Raises `PayoutRunChanged`, which names what is not as it was in the draft,
    `SecondPersonRequired`, `PayoutRunEmpty` and `PayoutRunNotDraft`.
    """
    with transaction.atomic():
        run = lock_run(account, pk)
        if run.state not in (PayoutRunState.DRAFT, PayoutRunState.DISCARDED):
            return run
        ensure_draft(run)
        if needs_second_person(run):
            raise SecondPersonRequired
        lines = _list_included_lines(run)
        if not lines:
            raise PayoutRunEmpty(run=run)
        keys = [(line.affiliate_id, line.currency) for line in lines]
        with open_ledger_session(account, keys, at=at) as ledger:
            ledger.lock_balances()
            balances = {key: ledger.get_payable_balance(key) for key in keys}
            recipients = Recipients(account)
            commissions = _check_lines(run, lines, recipients, balances)
            for batch in progress(split_into_batches(lines, is_large=True)):
                _pay_lines(batch, commissions, recipients, ledger)
        payer = build_payer(get_payout_settings(account))
        run.update_row(
            state=PayoutRunState.CONFIRMED,
            confirmed_by=get_actor().name,
            confirmed_at=at,
            payer=payer,
        )
        log_event(account, "payout_run.confirmed", run, at=at, lines=len(lines))
    return run


def describe_changes(run: PayoutRun) -> str:
    """Return what is not as it was in the draft; empty if a confirmation can pay it."""
    with use_snapshot():
        lines, recipients = _list_included_lines(run), Recipients(run.account)
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
    changes: list[tuple[int, str]] = []
    for line in lines:
        key = line.affiliate_id, line.currency
        candidate = candidates.get(key) or Candidate(key, ZERO)
        changes += [
            (line.affiliate_id, f"{what} was {was}, is {now}")
            for what, was, now in _list_changes(line, candidate, recipients)
        ]
    if changes:
        first = changes[:MAX_NAMED_CHANGES]
        affiliates = run.account.affiliates.in_bulk({pk for pk, _ in first})
        named = "; ".join(f"{affiliates[pk]}: {text}" for pk, text in first)
        more = len(changes) - MAX_NAMED_CHANGES
        raise PayoutRunChanged(
            changes=f"{named}; and {more} more" if more > 0 else named,
            count=len(changes),
        )
    return {key: candidate.commission_ids for key, candidate in candidates.items()}


def _list_changes(
    line: PayoutLine, candidate: Candidate, recipients: Recipients
) -> Iterator[tuple[str, str, str]]:
    """Yield what differs from the draft, how it was and how it is."""
    fingerprint = calculate_fingerprint(candidate, recipients)
    if fingerprint == line.fingerprint and candidate.amount == line.amount:
        return
    if candidate.amount != line.amount:
        was, now = format_decimal(line.amount), format_decimal(candidate.amount)
        yield "the amount", f"{was} {line.currency}", f"{now} {line.currency}"
    if fingerprint[:32] != line.fingerprint[:32]:
        was, now = f"{line.commission_count:,}", f"{candidate.count:,}"
        yield "the number of commissions", was, now if now != was else f"{now} others"
    if fingerprint[32:] != line.fingerprint[32:]:
        kind = recipients.get_kind(line.affiliate_id)
        reason = recipients.find_reason(line.affiliate_id)
        if line.affiliate_id in recipients.removed:
            yield "the affiliate", "there", "removed"
        elif reason:
            yield "the payout method", line.method, LeftOutReason(reason).label
        elif kind != line.method:
            yield "the payout method", line.method, kind
        else:
            yield "the payout method", line.method, f"{kind} with other details"


def _pay_lines(
    lines: Sequence[PayoutLine],
    commissions: Mapping[BalanceKey, Sequence[int]],
    recipients: Recipients,
    ledger: LedgerSession,
) -> None:
    """Create the payments of these lines, and freeze who receives them."""
    account = ledger.account
    affiliates = account.affiliates.in_bulk({line.affiliate_id for line in lines})
    payments = create_payments(
        account,
        orders=[
            PaymentOrder(
                affiliates[line.affiliate_id].slug,
                line.amount,
                line.currency,
                commissions=commissions[line.affiliate_id, line.currency],
            )
            for line in lines
        ],
        affiliates={affiliate.slug: pk for pk, affiliate in affiliates.items()},
        methods=recipients.methods,
        ledger=ledger,
        at=ledger.at,
    )
    values = [
        (
            line.pk,
            PayoutLineState.UNKNOWN,
            payment.pk,
            build_receiver(
                affiliates[line.affiliate_id], recipients.methods[line.affiliate_id]
            ),
        )
        for line, payment in zip(lines, payments, strict=True)
    ]
    names = ["state", "payment", "receiver"]
    update_each(PayoutLine, account.pk, names, values)


def build_receiver(affiliate: Affiliate, method: PayoutMethod) -> dict[str, Any]:
    """Return the `receiver` of a line: name, address and payout method of now."""
    details = normalize_details(method.kind, method.details)
    person = f"{affiliate.firstname} {affiliate.lastname}".strip()
    street = " ".join(filter(None, (affiliate.address, affiliate.address_two)))
    return {
        "name": details.get("account_holder") or affiliate.company_name or person,
        "kind": method.kind,
        "details": details,
        "address": {
            "street": street,
            "postal_code": affiliate.postal_code or "",
            "city": affiliate.city or "",
            "country": affiliate.country or "",
        },
    }


def needs_second_person(run: PayoutRun) -> bool:
    """Return whether somebody else than the current actor has to confirm the draft."""
    settings = run.account.payout_settings.filter(requires_second_person=True)
    return run.created_by == get_actor().name and settings.exists()
