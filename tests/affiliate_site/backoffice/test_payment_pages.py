"""Staff pay one balance, and cancel one payment."""

import pytest
from django.utils import timezone

from payouts.models.ledger import LedgerAccount
from payouts.services.commissions import approve_commission
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.payout_settings import update_payout_settings
from tests.affiliate_site.backoffice.money_forms import (
    confirm,
    list_messages,
    page_url,
    submit,
    submit_and_confirm,
)
from tests.conftest import NOW
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import mark_deleted

pytestmark = pytest.mark.usefixtures("shared_scenario")


@pytest.fixture(autouse=True)
def consistent_ledger(account):
    yield
    assert_ledger_consistent(account)


def create_balance(scenario):
    """A balance of 20 EUR due to Mina."""
    commission = scenario.get_commission(scenario.create_conversion("200"))
    approve_commission(scenario.account, commission_id=commission.pk, at=NOW)
    return LedgerAccount.objects.get(account=scenario.account, kind="payable")


@pytest.fixture
def balance(scenario):
    return create_balance(scenario)


def test_pays_a_balance_and_cancels_the_payment(staff_client, account, balance):
    client = staff_client()

    response = submit_and_confirm(client, page_url(balance, "pay"))
    payment = account.payments.get()
    assert list_messages(response) == [f"Payment {payment} of 20.00 EUR was recorded."]
    assert account.commissions.get().payment == payment
    assert get_payable_balances_by_slug(account) == {}

    url = page_url(payment, "cancel")
    assert "reason" in client.post(url, {"reason": " "}).context["form"].errors
    _, shown = submit(client, url, reason="The bank returned it")
    assert dict(shown.context["effect_facts"]) == {
        "Reason": "The bank returned it",
        "Commissions that count as unpaid": "1, together 20.00 EUR",
    }
    submit_and_confirm(client, url, reason="The bank returned it")
    assert account.payments.get().canceled_at
    page = client.get(page_url(payment, "change")).content.decode()
    assert "The bank returned it" in page
    assert account.commissions.get().payment is None
    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": 20}}


def test_pays_more_than_is_due_only_after_a_box_is_ticked(staff_client, account, balance):
    client, url = staff_client(), page_url(balance, "pay")
    sent, shown = submit(client, url, amount="25")

    page = " ".join(shown.content.decode().split())
    assert "Balance due of minakessler becomes negative: -5.00 EUR." in page
    digest = shown.context["effects"].digest
    box = f'<input type="checkbox" name="effects" value="{digest}" required>'
    text = "Pay more than is due: the balance of minakessler becomes negative by 5.00"
    assert f"{box} {text} EUR" in page
    assert 'type="hidden" name="effects"' not in page
    assert "effects" not in client.post(url, sent).context["form"].data
    assert not account.payments.exists()

    confirm(client, url, sent, shown)
    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": -5}}


def test_says_where_to_pay_and_what_a_partial_payment_pays(
    staff_client, account, scenario, balance
):
    client, url = staff_client(), page_url(balance, "pay")
    method_url = page_url(scenario.mina.affiliate, "payout")

    page = client.get(url).content.decode()
    assert "minakessler has no payout method." in page
    assert f'href="{method_url}">Set one</a>' in page

    mark_deleted(scenario.mina.affiliate)
    page = client.get(url).content.decode()
    assert "minakessler has no payout method, and was removed." in page
    assert method_url not in page

    create_bank_account(scenario)
    page = client.get(url).content.decode()
    assert "Pay to: Bank account (IBAN: SI56 1910)" in page
    assert "has no payout method" not in page
    commission = account.commissions.get()
    for amount, expected in (
        ("5", f"none yet: the next, commission {commission}, is 20.00 EUR"),
        ("20", "20.00 EUR"),
    ):
        _, shown = submit(client, url, amount=amount)
        facts = dict(shown.context["effect_facts"])
        assert facts["Commissions paid in full"] == expected
    assert not account.payments.exists()


