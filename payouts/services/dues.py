"""Dues: what is owed to whom, and what of it was approved up to a moment."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from accounts.models.accounts import Account
from payouts.models.commissions import Purse
from payouts.models.ledger import LedgerAccount, Move, Place
from tracking.amounts import ExactSum
from tracking.money import NOUGHT


@dataclass(frozen=True)
class Due:
    """What an affiliate is owed now (`place.balance`), and how much of it is due."""

    place: LedgerAccount
    amount: Decimal


def currencies_owed(account: Account) -> list[str]:
    """The currencies in which something is owed to affiliates."""
    rows = account.ledger_accounts.filter(kind=Place.PAYABLE, balance__gt=NOUGHT)
    return sorted(set(rows.values_list("currency", flat=True)))


def dues_of(account: Account, *, currency: str, until: datetime) -> list[Due]:
    """Who is owed something in a currency, the highest balance first.

    Due is the balance without the commissions that were approved at `until` or later:
    nought or less where older payments were higher than what they paid for.
    """
    places = account.ledger_accounts.filter(
        kind=Place.PAYABLE, currency=currency, balance__gt=NOUGHT
    ).select_related("affiliate")
    later = _approved_since(account, currency, until)
    return [
        Due(place, (place.balance or NOUGHT) - later[place.pk])
        for place in places.order_by("-balance", "id")
    ]


def owed_to_affiliates(account: Account) -> list[tuple[str, Decimal]]:
    """The sum of all balances above nought, for each currency."""
    return _summed(account, Place.PAYABLE)


def pending_in_all(account: Account) -> list[tuple[str, Decimal]]:
    """The sum of all commissions that wait for a decision, for each currency."""
    return _summed(account, Place.PENDING)


def _summed(account: Account, kind: Place) -> list[tuple[str, Decimal]]:
    rows = account.ledger_accounts.filter(kind=kind, balance__gt=NOUGHT)
    return list(rows.order_by().values_list("currency").annotate(ExactSum("balance")))


def owed_to(
    account: Account, affiliates: Iterable[int]
) -> dict[int, dict[str, Decimal]]:
    """What each of these is owed: currency → balance; noughts are left out."""
    rows = account.ledger_accounts.filter(
        kind=Place.PAYABLE, affiliate__in=affiliates
    ).exclude(balance=NOUGHT)
    owed: dict[int, dict[str, Decimal]] = {}
    for row in rows.order_by("currency"):
        owed.setdefault(row.affiliate_id or 0, {})[row.currency] = row.balance or NOUGHT
    return owed


def due_to(account: Account, purse: Purse, *, until: datetime) -> Decimal:
    """What is due to one affiliate, as in `dues_of`. Whoever pays holds the books."""
    affiliate, currency = purse
    place = account.ledger_accounts.get(
        kind=Place.PAYABLE, affiliate=affiliate, currency=currency
    )
    later = _approved_since(account, currency, until, only=place)
    return (place.balance or NOUGHT) - later[place.pk]


def _approved_since(
    account: Account, currency: str, since: datetime, only: LedgerAccount | None = None
) -> dict[int, Decimal]:
    """What came to each balance by commissions that were not approved before. One that
    was put back to pending and approved again brings nothing new."""
    brought: dict[tuple[int, int], Decimal] = defaultdict(Decimal)
    for place, commission, amount in _moved(account, currency, since, only):
        brought[place, commission] += amount
    sums: dict[int, Decimal] = defaultdict(Decimal)
    for (place, _), amount in brought.items():
        sums[place] += max(amount, NOUGHT)
    return sums


def _moved(
    account: Account, currency: str, since: datetime, only: LedgerAccount | None
) -> Iterator[tuple[int, int, Decimal]]:
    """Balance, commission, and what moved in or (below nought) out since then."""
    moves = account.transfers.filter(currency=currency, created_at__gte=since)
    for kind, side, sign in (
        (Move.APPROVED, "credit", 1),
        (Move.REOPENED, "debit", -1),
    ):
        of_one = {} if only is None else {side: only}
        sums = (
            moves.filter(kind=kind, **of_one).order_by().values_list(side, "commission")
        )
        for place, commission, amount in sums.annotate(ExactSum("amount")):
            yield place, commission, sign * amount
