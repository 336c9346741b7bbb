"""Payout runs: from the commissions that are due to the payments of many affiliates.

A draft has a line for each balance of its basis, included or left out with a reason. It
pays nothing and locks nothing. A confirmation locks all balances of the included lines,
selects again, and pays only if nothing has changed since the draft.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from itertools import groupby
from typing import Any

from django.db import transaction

from accounts.actor import get_actor
from accounts.compiled_writes import update_each
from accounts.days import A_DAY, start_of_day
from accounts.db_compat import BATCH_SIZE, split_into_batches, use_snapshot
from accounts.encryption import calculate_blind_index
from accounts.errors import InvalidInput, raise_errors
from accounts.exact_json import format_decimal
from accounts.ids import generate_public_id
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from payouts.errors import (
    PayoutDayOutOfRange,
    PayoutLineNotIncluded,
    PayoutRunChanged,
    PayoutRunEmpty,
    PayoutRunNotDraft,
    PayoutRunNotFound,
    SecondPersonRequired,
)
from payouts.models.commissions import BalanceKey
from payouts.models.payments import PayoutMethod, PayoutMethodKind
from payouts.models.runs import (
    LeftOutReason,
    PayoutLine,
    PayoutLineState,
    PayoutRun,
    PayoutRunState,
)
from payouts.payout_details import list_problems, normalize_details
from payouts.services.ledger import LedgerSession, open_ledger_session
from payouts.services.payables import load_payable_balances
from payouts.services.payments import PaymentOrder, create_payments
from payouts.services.payout_settings import (
    build_payer,
    get_payer,
    get_payout_settings,
)
from payouts.services.run_states import lock_run
from tracking.amounts import ExactSum
from tracking.errors import UnknownReference
from tracking.models.affiliates import Affiliate
from tracking.money import ZERO

MAX_NAMED_CHANGES = 20
# The choices of a basis, and the kinds of payout methods that each of them means.
METHODS = {
    "bank": (PayoutMethodKind.BANK, PayoutMethodKind.WIRE_TRANSFER),
    "paypal": (PayoutMethodKind.PAYPAL,),
    "wise": (PayoutMethodKind.WISE,),
    "other": (PayoutMethodKind.OTHER,),
}
# Of lines that are paid, or are in a draft to be so.
PAID_STATES = (
    PayoutLineState.INCLUDED,
    PayoutLineState.UNKNOWN,
    PayoutLineState.SETTLED,
    PayoutLineState.RETURNED,
    PayoutLineState.CANCELED,
)
EMPTY_DIGEST = hashlib.sha256().hexdigest()
ProgressWrapper = Callable[[Sequence[Any]], Iterable[Any]]


@dataclass
class Candidate:
    """A balance that a run may pay, and its approved commissions that are not paid.

    `due` and `on_hold` are those of the basis, `unpaid` is the sum of all.
    """

    balance_key: BalanceKey
    balance: Decimal
    due: Decimal = ZERO
    on_hold: Decimal = ZERO
    unpaid: Decimal = ZERO
    count: int = 0  # of those that are due
    digest: str = EMPTY_DIGEST  # of those, too
    commission_ids: list[int] = field(default_factory=list)

    @property
    def amount(self) -> Decimal:
        """What is due, minus what earlier payments paid beyond their commissions."""
        return self.due - (self.unpaid - self.balance)


class Selection:
    """The balances of the basis of a run, and how their affiliates are paid."""

    def __init__(self, run: PayoutRun) -> None:
        account, basis = run.account, run.basis
        self.account, self.run = account, run
        self.has_programs = bool(basis["programs"])
        programs = account.programs.filter(slug__in=basis["programs"])
        self.programs = set(programs.values_list("pk", flat=True))
        self.kinds = {kind for name in basis["methods"] for kind in METHODS[name]}
        self.conditions: dict[str, Any] = {}
        if basis["currencies"]:
            self.conditions["currency__in"] = basis["currencies"]
        if basis["groups"]:
            self.conditions["affiliate__group__public_id__in"] = basis["groups"]

    def list_candidates(
        self, balances: Mapping[BalanceKey, Decimal], *, keeps_ids: bool = False
    ) -> Iterator[Candidate]:
        """Yield balances with unpaid commissions, sorted; then those without any."""
        left = dict(balances)
        rows = self.account.commissions.unpaid().filter(**self.conditions)
        columns = ["affiliate_id", "currency", "pk", "amount", "due_at"]
        if self.has_programs:
            columns += ["conversion__program_id", "bonus__program_id"]
        ordered = rows.order_by("affiliate_id", "currency", "created_at", "id")
        found = ordered.values_list(*columns).iterator(BATCH_SIZE)
        for key, group in groupby(found, key=lambda row: row[:2]):
            candidate = Candidate(key, left.pop(key, ZERO))
            digest = hashlib.sha256()
            for pk, amount in self._sort_out(candidate, group):
                digest.update(f"{pk} {amount}\n".encode())
                if keeps_ids:
                    candidate.commission_ids.append(pk)
            candidate.digest = digest.hexdigest()
            if not self.has_programs or candidate.count or candidate.on_hold:
                yield candidate
        if not self.has_programs:
            for key, balance in sorted(left.items()):
                yield Candidate(key, balance)

    def _sort_out(
        self, candidate: Candidate, rows: Iterable[tuple[Any, ...]]
    ) -> Iterator[tuple[int, Decimal]]:
        """Yield the commissions that are due, and add up all in the candidate."""
        for _, _, pk, amount, due_at, *programs in rows:
            candidate.unpaid += amount
            if programs and self.programs.isdisjoint(programs):
                continue
            if due_at is not None and due_at >= self.run.due_before:
                candidate.on_hold += amount
                continue
            candidate.due += amount
            candidate.count += 1
            yield pk, amount


class Recipients:
    """How affiliates are paid now: their primary payout methods, and who is removed."""

    def __init__(self, account: Account) -> None:
        removed = account.affiliates.exclude(deleted_at=None)
        self.removed = set(removed.values_list("pk", flat=True))
        methods = account.payout_methods.filter(is_primary=True).order_by()
        self.methods = {
            method.affiliate_id: method for method in methods.iterator(BATCH_SIZE)
        }

    def get_kind(self, affiliate_id: int) -> str:
        """Return the kind of the payout method; empty without one."""
        method = self.methods.get(affiliate_id)
        return method.kind if method else ""

    def find_reason(self, affiliate_id: int) -> str:
        """Return why the affiliate cannot be paid; empty if it can."""
        method = self.methods.get(affiliate_id)
        if method is None:
            return LeftOutReason.NO_METHOD
        if list_problems(method.kind, method.details):
            return LeftOutReason.METHOD_INCOMPLETE
        return LeftOutReason.METHOD_ON_HOLD if method.on_hold_reason else ""

    def calculate_digest(self, affiliate_id: int) -> str:
        """Return a digest of all that must stay as it is until the confirmation.

        Nobody finds an account number by it: it depends on a key.
        """
        method = self.methods.get(affiliate_id)
        details = sorted(method.details.items()) if method else []
        return calculate_blind_index(
            f"{self.get_kind(affiliate_id)} {details}"
            f" {self.find_reason(affiliate_id)} {affiliate_id in self.removed}"
        )


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
    )
    with use_snapshot():
        lines = _list_lines(run)
    with transaction.atomic():
        account.payout_runs.bulk_create([run])
        for line in lines:
            line.run = run  # which has a primary key now
        account.payout_lines.bulk_create(lines)
        log_event(account, "payout_run.created", run, at=at)
    return run


def remake_draft(account: Account, *, pk: int, at: datetime) -> PayoutRun:
    """Select again what the draft pays. Who was taken out by staff stays out."""
    with transaction.atomic():
        run = _lock_draft(account, pk)
        rows = account.payout_lines.filter(run=run)
        noted = rows.exclude(note="").values_list("affiliate_id", "currency", "note")
        notes = {(affiliate, currency): note for affiliate, currency, note in noted}
        lines = _list_lines(run)
        for line in lines:
            _take_out(line, notes.get((line.affiliate_id, line.currency), ""))
        rows.delete()
        account.payout_lines.bulk_create(lines)
        run.update_row(created_by=get_actor().name)
        log_event(account, "payout_run.remade", run, at=at)
    return run


def _take_out(line: PayoutLine, note: str) -> None:
    line.note = note
    if note and line.state == PayoutLineState.INCLUDED:
        line.state, line.reason = PayoutLineState.TAKEN_OUT, LeftOutReason.WITHHELD


def _list_lines(run: PayoutRun) -> list[PayoutLine]:
    """Return the lines of a draft, sorted by affiliate and currency."""
    account, selection = run.account, Selection(run)
    recipients = Recipients(account)
    minimums = {
        (row.affiliate_id, row.currency): row.amount
        for row in account.payout_minimums.order_by()
    }
    of_run = {currency: Decimal(n) for currency, n in run.basis["minimums"].items()}
    lines = []
    balances = load_payable_balances(account, **selection.conditions)
    for candidate in selection.list_candidates(balances):
        affiliate_id, currency = candidate.balance_key
        kind = recipients.get_kind(affiliate_id)
        if kind and selection.kinds and kind not in selection.kinds:
            continue
        of_all = of_run.get(currency, minimums.get((None, currency), ZERO))
        minimum = minimums.get((affiliate_id, currency), of_all)
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
        lines.append(
            PayoutLine(
                account=account,
                run=run,
                affiliate_id=affiliate_id,
                currency=currency,
                amount=amount,
                method=kind,
                commission_count=candidate.count,
                fingerprint=_calculate_fingerprint(candidate, recipients),
                state=PayoutLineState.LEFT_OUT if reason else PayoutLineState.INCLUDED,
                reason=reason,
            )
        )
    lines.sort(key=lambda line: (line.affiliate_id, line.currency))
    return lines


def _calculate_fingerprint(candidate: Candidate, recipients: Recipients) -> str:
    """Return digests of the commissions and of how the affiliate is paid."""
    affiliate_id, _ = candidate.balance_key
    return candidate.digest[:32] + recipients.calculate_digest(affiliate_id)[:32]


def take_out(account: Account, *, pk: int, reason: str, at: datetime) -> PayoutLine:
    """Leave an affiliate out of a draft, for a reason that staff give."""
    with transaction.atomic():
        line = _lock_line(account, pk, PayoutLineState.INCLUDED)
        _take_out(line, reason)
        line.update_row(state=line.state, reason=line.reason, note=reason)
        affiliate = line.affiliate_id
        log_event(
            account, "payout_run.taken_out", line.run, at=at, affiliate_id=affiliate
        )
    return line


def put_back(account: Account, *, pk: int, at: datetime) -> PayoutLine:
    """Include an affiliate again that staff had taken out of a draft."""
    with transaction.atomic():
        line = _lock_line(account, pk, PayoutLineState.TAKEN_OUT)
        line.update_row(state=PayoutLineState.INCLUDED, reason="", note="")
        affiliate = line.affiliate_id
        log_event(
            account, "payout_run.put_back", line.run, at=at, affiliate_id=affiliate
        )
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
        _ensure_draft(run)
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
            for batch in progress(split_into_batches(lines)):
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
    fingerprint = _calculate_fingerprint(candidate, recipients)
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


def list_totals(run: PayoutRun) -> dict[str, Decimal]:
    """Return what a run pays, by currency."""
    rows = run.account.payout_lines.filter(run=run, state__in=PAID_STATES)
    totals = rows.order_by("currency").values_list("currency")
    return dict(totals.annotate(ExactSum("amount")))


def _lock_draft(account: Account, pk: int) -> PayoutRun:
    run = lock_run(account, pk)
    _ensure_draft(run)
    return run


def _ensure_draft(run: PayoutRun) -> None:
    if run.state != PayoutRunState.DRAFT:
        raise PayoutRunNotDraft(run=run, state=PayoutRunState(run.state).label.lower())


def _lock_line(account: Account, pk: int, expected: PayoutLineState) -> PayoutLine:
    """Return a line in this state, with its draft locked."""
    line = get_or_raise(account.payout_lines, PayoutRunNotFound, pk=pk)
    run = _lock_draft(account, line.run_id)
    # A draft that was made again has other lines.
    rows = account.payout_lines.select_related("affiliate")
    line = get_or_raise(rows, PayoutRunNotFound, pk=pk)
    line.run = run
    if line.state != expected:
        state = PayoutLineState(line.state).label.lower()
        raise PayoutLineNotIncluded(affiliate=line.affiliate, state=state)
    return line