def test_exports_and_confirmations_say_where_to_pay(staff_client, account, scenario, balance):
    client = staff_client()
    balances = "/admin/payouts/ledgeraccount/"
    text = "Bank account (IBAN: SI56 1910)"
    alert = "Without a payout method, but recorded as paid, too: minakessler."

    selected = {"action": "pay_selected", "_selected_action": [balance.pk]}
    assert alert in client.post(balances, selected).content.decode()
    create_bank_account(scenario)
    skipped = LedgerAccount.objects.create(
        account=account,
        kind="payable",
        affiliate=scenario.create_enrolled_affiliate("Odette", "Varga").affiliate,
        currency="EUR",
        balance=0,
    )
    selected["_selected_action"].append(skipped.pk)
    page = client.post(balances, selected).content.decode()
    assert "Without a payout method" not in page  # Odette is skipped
    skipped.delete()
    selected["_selected_action"].pop()
    assert f'<td data-title="Pay to">{text}</td>' in page
    assert "it transfers no money itself" in page

    def export(url):
        return client.get(f"{url}export/").getvalue().decode().splitlines()

    exports = [export(balances)]
    submit_and_confirm(client, page_url(balance, "pay"))
    exports.append(export("/admin/payouts/payment/"))
    for (titles, row), title in zip(
        exports, ("Primary payout method today", "Paid to"), strict=True
    ):
        assert titles.endswith(f'"{title}"')
        assert row.endswith(f'"{text}"')


def create_bank_account(scenario):
    scenario.account.payout_methods.create(
        affiliate=scenario.mina.affiliate,
        kind="bank",
        details={"iban": "SI56 1910"},
        is_primary=True,
    )


def test_two_clerks_do_not_pay_twice(staff_client, account, scenario, balance):
    client, url = staff_client(), page_url(balance, "pay")
    sent, shown = submit(client, url)
    submit_and_confirm(client, url)

    response = confirm(client, url, sent, shown)

    assert "not possible in this state" in list_messages(response)[0]
    create_balance_again = scenario.get_commission(scenario.create_conversion("50"))
    approve_commission(account, commission_id=create_balance_again.pk, at=NOW)
    response = confirm(client, url, sent, shown)
    assert "Amount is now 5.00" in str(response.context["form"].errors["__all__"])
    assert account.payments.count() == 1


@pytest.mark.engine_independent
@pytest.mark.parametrize("amount", ["-1", "0", "0.001", "", "9" * 14, "9" * 400, "NaN", "abc"])
def test_refuses_a_bad_amount(staff_client, account, balance, amount):
    _, response = submit(staff_client(), page_url(balance, "pay"), amount=amount)

    assert response.context["form"].errors["amount"]
    assert not account.payments.exists()


def test_the_back_button_does_not_pay_the_next_balance(staff_client, account, scenario, balance):
    client, url = staff_client(), page_url(balance, "pay")
    sent, shown = submit(client, url)
    confirm(client, url, sent, shown)
    create_balance(scenario)  # by chance the same amount again

    response = confirm(client, url, sent, shown)

    assert "already" in list_messages(response)[-1]
    assert account.payments.count() == 1


def test_pays_what_is_due_and_says_what_a_run_would_not_pay(
    staff_client, account, scenario, balance
):
    scenario.program.update_row(hold_days=30)
    sale = scenario.create_conversion("300", at=timezone.now())
    scenario.approve(scenario.get_commission(sale), at=timezone.now())
    update_payout_settings(account, changes={"requires_second_person": True}, at=timezone.now())
    account.payout_methods.create(
        affiliate=scenario.mina.affiliate,
        kind="paypal",
        details={"email": "a@x.example"},
        is_primary=True,
        on_hold_reason="pa_1: AC04: account closed",
        details_changed_at=timezone.now(),
    )
    response = staff_client().get(page_url(balance, "pay"))
    assert response.context["form"].initial["amount"] == 20
    page = response.content.decode()
    for text in (
        "30.00 EUR are on hold: paid only after all that is due.",
        "a payment by hand is confirmed by nobody",
        "Look at the payout method first: pa_1: AC04: account closed",
        "The payout method was changed today",
    ):
        assert text in page
