"""Pages of rates for some sales of a program."""

import pytest
from django.urls import reverse
from django.utils import timezone

from payouts.services.program_rates import list_program_rates
from tests.affiliate_site.backoffice.test_program_pages import program_url, read_page, save

pytestmark = pytest.mark.usefixtures("shared_scenario")

STANDARD = {"percentage": "10", "type": "standard"}


def get_rates(scenario):
    return list_program_rates(scenario.account, scenario.program, at=timezone.now())


def test_adds_a_rate_and_ends_it(staff_client, scenario, account):
    client, program = staff_client("manager"), scenario.program
    standard = account.commission_types.get()

    said = save(
        *(client, program_url(program, "add-rate")),
        percentage="15",
        fixed="3",
        type=standard.pk,
        orders__from="2",
        orders__to="5",
        country="de, AT",
        customer_kind="returning",
        amount="100",
        when="channel: b2b",
        ends_at="2099-12-31",
    )

    when = [
        {"field": "country", "is": ["DE", "AT"]},
        {"field": "customer_kind", "is": "returning"},
        {"field": "amount", "above": "100"},
        {"field": "meta_data.channel", "is": "b2b"},
    ]
    rate = {"percentage": "15", "fixed": "3", "type": "standard", "orders": {"from": 2, "to": 5}}
    assert get_rates(scenario) == [STANDARD, rate | {"when": when, "ends_at": "2100-01-01"}]
    words = (
        "type Standard, orders 2 to 5 of a customer, country is DE or AT, customer_kind is"
        " returning, amount above 100, meta_data.channel is b2b"
    )
    assert said == [f"15 % + 3.00 EUR for {words}: was added."]
    page = read_page(client, program)
    assert "15 % + 3.00 EUR" in page
    assert "31 Dec 2099" in page or "2099-12-31" in page

    url = reverse("admin:payouts_rate_end", args=[account.rates.get().pk])
    assert url in page
    save(client, url)
    assert get_rates(scenario) == [STANDARD]


def test_shows_faults_beside_their_fields(staff_client, scenario):
    client, url = staff_client("manager"), program_url(scenario.program, "add-rate")

    for values, name, error in (
        ({}, "percentage", "Needs percentage, fixed or both."),
        ({"percentage": "150"}, "percentage", "Must be 100 % at most."),
        ({"percentage": "5", "country": "Germany"}, "country", "Must be a text or a list"),
        (
            {"percentage": "5", "orders__from": "3", "orders__to": "2"},
            "orders__to",
            "Must not be before from.",
        ),
        (
            {"percentage": "5", "orders__from": "3", "orders__months": "2"},
            None,
            "Has months, or from and to, not both.",
        ),
        ({"percentage": "5", "starts_at": "2020-01-01"}, "starts_at", "a day that has not begun"),
        ({"percentage": "5", "ends_at": "2020-01-01"}, "ends_at", "Must be a day to come."),
    ):
        form = client.post(url, values).context["form"]
        errors = form.errors[name] if name else form.non_field_errors() or form.errors
        assert error in str(errors), values
    assert get_rates(scenario) == [STANDARD]


def test_a_sale_says_which_rates_lost(staff_client, scenario, account):
    client = staff_client("manager")
    save(client, program_url(scenario.program, "add-rate"), percentage="20", country="AT")
    conversion = scenario.create_conversion("100", at=timezone.now())

    url = reverse("admin:tracking_conversion_change", args=[conversion.pk])
    page = client.get(url).content.decode()
    assert "not 20 %: country is AT: its condition does not hold" in page
