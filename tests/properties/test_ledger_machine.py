"""Whatever happens in whatever order: the books agree, with themselves and a model.

`Story` drives the services; beside it stands a model of plain whole numbers: minor
units of commissions and payments, and the rules of contract 2.2.6, 2.3.3 and 7.6.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from accounts.errors import AccountLocked
from accounts.services.accounts import lock, refuse_locked, unlock
from payouts.errors import CommissionApproved, CommissionUnfunded, PaymentNotFound
from payouts.services.funding import top_up
from payouts.services.ledger import balances_of
from payouts.services.payments import Order, cancel_payment, pay
from payouts.services.revising import (
    add_commissions,
    change_commission,
    change_conversion,
    decide_all,
    remove_conversion,
)
from tests.factories.accounts import AccountFactory
from tests.proof import books_agree
from tests.shop import SOLD, Shop, items_of
from tracking.errors import ProgramArchived, ProgramIsLocked
from tracking.services.programs import archive, unarchive

DECIMALS = {"EUR": 2, "JPY": 0, "KWD": 3}
RATE = Decimal("7.5")
REFUSALS = (CommissionApproved, CommissionUnfunded)

currencies = st.sampled_from(sorted(DECIMALS))
sellers = st.integers(min_value=0, max_value=1)
cents = st.integers(min_value=0, max_value=10_000_000)
picks = st.integers(min_value=0, max_value=10**6)
goals = st.sampled_from(["approved", "disapproved", "pending"])


def earned(units: int) -> int:
    """7.5 % of so many minor units, half up: whole numbers all the way."""
    return (units * 75 * 2 + 1000) // 2000


def amount(units: int, currency: str) -> Decimal:
    """Minor units as an amount."""
    return Decimal(units).scaleb(-DECIMALS[currency])


def shared(parts: list[int], *, was: int, now: int, complete: bool) -> list[int]:
    """Contract 2.2.6, in whole numbers."""
    if not was:
        return [now, *[0] * (len(parts) - 1)] if parts else []
    if complete and len(parts) == 1:
        return [now]
    scaled = [(2 * part * now + was) // (2 * was) for part in parts]
    if not complete or sum(parts) != was:
        return scaled
    left, kept = now, []
    for share in scaled[:-1]:
        kept.append(min(share, left))
        left -= kept[-1]
    return [*kept, left]


@dataclass
class Earning:
    """The model's commission."""

    sale: int
    seller: int
    currency: str
    part: int
    units: int
    state: str
    paid_by: str | None = None


@dataclass
class Sold:
    """The model's conversion."""

    currency: str
    units: int
    commissions: list[int] = field(default_factory=list)


