"""Top-ups of the payout balance and approvals (docs/api-contract.md, section 7.7)."""

from decimal import Decimal

import pytest

from accounts.errors import InvalidSetting
from payouts.errors import BalanceTooLarge, CommissionUnfunded
from payouts.services.commissions import approve_commission
from payouts.services.payments import PaymentOrder, cancel_payment, create_payments
from payouts.services.payout_settings import top_up_payout_balance
from tests.ledger_checks import assert_ledger_consistent, assert_unchanged
from tests.program_scenario import CONVERSION_CREATED_AT
from tracking.errors import UnknownCurrency

pytestmark = pytest.mark.usefixtures("shared_scenario")


@pytest.fixture
def scenario(scenario):
    """An account with the payout feature; commissions are 100 % of the conversion."""
    scenario.account.uses_payouts = True
    scenario.account.save()
    scenario.create_commission_type("all", 100)
    yield scenario
    assert_ledger_consistent(scenario.account)


def add_funds(account, amount, currency="EUR"):
    return top_up_payout_balance(
        account, amount=Decimal(amount), currency=currency, at=CONVERSION_CREATED_AT
    )


def make_pending_commission(scenario, amount, **conversion):
    """Create a pending commission of an amount."""
    return scenario.get_commission(scenario.create_conversion((amount, "all"), **conversion))


def is_approvable(commission):
    """Can the commission be approved?"""
    try:
        approve_commission(
            commission.account, commission_id=commission.pk, at=CONVERSION_CREATED_AT
        )
    except CommissionUnfunded:
        assert commission.reload().status == "pending"
        return False
    return True


def make_payment(account, amount, to="minakessler"):
    orders = [PaymentOrder(to, Decimal(amount), "EUR")]
    return create_payments(account, orders=orders, at=CONVERSION_CREATED_AT)[0]


def test_adds_each_time_and_returns_the_new_balance(scenario, account):
    results = [
        add_funds(account, amount, currency)
        for amount, currency in [
            *(("1250.50", "EUR"), ("0.01", " eur ")),
            *(("7", "JPY"), ("0.001", "kwd")),
        ]
    ]

    assert results == [
        ("EUR", Decimal("1250.50")),
        ("EUR", Decimal("1250.51")),
        ("JPY", Decimal(7)),
        ("KWD", Decimal("0.001")),
    ]
    rows = account.transfers.order_by("id")
    assert {(row.kind, row.debit.kind, row.credit.kind) for row in rows} == {
        ("funded", "funding", "external")
    }


def test_logs_each_top_up_once(scenario, account):
    written = account.audit_log.count()

    add_funds(account, "12.5", "eur")

    (entry,) = account.audit_log.order_by("id")[written:]
    assert (entry.kind, entry.details) == (
        "payout_balance.topped_up",
        {"amount": "12.5", "currency": "EUR"},
    )


@pytest.mark.parametrize(
    ("amount", "currency", "error_class"),
    [
        pytest.param("0", "EUR", InvalidSetting, id="zero"),
        pytest.param("-1", "EUR", InvalidSetting, id="negative"),
        pytest.param("0.005", "EUR", InvalidSetting, id="half-a-cent"),
        pytest.param("1.001", "EUR", InvalidSetting, id="a-tenth-of-a-cent-too-much"),
        pytest.param("0.5", "JPY", InvalidSetting, id="half-a-yen"),
        pytest.param("1E+13", "EUR", InvalidSetting, id="fourteen-digits"),
        pytest.param("1E+40", "EUR", InvalidSetting, id="immense"),
        pytest.param("1", "XXX", UnknownCurrency, id="unknown-currency"),
        pytest.param("1", "", UnknownCurrency, id="no-currency"),
    ],
)
def test_rejects_invalid_top_ups(scenario, account, amount, currency, error_class):
    with assert_unchanged(account), pytest.raises(error_class):
        add_funds(account, amount, currency)


def test_rejects_a_payout_balance_that_exceeds_its_column(scenario, account):
    for _ in range(90):
        add_funds(account, "9999999999999")
    add_funds(account, "89")

    with assert_unchanged(account), pytest.raises(BalanceTooLarge):
        add_funds(account, "1")


def test_keeps_the_payout_balances_of_accounts_and_currencies_apart(
    scenario, account, other_account
):
    commission = make_pending_commission(scenario, "10")
    add_funds(other_account, "1000")
    add_funds(account, "1000", "USD")
    add_funds(account, "9.99")

    assert not is_approvable(commission)
    add_funds(account, "0.01")
    assert is_approvable(commission)
    assert_ledger_consistent(other_account)


def test_approves_up_to_the_payout_balance(scenario, account):
    other_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    first = make_pending_commission(scenario, "30")
    second, third = (
        make_pending_commission(scenario, "20", affiliate=other_affiliate),
        make_pending_commission(scenario, "0.01"),
    )
    add_funds(account, "50")

    assert [is_approvable(row) for row in (first, second, third)] == [True, True, False]


def test_does_not_net_negative_and_positive_balances(scenario, account):
    """Payables are the sum of positive balances; here -50 and 40."""
    other_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    payable_commission = make_pending_commission(scenario, "40", affiliate=other_affiliate)
    add_funds(account, "100")
    assert is_approvable(payable_commission)
    make_payment(account, "50")

    # 50 are left, 40 are payable; Mina's balance of -50 does not count.
    ten, cent = (
        make_pending_commission(scenario, "10"),
        make_pending_commission(scenario, "10.01"),
    )

    assert [is_approvable(row) for row in (cent, ten)] == [False, True]


@pytest.mark.parametrize("to", ["minakessler", "odettevarga"])
def test_keeps_funds_sufficient_through_payment_and_cancellation(scenario, account, to):
    """Payables and payout balance change by the same amounts."""
    other_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    for affiliate in (scenario.mina, other_affiliate):
        commission = make_pending_commission(scenario, "40", affiliate=affiliate)
        add_funds(account, "40")
        assert is_approvable(commission)

    payment = make_payment(account, "40", to=to)
    late = make_pending_commission(scenario, "0.01")
    assert not is_approvable(late)
    cancel_payment(account, payment_id=payment.public_id, at=CONVERSION_CREATED_AT)

    assert not is_approvable(late)
    add_funds(account, "0.01")
    assert is_approvable(late)


def test_approves_nothing_after_a_payment_overdrew_the_payout_balance(scenario, account):
    add_funds(account, "10")
    make_payment(account, "10.01")

    assert not is_approvable(make_pending_commission(scenario, "0"))
    add_funds(account, "0.01")
    assert is_approvable(make_pending_commission(scenario, "0"))


def test_needs_no_funds_without_the_payout_feature(scenario, account):
    account.uses_payouts = False
    account.save()
    add_funds(account, "5")

    assert is_approvable(make_pending_commission(scenario, "1000"))
