"""Bookkeeping: the ledger by kind of ledger account."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from django.db.models import QuerySet, TextChoices

from accounts.db_compat import use_snapshot
from accounts.models.accounts import Account
from payouts.models.ledger import (
    AFFILIATE_ACCOUNT_TYPES,
    LedgerAccountType,
    Transfer,
    TransferType,
)
from payouts.services.statements import FIRST_DAY, get_interval
from tracking.amounts import ExactSum
from tracking.money import ZERO

CurrencySums = dict[str, dict[str, Decimal]]  # by currency and type


class OwedMovement(TextChoices):
    """What changes what is owed to affiliates."""

    EARNED = "earned", "Earned"
    INCREASED = "increased", "Corrected upwards"
    WITHDRAWN = "withdrawn", "Corrected downwards, refunded, removed or disapproved"
    APPROVED = "approved", "Approved"
    REOPENED = "reopened", "Pending again"
    PAID = "paid", "Paid"
    PAYMENT_CANCELED = "payment_canceled", "Payments canceled or returned"
    TAX_WITHHELD = "tax_withheld", "Withholding tax"
    TAX_RETURNED = "tax_returned", "Withholding tax taken back"
    OPENING_BALANCE = "opening_balance", "Opening balances"


# The signs of their amounts in the pending and in the payable balance.
SIGNS: dict[str, tuple[int, int]] = {
    OwedMovement.EARNED: (1, 0),
    OwedMovement.INCREASED: (1, 0),
    OwedMovement.WITHDRAWN: (-1, 0),
    OwedMovement.APPROVED: (-1, 1),
    OwedMovement.REOPENED: (1, -1),
    OwedMovement.PAID: (0, -1),
    OwedMovement.PAYMENT_CANCELED: (0, 1),
    OwedMovement.TAX_WITHHELD: (0, -1),
    OwedMovement.TAX_RETURNED: (0, 1),
    OwedMovement.OPENING_BALANCE: (0, 1),
}


class Owed(NamedTuple):
    """What affiliates have: what waits for approval, and what is payable."""

    pending: Decimal
    payable: Decimal

    @property
    def total(self) -> Decimal:
        return self.pending + self.payable


@dataclass(frozen=True)
class PeriodClosing:
    """The balances of all affiliates in a currency, before and after a period.

    The balances come from the sides of the transfers, the movements from their types.
    """

    opening: Owed
    movements: dict[OwedMovement, Owed]
    closing: Owed

    @property
    def is_explained(self) -> bool:
        """Whether the movements lead from the opening to the closing balances."""
        rows = zip(self.opening, *self.movements.values(), strict=True)
        return list(self.closing) == list(map(sum, rows))


def get_trial_balance(account: Account, *, end: date) -> CurrencySums:
    """Return credits minus debits up to the end of a day, by currency and type.

    Those of a currency add up to zero. Raises `InvalidPeriod`.
    """
    before = get_interval(account, FIRST_DAY, end).before
    with use_snapshot():
        sums = _sum_sides(account.transfers.filter(created_at__lt=before))
    return {
        currency: {kind: found[kind] for kind in LedgerAccountType if kind in found}
        for currency, found in sorted(sums.items())
    }


def get_period_closings(account: Account, *, start: date, end: date) -> dict[str, PeriodClosing]:
    """Return the closing of these days, both included, by currency.

    Raises `InvalidPeriod`.
    """
    interval = get_interval(account, start, end)
    within = account.transfers.filter(interval.as_filter)
    with use_snapshot():
        opening = _sum_sides(account.transfers.filter(created_at__lt=interval.since))
        changes = _sum_sides(within)
        sums = _sum_types(within)
        earned = _sum_types(within.filter(sequence_number=1))
        moved_in = _sum_sides(within.filter(kind=TransferType.OPENING_BALANCE))
    closings = {}
    for currency in sorted(opening.keys() | changes.keys()):
        before, change = _get_owed(opening[currency]), _get_owed(changes[currency])
        after = Owed(*(it + other for it, other in zip(before, change, strict=True)))
        amounts = sums[currency]
        first = earned[currency][TransferType.EARNED]
        amounts[OwedMovement.INCREASED] = amounts[TransferType.EARNED] - first
        amounts[OwedMovement.EARNED] = first
        # They go both ways.
        amounts[OwedMovement.OPENING_BALANCE] = _get_owed(moved_in[currency]).payable
        movements = {
            kind: Owed(*(sign * amounts[kind] for sign in SIGNS[kind]))
            for kind in OwedMovement
            if amounts[kind]
        }
        if any(before) or movements:
            closings[currency] = PeriodClosing(before, movements, after)
    return closings


def list_entries(account: Account, *, start: date, end: date) -> QuerySet[Transfer]:
    """Return the transfers of these days, oldest first; raise `InvalidPeriod`."""
    rows = account.transfers.filter(get_interval(account, start, end).as_filter)
    return rows.order_by("created_at", "id")


def _sum_sides(rows: QuerySet[Transfer]) -> CurrencySums:
    """Sum credits minus debits by type of ledger account."""
    sums: CurrencySums = defaultdict(lambda: defaultdict(Decimal))
    for side, sign in (("debit", -1), ("credit", 1)):
        totals = rows.order_by().values_list("currency", f"{side}__kind")
        for currency, kind, total in totals.annotate(ExactSum("amount")):
            sums[currency][kind] += sign * total
    return sums


def _sum_types(rows: QuerySet[Transfer]) -> CurrencySums:
    sums: CurrencySums = defaultdict(lambda: defaultdict(Decimal))
    totals = rows.order_by().values_list("currency", "kind")
    for currency, kind, total in totals.annotate(ExactSum("amount")):
        sums[currency][kind] = total
    return sums


def _get_owed(sums: dict[str, Decimal]) -> Owed:
    return Owed(*(sums.get(kind, ZERO) for kind in AFFILIATE_ACCOUNT_TYPES))
