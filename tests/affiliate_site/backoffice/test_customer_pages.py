"""Staff correct, cancel, restore and remove customers."""

import pytest

from tests.affiliate_site.backoffice.money_forms import (
    list_messages,
    page_url,
    submit,
)

pytestmark = pytest.mark.engine_independent  # its queries are tested with services


@pytest.fixture
def customer(scenario):
    return scenario.create_customer("anna", status="trial")


def test_corrects_a_customer(staff_client, account, customer):
    client, url = staff_client("manager"), page_url(customer, "edit")

    _, response = submit(client, url, customer_id="anna-2", meta_data="plan: gold")

    assert response.status_code == 302
    stored = account.customers.get()
    assert (stored.customer_id, stored.meta_data) == ("anna-2", {"plan": "gold"})


@pytest.mark.parametrize(
    ("changed", "field", "text"),
    [
        ({"customer_id": ""}, "customer_id", "required"),
        ({"customer_id": "x" * 256}, "customer_id", "255 characters"),
        ({"customer_id": "taken"}, "customer_id", "Duplicate customer"),
        ({"meta_data": "plan"}, "meta_data", "key: value"),
        ({"meta_data": "\n".join(f"k{n}: 1" for n in range(11))}, "meta_data", "10"),
    ],
)
def test_refuses_bad_entries(staff_client, account, scenario, customer, changed, field, text):
    scenario.create_customer("taken")

    _, response = submit(staff_client(), page_url(customer, "edit"), **changed)

    assert text in str(response.context["form"].errors[field])
    assert account.customers.get(pk=customer.pk).customer_id == "anna"


def test_cancels_restores_and_removes(staff_client, account, customer):
    client = staff_client("manager")

    client.post(page_url(customer, "cancel"))
    assert account.customers.get().status == "canceled"
    response = client.get(page_url(customer, "cancel"), follow=True)
    assert "not possible in this state" in list_messages(response)[-1]
    client.post(page_url(customer, "restore"))
    assert account.customers.get().status == "trial"

    response = client.post(page_url(customer, "remove"), follow=True)
    assert list_messages(response)[-1] == f"Customer {customer} was removed."
    assert account.customers.get().customer_id == ""