class Story(RuleBasedStateMachine):
    """An account with one program, and the model of what its affiliates have."""

    def __init__(self) -> None:
        super().__init__()
        self.around = transaction.atomic()
        self.around.__enter__()
        self.account = AccountFactory()
        self.shop = Shop(self.account, rate=RATE)
        self.sellers = [self.shop.mina, self.shop.join("Odette", "Varga")]
        self.at = SOLD
        self.earnings: dict[int, Earning] = {}
        self.sales: dict[int, Sold] = {}
        self.payments: dict[str, tuple[int, str, int]] = {}
        self.funds = dict.fromkeys(DECIMALS, 0)
        self.archived = self.locked = self.approves = False
        self.moved = True  # since the books were proved

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.around.__exit__(None, None, None)

    @initialize(on=st.booleans())
    def pay_through_the_service_or_not(self, on):
        self.account.uses_payouts = on

    # The model

    def balance(self, seller: int, currency: str) -> int:
        got = sum(
            it.units
            for it in self.earnings.values()
            if (it.seller, it.currency, it.state) == (seller, currency, "approved")
        )
        paid = sum(
            units
            for whose, of, units in self.payments.values()
            if (whose, of) == (seller, currency)
        )
        return got - paid

    def covers(self, currency: str, units: int) -> bool:
        owed = sum(max(self.balance(it, currency), 0) for it in (0, 1))
        paid = sum(it[2] for it in self.payments.values() if it[1] == currency)
        return self.funds[currency] - paid >= owed + units

    def refused(self, earning: Earning, goal: str) -> bool:
        """Contract 2.3.3: what the payout feature does not let happen."""
        if not self.account.uses_payouts:
            return False
        if earning.state == "approved":
            return True
        unfunded = goal == "approved" and not self.covers(
            earning.currency, earning.units
        )
        return unfunded and earning.state != goal

    def put(self, earning: Earning, state: str) -> None:
        if earning.state != state:
            earning.state, earning.paid_by = state, None

    def is_final(self, earning: Earning) -> bool:
        return self.account.uses_payouts and earning.state == "approved"

    def learn(self, sale: int, seller: int, made, parts: list[int]) -> None:
        """What was born, in the state that the model expects it in."""
        currency = self.sales[sale].currency
        for commission, part in zip(made, parts, strict=True):
            units = earned(part)
            state = "pending"
            if self.approves and (
                not self.account.uses_payouts or self.covers(currency, units)
            ):
                state = "approved"
            self.earnings[commission.pk] = Earning(
                sale, seller, currency, part, units, state
            )
            self.sales[sale].commissions.append(commission.pk)

    def picked(self, rows: dict, pick: int):
        return sorted(rows)[pick % len(rows)]

    def moment(self) -> None:
        self.at += timedelta(minutes=1)
        self.moved = True

    # What may happen

    @rule(
        seller=sellers,
        currency=currencies,
        parts=st.lists(cents, min_size=1, max_size=3),
    )
    def sell(self, seller, currency, parts):
        self.moment()
        if self.locked:
            with pytest.raises(AccountLocked):
                refuse_locked(self.account)
            return
        told = {
            "member": self.sellers[seller],
            "currency": currency,
            "at": self.at,
        }
        amounts = [amount(units, currency) for units in parts]
        if self.archived:
            with pytest.raises(ProgramArchived):
                self.shop.sell(*amounts, **told)
            return
        sale = self.shop.sell(*amounts, **told)
        made = self.account.commissions.filter(conversion=sale).order_by("id")
        self.sales[sale.pk] = Sold(currency, sum(parts))
        self.learn(sale.pk, seller, made, parts)

    @precondition(lambda self: self.earnings)
    @rule(pick=picks, goal=goals)
    def decide(self, pick, goal):
        self.moment()
        number = self.picked(self.earnings, pick)
        earning = self.earnings[number]

        def act():
            change_commission(
                self.account,
                commission_id=number,
                changes={"status": goal},
                at=self.at,
            )

        if self.refused(earning, goal):
            with pytest.raises(REFUSALS):
                act()
        else:
            act()
            self.put(earning, goal)

    @precondition(lambda self: self.sales)
    @rule(pick=picks, goal=goals)
    def decide_the_whole_sale(self, pick, goal):
        self.moment()
        number = self.picked(self.sales, pick)
        before = {key: it.state for key, it in self.earnings.items()}
        fails = False
        for key in self.sales[number].commissions:
            earning = self.earnings[key]
            if earning.state != goal:
                fails = fails or self.refused(earning, goal)
                earning.state = goal
        for key, state in before.items():
            self.earnings[key].state = state

        def act():
            decide_all(self.account, conversion_id=number, status=goal, at=self.at)

        if fails:
            with pytest.raises(REFUSALS):
                act()
        else:
            act()
            for key in self.sales[number].commissions:
                self.put(self.earnings[key], goal)

    @precondition(lambda self: self.earnings)
    @rule(pick=picks, units=cents)
    def set_an_amount_by_hand(self, pick, units):
        self.moment()
        number = self.picked(self.earnings, pick)
        earning = self.earnings[number]
        changes = {"amount": amount(units, earning.currency)}
        told = {"commission_id": number, "changes": changes, "at": self.at}
        if self.is_final(earning) and units != earning.units:
            with pytest.raises(CommissionApproved):
                change_commission(self.account, **told)
            return
        change_commission(self.account, **told)
        earning.units = units

    @precondition(lambda self: self.sales)
    @rule(pick=picks, units=cents, recalculate=st.booleans())
    def change_a_sale(self, pick, units, recalculate):
        self.moment()
        number = self.picked(self.sales, pick)
        sale = self.sales[number]
        change_conversion(
            self.account,
            conversion_id=number,
            changes={"amount": amount(units, sale.currency)},
            recalculate=recalculate,
            at=self.at,
        )
        all_of_it = [self.earnings[key] for key in sale.commissions]
        loose = [it for it in all_of_it if not self.is_final(it)]
        was, sale.units = sale.units, units
        if recalculate:
            parts = shared(
                [it.part for it in loose],
                was=was,
                now=units,
                complete=len(loose) == len(all_of_it),
            )
            for earning, part in zip(loose, parts, strict=True):
                earning.part, earning.units = part, earned(part)

    @precondition(lambda self: self.sales)
    @rule(pick=picks, units=cents)
    def add_a_commission(self, pick, units):
        self.moment()
        number = self.picked(self.sales, pick)
        sale = self.sales[number]
        items = items_of(amount(units, sale.currency))
        told = {"conversion_id": number, "items": items, "at": self.at}
        if self.archived:
            with pytest.raises(ProgramIsLocked):
                add_commissions(self.account, **told)
            return
        made = add_commissions(self.account, **told)
        seller = self.earnings[sale.commissions[0]].seller
        self.learn(number, seller, made, [units])

    @precondition(lambda self: self.sales)
    @rule(pick=picks)
    def refund(self, pick):
        self.moment()
        number = self.picked(self.sales, pick)
        told = {"conversion_id": number, "at": self.at}
        numbers = self.sales[number].commissions
        if any(self.is_final(self.earnings[key]) for key in numbers):
            with pytest.raises(CommissionApproved):
                remove_conversion(self.account, **told)
            return
        remove_conversion(self.account, **told)
        for key in self.sales.pop(number).commissions:
            del self.earnings[key]

    @rule(seller=sellers, currency=currencies, units=cents)
    def pay_somebody(self, seller, currency, units):
        self.moment()
        order = Order(self.sellers[seller].slug, amount(units + 1, currency), currency)
        [payment] = pay(self.account, orders=[order], at=self.at)
        self.payments[payment.public_id] = (seller, currency, units + 1)
        self.cover(payment.public_id)

    def cover(self, payment: str) -> None:
        """Contract 7.6: the oldest first, while they fit whole."""
        seller, currency, _ = self.payments[payment]
        mine = [
            it
            for _, it in sorted(self.earnings.items())
            if (it.seller, it.currency, it.state) == (seller, currency, "approved")
        ]
        budget = sum(
            units
            for whose, of, units in self.payments.values()
            if (whose, of) == (seller, currency)
        ) - sum(it.units for it in mine if it.paid_by)
        for earning in mine:
            if earning.paid_by is None:
                if earning.units > budget:
                    return
                earning.paid_by = payment
                budget -= earning.units

    @precondition(lambda self: self.payments)
    @rule(pick=picks)
    def cancel_a_payment(self, pick):
        self.moment()
        number = self.picked(self.payments, pick)
        cancel_payment(self.account, payment_id=number, at=self.at)
        with pytest.raises(PaymentNotFound):
            cancel_payment(self.account, payment_id=number, at=self.at)
        del self.payments[number]
        for earning in self.earnings.values():
            if earning.paid_by == number:
                earning.paid_by = None

    @rule(currency=currencies, units=cents)
    def top_the_fund_up(self, currency, units):
        self.moment()
        added = amount(units + 1, currency)
        top_up(self.account, amount=added, currency=currency, at=self.at)
        self.funds[currency] += units + 1

    @rule()
    def archive_or_not(self):
        act = unarchive if self.archived else archive
        act(self.account, slug=self.shop.program.slug, at=self.at)
        self.archived = not self.archived

    @rule()
    def lock_or_not(self):
        act = unlock if self.locked else lock
        act(self.account, at=self.at)
        self.locked = not self.locked

    @rule()
    def approve_by_itself_or_not(self):
        self.approves = not self.approves
        self.shop.program.change(auto_approve_commissions=self.approves)

    # What has to hold after every step

    @invariant()
    def owes_what_the_model_owes(self):
        owed = {
            self.sellers[seller].slug: balances
            for seller in (0, 1)
            if (
                balances := {
                    currency: amount(units, currency)
                    for currency in DECIMALS
                    if (units := self.balance(seller, currency))
                }
            )
        }
        assert balances_of(self.account) == owed

    @invariant()
    def keeps_the_commissions_of_the_model(self):
        stored = self.account.commissions.present().values_list(
            "id", "sub_amount", "amount", "status", "payment__public_id"
        )
        assert {number: tuple(rest) for number, *rest in stored} == {
            number: (
                amount(it.part, it.currency),
                amount(it.units, it.currency),
                it.state,
                it.paid_by,
            )
            for number, it in self.earnings.items()
        }

    @invariant()
    def keeps_every_equation(self):
        if self.moved:
            books_agree(self.account)
        self.moved = False


def run(*, examples: int, steps: int) -> None:
    run_state_machine_as_test(
        Story,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_keeps_the_books_through_any_story(db):
    run(examples=50, steps=15)


@pytest.mark.slow
def test_keeps_the_books_through_many_long_stories(db):
    run(examples=1000, steps=50)
