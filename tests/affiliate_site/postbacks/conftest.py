"""Fixtures for postbacks: requests by GET and POST, and a program."""

from urllib.parse import urlencode

import pytest
from django.utils import timezone

from tests.affiliate_site.postbacks.queries import flatten_to_query
from tests.conftest import ApiClient
from tests.ledger_checks import assert_amounts_consistent


@pytest.fixture(params=["GET", "POST"])
def send_postback(request, api):
    """Send a postback by GET and by POST: `send_postback("con/c/", {…})`."""

    def send(path, data, *, by: ApiClient = api, **headers):
        if request.param == "POST":
            return by.post(f"/pb/{path}", data, **headers)
        return by.get(f"/pb/{path}?{urlencode(list(flatten_to_query(data)))}", **headers)

    return send


@pytest.fixture(scope="module")
def shared_scenario(shared_scenario):
    """A program with four affiliates and two commission types."""
    scenario = shared_scenario
    scenario.create_commission_type("accessories", "7.5")
    scenario.odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.pavel = scenario.create_enrolled_affiliate("Pavel", "Horn")
    scenario.jana = scenario.create_enrolled_affiliate("Jana", "Lind")
    return scenario


@pytest.fixture
def scenario(scenario):
    yield scenario
    assert_amounts_consistent(scenario.account)


@pytest.fixture
def tracking_parameters(scenario):
    """Tracking parameters by kind, each of another affiliate."""
    click = scenario.create_click(scenario.pavel, at=timezone.now(), meta_data={"subid1": "his"})
    return {
        "coupon": {"coupon": scenario.mina.coupon},
        "code": {"referral_code": scenario.odette.code},
        "click": {"click_id": str(click.public_id)},
        "pair": {
            "asset_id": scenario.jana.asset_id,
            "source_id": scenario.jana.source_id,
        },
        "visitor": {"tracking_id": "0" * 32},
        "blank coupon": {"coupon": " "},
        "blank code": {"referral_code": " "},
        "blank click": {"click_id": " "},
    }
