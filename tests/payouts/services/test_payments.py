"""Payments and their allocation (docs/api-contract.md, section 7.6)."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.errors import ErrorList
from payouts.errors import BalanceChanged, BalanceTooLarge, PaymentNotFound
from payouts.services.conversion_updates import update_commission
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.payables import find_next_commission
from payouts.services.payments import PaymentOrder, cancel_payment, create_payments
from tests.ledger_checks import (
    assert_atomic,
    assert_ledger_consistent,
    assert_unchanged,
)
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario")

PAID = CONVERSION_CREATED_AT + timedelta(days=7)
LATER = CONVERSION_CREATED_AT + timedelta(days=8)
MAX_VALUES = 40  # of a statement


@pytest.fixture
def scenario(scenario):
    """Commissions are 100 % of the conversion."""
    scenario.create_commission_type("all", 100)
    yield scenario
    assert_ledger_consistent(scenario.account)


def make_approved_commissions(scenario, *amounts, **conversion):
    """Create approved commissions, each of its own conversion, oldest first."""
    sales = [scenario.create_conversion((amount, "all"), **conversion) for amount in amounts]
    made = [scenario.get_commission(sale) for sale in sales]
    for commission in made:
        scenario.approve(commission)
    return made


def make_payments(account, *amounts, to="minakessler", currency="EUR", at=PAID):
    """Create payments in one batch."""
    orders = [PaymentOrder(to, Decimal(amount), currency) for amount in amounts]
    return create_payments(account, orders=orders, at=at)


def cancel(account, payment, at=LATER):
    cancel_payment(account, payment_id=payment.public_id, at=at)


def list_covering_payments(commissions, *payments):
    """Index of the payment of each commission, None if it is unpaid."""
    numbers = [payment.pk for payment in payments]
    return [
        numbers.index(row.payment_id) if row.payment_id else None
        for row in (commission.reload() for commission in commissions)
    ]


def use_payouts(account, *, on=True):
    account.uses_payouts = on
    account.save()


def change(commission, **changes):
    update_commission(commission.account, commission_id=commission.pk, changes=changes, at=LATER)


def get_balances(account):
    return get_payable_balances_by_slug(account)


def get_payout_balance(account, currency="EUR"):
    """The payout balance."""
    return -account.ledger_accounts.get(kind="funding", currency=currency).balance


# Allocation.


@pytest.mark.parametrize(
    ("amounts", "payments", "covered"),
    [
        pytest.param(["20", "3.74"], ["23.74"], [0, 0], id="exactly"),
        pytest.param(["20", "3.74"], ["23.73"], [0, None], id="a-cent-short"),
        pytest.param(["20", "3.74"], ["100"], [0, 0], id="more-than-owed"),
        pytest.param(["30", "5"], ["10"], [None, None], id="stops-at-the-first"),
        pytest.param(["30", "5"], ["10", "25"], [1, 1], id="what-is-left-adds-up"),
        pytest.param(["5", "5", "5"], ["5", "5"], [0, 1, None], id="one-after-another"),
        pytest.param(["0", "5"], ["4"], [0, None], id="zero-fits"),
        pytest.param(["5", "0"], ["4"], [None, None], id="zero-stays-in-order"),
        pytest.param(["5", "0"], ["5"], [0, 0], id="zero-fits-into-zero"),
    ],
)
@pytest.mark.parametrize("at_once", [True, False], ids=["in-one-batch", "one-by-one"])
def test_pays_the_oldest_commissions_in_full(
    scenario, account, amounts, payments, covered, at_once
):
    commissions = make_approved_commissions(scenario, *amounts)

    batches = [payments] if at_once else [[amount] for amount in payments]
    made = [payment for batch in batches for payment in make_payments(account, *batch)]

    assert list_covering_payments(commissions, *made) == covered
    balance = sum(map(Decimal, amounts)) - sum(map(Decimal, payments))
    assert get_balances(account) == ({"minakessler": {"EUR": balance}} if balance else {})


def test_allocates_by_date_not_by_id(scenario, account):
    (late,), (early,) = (
        make_approved_commissions(scenario, "10", at=PAID - timedelta(days=days)) for days in (4, 5)
    )

    (payment,) = make_payments(account, "10")

    assert list_covering_payments([late, early], payment) == [None, 0]


@pytest.mark.parametrize(
    ("amount", "covered"),
    [
        ("14", [None, 0, None, None]),
        ("15", [None, 0, None, 0]),
        ("19", [None, 0, None, 0]),
        ("35", [0, 0, 0, 0]),
    ],
)
def test_pays_what_is_due_before_what_is_on_hold(scenario, account, amount, covered):
    """Those that are due at the time of the payment, each in its own right."""
    made = make_approved_commissions(scenario, "10", "10", "10", "5")
    for commission, days in zip(made, (30, 7, 8, None), strict=True):
        due_at = CONVERSION_CREATED_AT + timedelta(days) if days else None
        commission.update_row(due_at=due_at)

    (payment,) = make_payments(account, amount)

    assert list_covering_payments(made, payment) == covered


def test_the_next_commission_is_one_that_is_due(scenario, account):
    held, due = make_approved_commissions(scenario, "10", "20")
    held.update_row(due_at=LATER)
    (payment,) = make_payments(account, "5")

    with CaptureQueriesContext(connection) as queries:
        assert find_next_commission(payment, at=PAID) == due
    assert [query["sql"].endswith("LIMIT 1") for query in queries] == [True]
    assert find_next_commission(payment, at=LATER) == held


def test_pays_approved_commissions_only(scenario, account):
    waits = scenario.get_commission(scenario.create_conversion(("5", "all")))
    (counts,) = make_approved_commissions(scenario, "5")
    (raised,) = make_approved_commissions(scenario, "5")
    scenario.disapprove(raised)

    (payment,) = make_payments(account, "100")

    assert list_covering_payments([waits, counts, raised], payment) == [None, 0, None]


def test_separates_affiliates_and_currencies(scenario, account):
    other_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    mine = make_approved_commissions(scenario, "10")
    yen = make_approved_commissions(scenario, "10", currency="JPY")
    theirs = make_approved_commissions(scenario, "10", affiliate=other_affiliate)

    (payment,) = make_payments(account, "1000")

    assert list_covering_payments([*mine, *yen, *theirs], payment) == [0, None, None]
    assert get_balances(account) == {
        "minakessler": {"EUR": -990, "JPY": 10},
        "odettevarga": {"EUR": 10},
    }


def test_allocates_a_mixed_batch_in_the_order_of_its_payments(scenario, account):
    other_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    mine = make_approved_commissions(scenario, "10", "20")
    yen = make_approved_commissions(scenario, "7", currency="JPY")
    theirs = make_approved_commissions(scenario, "10", affiliate=other_affiliate)

    made = create_payments(
        account,
        orders=[
            PaymentOrder("odettevarga", Decimal(10), "EUR"),
            PaymentOrder("minakessler", Decimal(15), "EUR"),
            PaymentOrder("minakessler", Decimal(7), "JPY"),
            PaymentOrder("minakessler", Decimal(15), "EUR"),
        ],
        at=PAID,
    )

    assert list_covering_payments([*mine, *yen, *theirs], *made) == [1, 3, 2, 0]
    assert get_balances(account) == {}


def test_subtracts_changed_amounts_from_what_is_to_allocate(scenario, account):
    """An increase of a paid commission is subtracted first: 60 paid, 50 allocated."""
    first, second, third = make_approved_commissions(scenario, "20", "10", "10")
    before = make_payments(account, "20")
    change(first, amount=Decimal(50))

    after = make_payments(account, "40")

    covering = list_covering_payments([first, second, third], *before, *after)
    assert covering == [0, 1, None]
    assert get_balances(account) == {"minakessler": {"EUR": Decimal(10)}}


def test_allocates_nothing_while_paid_commissions_exceed_payments(scenario, account):
    """Not even a commission of zero is paid."""
    (first,) = make_approved_commissions(scenario, "20")
    before = make_payments(account, "20")
    change(first, amount=Decimal(30))
    (zero,) = make_approved_commissions(scenario, "0")

    short = make_payments(account, "9.99")

    assert list_covering_payments([first, zero], *before, *short) == [0, None]
    enough = make_payments(account, "0.01")
    assert list_covering_payments([first, zero], *before, *enough) == [0, 1]


@pytest.mark.parametrize(
    "uncover",
    [
        pytest.param(lambda scenario, it: scenario.disapprove(it), id="disapproved"),
        pytest.param(lambda _, it: change(it, status="pending"), id="back-to-pending"),
        pytest.param(lambda scenario, it: scenario.delete(it.conversion, at=LATER), id="deleted"),
    ],
)
def test_allocates_freed_amounts_with_the_next_payment(scenario, account, uncover):
    first, second, third = make_approved_commissions(scenario, "20", "15", "10")
    before = make_payments(account, "20")

    uncover(scenario, first)

    commissions = [first, second, third]
    assert list_covering_payments(commissions, *before) == [None, None, None]
    assert get_balances(account) == {"minakessler": {"EUR": Decimal(5)}}
    after = make_payments(account, "5")
    assert list_covering_payments(commissions, *before, *after) == [None, 1, 1]


def test_pays_a_commission_that_was_approved_again(scenario, account):
    (commission,) = make_approved_commissions(scenario, "20")
    before = make_payments(account, "20")
    scenario.disapprove(commission, at=LATER)
    scenario.approve(commission, at=LATER)

    assert list_covering_payments([commission], *before) == [None]
    after = make_payments(account, "0.01")
    assert list_covering_payments([commission], *before, *after) == [1]


# Cancellation.


def test_frees_only_commissions_of_the_canceled_payment(scenario, account):
    commissions = make_approved_commissions(scenario, "10", "20", "30")
    first, second = make_payments(account, "10", "50")

    cancel(account, first)

    assert list_covering_payments(commissions, first, second) == [None, 1, 1]
    assert get_balances(account) == {"minakessler": {"EUR": Decimal(10)}}
    assert (first.reload().canceled_at, second.reload().canceled_at) == (LATER, None)
    (third,) = make_payments(account, "10")
    assert list_covering_payments(commissions, first, second, third) == [2, 1, 1]


def test_cancels_a_payment_of_more_sales_than_a_statement_has_values(
    scenario, account, monkeypatch
):
    commissions = make_approved_commissions(scenario, *["1"] * (MAX_VALUES + 5))
    (payment,) = make_payments(account, MAX_VALUES + 5)
    monkeypatch.setattr("accounts.db_compat.MAX_VALUES", MAX_VALUES)
    monkeypatch.setattr("accounts.db_compat.BATCH_SIZE", 10)
    monkeypatch.setattr("accounts.db_compat.LARGE_BATCH_SIZE", 10)

    def check(execute, sql, params, many, context):
        assert len(params or ()) <= MAX_VALUES, sql
        return execute(sql, params, many, context)

    with connection.execute_wrapper(check):
        cancel(account, payment)

    assert {row.reload().payment_id for row in commissions} == {None}


def test_allocates_nothing_when_a_payment_is_canceled(scenario, account):
    """The rest of the other payment is left for the next payment."""
    first, second = make_approved_commissions(scenario, "30", "5")
    payments = make_payments(account, "30", "4.99")

    cancel(account, payments[0])

    assert list_covering_payments([first, second], *payments) == [None, None]
    (third,) = make_payments(account, "25.01")
    assert list_covering_payments([first, second], *payments, third) == [2, None]


def test_cancels_once(scenario, account):
    make_approved_commissions(scenario, "20")
    (payment,) = make_payments(account, "20")
    cancel(account, payment)

    with assert_unchanged(account), pytest.raises(PaymentNotFound) as raised:
        cancel(account, payment)

    assert str(raised.value) == "Payment not found"
    assert get_balances(account) == {"minakessler": {"EUR": Decimal(20)}}


def test_reverses_the_transfer(scenario, account):
    (payment,) = make_payments(account, "20")
    cancel(account, payment)

    there, back = account.transfers.filter(payment=payment).order_by("id")

    sides = (there.kind, there.debit.kind, there.credit.kind)
    assert sides == ("paid", "payable", "paid")
    reversed_sides = ("payment_canceled", there.credit_id, there.debit_id)
    assert (back.kind, back.debit_id, back.credit_id) == reversed_sides
    assert (back.reversal_of_id, back.amount, back.created_at) == (there.pk, 20, LATER)
    assert (there.reversal_of_id, there.amount, there.created_at) == (None, 20, PAID)


# Affiliates and amounts.


def test_rejects_the_whole_batch_and_reports_every_unknown_affiliate(
    scenario, account, other_account
):
    ProgramScenario(other_account, prefix="zz-marker-")
    slugs = ["minakessler", "zz-marker-minakessler", "Minakessler"]
    orders = [
        PaymentOrder(slug, Decimal(5), "EUR", f"[{index}].") for index, slug in enumerate(slugs)
    ]

    with assert_unchanged(account), pytest.raises(ErrorList) as raised:
        create_payments(account, orders=orders, at=PAID)

    assert [(error.text, error.path) for error in raised.value.errors] == [
        ("Unknown affiliate", "[1].affiliate_id"),
        ("Unknown affiliate", "[2].affiliate_id"),
    ]


def test_rejects_a_negative_balance_that_exceeds_its_column(scenario, account):
    most = "9999999999999"
    make_payments(account, *[most] * 90)
    make_payments(account, "89")

    with assert_unchanged(account), pytest.raises(BalanceTooLarge):
        make_payments(account, "0.01", "1")


def test_logs_payments_and_paid_commissions(scenario, account):
    first, second = make_approved_commissions(scenario, "10", "10")
    written = account.audit_log.count()

    (payment,) = make_payments(account, "15")
    cancel(account, payment)

    subject, commission = f"payment:{payment.public_id}", f"commission:{first.pk}"
    paid = {"fields": ["payout"], "payment": [None, payment.public_id]}
    canceled = {"fields": ["payout"], "payment": [payment.public_id, None]}
    output = account.audit_log.order_by("id")[written:]
    assert [(row.kind, row.subject, row.details, row.created_at) for row in output] == [
        ("payment.created", subject, {}, PAID),
        ("commission.updated", commission, paid, PAID),
        ("payment.canceled", subject, {}, LATER),
        ("commission.updated", commission, canceled, LATER),
    ]
    assert second.reload().payment_id is None


# With the payout feature.


def test_pays_out_of_the_payout_balance_and_cancels_back_to_it(scenario, account):
    scenario.enable_payouts("100")
    (commission,) = make_approved_commissions(scenario, "60")

    (payment,) = make_payments(account, "60")

    assert (get_payout_balance(account), get_balances(account)) == (40, {})
    assert list_covering_payments([commission], payment) == [0]
    cancel(account, payment)
    assert get_payout_balance(account) == 100
    assert get_balances(account) == {"minakessler": {"EUR": 60}}
    assert list_covering_payments([commission], payment) == [None]
    assert commission.reload().status == "approved"


def test_allows_payments_above_the_payout_balance(scenario, account):
    scenario.enable_payouts("10.5")

    make_payments(account, "30")
    make_payments(account, "7", currency="JPY")

    assert get_payout_balance(account) == Decimal("-19.5")
    assert get_payout_balance(account, "JPY") == -7
    assert get_balances(account) == {"minakessler": {"EUR": -30, "JPY": -7}}


@pytest.mark.parametrize("on", [True, False], ids=["paid-with", "paid-without"])
def test_cancels_back_to_the_original_payout_source(scenario, account, on):
    """The payout feature may be disabled before the cancellation."""
    scenario.enable_payouts("100")
    use_payouts(account, on=on)
    (payment,) = make_payments(account, "30")
    assert get_payout_balance(account) == (70 if on else 100)
    use_payouts(account, on=not on)

    cancel(account, payment)

    assert (get_payout_balance(account), get_balances(account)) == (100, {})
    assert_ledger_consistent(account)


# Atomicity.


def test_stores_nothing_when_any_statement_fails(scenario, account):
    scenario.enable_payouts("100")
    make_approved_commissions(scenario, "10", "20")

    def make_payment():
        make_payments(account, "10", "20")

    def cancel_first_payment():
        cancel(account, account.payments.not_canceled().first())

    for operation in (make_payment, cancel_first_payment):
        assert_atomic(account, operation, least=7)
        assert_ledger_consistent(account)
    assert account.payments.not_canceled().count() == 1


@pytest.mark.parametrize("amount", ["0.01", "19.99", "20.01", "40"])
def test_pays_only_if_the_balance_is_as_expected(scenario, account, amount):
    make_approved_commissions(scenario, "20")

    def pay_owed(amount):
        balance = Decimal(amount)
        order = PaymentOrder("minakessler", balance, "EUR", expected_balance=balance)
        return create_payments(account, orders=[order], at=CONVERSION_CREATED_AT)

    with pytest.raises(BalanceChanged) as raised:
        pay_owed(amount)
    assert str(raised.value) == "The balance is now 20 EUR"
    assert not account.payments.exists()

    pay_owed("20")
    with pytest.raises(BalanceChanged, match="The balance is now 0 EUR"):
        pay_owed("20")
    assert account.payments.count() == 1


def test_records_the_primary_payout_method_of_each_affiliate(account, scenario):
    """Later changes of the methods do not change what was used."""
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    bank = account.payout_methods.create(
        affiliate=scenario.mina.affiliate,
        kind="bank",
        details={"iban": "SI56 1910"},
        is_primary=True,
    )
    account.payout_methods.create(affiliate=odette.affiliate, kind="paypal")

    [paid] = make_payments(account, "1")
    [other] = make_payments(account, "1", to=odette.slug)
    bank.delete()

    for payment, kind, details in (
        (paid, "bank", {"iban": "SI56 1910"}),
        (other, "", {}),
    ):
        payment.refresh_from_db()
        assert (payment.payout_kind, payment.payout_details) == (kind, details)
