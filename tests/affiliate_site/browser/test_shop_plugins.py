"""What shop plugins print never loses a sale (docs/api-contract.md, section 5.5).

Each test is named after a plugin that sends such a call.
"""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.test import Client

from tests.ledger_checks import assert_amounts_consistent
from tests.program_scenario import ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario")

NOON = datetime(2026, 3, 4, 12, 0, 0, tzinfo=UTC)


class ShopPage:
    """An order confirmation page of a visitor who came through Mina's link."""

    def __init__(self, scenario) -> None:
        self.scenario = scenario
        self.account = scenario.account
        self.vid = self.call("click", referral_code=scenario.mina.code).json()["vid"]

    def call(self, call, **data):
        return Client().post(
            f"/track/{call}/",
            {"account": self.account.slug} | data,
            content_type="application/json",
            headers={"Referer": "https://shop.example.net/"},
        )

    def buy(self, **data):
        """Report a sale of 200; return its conversion."""
        sale = {"vid": self.vid, "external_id": "order-1", "amount": 200} | data
        response = self.call("conversion", **sale)
        assert (response.status_code, response.content) == (204, b"")
        assert list(self.account.failed_page_calls.all()) == []
        return self.account.conversions.get()

    def register(self, **data):
        """Report a customer and return it."""
        customer = {"vid": self.vid, "customer_id": "acct-1"} | data
        response = self.call("customer", **customer)
        assert (response.status_code, response.content) == (204, b"")
        assert list(self.account.failed_page_calls.all()) == []
        return self.account.customers.get()


@pytest.fixture
def scenario(scenario, time_machine):
    time_machine.move_to(NOON, tick=False)
    scenario.program.update_row(auto_approve_commissions=True)
    scenario.program.update_row(auto_approve_browser_sales=True)
    yield scenario
    assert_amounts_consistent(scenario.account)


@pytest.fixture
def page(scenario):
    return ShopPage(scenario)


def status_of(page, conversion):
    return page.scenario.get_commission(conversion).status


def assert_odd(page, conversion, *options):
    """Check the warnings; only a sale without them is approved automatically."""
    assert conversion.warnings == ([f"odd_{name}" for name in options] or None)
    expected = "pending" if options else "approved"
    assert status_of(page, conversion) == expected
    assert conversion.amount == 200


# Meta data.


def test_shopify_sends_a_key_for_each_of_eleven_order_lines(page):
    lines = {f"line {number:02}": f"Lamp {number}" for number in range(11, 0, -1)}

    conversion = page.buy(meta_data=lines)

    assert conversion.meta_data == dict(list(lines.items())[:10])
    assert "line 01" not in conversion.meta_data
    assert_odd(page, conversion)


def test_woocommerce_sends_a_product_name_over_255_characters(page):
    conversion = page.buy(meta_data={"product": "ä" * 300, "sku": "x" * 255})

    assert conversion.meta_data == {"product": "ä" * 255, "sku": "x" * 255}
    assert_odd(page, conversion)


def test_prestashop_encodes_empty_meta_data_as_a_list(page):
    conversion = page.buy(meta_data=[])

    assert conversion.meta_data == {}
    assert_odd(page, conversion)


@pytest.mark.parametrize("value", [{"sku": "a"}, ["a"], [], {}, None])
def test_magento_sends_a_nested_value(page, value):
    conversion = page.buy(meta_data={"items": value, "store": "de", "lines": 3})

    assert conversion.meta_data == {"store": "de", "lines": "3"}
    assert_odd(page, conversion, "meta_data")


@pytest.mark.parametrize("key", ["", "a/b", 'say "hi"', "k" * 65])
def test_opencart_sends_product_names_as_keys(page, key):
    conversion = page.buy(meta_data={key: "1", "store": "de"})

    assert conversion.meta_data == {"store": "de"}
    assert_odd(page, conversion, "meta_data")


@pytest.mark.parametrize("meta_data", ["plan=pro", ["a"], 5, True])
def test_opencart_sends_meta_data_that_is_no_map(page, meta_data):
    conversion = page.buy(meta_data=meta_data)

    assert conversion.meta_data == {}
    assert_odd(page, conversion, "meta_data")


def test_woocommerce_sends_ids_as_long_numbers(page):
    conversion = page.buy(meta_data={"fbclid": 12345678901234567890, "gift": True})

    assert conversion.meta_data == {"fbclid": "12345678901234567890", "gift": "true"}
    assert_odd(page, conversion)


# Currency and commission types.


@pytest.mark.parametrize("blank", ["", " "])
def test_prestashop_sends_a_blank_currency_and_commission_type(page, blank):
    conversion = page.buy(currency=blank, commission_type=blank)

    assert conversion.currency == "EUR"
    assert_odd(page, conversion)


@pytest.mark.parametrize("commission_type", ["gold", "x" * 300, ["standard"], 7])
def test_magento_sends_an_unknown_commission_type(page, commission_type):
    conversion = page.buy(commission_type=commission_type)

    commission = page.scenario.get_commission(conversion)
    assert (commission.commission_type, commission.amount) == ("standard", 20)
    assert_odd(page, conversion, "commission_type")


