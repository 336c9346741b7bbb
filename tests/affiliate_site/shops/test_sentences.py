"""What the events of shops say to staff."""

import json

import pytest

from accounts.errors import name_error
from payouts.services.erasure import erase_person
from payouts.services.shop_customers import REFUSALS
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT as AT
from tests.shop_inbox import deliver, list_sales
from tests.stripe_events import SECRET, build_checkout
from tracking.attribution import TrackingParameters
from tracking.models.shops import ConnectionMode, ShopEventState, ShopOrderReason
from tracking.services.connections import create_connection
from tracking.services.customers import CustomerData, create_customer
from tracking.services.inbox import describe_effect

pytestmark = pytest.mark.usefixtures("shared_scenario")


@pytest.fixture
def connect(scenario):
    def create(**values):
        return create_connection(
            scenario.account,
            **{"kind": "stripe", "secret": SECRET, "mode": ConnectionMode.LIVE} | values,
            at=AT,
        )

    yield create
    assert_ledger_consistent(scenario.account)


def name_coupons(*codes):
    return [{"coupon": code} for code in codes]


def list_sentences(event):
    return [describe_effect(effect) for effect in event.result]


def test_names_the_codes_that_nobody_has(connect, scenario):
    connection = connect(program=scenario.program)
    discounts = name_coupons("SUMMER", "SPRING")
    body = build_checkout(discounts=discounts, metadata={"ref": "mina-x"})
    event = deliver(connection, body)
    assert event.state == ShopEventState.NO_REFERRAL
    assert list_sentences(event) == [
        "Nobody referred this customer: no affiliate of Harbor Lamp Partners has"
        " “SUMMER”, “SPRING” or “mina-x”."
    ]


def test_names_one_code_without_a_program(connect):
    event = deliver(connect(), build_checkout(metadata={"ref": "m" * 100}))
    assert list_sentences(event) == [
        f"Nobody referred this customer: no affiliate has “{'m' * 60}”."
    ]


def test_names_no_more_than_five_codes(connect):
    codes = [f"c{number}" for number in range(7)]
    event = deliver(connect(), build_checkout(discounts=name_coupons(*codes)))
    assert list_sentences(event) == [
        "Nobody referred this customer: no affiliate has “c0”, “c1”, “c2”, “c3”, “c4” or 2 more."
    ]


def test_without_any_code_there_is_none_to_name(connect):
    event = deliver(connect(), build_checkout())
    assert list_sentences(event) == ["Nobody referred this customer."]


@pytest.mark.parametrize("mode", [ConnectionMode.LIVE, ConnectionMode.LISTEN])
def test_codes_that_nobody_has_are_erased_with_the_person(connect, scenario, mode):
    connection = connect(mode=mode)
    body = build_checkout(metadata={"ref": "jo@buyers.example.org"})
    event = deliver(connection, body)
    assert "jo@buyers" in describe_effect(event.result[-1])
    parameters = TrackingParameters(referral_code=scenario.mina.code)
    data = CustomerData(customer_id="cus_1", parameters=parameters)
    customer = create_customer(scenario.account, data=data, at=AT)
    erase_person(scenario.account, identifier=customer.public_id, at=AT)
    event = event.reload()
    assert event.body == ""
    assert "jo@buyers" not in json.dumps(event.result)


def test_says_that_a_sale_is_in_another_currency_than_the_program(connect, scenario):
    click = str(scenario.create_click().public_id)
    body = build_checkout(currency="usd", client_reference_id=click)
    event = deliver(connect(), body)
    assert list_sentences(event) == [
        "A sale of 100 USD was created.",
        "The program is in EUR, and this sale is in USD: so are its commissions.",
    ]
    # 10 % of 100
    assert list_sales(scenario.account) == [("pi_1", "100", [("10", "pending")])]


@pytest.mark.parametrize("error", REFUSALS)
def test_each_refusal_has_its_reason(error):
    assert ShopOrderReason(name_error(error)).label == f"{error.message}."
