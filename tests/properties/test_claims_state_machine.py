"""Claims, facts, contests and decisions in any order: no fact is lost to a claim.

`ClaimsStateMachine` calls the services; each claim must leave every fact as it was, and
each fact must be accepted (docs/tracking-trust.md).
"""

from contextlib import suppress
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from accounts.errors import DomainError
from payouts.errors import SettledCommission
from payouts.services.commissions import approve_commission, disapprove_commission
from payouts.services.conversion_creation import ConversionData, create_conversion
from payouts.services.conversion_updates import (
    add_commissions,
    delete_conversion,
    update_conversion,
)
from payouts.services.corrections import confirm_claim
from payouts.services.explanation import explain_conversion
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.payments import PaymentOrder, create_payments
from tests.factories.accounts import AccountFactory
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import (
    CONVERSION_CREATED_AT,
    ProgramScenario,
    build_line_items,
)
from tracking.attribution import (
    BROWSER_CONVERSION_ORDER,
    BROWSER_CUSTOMER_ORDER,
    TrackingParameters,
)
from tracking.claims import CONTESTED_CLAIM, CONTESTED_CUSTOMER, Trust
from tracking.errors import ClaimNotFound, ContestedClaim, DuplicateConversion
from tracking.models.customers import CustomerStatus
from tracking.services.clicks import Visit
from tracking.services.customers import (
    CustomerData,
    cancel_customer,
    create_customer,
    update_customer,
)
from tracking.services.visitors import record_visit

pytestmark = [pytest.mark.integration, pytest.mark.another_transaction]

affiliates = st.sampled_from(["mina", "mallory"])
order_ids = st.sampled_from(["order-1", "order-2", None])
customer_ids = st.sampled_from(["acct-1", "acct-2"])
amounts = st.sampled_from(["10", "99.90", "0"])
currencies = st.sampled_from(["EUR", "USD"])
picks = st.integers(min_value=0, max_value=100)


