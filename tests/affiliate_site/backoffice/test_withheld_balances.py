"""A balance that is withheld: in drafts, on the pages of balances and affiliates."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models.api_keys import Role
from payouts.services.payout_runs import create_draft
from tests.affiliate_site.backoffice.forms import get_form
from tests.ledger_checks import assert_amounts_consistent
from tests.program_scenario import ProgramScenario

REASON = "Asked to wait"


@pytest.fixture
def scenario(scenario):
    """Mina has 20 EUR and 5 USD due and a PayPal address."""
    scenario.create_commission_type("all", 100)
    set_method(scenario.mina.affiliate)
    earn(scenario, "20")
    earn(scenario, "5", currency="USD")
    yield scenario
    assert_amounts_consistent(scenario.account)


def set_method(affiliate):
    affiliate.account.payout_methods.create(
        affiliate=affiliate,
        kind="paypal",
        details={"email": "mina@notes.example.org"},
        is_primary=True,
    )


def earn(scenario, amount, **conversion):
    sale = scenario.create_conversion((amount, "all"), **conversion)
    scenario.approve(scenario.get_commission(sale))


def draft(account):
    now = timezone.now()
    return create_draft(account, due_until=now.date(), at=now)


def get_line(run, currency="EUR"):
    return run.account.payout_lines.get(run=run, currency=currency)


def get_balance(scenario, currency="EUR"):
    rows = scenario.account.ledger_accounts.filter(kind="payable", currency=currency)
    return rows.get(affiliate=scenario.mina.affiliate)


def url_of(model, page, row):
    return reverse(f"admin:payouts_{model}_{page}", args=[row.pk])


def withhold(client, run, reason=REASON):
    url = url_of("payoutline", "take_out", get_line(run))
    return client.post(url, {"reason": reason}, follow=True).content.decode()


def send(client, url):
    """Send the form of a page, as it is."""
    return client.post(url, get_form(client, url), follow=True).content.decode()


def read(client, url, **query):
    page = client.get(url, query).content.decode()
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


def open_affiliate(client, scenario):
    url = reverse("admin:tracking_affiliate_change", args=[scenario.mina.affiliate.pk])
    return client.get(url).content.decode()


def list_alerts(page):
    found = re.findall(r'<p role="alert"[^>]*>(.*?)</p>', page, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]*>", "", text).split()) for text in found]


def get_text():
    day = timezone.localdate()
    return f"withheld by owner@harbor.example.org since {day}: {REASON}"


def test_a_withheld_balance_waits_until_it_is_lifted(staff_client, scenario):
    client, run = staff_client(), draft(scenario.account)
    page = read(client, url_of("payoutline", "take_out", get_line(run)))
    assert "no payout run pays it until somebody puts it back here, or lifts" in page

    assert "minakessler was taken out; EUR is withheld." in withhold(client, run)
    send(client, url_of("payoutrun", "remake", run))

    page = read(client, url_of("payoutrun", "change", run))
    assert "Left out: withheld by staff 1, together 20.00 EUR" in page
    assert f"Mina Kessler minakessler 20.00 EUR PayPal W{get_text()[1:]} Put back" in page
    page = read(client, url_of("payoutrun", "confirm", run))
    assert "1 payment to 1 affiliate: 5.00 USD; 1 withheld. Each covers" in page
    send(client, url_of("payoutrun", "confirm", run))
    assert [row.currency for row in scenario.account.payments.all()] == ["USD"]

    page = open_affiliate(client, scenario)
    text = f"The EUR balance is {get_text()}"
    assert list_alerts(page) == [f"{text} Lift: {text}"]
    lift = url_of("ledgeraccount", "lift", get_balance(scenario))
    assert f'href="{lift}"' in page
    following = draft(scenario.account)
    assert f"The balance is {get_text()}" in read(client, lift)
    assert "Payout runs pay minakessler in EUR again." in send(client, lift)

    assert list_alerts(open_affiliate(client, scenario)) == []
    page = read(client, url_of("payoutrun", "change", following))
    assert "20.00 EUR PayPal No longer withheld Put back" in page
    send(client, url_of("payoutrun", "remake", following))
    send(client, url_of("payoutrun", "confirm", following))
    paid = scenario.account.payments.order_by("id").values_list("currency", flat=True)
    assert list(paid) == ["USD", "EUR"]
    # The run that left it out still says why.
    page = read(client, url_of("payoutrun", "change", run))
    assert f"20.00 EUR PayPal {REASON}" in page
    assert client.get(lift).status_code == 302


def test_a_draft_that_includes_it_is_not_confirmed(staff_client, scenario):
    client, account = staff_client(), scenario.account
    run, other = draft(account), draft(account)
    url = url_of("payoutrun", "confirm", other)
    entries = get_form(client, url)
    withhold(client, run)

    alerts = list_alerts(client.get(url).content.decode())
    page = client.post(url, entries, follow=True).content.decode()

    text = "minakessler: the EUR balance is withheld, lift that to pay it"
    assert any(text in alert for alert in alerts)
    assert text in page
    assert not account.payments.exists()


def test_balances_show_and_find_what_is_withheld(staff_client, scenario):
    client, account = staff_client(), scenario.account
    withhold(client, draft(account))
    scenario.pay("20")  # by the API; a balance of zero stays withheld
    url = reverse("admin:payouts_ledgeraccount_changelist")

    assert "EUR withheld" not in read(client, url)
    page = read(client, url, is_withheld="True")

    assert "0.00 EUR withheld" in page
    assert "5.00 USD" not in page
    balance = url_of("ledgeraccount", "change", get_balance(scenario))
    page = client.get(balance).content.decode()
    assert list_alerts(page) == [f"W{get_text()[1:]}"]
    assert "Lift withholding" in page


def test_warns_of_paying_it_by_hand(staff_client, scenario):
    client = staff_client()
    withhold(client, draft(scenario.account))

    balance, other = get_balance(scenario), get_balance(scenario, "USD")
    pages = [
        client.get(url_of("ledgeraccount", "pay", row)).content.decode() for row in (balance, other)
    ]
    body = {"action": "pay_selected", "_selected_action": [balance.pk, other.pk]}
    url = reverse("admin:payouts_ledgeraccount_changelist")
    page = client.post(url, body).content.decode()

    assert [list_alerts(each) for each in pages] == [
        [f"This balance is {get_text()}"],
        [],
    ]
    assert list_alerts(page) == ["Withheld, but paid with it: minakessler in EUR."]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.MANAGER])
def test_all_staff_see_what_is_withheld(staff_client, scenario, role):
    withhold(staff_client(), draft(scenario.account))
    client = staff_client(role)

    page = open_affiliate(client, scenario)

    assert list_alerts(page) == [f"The EUR balance is {get_text()}"]


def test_other_accounts_are_not_shown(staff_client, scenario, other_account):
    theirs = ProgramScenario(other_account, prefix="zz-marker-", email=None)
    theirs.create_commission_type("all", 100)
    set_method(theirs.mina.affiliate)
    earn(theirs, "77")
    client = staff_client()
    other_account.withheld_balances.create(
        affiliate=theirs.mina.affiliate, currency="EUR", created_by="staff 1"
    )

    url = reverse("admin:payouts_ledgeraccount_changelist")
    assert "zz-marker" not in read(client, url, is_withheld="True")