def test_magento_sends_line_items_with_unknown_commission_types(page):
    page.scenario.create_commission_type("accessories", "7.5")
    conversion = page.buy(
        commissions=[
            {"sub_amount": 150, "commission_type": "category-7", "comment": 7.5},
            {"sub_amount": 40, "commission_type": ""},
            {"sub_amount": "10.00", "commission_type": "accessories"},
        ]
    )

    commissions = page.account.commissions.order_by("id")
    assert [row.amount for row in commissions] == [15, 4, Decimal("0.75")]
    assert {row.status for row in commissions} == {"pending"}
    assert conversion.warnings == ["odd_comment", "odd_commission_type"]


def test_opencart_sends_an_empty_list_of_commissions(page):
    conversion = page.buy(commissions=[], commission_type="default")

    assert_odd(page, conversion, "commissions")


# Program groups, coupons, customers.


@pytest.mark.parametrize("group", ["books", "g" * 300, {"id": 1}])
def test_woocommerce_sends_an_unknown_program_group(page, group):
    conversion = page.buy(program_group=group)

    assert conversion.affiliate == page.scenario.mina.affiliate
    assert_odd(page, conversion, "program_group")


def test_woocommerce_sends_an_unknown_program_group_with_a_click(page):
    vid = page.call("click", referral_code=page.scenario.mina.code, program_group="books").json()[
        "vid"
    ]

    assert page.account.visitors.filter(tracking_id=vid).exists()
    assert_odd(page, page.buy(vid=vid))


def test_a_known_program_group_still_restricts_a_sale(page, scenario):
    other = ProgramScenario(scenario.account, "books", email=None)
    other.program.update_row(program_group="books")

    page.call("conversion", vid=page.vid, external_id="o", amount=200, program_group="books")

    assert page.account.conversions.count() == 0
    assert page.account.failed_page_calls.get().reason == "invalid_tracking_id"


@pytest.mark.parametrize("change", [str.lower, str.upper, str.title, str.swapcase])
def test_woocommerce_changes_the_case_of_a_coupon(page, scenario, change):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")

    conversion = page.buy(coupons=["unknown", change(odette.coupon)])

    assert conversion.affiliate == odette.affiliate
    assert conversion.tracking_source == "coupon"
    assert_odd(page, conversion)


def test_woocommerce_changes_the_case_of_a_customers_coupon(page, scenario):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")

    assert page.register(coupons=odette.coupon.lower()).affiliate == odette.affiliate


def test_shopify_sends_coupons_that_are_no_text(page, scenario):
    conversion = page.buy(coupons=[{"code": "A"}, None, "", scenario.mina.coupon])

    assert conversion.tracking_source == "coupon"
    assert_odd(page, conversion, "coupons")


@pytest.mark.parametrize("customer_id", [{"id": 1}, "c" * 256, 5.5])
def test_shopify_sends_an_invalid_customer_id(page, customer_id):
    conversion = page.buy(customer_id=customer_id)

    assert conversion.customer is None
    assert_odd(page, conversion, "customer_id")


@pytest.mark.parametrize(
    ("data", "meta_data", "warnings"),
    [
        ({"meta_data": []}, {}, None),
        ({"meta_data": {"a": []}}, {}, ["odd_meta_data"]),
        ({"meta_data": {"a": "x" * 256}}, {"a": "x" * 255}, None),
        ({"program_group": "books"}, {}, ["odd_program_group"]),
        ({"coupons": [[]]}, {}, ["odd_coupons"]),
    ],
)
def test_prestashop_sends_a_customer_with_odd_options(page, data, meta_data, warnings):
    customer = page.register(**data)

    assert (customer.meta_data, customer.warnings) == (meta_data, warnings)


# What the API accepts from PHP, too.


def test_php_clients_send_blank_options_to_the_api(scenario, api):
    sale = {
        "coupon": scenario.mina.coupon,
        "currency": " ",
        "commission_type": "",
        "meta_data": [],
        "commissions": [{"sub_amount": 200, "commission_type": " "}],
    }

    conversion = api.post("/conversions/", sale).json()

    commission = conversion["commissions"][0]
    assert commission["commission_type"] == "standard"
    assert (commission["currency"], conversion["meta_data"]) == ("EUR", {})
    added = api.post(
        f"/conversions/{conversion['id']}/commissions/",
        {"conversion_sub_amount": 10, "commission_type": ""},
    )
    assert added.json()[0]["commission_type"] == "standard"


def test_php_clients_send_blank_options_to_postbacks(scenario, api):
    sale = {
        "external_id": "order-1",
        "coupon": scenario.mina.coupon,
        "amount": 200,
        "currency": "",
        "commission_type": " ",
        "meta_data": [],
    }

    created = api.post("/pb/con/c/", sale)
    update = {"external_id": "order-1", "currency": "", "meta_data": []}
    updated = api.post("/pb/con/u/", update)

    assert created.json()["commissions"][0]["currency"] == "EUR"
    assert (updated.status_code, updated.json()["meta_data"]) == (200, {})


def test_the_api_still_rejects_unknown_options_and_other_case(scenario, api):
    sale = {"coupon": scenario.mina.coupon, "amount": 200}

    for odd in (
        {"commission_type": "gold"},
        {"currency": "ZZZ"},
        {"meta_data": {"a": []}},
        {"meta_data": {"a": "x" * 256}},
        {"program_group": "books"},
        {"coupon": scenario.mina.coupon.lower()},
    ):
        assert api.post("/conversions/", sale | odd).status_code == 400
    assert scenario.account.conversions.count() == 0
