"""Random histories with payout runs: never more than the balance, nothing twice."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from payouts.errors import DuplicateOpeningBalance, PayoutRunEmpty
from payouts.models.runs import PayoutLineState
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.opening_balances import (
    post_opening_balance,
    reverse_opening_balance,
)
from payouts.services.payments import cancel_payment
from payouts.services.payout_limits import lift_withheld_balance
from payouts.services.payout_runs import (
    create_draft,
    list_totals,
    remake_draft,
    take_out,
)
from payouts.services.run_confirmation import confirm_run
from tests.factories.accounts import AccountFactory
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT as AT
from tests.program_scenario import ProgramScenario
from tracking.amounts import ExactSum

pytestmark = pytest.mark.integration

cents = st.integers(min_value=1, max_value=10_000)
days = st.integers(min_value=0, max_value=5)
affiliates = st.integers(min_value=0, max_value=1)
picks = st.integers(min_value=0, max_value=100)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("earn"), affiliates, cents, days),
        st.tuples(st.just("pay"), affiliates, cents),
        st.tuples(st.just("open"), affiliates, cents, st.sampled_from([1, -1])),
        st.tuples(st.just("disapprove"), picks),
        st.tuples(st.just("delete"), picks),
        st.tuples(st.just("change"), picks, cents),
        st.tuples(st.just("cancel"), picks),
        st.tuples(st.just("withhold"), affiliates, days),
        st.tuples(st.just("run"), days, st.booleans()),
    ),
    max_size=25,
)


class History:
    """An account with two affiliates; each method is a step."""

    def __init__(self) -> None:
        self.account = AccountFactory()
        self.withheld: set[str] = set()
        self.scenario = ProgramScenario(self.account)
        self.scenario.create_commission_type("all", 100)
        self.people = [
            self.scenario.mina,
            self.scenario.create_enrolled_affiliate("Ada", "Lund"),
        ]
        for person in self.people:
            self.account.payout_methods.create(
                affiliate=person.affiliate,
                kind="paypal",
                details={"email": "a@x.example"},
                is_primary=True,
            )

    def earn(self, number, amount, due_days):
        sale = self.scenario.create_conversion(
            (str(Decimal(amount) / 100), "all"), affiliate=self.people[number]
        )
        commission = self.scenario.get_commission(sale)
        self.scenario.approve(commission)
        due_at = AT + timedelta(days=due_days)
        self.account.commissions.filter(pk=commission.pk).update(due_at=due_at)

    def pay(self, number, amount):
        self.scenario.pay(Decimal(amount) / 100, to=self.people[number].slug)

    def open(self, number, amount, sign):
        """Post an opening balance, or take back the one that there is."""
        key = {"affiliate_id": self.people[number].slug, "currency": "EUR", "at": AT}
        amount = sign * Decimal(amount) / 100
        try:
            post_opening_balance(self.account, amount=amount, **key)
        except DuplicateOpeningBalance:
            reverse_opening_balance(self.account, **key)

    def pick(self, rows, number):
        rows = list(rows.order_by("id"))
        return rows[number % len(rows)] if rows else None

    def disapprove(self, number):
        rows = self.account.commissions.not_deleted().filter(status="approved")
        if commission := self.pick(rows, number):
            self.scenario.disapprove(commission)

    def delete(self, number):
        if conversion := self.pick(self.account.conversions.filter(deleted_at=None), number):
            self.scenario.delete(conversion)

    def change(self, number, amount):
        if conversion := self.pick(self.account.conversions.filter(deleted_at=None), number):
            self.scenario.change_amount(conversion, str(Decimal(amount) / 100))

    def cancel(self, number):
        if payment := self.pick(self.account.payments.not_canceled(), number):
            cancel_payment(self.account, payment_id=payment.public_id, at=AT)

    def withhold(self, number, until):
        """Take an affiliate out of a draft, if it is in there; or lift that."""
        account, slug = self.account, self.people[number].slug
        if slug in self.withheld:
            lift_withheld_balance(account, affiliate_id=slug, currency="EUR", at=AT)
            self.withheld.remove(slug)
            return
        day = (AT + timedelta(days=until)).date()
        run = create_draft(account, due_until=day, at=AT)
        lines = account.payout_lines.filter(run=run, state=PayoutLineState.INCLUDED)
        if line := lines.filter(affiliate__slug=slug).first():
            take_out(account, pk=line.pk, reason="asked", at=AT)
            self.withheld.add(slug)

    def run(self, until, remakes):
        """Check what a run pays against the balances before and after."""
        account, day = self.account, (AT + timedelta(days=until)).date()
        before = get_payable_balances_by_slug(account)
        run = create_draft(account, due_until=day, at=AT)
        if remakes:
            remake_draft(account, pk=run.pk, at=AT)
        lines = account.payout_lines.filter(run=run).select_related("affiliate")
        included = {
            line.affiliate.slug: line.amount
            for line in lines
            if line.state == PayoutLineState.INCLUDED
        }
        on_hold = account.commissions.unpaid().filter(due_at__gte=run.due_before)
        held = dict(on_hold.order_by().values_list("affiliate__slug").annotate(ExactSum("amount")))
        for slug, balances in before.items():
            due = balances["EUR"] - held.get(slug, 0)
            due = 0 if slug in self.withheld else max(due, 0)
            assert included.get(slug, 0) == due <= max(balances["EUR"], 0)
        assert included.keys() <= before.keys()
        assert {line.affiliate.slug for line in lines} == before.keys() | held.keys()
        assert list_totals(run) == ({"EUR": sum(included.values())} if included else {})
        if not included:
            with pytest.raises(PayoutRunEmpty):
                confirm_run(account, pk=run.pk, at=AT)
            return
        for _ in range(2):
            confirm_run(account, pk=run.pk, at=AT)
            payments = {
                line.affiliate.slug: line.payment.amount
                for line in lines.exclude(payment=None).select_related("payment")
            }
            assert payments == included
            after = get_payable_balances_by_slug(account)
            for slug, amount in included.items():
                rest = before[slug]["EUR"] - amount
                assert after.get(slug, {}).get("EUR", 0) == rest == held.get(slug, 0)


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps)
def test_a_run_pays_what_is_due_once(db, steps):
    with transaction.atomic():
        history = History()
        for name, *arguments in steps:
            getattr(history, name)(*arguments)
        assert_ledger_consistent(history.account)
        transaction.set_rollback(True)
