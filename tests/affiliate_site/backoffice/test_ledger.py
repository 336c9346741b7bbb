"""The ledger page: filters, and the check of the ledger by a button."""

import csv
import re
from datetime import timedelta

import pytest
from django.urls import reverse

from accounts.models.accounts import Account
from accounts.services.accounts import record_reconciliation, update_settings
from payouts.models.ledger import LedgerAccount
from payouts.services import reconciliation
from tests.conftest import NOW
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario

LEDGER = reverse("admin:payouts_transfer_changelist")
DAY = f"{CONVERSION_CREATED_AT:%Y-%m-%d}"
NEXT_DAY = f"{CONVERSION_CREATED_AT + timedelta(days=1):%Y-%m-%d}"


@pytest.fixture
def entries(scenario):
    """Entries of 1 EUR, of 2 USD an hour later, and of 1 EUR days later."""
    other = ProgramScenario(
        scenario.account, slug="beacon", prefix="b-", email=None, currency="USD"
    )
    first = scenario.create_conversion("10")
    other.create_conversion("20", at=CONVERSION_CREATED_AT + timedelta(hours=1))
    scenario.approve(scenario.get_commission(first), at=CONVERSION_CREATED_AT + timedelta(days=5))
    return list(scenario.account.transfers.order_by("id"))


def open_ledger(client, **query):
    response = client.get(LEDGER, query)
    assert response.status_code == 200
    return response.context["cl"], response.content.decode()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, [2, 1, 0]),
        ({"currency": "USD"}, [1]),
        ({"kind__exact": "approved"}, [2]),
        ({"from": NEXT_DAY, "to": NEXT_DAY}, [1]),
        ({"to": DAY}, [0]),
    ],
)
def test_filters_the_ledger(staff_client, account, entries, query, found):
    """The first entry is of 23:15 in this time zone, the second one of the next day."""
    update_settings(account, changes={"time_zone": "Pacific/Kiritimati"}, at=NOW)

    changelist, page = open_ledger(staff_client("viewer"), **query)

    assert [row.pk for row in changelist.result_list] == [entries[number].pk for number in found]
    assert "Total" not in page  # of what is earned, approved and paid: no amount at all
    assert re.findall(r"[?&]o=-?([0-9]+)", page) in ([], ["7"])  # by time only
    commission = entries[0].commission
    if found[-1] == 0:
        url = reverse("admin:payouts_commission_change", args=[commission.pk])
        assert f'href="{url}">commission {commission}</a>' in page


def test_names_affiliates_and_orders(staff_client, scenario):
    scenario.create_conversion("10", external_id="R-1")
    later = CONVERSION_CREATED_AT + timedelta(days=1)
    scenario.enable_payouts(50, at=later)
    client = staff_client("viewer")

    _, page = open_ledger(client)
    url = reverse("admin:payouts_transfer_export")
    text = b"".join(client.get(url).streaming_content).decode("utf-8-sig")

    assert 'Mina Kessler <span class="subtext">minakessler</span>' in page
    top_up, earned = csv.DictReader(text.splitlines())
    assert (top_up["Affiliate"], top_up["Order ID"]) == ("", "")
    assert (earned["Affiliate"], earned["Order ID"]) == ("minakessler", "R-1")


def test_says_that_ids_may_skip_numbers(staff_client, account, other_account, entries):
    """The entries of all accounts share one sequence; the ledger of one has gaps."""
    ProgramScenario(other_account, prefix="zz-").create_conversion("10")
    late = ProgramScenario(account, slug="late", prefix="late-", email=None)
    late.create_conversion("10", at=CONVERSION_CREATED_AT + timedelta(days=9))

    changelist, page = open_ledger(staff_client("viewer"))

    newest, second, *_ = [row.pk for row in changelist.result_list]
    assert newest - second > 1
    assert "No entry is ever changed or deleted; IDs may skip numbers." in page


def check_now(client):
    """Press the button; the one message that the ledger shows."""
    (message,) = client.post(reverse("admin:check_ledger"), follow=True).context["messages"]
    return str(message)


def test_checks_the_ledger_now(staff_client, account, entries):
    client = staff_client("viewer")
    assert "Check now" in open_ledger(client)[1]

    assert check_now(client) == "Ledger balanced: 3 entries, checked just now."

    account.refresh_from_db()
    assert account.reconciled_at is None  # by the nightly check only, which sees more


def test_does_not_end_an_alarm_of_the_nightly_check(staff_client, account, entries):
    record_reconciliation(account, discrepancy_count=2, at=NOW)

    text = check_now(staff_client("viewer"))

    assert text.startswith("Ledger balanced: 3 entries, checked just now. But the")
    assert "pay nobody until an operator has explained them" in text
    account.refresh_from_db()
    assert (account.discrepancy_count, account.reconciled_at) == (2, NOW)


def test_names_the_discrepancies(staff_client, account, scenario, entries):
    balances = LedgerAccount.objects.filter(account=account, kind="payable")
    balances.filter(affiliate=scenario.mina.affiliate).update(balance=7)

    text = check_now(staff_client())

    assert "payable of minakessler in EUR: 7.0000 instead of 1.0000" in text
    assert "Pay nobody" in text
    account.refresh_from_db()
    assert account.discrepancy_count > 0


def test_leaves_a_long_ledger_to_the_nightly_check(staff_client, account, entries, monkeypatch):
    monkeypatch.setattr(reconciliation, "MAX_CHECKED_TRANSFERS", 2)

    assert "too many to check" in check_now(staff_client())

    account.refresh_from_db()
    assert account.reconciled_at is None


def test_checks_the_own_account_by_a_form_only(staff_client, other_account, entries):
    theirs = ProgramScenario(other_account, prefix="zz-marker-", email=None)
    theirs.create_conversion("10")
    client = staff_client()

    assert client.get(reverse("admin:check_ledger")).status_code == 405
    assert check_now(client) == "Ledger balanced: 3 entries, checked just now."
    assert Account.objects.get(pk=other_account.pk).reconciled_at is None
