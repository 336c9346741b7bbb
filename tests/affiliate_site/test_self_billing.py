"""Self-billing from what the affiliate enters to the return of the payment."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from affiliate_site.portal_sessions import COOKIE
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.payout_answers import ResultState
from tests.affiliate_site.backoffice.conftest import staff_client
from tests.affiliate_site.backoffice.money_forms import (
    list_messages,
    page_url,
    submit,
)
from tests.affiliate_site.backoffice.test_document_pages import get_page, post
from tests.affiliate_site.backoffice.test_exports import export_csv
from tests.affiliate_site.portal.conftest import PASSWORD, portal, set_up_password
from tests.command_line import run_command
from tests.document_scenario import settle, switch_on
from tests.payout_scenario import build_files

pytestmark = pytest.mark.usefixtures("shared_scenario", "consistent_ledger")

__all__ = ["portal", "set_up_password", "staff_client"]

RULE = {
    "kind": "business",
    "country": "EU",
    "rate": "0",
    "sentence": "Reverse charge",
    "required_number": "reverse_charge",
    "withholding_rate": "10",
}


def read(client, url):
    return " ".join(client.get(url).content.decode().split())


def test_from_the_tax_data_to_the_return(account, scenario, portal, set_up_password, staff_client):
    switch_on(account, requires_documents=True)
    affiliate = scenario.mina.affiliate
    account.payout_methods.create(
        affiliate=affiliate,
        kind="bank",
        details={"account_holder": "Mina", "iban": "AT611904300234573201"},
        is_primary=True,
    )
    scenario.approve(scenario.get_commission(scenario.create_conversion("1000")))
    mina, finance = Client(), staff_client("finance")
    mina.cookies[COOKIE] = set_up_password(affiliate)

    saved = post(finance, reverse("admin:payouts_taxrule_add"), **RULE)
    assert list_messages(saved) == ["The tax rule was saved."]
    rules = get_page(finance, reverse("admin:payouts_taxrule_changelist"))
    assert "Other EU countries" in rules
    today = f"{account.get_day(timezone.now())}"
    text = run_command("payout_run", account.slug, "--until", today)
    assert "document incomplete. The affiliate has no tax data. " in text
    balances = reverse("admin:payouts_ledgeraccount_changelist")
    balance = page_url(account.ledger_accounts.get(kind="payable"), "change")
    assert "not paid by runs: document incomplete" in get_page(finance, balances)
    assert "Payout runs leave it out: document incomplete." in read(finance, balance)
    left_out = "Payout runs leave the affiliate out: document incomplete. The affiliate"
    assert f"{left_out} has no tax data. The" in read(finance, page_url(affiliate, "change"))

    affiliate.update_row(address="Ring 1", city="Wien", country="AT")
    taxes = {"kind": "business", "country": "AT", "has_consented": "on"}
    taxes |= {"old_password": PASSWORD}
    page = mina.post(f"{portal}profile/taxes/", taxes, follow=True).content.decode()
    assert "enter your VAT ID in your tax data." in page
    assert "Payments wait until then." in read(mina, f"{portal}payments/")
    mina.post(f"{portal}profile/taxes/", taxes | {"vat_id": "ATU12345675"})
    assert "Payments wait until then." not in read(mina, f"{portal}payments/")

    assert "document incomplete" not in get_page(finance, balances)
    text = run_command("payout_run", account.slug, "--until", today)
    run = account.payout_runs.get(state="draft")
    page = get_page(finance, page_url(run, "change"))
    assert "10.00 EUR withholding tax, 90.00 EUR to pay" in page
    url = page_url(run, "confirm")
    assert "10.00 EUR of it are withheld for the tax office." in get_page(finance, url)
    submit(finance, url)
    run.refresh_from_db()
    [file] = build_files(run, formats=["pain001"], at=timezone.now())
    assert b'<InstdAmt Ccy="EUR">90.00</InstdAmt>' in file.content

    settle(run, at=timezone.now())
    document = account.documents.get()
    page = get_page(finance, page_url(document, "change"))
    for part in ("Reverse charge", "VAT ID: ATU12345675", "-10.00 EUR", "90.00 EUR"):
        assert part in page
    for name in ("payouts_document", "payouts_payment", "payouts_payoutline"):
        line = dict(zip(*export_csv(finance, name), strict=True))
        assert line["Withholding tax"] == "10"
    page = read(mina, f"{portal}payments/")
    assert "Withholding tax: 10.00 EUR<br>Paid out: 90.00 EUR" in page
    assert "Withholding tax" in read(mina, f"{portal}statement/")

    settle(run, at=timezone.now(), state=ResultState.RETURNED)
    assert get_payable_balances_by_slug(account) == {affiliate.slug: {"EUR": 100}}
    assert account.documents.get(kind="correction").tax_withheld == -10
    assert "Withholding tax taken back" in read(mina, f"{portal}statement/")
