"""A report warns of what may be paid twice."""

from datetime import date
from decimal import Decimal

import pytest

from payouts.services.ledger import get_payable_balances_by_slug
from tests.affiliate_site.moving.tables.building import build, store
from tests.document_scenario import bill
from tests.ledger_checks import assert_ledger_consistent

pytestmark = pytest.mark.django_db

SALES = """Order ID,Affiliate,Amount,Currency,Commission,Status,Payment,Created
order-1,mina@notes.example.org,100,EUR,{commission},{status},{payment},2026-03-06
"""
BALANCE = """Affiliate,Balance,Currency
mina@notes.example.org,10,EUR
"""
PAYMENTS = """ID,Affiliate,Amount,Currency,Paid
march,mina@notes.example.org,19.50,EUR,2026-04-01
"""
TWICE = (
    "These affiliates have an opening balance and imported sales that are not paid:"
    " minakessler (EUR). If the balance includes these sales, they count twice."
)


@pytest.fixture
def sell(scenario):
    """Build the import of a sale of Mina."""

    def sell(commission="10", status="approved", payment="", order="order-1"):
        text = SALES.format(commission=commission, status=status, payment=payment)
        text = text.replace("order-1", order)
        defaults = {"program": scenario.program.slug}
        return build(scenario.account, "conversions", text, defaults=defaults)

    return sell


@pytest.mark.parametrize("status", ["approved", "pending", ""])
def test_balances_of_affiliates_with_unpaid_sales(scenario, sell, status):
    sell(status=status).store()
    importer = build(scenario.account, "opening_balances", BALANCE)
    assert importer.preview().notes == importer.store().notes == [TWICE]
    assert importer.preview().notes == []  # known


def test_unpaid_sales_of_affiliates_with_balances(scenario, sell):
    account = scenario.account
    store(account, "opening_balances", BALANCE)
    assert sell(status="paid").preview().notes == [
        "Sales that are paid: 1, by 1 payment on 2026-03-06. No mail is sent and no"
        " document is issued for them."
    ]
    assert sell(status="disapproved").preview().notes == []
    assert sell(commission="0").preview().notes == []
    assert sell().store().notes == [TWICE]
    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": 20}}
    assert_ledger_consistent(account)


def test_no_balances_of_others(scenario, sell):
    account = scenario.account
    scenario.create_conversion("100")  # of this system
    sell(status="paid", order="order-2").store()
    assert build(account, "opening_balances", BALANCE).preview().notes == []
    sell().store()
    dollars = BALANCE.replace("EUR", "USD")
    assert build(account, "opening_balances", dollars).preview().notes == []


def test_payments_smaller_than_their_commissions(scenario, sell):
    account = scenario.account
    store(account, "payments", PAYMENTS)
    first = sell(status="paid", payment="march").store()
    assert first.notes == []
    second = sell(status="paid", payment="march", order="order-2").store()
    assert second.notes == [
        "These payments are smaller than the commissions that they pay: march"
        " (19.5 of 20 EUR). The rest would be owed, and paid by the next payout run."
    ]
    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": Decimal("0.5")}}
    assert_ledger_consistent(account)


def test_some_of_many(scenario):
    account = scenario.account
    people = "ID,First name\n" + "".join(f"p{n:02},P\n" for n in range(12))
    store(account, "affiliates", people)
    balances = "Affiliate,Balance,Currency\n" + "".join(f"p{n:02},1,EUR\n" for n in range(12))
    store(account, "opening_balances", balances)
    sales = "Order ID,Affiliate,Amount,Currency,Commission,Created\n" + "".join(
        f"{n},p{n:02},10,EUR,1,2026-03-06\n" for n in range(12)
    )
    defaults = {"program": scenario.program.slug}
    [note] = build(account, "conversions", sales, defaults=defaults).preview().notes
    assert "p00 (EUR), p01 (EUR), p02 (EUR)" in note
    assert "p09 (EUR) and 2 more. If" in note


MARCH = date(2026, 3, 1), date(2026, 3, 31)


BILLED = (
    "Documents were issued for these months already: minakessler 2026-03 (1). What is"
    " added there is not in them."
)


def test_rows_of_months_with_documents(scenario, sell):
    scenario.set_status(scenario.create_conversion("100").commissions.get(), "approved")
    bill(scenario.pay("1"), *MARCH)
    account = scenario.account
    payment = PAYMENTS.replace("2026-04-01", "2026-03-31")
    assert sell().preview().notes == [BILLED]
    assert sell(commission="0").preview().notes == []
    assert build(account, "payments", PAYMENTS).preview().notes == []
    assert build(account, "payments", payment).preview().notes == [BILLED]
    balances = BALANCE.replace("Currency", "Currency,Date").replace("EUR", "EUR,{}")
    march, april = balances.format("2026-03-02"), balances.format("2026-04-02")
    assert build(account, "opening_balances", march).preview().notes == [BILLED]
    assert build(account, "opening_balances", april).preview().notes == []
