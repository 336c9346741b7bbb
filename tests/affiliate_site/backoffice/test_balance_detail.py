"""The page of a balance: what it is the sum of."""

from datetime import timedelta
from decimal import Decimal

import pytest

from affiliate_site.backoffice.payouts import balance_detail
from payouts.services.commissions import approve_commission, disapprove_commission
from payouts.services.payments import PaymentOrder, cancel_payment, create_payments
from tests.affiliate_site.backoffice.money_forms import page_url
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario

PAID_AT = CONVERSION_CREATED_AT + timedelta(days=1)


@pytest.fixture
def commissions(scenario):
    """Approved commissions of 10, 20 and 30 EUR."""
    found = []
    for number, amount in enumerate(("100", "200", "300"), 1):
        conversion = scenario.create_conversion(
            amount,
            external_id=f"order-{number}",
            at=CONVERSION_CREATED_AT + timedelta(hours=number),
        )
        commission = scenario.get_commission(conversion)
        scenario.approve(commission, at=PAID_AT)
        found.append(commission)
    yield found
    assert_ledger_consistent(scenario.account)


@pytest.fixture
def pay(scenario):
    def pay_amount(amount):
        order = PaymentOrder(scenario.mina.slug, Decimal(amount), "EUR")
        return create_payments(scenario.account, orders=[order], at=PAID_AT)[0]

    return pay_amount


def open_balance(client, account):
    """Headline, the rows of each section, and the page."""
    balance = account.ledger_accounts.get(
        kind="payable", currency="EUR", affiliate__slug="minakessler"
    )
    response = client.get(page_url(balance, "change"))
    assert response.status_code == 200
    details = response.context["details"]
    sections = [
        [[str(cell) for cell in row] for row in section.values] for section in details.sections
    ]
    return details, sections, response.content.decode()


def test_lists_the_commissions_that_are_due(staff_client, account, commissions):
    details, (sums, unpaid, payments), _ = open_balance(staff_client("viewer"), account)

    assert details.headline == "60.00 EUR"
    assert sums == [
        ["Approved commissions, not paid", "60.00 EUR"],
        ["<strong>Balance due</strong>", "60.00 EUR"],
    ]
    assert [row[-1] for row in unpaid] == ["10.00 EUR", "20.00 EUR", "30.00 EUR"]
    assert [f">order-{n}<" in row[1] for n, row in enumerate(unpaid, 1)] == [True] * 3
    assert payments == []


def test_explains_a_part_payment(staff_client, account, commissions, pay):
    canceled, payment = pay("5"), None
    cancel_payment(account, payment_id=canceled.public_id, at=PAID_AT)
    payment = pay("25")

    _, (sums, unpaid, payments), page = open_balance(staff_client(), account)

    assert sums == [
        ["Approved commissions, not paid", "50.00 EUR"],
        ["Paid beyond that", "-15.00 EUR"],
        ["<strong>Balance due</strong>", "35.00 EUR"],
    ]
    assert [row[-1] for row in unpaid] == ["20.00 EUR", "30.00 EUR"]
    assert [row[2:] for row in payments] == [
        ["25.00 EUR", "10.00 EUR"],
        ["<s>5.00 EUR</s>", "canceled"],
    ]
    assert payment.public_id in page
    assert "a partial payment" in page


def test_explains_a_negative_balance(staff_client, account, commissions, pay):
    pay("60")
    disapprove_commission(account, commission_id=commissions[1].pk, at=PAID_AT)

    details, (sums, unpaid, payments), _ = open_balance(staff_client(), account)

    assert details.labels == ["overpaid"]
    assert sums == [
        ["Approved commissions, not paid", "0.00 EUR"],
        ["Paid beyond that", "-20.00 EUR"],
        ["<strong>Balance due</strong>", "-20.00 EUR"],
    ]
    assert unpaid == []
    assert payments[0][2:] == ["60.00 EUR", "40.00 EUR"]


def test_explains_a_payment_whose_predecessor_was_canceled(staff_client, account, commissions, pay):
    """5 EUR were left over by the first payment; the second one needed them."""
    first = pay("15")
    pay("15")
    cancel_payment(account, payment_id=first.public_id, at=PAID_AT)

    _, (sums, unpaid, payments), page = open_balance(staff_client(), account)

    assert sums[1:] == [
        ["Paid commissions beyond payments", "5.00 EUR"],
        ["<strong>Balance due</strong>", "45.00 EUR"],
    ]
    assert [row[-1] for row in unpaid] == ["10.00 EUR", "30.00 EUR"]
    assert payments[0][2:] == ["15.00 EUR", "20.00 EUR"]
    assert "had left something over was canceled" in page


def test_leads_to_the_commissions_beyond_the_first_ones(
    staff_client, account, commissions, other_account, monkeypatch
):
    theirs = ProgramScenario(other_account, email=None)
    foreign = theirs.get_commission(theirs.create_conversion("10"))
    approve_commission(other_account, commission_id=foreign.pk, at=PAID_AT)
    monkeypatch.setattr(balance_detail, "MAX_COMMISSIONS", 1)
    client = staff_client()

    details, (_, unpaid, _), page = open_balance(client, account)

    assert len(unpaid) == 1
    assert "and 2 more" in page
    link = details.sections[1].lines.partition('href="')[2].partition('"')[0]
    listed = client.get(link.replace("&amp;", "&")).context["cl"].result_list
    assert {row.pk for row in listed} == {row.pk for row in commissions}
