"""Payables and the amount approved before a time."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from payouts.errors import AmountDueChanged
from payouts.services.conversion_updates import update_commission
from payouts.services.payables import list_payable_currencies, list_payables
from payouts.services.payments import PaymentOrder, cancel_payment, create_payments
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario")

DAY = timedelta(days=1)
CLOSE = CONVERSION_CREATED_AT + 5 * DAY  # later approvals are not due


@pytest.fixture
def scenario(scenario):
    """Commissions of the type `all` are 100 % of the conversion."""
    scenario.create_commission_type("all", 100)
    return scenario


def make_approved_commission(scenario, amount, at=CONVERSION_CREATED_AT, **conversion):
    commission = scenario.get_commission(
        scenario.create_conversion((amount, "all"), **conversion)
    )
    scenario.approve(commission, at=at)
    return commission


def list_due_amounts(account, currency="EUR"):
    return {
        row.ledger_account.affiliate.slug: (row.ledger_account.balance, row.amount_due)
        for row in list_payables(account, currency=currency, approved_before=CLOSE)
    }


def build_payable(balance, amount):
    return {"minakessler": (Decimal(balance), Decimal(amount))}


def make_payment(scenario, amount, at):
    order = PaymentOrder(scenario.mina.slug, Decimal(amount), "EUR")
    return create_payments(scenario.account, orders=[order], at=at)[0]


def test_excludes_later_approvals(scenario, account):
    make_approved_commission(scenario, "20")
    make_approved_commission(scenario, "7", at=CLOSE - timedelta(microseconds=1))
    make_approved_commission(scenario, "50", at=CLOSE)

    assert list_due_amounts(account) == build_payable("77", "27")


def test_subtracts_later_payments(scenario, account):
    make_approved_commission(scenario, "20")
    make_approved_commission(scenario, "50", at=CLOSE)
    payment = make_payment(scenario, "12", at=CLOSE + DAY)
    assert list_due_amounts(account) == build_payable("58", "8")

    cancel_payment(account, payment_id=payment.public_id, at=CLOSE + 2 * DAY)
    assert list_due_amounts(account) == build_payable("70", "20")

    make_payment(scenario, "30", at=CLOSE + DAY)
    assert list_due_amounts(account) == build_payable("40", "-10")


def test_subtracts_later_disapprovals(scenario, account):
    old = make_approved_commission(scenario, "20")
    make_approved_commission(scenario, "30")
    make_approved_commission(scenario, "50", at=CLOSE)
    scenario.disapprove(old, at=CLOSE + DAY)

    assert list_due_amounts(account) == build_payable("80", "30")


def test_counts_a_commission_approved_again_as_before(scenario, account):
    old = make_approved_commission(scenario, "20")
    for _ in range(2):
        scenario.disapprove(old, at=CLOSE + DAY)
        scenario.approve(old, at=CLOSE + DAY)

    assert list_due_amounts(account) == build_payable("20", "20")


def test_counts_an_increase_of_an_approved_commission_as_new(scenario, account):
    old = make_approved_commission(scenario, "20")
    update_commission(
        account, commission_id=old.pk, changes={"amount": Decimal(26)}, at=CLOSE
    )

    assert list_due_amounts(account) == build_payable("26", "20")


def test_separates_currencies(scenario, account):
    make_approved_commission(scenario, "20")
    make_approved_commission(scenario, "5", currency="USD", at=CLOSE)

    assert list_payable_currencies(account) == ["EUR", "USD"]
    assert list_due_amounts(account) == build_payable("20", "20")
    assert list_due_amounts(account, "USD") == build_payable("5", "0")


def test_orders_by_balance_and_omits_balances_up_to_zero(scenario, account):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    make_approved_commission(scenario, "20")
    make_approved_commission(scenario, "30", affiliate=odette)
    scenario.create_enrolled_affiliate("Zoe", "Lund")

    assert list(list_due_amounts(account)) == ["odettevarga", "minakessler"]
    make_payment(scenario, "20", at=CONVERSION_CREATED_AT)
    assert list(list_due_amounts(account)) == ["odettevarga"]


def test_ignores_other_accounts(scenario, account, other_account):
    theirs = ProgramScenario(other_account, prefix="zz-marker-", email=None)
    theirs.create_commission_type("all", 100)
    make_approved_commission(theirs, "77")

    assert list_due_amounts(account) == {}
    assert list_payable_currencies(account) == []


def test_pays_only_if_the_amount_due_is_unchanged(scenario, account):
    old = make_approved_commission(scenario, "10")
    ((balance, amount),) = list_due_amounts(account).values()
    order = PaymentOrder(
        scenario.mina.slug,
        amount,
        "EUR",
        expected_balance=balance,
        approved_before=CLOSE,
    )
    scenario.disapprove(old, at=CLOSE)
    make_approved_commission(scenario, "10", at=CLOSE)

    with pytest.raises(AmountDueChanged, match="The amount due is now 0 EUR"):
        create_payments(account, orders=[order], at=CLOSE)

    assert not account.payments.exists()
    scenario.approve(old, at=CLOSE)
    create_payments(
        account, orders=[replace(order, expected_balance=Decimal(20))], at=CLOSE
    )
    assert list_due_amounts(account) == build_payable("10", "0")