class ClaimsStateMachine(RuleBasedStateMachine):
    """A program that approves automatically, an honest and a dishonest affiliate."""

    def __init__(self) -> None:
        super().__init__()
        self.transaction = transaction.atomic()
        self.transaction.__enter__()
        self.account = AccountFactory()
        self.scenario = ProgramScenario(self.account, auto_approve_commissions=True)
        self.scenario.mallory = self.scenario.create_enrolled_affiliate("Mal", "Thorn")
        self.at = CONVERSION_CREATED_AT
        self.checked_at = None

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.transaction.__exit__(None, None, None)

    def tick(self):
        self.at += timedelta(seconds=90)
        return self.at

    def visit(self, affiliate) -> str:
        """A new visitor of the affiliate's link; returns the tracking id."""
        code = getattr(self.scenario, affiliate).code
        visit = Visit(parameters=TrackingParameters(referral_code=code))
        at = self.tick()
        recorded = record_visit(self.account, visit=visit, previous_tracking_id=None, at=at)
        return recorded.tracking_id

    def snapshot_facts(self):
        """Everything that no claim may change."""
        account = self.account
        facts = account.conversions.not_deleted().filter(claim_status=None)
        commissions = account.commissions.not_deleted().filter(conversion__in=facts)
        return (
            sorted(facts.values_list("pk", "affiliate", "amount", "external_id")),
            sorted(commissions.values_list("pk", "affiliate", "amount", "status")),
            sorted(
                (pk, affiliate, is_canceled)
                for pk, affiliate, status in account.customers.not_deleted()
                .filter(is_confirmed=True)
                .values_list("pk", "affiliate", "status")
                for is_canceled in (status == CustomerStatus.CANCELED,)
            ),
            get_payable_balances_by_slug(account),
        )

    def pick(self, rows, number):
        rows = list(rows.order_by("id"))
        return rows[number % len(rows)] if rows else None

    # Claims

    @rule(
        affiliate=affiliates,
        order_id=order_ids,
        customer_id=st.none() | customer_ids,
        amount=amounts,
    )
    def claim_conversion(self, affiliate, order_id, customer_id, amount):
        vid = self.visit(affiliate)
        before = self.snapshot_facts()
        data = ConversionData(
            parameters=TrackingParameters(tracking_id=vid, customer_id=customer_id),
            line_items=build_line_items(amount),
            external_id=order_id,
            order=BROWSER_CONVERSION_ORDER,
            trust=Trust.CLAIM,
            is_browser_sale=True,
        )
        with suppress(DuplicateConversion):
            create_conversion(self.account, data=data, at=self.tick())
        assert self.snapshot_facts() == before

    @rule(affiliate=affiliates, customer_id=customer_ids)
    def claim_customer(self, affiliate, customer_id):
        vid = self.visit(affiliate)
        before = self.snapshot_facts()
        data = CustomerData(
            customer_id=customer_id,
            parameters=TrackingParameters(tracking_id=vid),
            order=BROWSER_CUSTOMER_ORDER,
            trust=Trust.CLAIM,
        )
        with suppress(DomainError):
            create_customer(self.account, data=data, at=self.tick())
        assert self.snapshot_facts() == before

    # Facts

    @rule(
        affiliate=affiliates,
        order_id=order_ids,
        customer_id=st.none() | customer_ids,
        amount=amounts,
        currency=currencies,
    )
    def record_conversion(self, affiliate, order_id, customer_id, amount, currency):
        rows = self.account.conversions.not_deleted()
        known = order_id and rows.filter(external_id=order_id).first()
        paid = self.account.commissions.not_deleted().filter(payment__isnull=False)
        reported = paid.filter(conversion=known, is_extra=False) if known else paid
        is_decided = known and (known.claim_status is None or reported.exists())
        paid_before = set(paid)
        customers = self.account.customers.not_deleted()
        confirmed = customers.filter(customer_id=customer_id, is_confirmed=True).first()
        try:
            conversion = self.scenario.create_conversion(
                amount,
                affiliate=getattr(self.scenario, affiliate),
                customer_id=customer_id,
                external_id=order_id,
                currency=currency,
                at=self.tick(),
            )
        except DuplicateConversion:
            # An extra reward may be paid that another affiliate or currency takes back.
            assert is_decided or paid.filter(conversion=known).exists()
            return
        assert not is_decided
        assert set(paid) == paid_before
        expected = confirmed.affiliate if confirmed else getattr(self.scenario, affiliate).affiliate
        assert conversion.affiliate == expected
        assert conversion.claim_status is None
        assert conversion.amount == Decimal(amount)
        if known:
            assert conversion.pk == known.pk
        if customer_id:
            assert conversion.customer.is_confirmed
            assert conversion.customer.affiliate == expected

    @rule(order_id=order_ids, customer_id=st.none() | customer_ids, amount=amounts)
    def record_conversion_without_parameter(self, order_id, customer_id, amount):
        data = ConversionData(
            parameters=TrackingParameters(customer_id=customer_id),
            line_items=build_line_items(amount),
            external_id=order_id,
        )
        with suppress(DomainError):
            create_conversion(self.account, data=data, at=self.tick())

    @rule(affiliate=affiliates, customer_id=customer_ids)
    def record_customer(self, affiliate, customer_id):
        rows = self.account.customers.not_deleted().filter(customer_id=customer_id)
        if rows.filter(is_confirmed=True).exists():
            return
        affiliate = getattr(self.scenario, affiliate)
        customer = self.scenario.create_customer(customer_id, affiliate=affiliate, at=self.tick())
        assert (customer.is_confirmed, customer.affiliate) == (
            True,
            affiliate.affiliate,
        )

    @rule(number=picks, customer_id=customer_ids)
    def rename_customer(self, number, customer_id):
        rows = self.account.customers.not_deleted().filter(is_confirmed=True)
        customer = self.pick(rows, number)
        if customer is None or rows.filter(customer_id=customer_id).exists():
            return
        update_customer(
            self.account,
            customer=customer,
            customer_id=customer_id,
            meta_data=None,
            at=self.tick(),
        )

    @rule(number=picks)
    def cancel(self, number):
        customer = self.pick(self.account.customers.not_deleted(), number)
        if customer:
            public_id = customer.public_id
            cancel_customer(self.account, public_id=public_id, at=self.tick())

    # Decisions

    @rule(
        number=picks,
        decide=st.sampled_from([approve_commission, disapprove_commission]),
    )
    def decide(self, number, decide):
        rows = self.account.commissions.not_deleted()
        commission = self.pick(rows, number)
        if commission is None:
            return
        conversion = commission.conversion
        try:
            decide(self.account, commission_id=commission.pk, at=self.tick())
        except ContestedClaim:
            assert conversion.is_contested
            return
        if decide is approve_commission:
            assert not conversion.is_contested
            customer = conversion.reload().customer
            assert (
                customer is None
                or customer.is_confirmed
                or customer.affiliate_id != conversion.affiliate_id
            )

    @rule(number=picks)
    def confirm(self, number):
        claim = self.pick(self.account.conversion_claims, number)
        if claim is None:
            return
        commissions = self.account.commissions.not_deleted().filter(conversion=claim.conversion_id)
        try:
            conversion = confirm_claim(self.account, claim_id=claim.pk, at=self.tick())
        except ClaimNotFound:
            return
        except SettledCommission:
            assert commissions.filter(payment__isnull=False).exists()
            return
        assert conversion.affiliate == claim.affiliate
        assert conversion.claim_status is None

    @rule(number=picks, amount=amounts, order_id=order_ids)
    def change(self, number, amount, order_id):
        rows = self.account.conversions.not_deleted()
        conversion = self.pick(rows, number)
        if conversion is None:
            return
        changes = {"amount": Decimal(amount)}
        facts = rows.filter(claim_status=None).exclude(pk=conversion.pk)
        if order_id and not facts.filter(external_id=order_id).exists():
            changes["external_id"] = order_id
        update_conversion(
            self.account,
            conversion_id=conversion.pk,
            changes=changes,
            should_recalculate=True,
            at=self.tick(),
        )

    @rule(number=picks, amount=amounts)
    def add_extra(self, number, amount):
        conversion = self.pick(self.account.conversions.not_deleted(), number)
        if conversion is not None:
            (extra, *_) = add_commissions(
                self.account,
                conversion_id=conversion.pk,
                line_items=build_line_items(amount),
                at=self.at,  # at the moment of what happened last
            )
            assert extra.is_extra

    @rule(number=picks)
    def delete(self, number):
        conversion = self.pick(self.account.conversions.not_deleted(), number)
        if conversion is not None:
            delete_conversion(self.account, conversion_id=conversion.pk, at=self.tick())

    @rule()
    def pay(self):
        for slug, balances in get_payable_balances_by_slug(self.account).items():
            for currency, amount in balances.items():
                if amount > 0:
                    order = PaymentOrder(slug, amount, currency)
                    create_payments(self.account, orders=[order], at=self.tick())

    @invariant()
    def is_consistent_and_explained(self):
        """After each step that changed something: those take a moment of their own."""
        if self.at == self.checked_at:
            return
        self.checked_at = self.at
        assert_ledger_consistent(self.account)
        for conversion in self.account.conversions.all():
            pk = conversion.pk
            explanation = explain_conversion(self.account, conversion_id=pk)
            assert explanation.differences == []
            warnings = conversion.warnings or ()
            assert conversion.is_contested == (CONTESTED_CLAIM in warnings)
            assert conversion.claim_status or not conversion.is_amount_claimed
            commissions = self.account.commissions.not_deleted()
            assert {row.currency for row in commissions.filter(conversion=pk)} <= {
                conversion.currency
            }
        for customer in self.account.customers.all():
            warnings = customer.warnings or ()
            assert customer.is_contested == (CONTESTED_CUSTOMER in warnings)


def run_state_machine(*, examples, steps):
    run_state_machine_as_test(
        ClaimsStateMachine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_no_fact_is_lost_to_a_claim(db):
    run_state_machine(examples=10, steps=20)


@pytest.mark.slow
def test_no_fact_is_lost_to_a_claim_in_long_runs(db):
    run_state_machine(examples=500, steps=50)
