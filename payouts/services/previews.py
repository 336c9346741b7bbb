"""Previews of operations that move money: run the operation, read what it moved.

A preview runs the service in a transaction and rolls it back. The effects are read from
the ledger sessions of the operation, which know the values before and after, under
lock. A confirmed operation runs in the same way, and is committed only if its effects
equal those of the preview. A preview takes the same locks as the operation.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import transaction

from accounts.exact_json import format_decimal
from accounts.models.accounts import Account
from payouts.models.commissions import BalanceKey, Commission, CommissionStatus
from payouts.models.ledger import (
    STORED_BALANCE_TYPES,
    LedgerAccount,
    LedgerAccountType,
)
from payouts.services.ledger import (
    CommissionChange,
    CommissionValue,
    LedgerAccountKey,
    LedgerSession,
    record_sessions,
)
from tracking.money import ZERO


@dataclass(frozen=True)
class CommissionEffect:
    """A commission before and after the operation; None: it does not exist.

    `commission_id` is None for a new commission, which has an ID once it is committed.
    """

    commission_id: int | None
    affiliate: str
    commission_type: str
    currency: str
    before: CommissionValue | None
    after: CommissionValue | None


@dataclass(frozen=True)
class TransferEffect:
    """The sum of the transfers of one type between two ledger accounts.

    `kind` is a value of `TransferType`, `debit` and `credit` are values of
    `LedgerAccountType`. `affiliate` is the ID of the affiliate who has one of them.
    """

    kind: str
    debit: str
    credit: str
    affiliate: str
    amount: Decimal
    currency: str


@dataclass(frozen=True)
class BalanceEffect:
    """A stored balance before and after; `affiliate` is empty for the payout balance.

    Amounts are positive if the account owes them, or has them for payouts, although the
    ledger stores the payout balance negative.
    """

    kind: str
    affiliate: str
    currency: str
    before: Decimal
    after: Decimal

    @property
    def is_negative(self) -> bool:
        """Whether more was paid to the affiliate than it has earned."""
        return self.after < ZERO

    @property
    def was_negative(self) -> bool:
        """Whether more had been paid to the affiliate before the operation."""
        return self.before < ZERO


@dataclass(frozen=True)
class MoneyEffects:
    """What an operation changes in commissions, ledger and balances."""

    commissions: Sequence[CommissionEffect] = ()
    transfers: Sequence[TransferEffect] = ()
    balances: Sequence[BalanceEffect] = ()

    @property
    def is_empty(self) -> bool:
        """Whether no commission changes, and no money moves."""
        return not self.commissions and not self.transfers

    @property
    def digest(self) -> str:
        """A digest that is equal for equal effects.

        Pending balances are left out: each new sale changes one, and nobody is paid
        from them.
        """
        balances = [row for row in self.balances if row.kind != LedgerAccountType.PENDING]
        effects = [self.commissions, self.transfers, balances]
        text = json.dumps(
            [[list(vars(row).values()) for row in rows] for rows in effects],
            default=format_decimal,
        )
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class PreviewedOutcome:
    """The result of an operation and its effects; stored only if `is_done`."""

    result: Any
    effects: MoneyEffects
    is_done: bool


def perform_if_confirmed(
    account: Account, operation: Callable[[], Any], *, confirmed: str | None
) -> PreviewedOutcome:
    """Run an operation; keep it if its effects have the digest `confirmed`.

    It is rolled back otherwise: an empty digest only previews it. With None it is kept
    if no money moves.
    """
    with transaction.atomic():
        with record_sessions() as sessions:
            result = operation()
        effects = _collect_effects(account, sessions)
        is_done = effects.is_empty if confirmed is None else effects.digest == confirmed
        if not is_done:
            transaction.set_rollback(True)
    return PreviewedOutcome(result, effects, is_done)


def preview_status(
    account: Account, commissions: Iterable[Commission], status: str
) -> list[BalanceEffect]:
    """Return the payable balances that change if commissions get this status.

    Computes them without running the operation, so it suits many commissions.
    """
    changes: dict[BalanceKey, Decimal] = defaultdict(Decimal)
    for commission in commissions:
        is_payable = commission.status == CommissionStatus.APPROVED
        will_be_payable = status == CommissionStatus.APPROVED
        changes[commission.balance_key] += commission.amount * (will_be_payable - is_payable)
    return _list_balance_effects(
        account,
        {
            LedgerAccountKey(currency, LedgerAccountType.PAYABLE, affiliate_id): change
            for (affiliate_id, currency), change in changes.items()
            if change
        },
        is_applied=False,
    )


def _collect_effects(account: Account, sessions: Sequence[LedgerSession]) -> MoneyEffects:
    changes: dict[LedgerAccountKey, Decimal] = defaultdict(Decimal)
    for session in sessions:
        for key, change in session.changes.items():
            changes[key] += change
    return MoneyEffects(
        _list_commission_effects(account, sessions),
        _list_transfer_effects(account, sessions),
        _list_balance_effects(account, changes, is_applied=True),
    )


def _list_commission_effects(
    account: Account, sessions: Sequence[LedgerSession]
) -> list[CommissionEffect]:
    merged: dict[int, CommissionChange] = {}
    for session in sessions:
        for change in session.commission_changes:
            first = merged.get(change.commission.pk, change)
            merged[change.commission.pk] = change._replace(before=first.before)
    changed = [each for each in merged.values() if each.before != each.after]
    slugs = _get_slugs(account, {each.commission.affiliate_id for each in changed})
    return [
        CommissionEffect(
            commission_id=commission.pk if before else None,
            affiliate=slugs[commission.affiliate_id],
            commission_type=commission.commission_type,
            currency=commission.currency,
            before=before,
            after=None if commission.deleted_at else after,
        )
        for commission, before, after in changed
    ]


def _list_transfer_effects(
    account: Account, sessions: Sequence[LedgerSession]
) -> list[TransferEffect]:
    sums: dict[tuple[str, LedgerAccountKey, LedgerAccountKey], Decimal] = {}
    for session in sessions:
        for (debit, credit), values in session.transfers:
            key = (str(values["kind"]), debit, credit)
            sums[key] = sums.get(key, ZERO) + values["amount"]
    slugs = _get_slugs(
        account,
        {side.affiliate_id for _, *sides in sums for side in sides},
    )
    return [
        TransferEffect(
            kind=kind,
            debit=str(debit.kind),
            credit=str(credit.kind),
            affiliate=slugs[debit.affiliate_id or credit.affiliate_id],
            amount=amount,
            currency=debit.currency,
        )
        for (kind, debit, credit), amount in sums.items()
    ]


def _list_balance_effects(
    account: Account,
    changes: dict[LedgerAccountKey, Decimal],
    *,
    is_applied: bool,
) -> list[BalanceEffect]:
    """Return the stored balances that change by `changes`, keyed by ledger account.

    `is_applied`: the rows in the database already have the new balances.
    """
    changed = {
        key: change
        for key, change in changes.items()
        if change and key.kind in STORED_BALANCE_TYPES
    }
    if not changed:
        return []
    rows = account.ledger_accounts.filter(
        affiliate__in={key.affiliate_id for key in changed} - {None},
    ) | account.ledger_accounts.filter(affiliate=None)
    stored = {_get_key(row): row.balance or ZERO for row in rows}
    slugs = _get_slugs(account, {key.affiliate_id for key in changed})
    effects = []
    for key, change in sorted(changed.items(), key=str):
        present = stored.get(key, ZERO)
        before = present - change if is_applied else present
        sign = -1 if key.kind == LedgerAccountType.FUNDING else 1
        effects.append(
            BalanceEffect(
                kind=str(key.kind),
                affiliate=slugs[key.affiliate_id],
                currency=key.currency,
                before=sign * before,
                after=sign * (before + change),
            )
        )
    return effects


def _get_key(row: LedgerAccount) -> LedgerAccountKey:
    return LedgerAccountKey(row.currency, row.kind, row.affiliate_id)


def _get_slugs(account: Account, affiliate_ids: Iterable[int | None]) -> dict[int | None, str]:
    """Return the affiliates' IDs by primary key; empty for None."""
    pks = {pk for pk in affiliate_ids if pk is not None}
    rows = account.affiliates.filter(pk__in=pks)
    return {None: "", **dict(rows.values_list("pk", "slug"))}
