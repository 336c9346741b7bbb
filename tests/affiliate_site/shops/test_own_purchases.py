"""An affiliate who buys for themselves is noticed by the address of the order."""

from itertools import count

import pytest

from tests import shopify_events as shopify
from tests import stripe_events as stripe
from tests import woocommerce_events as woocommerce
from tests.program_scenario import CONVERSION_CREATED_AT
from tests.shop_inbox import deliver, list_sales
from tracking.attribution import TrackingParameters
from tracking.models.shops import ConnectionMode
from tracking.services.account_settings import update_customer_email_keys
from tracking.services.connections import create_connection
from tracking.services.customers import CustomerData, create_customer

pytestmark = pytest.mark.usefixtures("shared_scenario")
numbers = count()
EMAIL = "mina@notes.example.org"
MAPPING = {
    "signature": {"kind": "header", "header": "X-Secret"},
    "sale": {
        "order_id": "id",
        "amount": "net",
        "currency": "currency",
        "customer": "customer",
        "email": "email",
        "referral": ["ref"],
    },
}


def build_stripe(click, email, customer):
    return stripe.build_checkout(
        client_reference_id=click,
        customer=customer or None,
        customer_details={"email": email},
    )


def build_woocommerce(click, email, customer):
    return woocommerce.build_order(
        meta={"click_id": click},
        billing={"email": email},
        customer_id=int(customer or 0),
    )


def build_other(click, email, customer):
    values = {"ref": click, "email": email, "customer": customer}
    return {"id": "7", "net": 100, "currency": "EUR"} | values


def build_shopify(click, email, customer):
    return shopify.build_order(
        note_attributes=[{"name": "click_id", "value": click}],
        email=email,
        customer={"id": int(customer)} if customer else None,
    )


KINDS = {
    "stripe": ("checkout.session.completed", build_stripe),
    "woocommerce": ("order.updated", build_woocommerce),
    "other": ("event", build_other),
    "shopify": ("orders/paid", build_shopify),
}


@pytest.fixture
def scenario(scenario):
    affiliate = scenario.account.affiliates.get(slug=scenario.mina.slug)
    affiliate.update_row(email=EMAIL)
    return scenario


@pytest.fixture
def buy(scenario):
    """Buy at a shop by Mina's link, and return the sale."""
    scenario.program.update_row(auto_approve_commissions=True)
    click = str(scenario.create_click().public_id)

    def buy(name, email, customer):
        connection = create_connection(
            scenario.account,
            kind=name,
            program=scenario.program,
            secret="whsec_8Yb3tqK1mZ0nVw5R",
            mode=ConnectionMode.LIVE,
            settings={"other": MAPPING} if name == "other" else {},
            at=CONVERSION_CREATED_AT,
        )
        kind, build = KINDS[name]
        body = build(click, email, customer)
        deliver(connection, body, key=f"event {next(numbers)}", kind=kind)
        return scenario.account.conversions.get()

    return buy


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("customer", ["", "26"])
def test_the_order_of_an_affiliate_waits_for_staff(name, customer, scenario, buy):
    local, _, domain = EMAIL.partition("@")
    sale = buy(name, f"{local.upper()}+shop@{domain}", customer)
    assert sale.warnings == ["customer_is_affiliate"]
    ((_, _, [(_, status)]),) = list_sales(scenario.account)
    assert status == "pending"
    assert "@" not in str(sale.customer.meta_data if sale.customer else "")


@pytest.mark.parametrize("name", KINDS)
def test_the_order_of_another_person_has_no_warning(name, scenario, buy):
    assert buy(name, "jo@buyers.example.org", "26").warnings is None


def test_the_address_of_a_customer_counts_in_the_api_too(scenario):
    account = scenario.account
    update_customer_email_keys(account, keys=["email"], at=CONVERSION_CREATED_AT)
    account.refresh_from_db()
    data = CustomerData(
        customer_id="c-1",
        parameters=TrackingParameters(coupon=scenario.mina.coupon),
        meta_data={"email": EMAIL},
    )
    customer = create_customer(account, data=data, at=CONVERSION_CREATED_AT)
    assert customer.warnings == ["customer_is_affiliate"]
