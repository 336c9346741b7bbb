"""The books: the only writer of transfers and balances.

`hold` hands out the books of some purses: whose money, in which currency. At their
first word they create what is missing and lock the stored rows in the order of their
ids; at the end of the block they write the transfers and the new balances, as the last
thing before COMMIT.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from django.db.models import Max, Q

from accounts.models.accounts import Account
from payouts.errors import BalanceTooLarge
from payouts.models.commissions import Commission, Purse, Status
from payouts.models.ledger import (
    BETWEEN,
    MOST,
    OF_AFFILIATES,
    STORED,
    LedgerAccount,
    Move,
    Place,
    Transfer,
)
from payouts.models.payments import Payment
from tracking.amounts import ExactSum
from tracking.money import NOUGHT

# Where a commission's amount lies, by its state; each step is one kind of transfer.
HEIGHT = {Status.DISAPPROVED: 0, Status.PENDING: 1, Status.APPROVED: 2}
UP = (Move.EARNED, Move.APPROVED)
DOWN = (Move.WITHDRAWN, Move.REOPENED)
NOWHERE = Status.DISAPPROVED


class Slot(NamedTuple):
    """A place for money of one currency, and whose: an affiliate's, or the whole's."""

    currency: str
    place: str
    affiliate: int | None = None


class Books:
    """The ledger of some purses, opened at the first word."""

    def __init__(
        self,
        account: Account,
        purses: Iterable[Purse],
        funds: Iterable[str],
        at: datetime,
    ) -> None:
        self.account = account
        self.purses = sorted(set(purses))
        self.funds = set(funds)
        if account.uses_payouts:
            self.funds |= {currency for _, currency in self.purses}
        self.at = at
        self.is_open = False
        self.rows: dict[Slot, LedgerAccount] = {}
        self.balances: dict[Slot, Decimal] = {}
        self.steps: dict[int, int] = {}
        self.posted: list[tuple[tuple[Slot, Slot], dict[str, Any]]] = []

    def earn(self, commission: Commission) -> None:
        """A commission is born, in whatever state."""
        self.steps[commission.pk] = 0
        self.follow(commission, was=NOWHERE)

    def follow(
        self, commission: Commission, *, was: str, held: Decimal | None = None
    ) -> None:
        """A commission went to another state or, with what it `held`, another amount.

        First it grows or shrinks where it lay, then the whole of it goes along.
        """
        lay, lies = HEIGHT[Status(was)], HEIGHT[Status(commission.status)]
        grown = NOUGHT if held is None else commission.amount - held
        if grown > 0:
            self._climb(commission, grown, HEIGHT[NOWHERE], lay)
        else:
            self._climb(commission, -grown, lay, HEIGHT[NOWHERE])
        self._climb(commission, commission.amount, lay, lies)

    def withdraw(self, commission: Commission) -> None:
        """A commission goes for good, with its sale."""
        lay = HEIGHT[Status(commission.status)]
        self._climb(commission, commission.amount, lay, HEIGHT[NOWHERE])

    def pay(self, payment: Payment) -> None:
        """An affiliate was paid, out of the payout balance where there is one."""
        pocket = Place.FUNDING if self.account.uses_payouts else Place.PAID
        debit = Slot(payment.currency, Place.PAYABLE, payment.affiliate_id)
        credit = Slot(payment.currency, pocket)
        self._post(Move.PAID, debit, credit, payment.amount, payment=payment)

    def cancel(self, payment: Payment) -> None:
        """A payment is owed again: its transfer with the sides exchanged."""
        self.open()
        paid = self.account.transfers.select_related("credit").get(
            payment=payment, kind=Move.PAID
        )
        debit = Slot(payment.currency, paid.credit.kind)
        credit = Slot(payment.currency, Place.PAYABLE, payment.affiliate_id)
        self._post(
            Move.PAYMENT_CANCELED,
            debit,
            credit,
            payment.amount,
            payment=payment,
            reverses=paid,
        )

    def fund(self, amount: Decimal, currency: str) -> Decimal:
        """The payout balance was topped up; what it is now."""
        funding = Slot(currency, Place.FUNDING)
        self._post(Move.FUNDED, funding, Slot(currency, Place.EXTERNAL), amount)
        return -self.balances[funding]

    def covers(
        self, purse: Purse, amount: Decimal, *, besides: Iterable[tuple[Purse, Decimal]]
    ) -> bool:
        """Is the payout balance at least all that is owed, and this amount?

        `besides` is what will be owed as well by the time this amount is.
        """
        self.open()
        _, currency = purse
        owed: dict[int | None, Decimal] = defaultdict(Decimal)
        for slot, balance in self.balances.items():
            if slot.place == Place.PAYABLE and slot.currency == currency:
                owed[slot.affiliate] += balance
        for (affiliate, of_currency), promised in besides:
            if of_currency == currency:
                owed[affiliate] += promised
        ours = sum((max(balance, NOUGHT) for balance in owed.values()), NOUGHT)
        funded = -self.balances[Slot(currency, Place.FUNDING)]
        return funded >= ours + self._owed_to_others(currency) + amount

    def owed(self, purse: Purse) -> Decimal:
        """What is owed to an affiliate in a currency, now that nobody moves it."""
        self.open()
        affiliate, currency = purse
        return self.balances[Slot(currency, Place.PAYABLE, affiliate)]

    def open(self) -> None:
        """Lock the stored rows; from here on nobody else moves this money."""
        if self.is_open:
            return
        self.is_open = True
        wanted = {Slot(currency, Place.FUNDING) for currency in self.funds}
        for affiliate, currency in self.purses:
            wanted |= {Slot(currency, place, affiliate) for place in OF_AFFILIATES}
        self.rows = self._rows()
        missing = sorted(wanted - set(self.rows), key=str)  # one order for everybody
        for slot in missing:
            self._add(slot)
        if missing:
            self.rows = self._rows()
        self._lock(wanted | {it for it in self.rows if it.place == Place.FUNDING})

    def close(self) -> None:
        """Write what was posted: the transfers, then each balance that moved."""
        if not self.posted:
            return
        # Rows without a balance are made here, in one order for everybody.
        for slot in sorted({it for pair, _ in self.posted for it in pair}, key=str):
            self._make_sure_of(slot)
        self.account.transfers.bulk_create(
            Transfer(
                account=self.account,
                currency=debit.currency,
                debit=self.rows[debit],
                credit=self.rows[credit],
                created_at=self.at,
                **cause,
            )
            for (debit, credit), cause in self.posted
        )
        for slot, row in sorted(self.rows.items(), key=lambda it: it[1].pk):
            if slot in self.balances and row.balance != self.balances[slot]:
                row.change(balance=self.balances[slot])

    def _climb(
        self, commission: Commission, amount: Decimal, height: int, goal: int
    ) -> None:
        """Move an amount from one height to another, step by step."""
        affiliate, currency = commission.purse
        while amount and height != goal:
            if height < goal:
                kind, height = UP[height], height + 1
            else:
                height = height - 1
                kind = DOWN[height]
            debit, credit = (
                Slot(currency, place, affiliate if place in OF_AFFILIATES else None)
                for place in BETWEEN[kind]
            )
            step = self._next_step(commission)
            self._post(kind, debit, credit, amount, commission=commission, step=step)

    def _post(
        self, kind: Move, debit: Slot, credit: Slot, amount: Decimal, **cause: object
    ) -> None:
        self.open()
        self._shift(debit, -amount)
        self._shift(credit, amount)
        facts = {"kind": kind, "amount": amount} | cause
        self.posted.append(((debit, credit), facts))

    def _shift(self, slot: Slot, amount: Decimal) -> None:
        if slot.place not in STORED:
            return
        self.balances[slot] += amount
        if abs(self.balances[slot]) >= MOST:
            raise BalanceTooLarge

    def _next_step(self, commission: Commission) -> int:
        if commission.pk not in self.steps:
            posted = self.account.transfers.filter(commission=commission)
            self.steps[commission.pk] = posted.aggregate(last=Max("step"))["last"] or 0
        self.steps[commission.pk] += 1
        return self.steps[commission.pk]

    def _rows(self) -> dict[Slot, LedgerAccount]:
        currencies = self.funds | {currency for _, currency in self.purses}
        affiliates = {affiliate for affiliate, _ in self.purses}
        rows = self.account.ledger_accounts.filter(
            Q(affiliate__in=affiliates) | Q(affiliate=None), currency__in=currencies
        )
        return {Slot(it.currency, it.kind, it.affiliate_id): it for it in rows}

    def _make_sure_of(self, slot: Slot) -> None:
        """The row of a place: there, made now, or made by another at this moment."""
        if slot not in self.rows and not self._add(slot):
            self.rows |= {it: row for it, row in self._rows().items() if it == slot}

    def _add(self, slot: Slot) -> bool:
        """Make a row, unless somebody else does so at this moment."""
        row = LedgerAccount(
            account=self.account,
            currency=slot.currency,
            kind=slot.place,
            affiliate_id=slot.affiliate,
            balance=NOUGHT if slot.place in STORED else None,  # type: ignore[misc]
        )
        columns: tuple[str, ...] = ("account", "currency", "kind")
        among = "affiliate_id IS NULL"
        if slot.affiliate is not None:
            columns, among = (*columns, "affiliate"), "affiliate_id IS NOT NULL"
        made = self.account.ledger_accounts.insert_unless_taken(
            row, on=columns, among=among
        )
        if made:
            self.rows[slot] = row
        return made

    def _lock(self, wanted: Iterable[Slot]) -> None:
        locked = (
            self.account.ledger_accounts.select_for_update(no_key=True)
            .filter(pk__in=[self.rows[slot].pk for slot in wanted])
            .order_by("id")
        )
        for row in locked:
            slot = Slot(row.currency, row.kind, row.affiliate_id)
            self.rows[slot] = row
            self.balances[slot] = row.balance or NOUGHT

    def _owed_to_others(self, currency: str) -> Decimal:
        ours = [affiliate for affiliate, of in self.purses if of == currency]
        others = self.account.ledger_accounts.filter(
            currency=currency, kind=Place.PAYABLE, balance__gt=NOUGHT
        ).exclude(affiliate__in=ours)
        return others.aggregate(owed=ExactSum("balance"))["owed"] or NOUGHT


@contextmanager
def hold(
    account: Account,
    purses: Iterable[Purse],
    *,
    at: datetime,
    funds: Iterable[str] = (),
) -> Iterator[Books]:
    """The books of these purses, and of the payout balance in these currencies;
    written when the block ends without a refusal."""
    books = Books(account, purses, funds, at)
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
