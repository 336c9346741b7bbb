"""Random operations in random order: the ledger is consistent and matches a model.

`LedgerStateMachine` calls the services and keeps a model in whole minor units with the
rules of docs/api-contract.md, sections 2.2.6, 2.3.3 and 7.6.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
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
from accounts.models.accounts import Account
from accounts.services.accounts import ensure_not_locked, lock_account, unlock_account
from payouts.errors import (
    CommissionApproved,
    CommissionUnfunded,
    DuplicateOpeningBalance,
    PaymentNotFound,
)
from payouts.services.conversion_updates import (
    add_commissions,
    delete_conversion,
    update_commission,
    update_conversion,
)
from payouts.services.corrections import release_commission
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.ledger_digests import SEALING_DELAY, check_e15_e16_digests
from payouts.services.opening_balances import (
    post_opening_balance,
    reverse_opening_balance,
)
from payouts.services.payables import get_amounts_due
from payouts.services.payments import PaymentOrder, cancel_payment, create_payments
from payouts.services.payout_settings import top_up_payout_balance
from payouts.services.reconciliation import reconcile_all, record_result
from tests.factories.accounts import AccountFactory
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import (
    CONVERSION_CREATED_AT,
    ProgramScenario,
    build_line_items,
)
from tests.properties.arithmetic import allocate, calculate_commission
from tracking.errors import ArchivedProgramReadOnly, ProgramArchived
from tracking.services.programs import archive_program, unarchive_program

pytestmark = [pytest.mark.integration, pytest.mark.another_transaction]

DECIMALS = {"EUR": 2, "JPY": 0, "KWD": 3}
RATE = Decimal("7.5")
STATUS_ERRORS = (CommissionApproved, CommissionUnfunded)

currencies = st.sampled_from(sorted(DECIMALS))
affiliates = st.integers(min_value=0, max_value=1)
minor_units = st.integers(min_value=0, max_value=10_000_000)
picks = st.integers(min_value=0, max_value=10**6)
target_statuses = st.sampled_from(["approved", "disapproved", "pending"])


def to_amount(units: int, currency: str) -> Decimal:
    """Convert minor units to an amount."""
    return Decimal(units).scaleb(-DECIMALS[currency])


@dataclass
class CommissionModel:
    """The model's commission."""

    conversion: int
    affiliate: int
    currency: str
    part: int
    units: int
    state: str
    due_at: datetime
    paid_by: str | None = None


@dataclass
class ConversionModel:
    """The model's conversion."""

    currency: str
    units: int
    sold_at: datetime
    commissions: list[int] = field(default_factory=list)


