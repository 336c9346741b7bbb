"""Owners export and erase the personal data of a person."""

import json

import pytest

from payouts.services.commissions import approve_commission
from tests.affiliate_site.backoffice.money_forms import list_messages, page_url
from tests.conftest import NOW
from tracking.services.affiliates import PersonData, delete_affiliate
from tracking.services.prospects import ProspectData, create_prospect


@pytest.fixture
def people(scenario):
    """An affiliate, a prospect and a customer."""
    person = PersonData(firstname="Pia", lastname="Lang", email="pia@notes.example.org")
    prospect = create_prospect(scenario.account, data=ProspectData(person), at=NOW)
    return [scenario.mina.affiliate, prospect, scenario.create_customer("anna@x.org")]


def test_downloads_what_the_command_prints(staff_client, people):
    client = staff_client()

    for row, kind in zip(people, ("affiliates", "prospects", "customers"), strict=True):
        response = client.post(page_url(row, "export_person"))

        assert response["Content-Disposition"].startswith("attachment; filename=")
        assert "no-store" in response["Cache-Control"]
        (found,) = json.loads(response.content)[kind]
        assert found["id"] == str(row)


def test_says_what_is_erased_and_erases_it(staff_client, account, scenario, people):
    commission = scenario.get_commission(scenario.create_conversion("100"))
    approve_commission(account, commission_id=commission.pk, at=NOW)
    client = staff_client()
    shown = {
        "affiliate": ("becomes erased-", "Balance due: 10.00 EUR", "removed first"),
        "prospect": ("Referral codes are replaced", "removed first"),
        "customer": ("Order IDs stay", "removed first"),
    }

    for row in people:
        url = page_url(row, "erase_person")
        page = client.get(url).content.decode()
        for text in shown[row._meta.model_name]:
            assert text in page, text
        response = client.post(url, follow=True)
        assert response.status_code == 200
        assert list_messages(response)[-1].startswith("Erased: ")
        assert row.reload().deleted_at is not None

    affiliate, prospect, customer = (row.reload() for row in people)
    assert (affiliate.slug, affiliate.email) == (f"erased-{affiliate.pk}", None)
    assert (prospect.lastname, prospect.email) == ("person", None)
    assert customer.customer_id == ""
    entry = account.audit_log.filter(kind="customer.erased").get()
    assert entry.actor.startswith("staff ")


def test_erases_an_affiliate_that_was_removed_before(staff_client, account, scenario):
    affiliate = scenario.mina.affiliate
    delete_affiliate(account, affiliate_id=affiliate.slug, at=NOW)
    client = staff_client()
    url = page_url(affiliate, "erase_person")

    assert "removed first" not in client.get(url).content.decode()
    for _ in range(2):  # a second time changes nothing
        assert client.post(url).status_code == 302

    assert affiliate.reload().firstname == "Erased"
    assert account.audit_log.filter(kind="affiliate.erased").count() == 1
