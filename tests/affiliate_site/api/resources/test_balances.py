"""Balances due to affiliates: docs/api-contract.md, section 2.9."""

import pytest

from tests.affiliate_site.responses import get_error_message
from tests.program_scenario import mark_deleted

pytestmark = pytest.mark.usefixtures("shared_scenario", "consistent_amounts")


def make_approved_commission(scenario, *amounts, **sale):
    """Create a conversion and approve its commission."""
    commission = scenario.get_commission(scenario.create_conversion(*amounts, **sale))
    scenario.approve(commission)
    return commission


def get_content(response):
    assert response.status_code == 200, response.content
    return response.content


def test_returns_an_empty_list_when_no_balance_is_due(api, scenario):
    scenario.create_conversion("200")

    assert get_content(api.get("/balances/")) == b"[]"
    assert get_content(api.get("/affiliates/minakessler/balances/")) == b"{}"


def test_sorts_affiliates_and_currencies(api, scenario):
    other_affiliate = scenario.create_enrolled_affiliate("Abel", "Sorel")
    make_approved_commission(scenario, "237.40", currency="USD")
    make_approved_commission(scenario, "237.40")
    make_approved_commission(scenario, "199", affiliate=other_affiliate, currency="JPY")
    make_approved_commission(scenario, "1.235", affiliate=other_affiliate, currency="KWD")

    assert get_content(api.get("/balances/")) == (
        b'[{"affiliate_id":"abelsorel","balances":{"JPY":20,"KWD":0.124}},'
        b'{"affiliate_id":"minakessler","balances":{"EUR":23.74,"USD":23.74}}]'
    )
    assert get_content(api.get("/affiliates/minakessler/balances/")) == (
        b'{"EUR":23.74,"USD":23.74}'
    )


def test_omits_zero_balances(api, scenario, account):
    other_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    first = make_approved_commission(scenario, "200", affiliate=other_affiliate)
    make_approved_commission(scenario, "200")
    second = make_approved_commission(scenario, "100", currency="CHF")
    make_approved_commission(scenario, "0", currency="JPY")
    for commission in (first, second):
        scenario.disapprove(commission)

    assert get_content(api.get("/balances/")) == (
        b'[{"affiliate_id":"minakessler","balances":{"EUR":20}}]'
    )
    assert get_content(api.get("/affiliates/odettevarga/balances/")) == b"{}"


def test_includes_deleted_affiliates_only_in_the_list(api, scenario):
    make_approved_commission(scenario, "200")
    mark_deleted(scenario.mina.affiliate)

    assert get_content(api.get("/balances/")) == (
        b'[{"affiliate_id":"minakessler","balances":{"EUR":20}}]'
    )
    single = api.get("/affiliates/minakessler/balances/")
    assert get_error_message(single, 404) == "Affiliate not found"


def test_is_not_paginated(api, scenario):
    scenario.create_commission_type("all", 100)
    for number in range(26):
        make_approved_commission(
            scenario,
            ("1", "all"),
            affiliate=scenario.create_enrolled_affiliate("Seller", f"Nr{number:02}"),
        )

    response = api.get("/balances/?page=2")

    slugs = [row["affiliate_id"] for row in response.json()]
    assert slugs == [f"sellernr{number:02}" for number in range(26)]
    assert "Link" not in response