class LedgerStateMachine(RuleBasedStateMachine):
    """An account with one program and two affiliates, and the model of its ledger."""

    def __init__(self) -> None:
        super().__init__()
        self.transaction = transaction.atomic()
        self.transaction.__enter__()
        self.account = AccountFactory()
        self.scenario = ProgramScenario(self.account, rate=RATE)
        self.affiliates = [
            self.scenario.mina,
            self.scenario.create_enrolled_affiliate("Odette", "Varga"),
        ]
        self.at = CONVERSION_CREATED_AT
        self.commissions: dict[int, CommissionModel] = {}
        self.conversions: dict[int, ConversionModel] = {}
        self.payments: dict[str, tuple[int, str, int]] = {}
        self.opening: dict[tuple[int, str], int] = {}
        self.funds = dict.fromkeys(DECIMALS, 0)
        self.is_archived = self.is_locked = self.auto_approves = False
        self.hold_days = 0
        self.is_changed = True  # since the last check of the ledger

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.transaction.__exit__(None, None, None)

    @initialize(uses_payouts=st.booleans())
    def set_uses_payouts(self, uses_payouts):
        self.account.uses_payouts = uses_payouts

    # Model

    def balance(self, affiliate: int, currency: str) -> int:
        approved = sum(commission.units for commission in self.list_approved(affiliate, currency))
        opening = self.opening.get((affiliate, currency), 0)
        return opening + approved - self.get_paid(affiliate, currency)

    def list_approved(self, affiliate: int, currency: str) -> list[CommissionModel]:
        """List the approved commissions of an affiliate, oldest first."""
        return [
            commission
            for _, commission in sorted(self.commissions.items())
            if (commission.affiliate, commission.currency, commission.state)
            == (affiliate, currency, "approved")
        ]

    def get_paid(self, affiliate: int, currency: str) -> int:
        return sum(
            units
            for paid_affiliate, paid_currency, units in self.payments.values()
            if (paid_affiliate, paid_currency) == (affiliate, currency)
        )

    def has_funds(self, currency: str, units: int) -> bool:
        payable = sum(max(self.balance(affiliate, currency), 0) for affiliate in (0, 1))
        paid = sum(self.get_paid(affiliate, currency) for affiliate in (0, 1))
        return self.funds[currency] - paid >= payable + units

    def is_rejected(self, commission: CommissionModel, status: str) -> bool:
        """Return whether the payout feature forbids the change (section 2.3.3)."""
        if not self.account.uses_payouts:
            return False
        if commission.state == "approved":
            return True
        unfunded = status == "approved" and not self.has_funds(
            commission.currency, commission.units
        )
        return unfunded and commission.state != status

    def set_status(self, commission: CommissionModel, state: str) -> None:
        if commission.state != state:
            commission.state, commission.paid_by = state, None

    def is_final(self, commission: CommissionModel) -> bool:
        return self.account.uses_payouts and commission.state == "approved"

    def add_to_model(self, conversion: int, affiliate: int, created, parts: list[int]) -> None:
        """Add created commissions in the status that the model expects."""
        currency = self.conversions[conversion].currency
        due_at = self.conversions[conversion].sold_at + timedelta(self.hold_days)
        for commission, part in zip(created, parts, strict=True):
            units = calculate_commission(part)
            state = "pending"
            if self.auto_approves and (
                not self.account.uses_payouts or self.has_funds(currency, units)
            ):
                state = "approved"
            self.commissions[commission.pk] = CommissionModel(
                conversion, affiliate, currency, part, units, state, due_at
            )
            self.conversions[conversion].commissions.append(commission.pk)

    def pick_row(self, rows: dict, pick: int):
        return sorted(rows)[pick % len(rows)]

    def next_time(self) -> None:
        self.at += timedelta(minutes=1)
        self.is_changed = True

    # Operations

    @rule(
        affiliate=affiliates,
        currency=currencies,
        parts=st.lists(minor_units, min_size=1, max_size=3),
    )
    def create_conversion(self, affiliate, currency, parts):
        self.next_time()
        if self.is_locked:
            with pytest.raises(AccountLocked):
                ensure_not_locked(self.account)
            return
        fields = {
            "affiliate": self.affiliates[affiliate],
            "currency": currency,
            "at": self.at,
        }
        amounts = [to_amount(units, currency) for units in parts]
        if self.is_archived:
            with pytest.raises(ProgramArchived):
                self.scenario.create_conversion(*amounts, **fields)
            return
        conversion = self.scenario.create_conversion(*amounts, **fields)
        created = self.account.commissions.filter(conversion=conversion).order_by("id")
        self.conversions[conversion.pk] = ConversionModel(currency, sum(parts), self.at)
        self.add_to_model(conversion.pk, affiliate, created, parts)

    @precondition(lambda self: self.commissions)
    @rule(pick=picks, status=target_statuses)
    def set_commission_status(self, pick, status):
        self.next_time()
        number = self.pick_row(self.commissions, pick)
        commission = self.commissions[number]

        def update():
            update_commission(
                self.account,
                commission_id=number,
                changes={"status": status},
                at=self.at,
            )

        if self.is_rejected(commission, status):
            with pytest.raises(STATUS_ERRORS):
                update()
        else:
            update()
            self.set_status(commission, status)

    @precondition(lambda self: self.conversions)
    @rule(pick=picks, status=target_statuses)
    def set_conversion_status(self, pick, status):
        self.next_time()
        number = self.pick_row(self.conversions, pick)
        before = {key: commission.state for key, commission in self.commissions.items()}
        fails = False
        for key in self.conversions[number].commissions:
            commission = self.commissions[key]
            if commission.state != status:
                fails = fails or self.is_rejected(commission, status)
                commission.state = status
        for key, state in before.items():
            self.commissions[key].state = state

        def update():
            update_conversion(
                self.account,
                conversion_id=number,
                changes={},
                should_recalculate=False,
                status=status,
                at=self.at,
            )

        if fails:
            with pytest.raises(STATUS_ERRORS):
                update()
        else:
            update()
            for key in self.conversions[number].commissions:
                self.set_status(self.commissions[key], status)

    @precondition(lambda self: self.commissions)
    @rule(pick=picks, units=minor_units)
    def override_amount(self, pick, units):
        self.next_time()
        number = self.pick_row(self.commissions, pick)
        commission = self.commissions[number]
        changes = {"amount": to_amount(units, commission.currency)}
        arguments = {"commission_id": number, "changes": changes, "at": self.at}
        if self.is_final(commission) and units != commission.units:
            with pytest.raises(CommissionApproved):
                update_commission(self.account, **arguments)
            return
        update_commission(self.account, **arguments)
        commission.units = units

    @precondition(lambda self: self.conversions)
    @rule(pick=picks, units=minor_units, recalculate=st.booleans())
    def update_conversion(self, pick, units, recalculate):
        self.next_time()
        number = self.pick_row(self.conversions, pick)
        conversion = self.conversions[number]
        update_conversion(
            self.account,
            conversion_id=number,
            changes={"amount": to_amount(units, conversion.currency)},
            should_recalculate=recalculate,
            at=self.at,
        )
        all_commissions = [self.commissions[key] for key in conversion.commissions]
        editable = [commission for commission in all_commissions if not self.is_final(commission)]
        old_total, conversion.units = conversion.units, units
        if recalculate:
            parts = allocate(
                [commission.part for commission in editable],
                old_total=old_total,
                new_total=units,
                is_complete=len(editable) == len(all_commissions),
            )
            for commission, part in zip(editable, parts, strict=True):
                commission.part, commission.units = part, calculate_commission(part)

    @precondition(lambda self: self.conversions)
    @rule(pick=picks, units=minor_units)
    def create_commission(self, pick, units):
        self.next_time()
        number = self.pick_row(self.conversions, pick)
        conversion = self.conversions[number]
        line_items = build_line_items(to_amount(units, conversion.currency))
        arguments = {"conversion_id": number, "line_items": line_items, "at": self.at}
        if self.is_archived:
            with pytest.raises(ArchivedProgramReadOnly):
                add_commissions(self.account, **arguments)
            return
        created = add_commissions(self.account, **arguments)
        affiliate = self.commissions[conversion.commissions[0]].affiliate
        self.add_to_model(number, affiliate, created, [units])

    @precondition(lambda self: self.conversions)
    @rule(pick=picks)
    def delete_conversion(self, pick):
        self.next_time()
        number = self.pick_row(self.conversions, pick)
        arguments = {"conversion_id": number, "at": self.at}
        numbers = self.conversions[number].commissions
        if any(self.is_final(self.commissions[key]) for key in numbers):
            with pytest.raises(CommissionApproved):
                delete_conversion(self.account, **arguments)
            return
        delete_conversion(self.account, **arguments)
        for key in self.conversions.pop(number).commissions:
            del self.commissions[key]

    @rule(affiliate=affiliates, currency=currencies, units=minor_units)
    def create_payment(self, affiliate, currency, units):
        self.next_time()
        order = PaymentOrder(
            self.affiliates[affiliate].slug, to_amount(units + 1, currency), currency
        )
        [payment] = create_payments(self.account, orders=[order], at=self.at)
        self.payments[payment.public_id] = (affiliate, currency, units + 1)
        self.allocate_payment(payment.public_id)

    def allocate_payment(self, payment: str) -> None:
        """Pay what is due first, while it fits completely (section 7.6)."""
        affiliate, currency, _ = self.payments[payment]
        approved = self.list_approved(affiliate, currency)
        budget = (
            self.get_paid(affiliate, currency)
            - self.opening.get((affiliate, currency), 0)
            - sum(commission.units for commission in approved if commission.paid_by)
        )
        for commission in sorted(approved, key=lambda each: each.due_at > self.at):
            if commission.paid_by is None:
                if commission.units > budget:
                    return
                commission.paid_by = payment
                budget -= commission.units

    @rule(
        affiliate=affiliates,
        currency=currencies,
        units=minor_units,
        sign=st.sampled_from([1, -1]),
    )
    def post_opening_balance(self, affiliate, currency, units, sign):
        """Post an opening balance, or take back the one that there is."""
        self.next_time()
        slug = self.affiliates[affiliate].slug
        key = {"affiliate_id": slug, "currency": currency, "at": self.at}
        amount = sign * to_amount(units + 1, currency)
        if (affiliate, currency) not in self.opening:
            post_opening_balance(self.account, amount=amount, **key)
            self.opening[affiliate, currency] = sign * (units + 1)
            return
        with pytest.raises(DuplicateOpeningBalance):
            post_opening_balance(self.account, amount=amount, **key)
        reverse_opening_balance(self.account, **key)
        del self.opening[affiliate, currency]

    @precondition(lambda self: self.payments)
    @rule(pick=picks)
    def cancel_payment(self, pick):
        self.next_time()
        number = self.pick_row(self.payments, pick)
        cancel_payment(self.account, payment_id=number, at=self.at)
        with pytest.raises(PaymentNotFound):
            cancel_payment(self.account, payment_id=number, at=self.at)
        del self.payments[number]
        for commission in self.commissions.values():
            if commission.paid_by == number:
                commission.paid_by = None

    @precondition(lambda self: self.commissions)
    @rule(pick=picks)
    def release_commission(self, pick):
        self.next_time()
        number = self.pick_row(self.commissions, pick)
        release_commission(self.account, commission_id=number, reason="", at=self.at)
        commission = self.commissions[number]
        if commission.paid_by is None and commission.state != "disapproved":
            commission.due_at = min(commission.due_at, self.at)

    @rule(days=st.integers(0, 60))
    def wait(self, days):
        self.at += timedelta(days)

    @rule(days=st.integers(0, 180))
    def set_hold(self, days):
        self.hold_days = days
        self.scenario.program.update_row(hold_days=days)

    @rule(currency=currencies, units=minor_units)
    def top_up(self, currency, units):
        self.next_time()
        added = to_amount(units + 1, currency)
        top_up_payout_balance(self.account, amount=added, currency=currency, at=self.at)
        self.funds[currency] += units + 1

    @rule()
    def seal_digest(self):
        """Store a digest of everything so far, which later operations must keep."""
        report = reconcile_all(at=self.at + 2 * SEALING_DELAY)
        assert report.discrepancies == []
        record_result(report, at=self.at)

    @rule()
    def toggle_archived(self):
        toggle = unarchive_program if self.is_archived else archive_program
        toggle(self.account, slug=self.scenario.program.slug, at=self.at)
        self.is_archived = not self.is_archived

    @rule()
    def toggle_locked(self):
        toggle = unlock_account if self.is_locked else lock_account
        toggle(self.account, at=self.at)
        self.is_locked = not self.is_locked

    @rule()
    def toggle_auto_approval(self):
        self.auto_approves = not self.auto_approves
        self.scenario.program.update_row(auto_approve_commissions=self.auto_approves)

    # Invariants, checked after every step

    @invariant()
    def balances_match_model(self):
        expected = {
            self.affiliates[affiliate].slug: balances
            for affiliate in (0, 1)
            if (
                balances := {
                    currency: to_amount(units, currency)
                    for currency in DECIMALS
                    if (units := self.balance(affiliate, currency))
                }
            )
        }
        assert get_payable_balances_by_slug(self.account) == expected

    @invariant()
    def amounts_due_match_model(self):
        """What is due and what is on hold add up to the balance, to the minor unit."""
        pks = [each.affiliate.pk for each in self.affiliates]
        amounts = get_amounts_due(self.account, pks, at=self.at)
        for (pk, currency), found in amounts.items():
            affiliate = pks.index(pk)
            held = sum(
                commission.units
                for commission in self.list_approved(affiliate, currency)
                if commission.paid_by is None and commission.due_at > self.at
            )
            balance = self.balance(affiliate, currency)
            assert found.on_hold == to_amount(held, currency)
            assert found.due == to_amount(balance - held, currency)
            assert found.due + found.on_hold == to_amount(balance, currency)

    @invariant()
    def commissions_match_model(self):
        stored = self.account.commissions.not_deleted().values_list(
            "id", "sub_amount", "amount", "status", "payment__public_id"
        )
        assert {number: tuple(rest) for number, *rest in stored} == {
            number: (
                to_amount(commission.part, commission.currency),
                to_amount(commission.units, commission.currency),
                commission.state,
                commission.paid_by,
            )
            for number, commission in self.commissions.items()
        }

    @invariant()
    def ledger_invariants_hold(self):
        if self.is_changed:
            assert_ledger_consistent(self.account)
            accounts = list(Account.objects.all())  # of other tests, too
            assert check_e15_e16_digests(accounts, at=self.at).discrepancies == []
        self.is_changed = False


def run_state_machine(*, examples: int, steps: int) -> None:
    run_state_machine_as_test(
        LedgerStateMachine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_ledger_matches_model(db):
    run_state_machine(examples=20, steps=15)


@pytest.mark.slow
def test_ledger_matches_model_in_long_runs(db):
    run_state_machine(examples=1000, steps=50)
