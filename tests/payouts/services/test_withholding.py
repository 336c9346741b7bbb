"""Withholding tax: the payment is net, the rest goes to a ledger account of its own."""

from datetime import timedelta
from decimal import Decimal

import pytest

from accounts.errors import ErrorList
from affiliate_site.document_files import list_amounts
from affiliate_site.payout_files.writing import write_csv
from payouts.errors import InvalidTaxRule, PayoutRunChanged
from payouts.models.ledger import LedgerAccountType, TransferType
from payouts.services.bookkeeping import get_period_closings, get_trial_balance
from payouts.services.documents import calculate_withholding
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.ledger_invariants import LedgerInvariants
from payouts.services.payments import PaymentOrder, cancel_payment, create_payments
from payouts.services.payout_answers import PayoutResult, ResultState
from payouts.services.payout_results import apply_payout_results
from payouts.services.payout_runs import create_draft, list_withheld_taxes, remake_draft
from payouts.services.run_confirmation import confirm_run, describe_changes
from payouts.services.statements import get_statement
from tests.document_scenario import set_rule, set_taxes, settle, switch_on
from tests.payout_scenario import build_files, get_lines
from tests.program_scenario import CONVERSION_CREATED_AT

pytestmark = pytest.mark.usefixtures("shared_scenario", "consistent_ledger")

AT = CONVERSION_CREATED_AT + timedelta(days=3)
ADDRESS = {"address": "Ring 1", "postal_code": "1010", "city": "Wien", "country": "AT"}


@pytest.fixture
def mina(account, scenario):
    """Mina, who is owed 119 EUR: 19 % VAT, and 15 % of the net amount withheld."""
    switch_on(account)
    set_rule(account, withholding_rate=Decimal(15))
    affiliate = scenario.mina.affiliate
    affiliate.update_row(**ADDRESS)
    set_taxes(account, affiliate.slug)
    account.payout_methods.create(
        affiliate=affiliate,
        kind="bank",
        details={"account_holder": "Mina", "iban": "AT611904300234573201"},
        is_primary=True,
    )
    scenario.approve(scenario.get_commission(scenario.create_conversion("1190")))
    return affiliate


@pytest.fixture
def run(account, mina):
    run = create_draft(account, due_until=AT.date(), at=AT)
    confirm_run(account, pk=run.pk, at=AT)
    run.refresh_from_db()
    return run


def get_balances(account):
    sums = get_trial_balance(account, end=AT.date())["EUR"]
    return {kind: sums.get(kind) for kind in ("paid", "payable", "withholding_tax")}


def list_movements(account, affiliate):
    [statement] = get_statement(account, affiliate, start=AT.date(), end=AT.date()).currencies
    lines = [(str(it.kind), it.amount) for it in statement.lines]
    return lines, statement.closing


def test_the_draft_says_what_it_withholds_and_the_payment_is_net(account, mina, run):
    [line], [payment] = get_lines(run), account.payments.all()
    assert (line.amount, line.tax_withheld, line.net_amount) == (119, 15, 104)
    assert (payment.amount, payment.tax_withheld, payment.net_amount) == (119, 15, 104)
    assert account.commissions.get().payment == payment
    assert list_withheld_taxes(run) == {"EUR": 15}
    assert get_balances(account) == {"paid": 104, "payable": 0, "withholding_tax": 15}
    assert get_payable_balances_by_slug(account) == {}
    assert list_movements(account, mina) == (
        [("payment", -104), ("tax_withheld", -15)],
        0,
    )
    closing = get_period_closings(account, start=AT.date(), end=AT.date())["EUR"]
    assert closing.is_explained
    assert closing.movements["tax_withheld"].payable == -15


def test_a_document_has_the_vat_of_its_issue_and_the_tax_of_the_confirmation(account, run):
    set_rule(account, rate="20", withholding_rate=Decimal(30))
    settle(run, at=AT)

    document = account.documents.get()
    assert (document.vat_rate, document.net, document.vat) == (
        20,
        Decimal("99.17"),
        Decimal("19.83"),
    )
    assert document.tax_withheld == 15


