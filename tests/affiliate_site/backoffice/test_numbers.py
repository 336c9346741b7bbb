"""Numbers as people write them in forms."""

from decimal import Decimal

import pytest
from django import forms

from affiliate_site.backoffice.fields import DecimalField, write_decimals
from tests.affiliate_site.backoffice.money_forms import list_messages, page_url, submit

READ = {
    "1234.50": "1234.50",
    "1234,50": "1234.50",
    "1.234,50": "1234.50",
    "1,234.50": "1234.50",
    "1 234,50": "1234.50",
    "1\u00a0234,50": "1234.50",
    "1\u202f234.50": "1234.50",
    "1'234.50": "1234.50",
    "1\u2019234,50": "1234.50",
    "-1.234,50": "-1234.50",
    "1.234.567": "1234567",
    "1,234,567.891": "1234567.891",
    "1 234 567": "1234567",
    "12 345.678": "12345.678",
    " 50,25 ": "50.25",
    "1,5": "1.5",
    "1234,567": "1234.567",
    "0,125": "0.125",
    "0.125": "0.125",
    "1.2340": "1.2340",
    "12": "12",
}
AMBIGUOUS = {
    "1.234": ("1234", "1.2340"),
    "1,234": ("1234", "1.2340"),
    "12,500": ("12500", "12.50"),
    "-150.000": ("-150000", "-150.00"),
}
REFUSED = [
    "1,2,3",
    "1.234.56",
    "1,23,456",
    "1.234,50.1",
    "1 23",
    "1,234 567",
    ",,5",
    "x",
]


@pytest.mark.parametrize(("text", "number"), READ.items())
def test_reads_separators_whose_meaning_is_clear(text, number):
    assert DecimalField().clean(text) == Decimal(number)


@pytest.mark.parametrize("text", AMBIGUOUS)
def test_asks_what_an_ambiguous_number_means(text):
    thousands, decimals = AMBIGUOUS[text]

    with pytest.raises(forms.ValidationError) as refusal:
        DecimalField().clean(text)

    assert refusal.value.messages == [
        f"{text} can be read in two ways: enter {thousands}, without a separator,"
        f" or {decimals}, if the separator begins the decimals."
    ]
    assert DecimalField().clean(decimals) == Decimal(text.replace(",", "."))


@pytest.mark.parametrize("text", REFUSED)
def test_refuses_other_texts(text):
    with pytest.raises(forms.ValidationError, match="Enter a number, such as"):
        DecimalField().clean(text)


@pytest.mark.parametrize("number", ["1.234", "12.500", "1234.567", "0.125", "10"])
def test_shows_a_number_as_it_is_read(number):
    shown = DecimalField().prepare_value(Decimal(number))

    assert DecimalField().clean(shown) == Decimal(number)
    assert write_decimals(shown) == shown


def test_says_in_the_preview_how_a_number_was_read(staff_client, scenario):
    conversion = scenario.create_conversion("200")

    client, url = staff_client(), page_url(conversion, "edit")
    _, response = submit(client, url, amount="1.234,50")

    facts = dict(response.context["effect_facts"])
    assert facts["Amount"] == "1.234,50, read as 1234.50"
    assert facts["Sale after"] == "1,234.50 EUR"


def test_says_after_saving_how_a_number_was_read(staff_client, account, scenario):
    url = page_url(scenario.program, "add-commission-type")
    entries = {"title": "Large", "kind": "fixed", "value": "1 234,50"}

    response = staff_client().post(url, entries, follow=True)

    assert "Rate: 1 234,50, read as 1234.50." in list_messages(response)
    assert account.commission_types.latest("pk").value == Decimal("1234.50")


def test_an_amount_may_name_its_own_currency(staff_client, scenario):
    conversion = scenario.create_conversion("200")
    client, url = staff_client(), page_url(conversion, "edit")

    _, shown = submit(client, url, amount="1.234,50 EUR")
    assert dict(shown.context["effect_facts"])["Sale after"] == "1,234.50 EUR"
    _, refused = submit(client, url, amount="1.234,50 USD")
    assert "Enter a number" in str(refused.context["form"].errors["amount"])


@pytest.mark.parametrize(("kind", "is_read"), [("percentage", True), ("fixed", False)])
def test_a_percentage_may_have_its_sign(staff_client, account, scenario, kind, is_read):
    url = page_url(scenario.program, "add-commission-type")

    staff_client().post(url, {"title": "Large", "kind": kind, "value": "12 %"})

    types = account.commission_types.filter(title="Large")
    assert [row.value for row in types] == ([12] if is_read else [])
