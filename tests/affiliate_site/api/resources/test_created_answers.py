"""The answer of a POST is, to the byte, that of the GET that follows."""

from decimal import Decimal

import pytest

from payouts.calculation import LineItem
from payouts.services.conversion_creation import ConversionData, create_conversion
from tests.program_scenario import CONVERSION_CREATED_AT
from tracking.attribution import TrackingParameters
from tracking.claims import Trust
from tracking.services.customers import CustomerData, create_customer

META_DATA = {"zeta": "1", "longer": "2", "b": "3"}  # jsonb has another order
CUSTOMER = {"customer_id": "acct-1", "meta_data": META_DATA}
SALE = {
    "external_id": "order-1",
    "customer_id": "acct-1",
    "amount": "10.50",
    "meta_data": META_DATA,
}


@pytest.fixture
def parameters(request, api, scenario):
    """What names the affiliate: a coupon, a click, or a click of a prospect."""
    if request.param == "coupon":
        return {"coupon": scenario.mina.coupon}
    code = scenario.mina.code
    if request.param == "click of a prospect":
        name = {"firstname": "Ines", "lastname": "Falk"}
        link = api.post("/affiliate-prospects/", name).json()["referral_link"]["link"]
        code = link.partition("ref=")[2]
    visit = {"referral_code": code, "meta_data": META_DATA}
    return {"click_id": api.post("/clicks/", visit).json()["id"]}


def create_claims(scenario):
    """Create a customer and a conversion as a page of the shop reports them."""
    customer = CustomerData("acct-1", by_coupon(scenario), trust=Trust.CLAIM)
    create_customer(scenario.account, data=customer, at=CONVERSION_CREATED_AT)
    sale = ConversionData(
        by_coupon(scenario),
        [LineItem(Decimal(7))],
        external_id="order-1",
        trust=Trust.CLAIM,
    )
    create_conversion(scenario.account, data=sale, at=CONVERSION_CREATED_AT)


def by_coupon(scenario):
    return TrackingParameters(coupon=scenario.mina.coupon)


@pytest.mark.parametrize("is_claimed", [False, True])
@pytest.mark.parametrize("parameters", ["coupon", "click", "click of a prospect"], indirect=True)
@pytest.mark.parametrize(("path", "body"), [("/customers/", CUSTOMER), ("/conversions/", SALE)])
def test_created_object_is_answered_as_it_is_shown(
    api, scenario, parameters, path, body, is_claimed
):
    if is_claimed:
        create_claims(scenario)

    created = api.post(path, body | parameters)

    shown = api.get(f"{path}{created.json()['id']}/")
    assert created.status_code == shown.status_code == 200
    assert created.content == shown.content


@pytest.mark.parametrize("known", ["new", "paying"])
def test_sale_of_a_known_customer_is_answered_as_it_is_shown(api, scenario, known):
    coupon = {"coupon": scenario.mina.coupon}
    api.post("/customers/", CUSTOMER | coupon)
    if known == "paying":
        api.post("/conversions/", SALE | coupon | {"external_id": "order-0"})

    created = api.post("/conversions/", SALE | coupon)

    shown = api.get(f"/conversions/{created.json()['id']}/")
    assert created.status_code == 200
    assert created.content == shown.content


@pytest.mark.parametrize("status", ["approved", "disapproved", None])
@pytest.mark.parametrize("has_parent", [False, True])
def test_commissions_are_answered_as_they_are_shown(api, scenario, has_parent, status):
    if has_parent:
        parent = scenario.create_enrolled_affiliate("Odette", "Varga")
        scenario.add_child(scenario.mina, parent)
        scenario.create_level(2, "3")
    items = [{"sub_amount": "10.50", "comment": "a lamp"}, {"sub_amount": 0}]
    sale = {"external_id": "order-1", "coupon": scenario.mina.coupon}
    sale |= {"commissions": items, "status": status}

    created = api.post("/pb/con/c/", sale)

    shown = api.get(f"/conversions/{created.json()['id']}/")
    assert len(shown.json()["commissions"]) == (4 if has_parent else 2)
    assert created.content == shown.content
