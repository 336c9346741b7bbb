"""The books: the only writer of transfers and balances.

`hold` hands out the books for an affiliate's money in one currency. At their first
word they create what is missing and lock the stored rows in the order of their ids;
at the end of the block they write the transfers and the new balances, as the last
thing before COMMIT.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal

from django.db.models import Max, Q

from accounts.models.accounts import Account
from payouts.errors import BalanceTooLarge
from payouts.models.commissions import Commission, Status
from payouts.models.ledger import (
    BETWEEN,
    MOST,
    STORED,
    LedgerAccount,
    Move,
    Place,
    Transfer,
)
from tracking.amounts import ExactSum
from tracking.money import NOUGHT

Slot = tuple[str, int | None]  # a place, and whose: an affiliate's id, or the whole

# Where a commission's amount lies, by its state; each step is one kind of transfer.
HEIGHT = {Status.DISAPPROVED: 0, Status.PENDING: 1, Status.APPROVED: 2}
UP = (Move.EARNED, Move.APPROVED)
DOWN = (Move.WITHDRAWN, Move.REOPENED)


class Books:
    """The ledger of some affiliates in one currency, opened at the first word."""

    def __init__(
        self, account: Account, currency: str, affiliates: Iterable[int], at: datetime
    ) -> None:
        self.account = account
        self.currency = currency
        self.affiliates = sorted(set(affiliates))
        self.at = at
        self.rows: dict[Slot, LedgerAccount] = {}
        self.balances: dict[Slot, Decimal] = {}
        self.steps: dict[int, int] = {}
        self.transfers: list[Transfer] = []

    def earn(self, commission: Commission) -> None:
        """A commission is born, in whatever state."""
        self.steps[commission.pk] = 0
        self.follow(commission, was=Status.DISAPPROVED)

    def follow(self, commission: Commission, *, was: str) -> None:
        """A commission went from one state to another: its amount goes along."""
        if not commission.amount:
            return
        height, goal = HEIGHT[Status(was)], HEIGHT[Status(commission.status)]
        while height != goal:
            if height < goal:
                kind, height = UP[height], height + 1
            else:
                height = height - 1
                kind = DOWN[height]
            self._post(kind, commission)

    def look_again(self, seen: Commission) -> Commission:
        """The commission as it stands now that its affiliate's money is locked."""
        self._open()
        return seen.again()

    def covers(self, amount: Decimal) -> bool:
        """Is the payout balance at least all that is owed, and this amount?"""
        self._open()
        ours = [
            max(balance, NOUGHT)
            for (place, _), balance in self.balances.items()
            if place == Place.PAYABLE
        ]
        owed = self._owed_to_others() + sum(ours, NOUGHT)
        return -self.balances[(Place.FUNDING, None)] >= owed + amount

    def close(self) -> None:
        """Write what was posted: the transfers, then each balance that moved."""
        if not self.transfers:
            return
        self.account.transfers.bulk_create(self.transfers)
        for slot, row in sorted(self.rows.items(), key=lambda it: it[1].pk):
            if row.balance is not None and row.balance != self.balances[slot]:
                row.change(balance=self.balances[slot])

    def _post(self, kind: Move, commission: Commission) -> None:
        self._open()
        places = BETWEEN[kind]
        debit, credit = (self._slot(place, commission) for place in places)
        self._shift(debit, -commission.amount)
        self._shift(credit, commission.amount)
        self.transfers.append(
            Transfer(
                account=self.account,
                currency=self.currency,
                kind=kind,
                debit=self.rows[debit],
                credit=self.rows[credit],
                amount=commission.amount,
                commission=commission,
                step=self._next_step(commission),
                created_at=self.at,
            )
        )

    def _shift(self, slot: Slot, amount: Decimal) -> None:
        if slot not in self.balances:
            return  # a place that stores no balance
        self.balances[slot] += amount
        if abs(self.balances[slot]) >= MOST:
            raise BalanceTooLarge

    def _slot(self, place: str, commission: Commission) -> Slot:
        return place, None if place == Place.EXPENSE else commission.affiliate_id

    def _next_step(self, commission: Commission) -> int:
        if commission.pk not in self.steps:
            posted = self.account.transfers.filter(commission=commission)
            self.steps[commission.pk] = posted.aggregate(last=Max("step"))["last"] or 0
        self.steps[commission.pk] += 1
        return self.steps[commission.pk]

    def _open(self) -> None:
        if self.rows:
            return
        wanted: list[Slot] = [(Place.EXPENSE, None)]
        for affiliate in self.affiliates:
            wanted += [(Place.PENDING, affiliate), (Place.PAYABLE, affiliate)]
        if self.account.uses_payouts:
            wanted.append((Place.FUNDING, None))
        self.rows = self._rows()
        missing = [slot for slot in wanted if slot not in self.rows]
        for slot in missing:
            self._add(slot)
        if missing:
            self.rows = self._rows()
        self._lock(wanted)

    def _rows(self) -> dict[Slot, LedgerAccount]:
        rows = self.account.ledger_accounts.filter(
            Q(affiliate__in=self.affiliates) | Q(affiliate=None),
            currency=self.currency,
        )
        return {(row.kind, row.affiliate_id): row for row in rows}

    def _add(self, slot: Slot) -> None:
        """Make a row, unless somebody else does so at this moment."""
        place, affiliate = slot
        row = LedgerAccount(
            account=self.account,
            currency=self.currency,
            kind=place,
            affiliate_id=affiliate,
            balance=NOUGHT if place in STORED else None,  # type: ignore[misc]
        )
        columns: tuple[str, ...] = ("account", "currency", "kind")
        among = "affiliate_id IS NULL"
        if affiliate is not None:
            columns, among = (*columns, "affiliate"), "affiliate_id IS NOT NULL"
        self.account.ledger_accounts.insert_unless_taken(row, on=columns, among=among)

    def _lock(self, wanted: Iterable[Slot]) -> None:
        stored = [self.rows[slot].pk for slot in wanted if slot[0] in STORED]
        locked = (
            self.account.ledger_accounts.select_for_update(no_key=True)
            .filter(pk__in=stored)
            .order_by("id")
        )
        for row in locked:
            slot = (row.kind, row.affiliate_id)
            self.rows[slot] = row
            self.balances[slot] = row.balance or NOUGHT

    def _owed_to_others(self) -> Decimal:
        others = self.account.ledger_accounts.filter(
            currency=self.currency, kind=Place.PAYABLE, balance__gt=NOUGHT
        ).exclude(affiliate__in=self.affiliates)
        return others.aggregate(owed=ExactSum("balance"))["owed"] or NOUGHT


@contextmanager
def hold(
    account: Account, currency: str, affiliates: Iterable[int], *, at: datetime
) -> Iterator[Books]:
    """The books of these affiliates; written when the block ends without a refusal."""
    books = Books(account, currency, affiliates, at)
    yield books
    books.close()


def balances_of(account: Account, affiliate: int | None = None) -> dict[str, dict]:  # type: ignore[type-arg]
    """What is owed: affiliate's slug → currency → balance; noughts are left out."""
    rows = account.ledger_accounts.filter(kind=Place.PAYABLE).exclude(balance=NOUGHT)
    if affiliate is not None:
        rows = rows.filter(affiliate=affiliate)
    owed: dict[str, dict[str, Decimal]] = {}
    for slug, currency, balance in rows.values_list(
        "affiliate__slug", "currency", "balance"
    ):
        owed.setdefault(slug, {})[currency] = balance
    return {slug: dict(sorted(owed[slug].items())) for slug in sorted(owed)}
