"""Whatever happens in whatever order: the books agree, with themselves and a model.

`Story` drives the services; beside it stand three dictionaries of plain numbers.
"""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from accounts.errors import AccountLocked
from accounts.services.accounts import lock, refuse_locked, unlock
from payouts.services.commissions import approve, disapprove
from payouts.services.ledger import balances_of
from tests.factories.accounts import AccountFactory
from tests.proof import books_agree
from tests.shop import SOLD, Shop
from tracking.errors import ProgramArchived
from tracking.services.programs import archive, unarchive

DECIMALS = {"EUR": 2, "JPY": 0, "KWD": 3}
RATE = Decimal("7.5")

currencies = st.sampled_from(sorted(DECIMALS))
sellers = st.integers(min_value=0, max_value=1)
cents = st.integers(min_value=0, max_value=10_000_000)
picks = st.integers(min_value=0, max_value=10**6)


def earned(units: int) -> int:
    """7.5 % of so many minor units, half up: whole numbers all the way."""
    return (units * 75 * 2 + 1000) // 2000


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
        # The model: of each commission seller, currency, units and state.
        self.commissions: dict[int, list] = {}
        self.archived = self.locked = self.approves = False
        self.moved = True  # since the books were proved

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.around.__exit__(None, None, None)

    @rule(
        seller=sellers,
        currency=currencies,
        parts=st.lists(cents, min_size=1, max_size=3),
    )
    def sell(self, seller, currency, parts):
        self.at += timedelta(minutes=1)
        if self.locked:
            with pytest.raises(AccountLocked):
                refuse_locked(self.account)
            return
        told = {
            "member": self.sellers[seller],
            "currency": currency,
            "at": self.at,
        }
        amounts = [Decimal(units).scaleb(-DECIMALS[currency]) for units in parts]
        if self.archived:
            with pytest.raises(ProgramArchived):
                self.shop.sell(*amounts, **told)
            return
        sale = self.shop.sell(*amounts, **told)
        made = self.account.commissions.filter(conversion=sale).order_by("id")
        state = "approved" if self.approves else "pending"
        for commission, units in zip(made, parts, strict=True):
            self.commissions[commission.pk] = [seller, currency, earned(units), state]
        self.moved = True

    @precondition(lambda self: self.commissions)
    @rule(pick=picks, goal=st.sampled_from(["approved", "disapproved"]))
    def decide(self, pick, goal):
        number = sorted(self.commissions)[pick % len(self.commissions)]
        act = approve if goal == "approved" else disapprove

        act(self.account, commission_id=number, at=self.at)

        self.moved = self.commissions[number][3] != goal
        self.commissions[number][3] = goal

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

    def sums(self, state):
        """The model's balances: affiliate's slug → currency → amount."""
        sums: dict[str, dict[str, Decimal]] = {}
        for seller, currency, units, its_state in self.commissions.values():
            if its_state == state and units:
                of = sums.setdefault(self.sellers[seller].slug, {})
                amount = Decimal(units).scaleb(-DECIMALS[currency])
                of[currency] = of.get(currency, Decimal(0)) + amount
        return sums

    @invariant()
    def owes_what_the_model_owes(self):
        assert balances_of(self.account) == self.sums("approved")

    @invariant()
    def knows_what_waits(self):
        waits: dict[str, dict[str, Decimal]] = {}
        rows = self.account.ledger_accounts.filter(kind="pending", balance__gt=0)
        for slug, currency, balance in rows.values_list(
            "affiliate__slug", "currency", "balance"
        ):
            waits.setdefault(slug, {})[currency] = balance
        assert waits == self.sums("pending")

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
    run(examples=50, steps=20)


@pytest.mark.slow
def test_keeps_the_books_through_many_long_stories(db):
    run(examples=1000, steps=50)