def test_files_and_answers_are_about_what_is_transferred(account, run):
    pain, csv = build_files(run, formats=["pain001", "csv"], at=AT)
    assert pain.control_sum == csv.control_sum == 104
    assert b'<InstdAmt Ccy="EUR">104.00</InstdAmt>' in pain.content
    head, row = csv.content.decode().splitlines()
    assert head.endswith(',"country","tax_withheld"')
    assert "104.00" in row
    assert row.strip('"').endswith("15.00")
    chosen = write_csv(run, get_lines(run), ["amount", "tax_withheld", "state"])
    assert chosen.decode().splitlines() == [
        '"amount","tax_withheld","state"',
        '"104.00","15.00","unknown"',
    ]

    name = account.payments.get().public_id
    gross, net = (
        PayoutResult(name, ResultState.SETTLED, amount=Decimal(n), currency="EUR")
        for n in (119, 104)
    )
    [unmatched] = apply_payout_results(account, [gross], at=AT).unmatched
    assert "the payment is 104.00 EUR" in unmatched.reason
    [settled] = apply_payout_results(account, [net], at=AT).settled
    assert settled.amount == 104
    document = account.documents.get()
    assert (document.net, document.vat, document.total) == (100, 19, 119)
    assert list_amounts(document)[-3:] == [
        ("Total", "119.00 EUR"),
        ("Withholding tax", "-15.00 EUR"),
        ("Paid out", "104.00 EUR"),
    ]


@pytest.mark.parametrize("is_settled", [False, True])
def test_a_returned_payment_takes_the_tax_back(account, mina, run, is_settled):
    if is_settled:
        settle(run, at=AT)
    settle(run, at=AT, state=ResultState.RETURNED)
    assert get_balances(account) == {"paid": 0, "payable": 119, "withholding_tax": 0}
    assert get_payable_balances_by_slug(account) == {mina.slug: {"EUR": 119}}
    assert list_movements(account, mina)[0] == [
        *(("payment", -104), ("tax_withheld", -15)),
        *(("payment_canceled", 104), ("tax_returned", 15)),
    ]
    documents = account.documents.order_by("id").values_list("total", "tax_withheld")
    assert list(documents) == ([(119, 15), (-119, -15)] if is_settled else [])


def test_a_canceled_payment_can_be_paid_again(account, mina, run):
    payment = account.payments.get()
    cancel_payment(account, payment_id=payment.public_id, at=AT)
    again = create_draft(account, due_until=AT.date(), at=AT)
    confirm_run(account, pk=again.pk, at=AT)
    assert get_balances(account) == {"paid": 104, "payable": 0, "withholding_tax": 15}


def test_out_of_the_payout_balance_goes_what_is_transferred(account, mina):
    account.uses_payouts = True
    run = create_draft(account, due_until=AT.date(), at=AT)
    confirm_run(account, pk=run.pk, at=AT)
    assert get_trial_balance(account, end=AT.date())["EUR"]["funding"] == 104


def test_another_tax_than_in_the_draft_is_not_paid(account, mina):
    run = create_draft(account, due_until=AT.date(), at=AT)
    set_rule(account, withholding_rate=Decimal(0))
    text = "minakessler: the withholding tax was 15 EUR, is 0 EUR"
    assert describe_changes(run, at=AT) == text
    with pytest.raises(PayoutRunChanged):
        confirm_run(account, pk=run.pk, at=AT)
    remake_draft(account, pk=run.pk, at=AT)
    confirm_run(account, pk=run.pk, at=AT)
    payment = account.payments.get()
    assert payment.tax_withheld is None
    assert not account.ledger_accounts.filter(kind=LedgerAccountType.WITHHOLDING_TAX).exists()


def test_payments_by_hand_and_by_the_api_withhold_nothing(account, mina):
    order = PaymentOrder(mina.slug, Decimal(119), "EUR")
    [payment] = create_payments(account, orders=[order], at=AT)
    assert (payment.tax_withheld, payment.net_amount) == (None, 119)


@pytest.mark.parametrize(
    ("total", "rate", "withholding", "tax"),
    [
        ("119", "19", "15", "15"),
        ("100", "0", "30", "30"),
        ("0.33", "0", "15.5", "0.05"),
        ("0.01", "0", "99", None),  # nothing would be left
        ("100", "0", "0", None),
    ],
)
def test_the_tax_is_of_the_net_amount(account, total, rate, withholding, tax):
    rule = set_rule(account, rate, sentence="Because", withholding_rate=Decimal(withholding))
    found = calculate_withholding(Decimal(total), rule, "EUR")
    assert found == (tax and Decimal(tax))


@pytest.mark.parametrize("rate", ["-1", "100", "7.125"])
def test_refuses_wrong_rates(account, rate):
    with pytest.raises((InvalidTaxRule, ErrorList)) as error:
        set_rule(account, withholding_rate=Decimal(rate))
    [each] = getattr(error.value, "errors", [error.value])
    assert each.path == "withholding_rate"


def find_discrepancies(account):
    found = LedgerInvariants(account).list_amount_discrepancies()
    return {each.invariant for each in found}


def test_the_check_finds_a_tax_that_was_not_posted(account, run):
    account.payments.update(tax_withheld=Decimal(14))
    assert find_discrepancies(account) == {"E7", "E8"}
    account.payments.update(tax_withheld=Decimal(15))
    assert account.transfers.filter(kind=TransferType.TAX_WITHHELD).count() == 1
    assert find_discrepancies(account) == set()
