"""Commission history, read from ledger transfers and payment allocations."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import groupby

from django.db.models import QuerySet

from accounts.models.accounts import Account
from payouts.models.commissions import Commission, CommissionStatus, PaymentAllocation
from payouts.models.ledger import (
    TRANSFER_SIDES,
    LedgerAccountType,
    Transfer,
    TransferType,
)
from tracking.money import ZERO
from tracking.services.search import list_exact_orders


@dataclass(frozen=True)
class CommissionState:
    """The status and the amount of a commission from a moment on."""

    at: datetime
    status: str
    amount: Decimal


def list_histories(
    account: Account, commissions: Sequence[Commission]
) -> dict[int, list[CommissionState]]:
    """Return the states of each commission since its creation, oldest first."""
    commission_ids = [commission.pk for commission in commissions]
    transfers: dict[int, list[Transfer]] = defaultdict(list)
    rows = account.transfers.filter(commission__in=commission_ids).order_by("sequence_number")
    for transfer in rows:
        transfers[transfer.commission_id or 0].append(transfer)
    return {
        commission.pk: _build_history(commission, transfers[commission.pk])
        for commission in commissions
    }


def list_transfers(account: Account, commissions: Sequence[Commission]) -> QuerySet[Transfer]:
    """Return the transfers of these commissions, in the order of both."""
    rows = account.transfers.select_related("debit", "credit", "commission")
    return rows.filter(commission__in=[commission.pk for commission in commissions]).order_by(
        "commission", "sequence_number"
    )


def list_payment_transfers(commission: Commission) -> QuerySet[Transfer]:
    """Return the transfers of the payments, canceled ones too, that paid this."""
    account = commission.account
    payments = account.payment_allocations.filter(commission=commission)
    rows = account.transfers.filter(kind=TransferType.PAID, payment__in=payments.values("payment"))
    return rows.select_related("payment").order_by("id")


def list_paid_amounts(
    account: Account, commissions: Sequence[Commission], at: datetime
) -> dict[int, Decimal]:
    """Return the amount of each commission when it was paid, by primary key.

    One that was created later by another host's clock has its first amount. Only
    approved ones are paid: what reads as disapproved then had an amount of zero.
    """
    states = {
        pk: next((it for it in reversed(history) if it.at <= at), history[0])
        for pk, history in list_histories(account, commissions).items()
    }
    return {
        pk: ZERO if state.status == CommissionStatus.DISAPPROVED else state.amount
        for pk, state in states.items()
    }


def list_allocations(
    account: Account, commissions: Sequence[Commission]
) -> dict[int, list[PaymentAllocation]]:
    """Return the allocations of each commission, those of canceled payments too."""
    commission_ids = [commission.pk for commission in commissions]
    allocations: dict[int, list[PaymentAllocation]] = defaultdict(list)
    rows = account.payment_allocations.filter(commission__in=commission_ids)
    for allocation in rows.select_related("payment").order_by("id"):
        allocations[allocation.commission_id].append(allocation)
    return allocations


def list_payments_of_order(account: Account, order_id: str) -> list[int]:
    """Return the payments, canceled ones too, that paid commissions of an order."""
    conversions = list_exact_orders(account, order_id)
    commissions = account.commissions.filter(conversion__in=conversions)
    rows = account.payment_allocations.filter(
        commission__in=list(commissions.values_list("pk", flat=True))
    )
    return list(rows.order_by().values_list("payment", flat=True).distinct())


def _build_history(commission: Commission, transfers: Iterable[Transfer]) -> list[CommissionState]:
    """Read each group of simultaneous transfers as one change.

    A commission of zero has no transfers: only its present state is known.
    """
    states: list[CommissionState] = []
    balances = dict.fromkeys(LedgerAccountType, Decimal(0))
    for at, group in groupby(transfers, key=lambda transfer: transfer.created_at):
        changes = list(group)
        for transfer in changes:
            debit, credit = TRANSFER_SIDES[TransferType(transfer.kind)]
            balances[debit] -= transfer.amount
            balances[credit] += transfer.amount
        amount = balances[LedgerAccountType.PENDING] + balances[LedgerAccountType.PAYABLE]
        if not amount:  # disapproved: the commission keeps its amount
            amount = states[-1].amount if states else changes[0].amount
        states.append(CommissionState(at, _get_status(balances), amount))
    if not states:
        return [CommissionState(commission.created_at, commission.status, commission.amount)]
    if states[0].at > commission.created_at:
        since, amount = commission.created_at, states[0].amount
        states.insert(0, CommissionState(since, CommissionStatus.DISAPPROVED, amount))
    first, *later = states
    return [first, *(state for state in later if state.at != commission.deleted_at)]


def _get_status(balances: dict[LedgerAccountType, Decimal]) -> str:
    """Return the status of a commission whose amount is in these balances."""
    if balances[LedgerAccountType.PAYABLE]:
        return CommissionStatus.APPROVED
    return (
        CommissionStatus.PENDING
        if balances[LedgerAccountType.PENDING]
        else CommissionStatus.DISAPPROVED
    )
