"""Staff take back an opening balance, and see what a payment pays of it."""

from decimal import Decimal

import pytest

from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.opening_balances import post_opening_balance
from tests.affiliate_site.backoffice.money_forms import (
    list_messages,
    page_url,
    submit_and_confirm,
)
from tests.conftest import NOW
from tests.ledger_checks import assert_ledger_consistent

pytestmark = pytest.mark.usefixtures("shared_scenario")


@pytest.fixture
def transfer(scenario):
    """Mina is owed 50 EUR from elsewhere."""
    yield post_opening_balance(
        scenario.account,
        affiliate_id=scenario.mina.slug,
        currency="EUR",
        amount=Decimal(50),
        at=NOW,
    )
    assert_ledger_consistent(scenario.account)


def test_takes_an_opening_balance_back(staff_client, account, transfer):
    client = staff_client()
    url = page_url(transfer, "take_back")
    entry = page_url(transfer, "change")
    assert url in client.get(entry).content.decode()

    response = submit_and_confirm(client, url)

    assert list_messages(response) == ["The opening balance was taken back."]
    assert get_payable_balances_by_slug(account) == {}
    assert url not in client.get(entry).content.decode()
    again = client.get(url, follow=True)
    assert list_messages(again) == ["Take back opening balance: not possible in this state."]


def test_only_opening_balances_can_be_taken_back(staff_client, scenario):
    sale = scenario.create_conversion("200")
    earned = scenario.account.transfers.get(commission__conversion=sale)

    page = staff_client().get(page_url(earned, "change")).content.decode()

    assert "Take back" not in page


def test_a_payment_says_what_it_pays_of_it(staff_client, scenario, transfer):
    payment, rest = scenario.pay("40"), scenario.pay("15")
    client = staff_client()

    first, second = (
        client.get(page_url(row, "change")).content.decode() for row in (payment, rest)
    )

    assert "It pays an opening balance, and no commission." in first
    assert "40.00 EUR" in first
    assert "It pays no commission in full" in second
    for text in ("Opening balance", "10.00 EUR", "Left over for", "5.00 EUR"):
        assert text in second


def test_the_statement_names_it(staff_client, scenario, transfer):
    day = f"{NOW:%Y-%m-%d}"
    url = f"/admin/tracking/affiliate/{scenario.mina.affiliate.pk}/statement/"

    response = staff_client().get(url, {"start": day, "end": day, "format": "csv"})

    lines = response.content.decode().splitlines()
    assert f'"{day}","Opening balance",,,50,"EUR"' in lines
