"""Balances due to affiliates: docs/api-contract.md, section 2.9."""

import pytest

from tests.ledger_checks import assert_amounts_consistent
from tests.program_scenario import ProgramScenario, mark_deleted

pytestmark = pytest.mark.usefixtures("shared_scenario")


@pytest.fixture
def scenario(scenario):
    yield scenario
    assert_amounts_consistent(scenario.account)


def make_approved_commission(scenario, amount, *, affiliate=None, **sale):
    """Create a conversion and approve its commission."""
    commission = scenario.get_commission(
        scenario.create_conversion(amount, affiliate=affiliate, **sale)
    )
    scenario.approve(commission)
    return commission


def get_json(response):
    assert response.status_code == 200, response.content
    return response.content


def test_returns_an_empty_list_when_no_balance_is_due(api, scenario):
    scenario.create_conversion("200")

    assert get_json(api.get("/balances/")) == b"[]"
    assert get_json(api.get("/affiliates/minakessler/balances/")) == b"{}"


def test_sorts_affiliates_and_currencies(api, scenario):
    other_affiliate = scenario.create_enrolled_affiliate("Abel", "Sorel")
    make_approved_commission(scenario, "237.40", currency="USD")
    make_approved_commission(scenario, "237.40")
    make_approved_commission(scenario, "199", affiliate=other_affiliate, currency="JPY")
    make_approved_commission(
        scenario, "1.235", affiliate=other_affiliate, currency="KWD"
    )

    assert get_json(api.get("/balances/")) == (
        b'[{"affiliate_id":"abelsorel","balances":{"JPY":20,"KWD":0.124}},'
        b'{"affiliate_id":"minakessler","balances":{"EUR":23.74,"USD":23.74}}]'
    )
    assert get_json(api.get("/affiliates/minakessler/balances/")) == (
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

    assert get_json(api.get("/balances/")) == (
        b'[{"affiliate_id":"minakessler","balances":{"EUR":20}}]'
    )
    assert get_json(api.get("/affiliates/odettevarga/balances/")) == b"{}"


def test_includes_deleted_affiliates_only_in_the_list(api, scenario):
    make_approved_commission(scenario, "200")
    mark_deleted(scenario.mina.affiliate)

    single = api.get("/affiliates/minakessler/balances/")

    assert get_json(api.get("/balances/")) == (
        b'[{"affiliate_id":"minakessler","balances":{"EUR":20}}]'
    )
    assert single.status_code == 404
    assert single.json() == {"errors": [{"message": "Affiliate not found"}]}


def test_is_not_paginated(api, scenario):
    scenario.create_commission_type("all", 100)
    for number in range(26):
        make_approved_commission(
            scenario,
            ("1", "all"),
            affiliate=scenario.create_enrolled_affiliate("Seller", f"Nr{number:02}"),
        )

    response = api.get("/balances/?page=2")

    assert len(response.json()) == 26
    assert "Link" not in response
    assert response.json() == sorted(
        response.json(), key=lambda row: row["affiliate_id"]
    )


@pytest.mark.parametrize(
    ("path", "limit"),
    [("/balances/", "10"), ("/affiliates/minakessler/balances/", "1500")],
)
def test_sends_rate_limit_headers(api, scenario, path, limit):
    response = api.get(path)

    assert response["X-RateLimit-Limit"] == limit
    assert response["X-RateLimit-Remaining"] == str(int(limit) - 1)
    assert response["Content-Type"] == "application/json"


@pytest.mark.parametrize("affiliate", ["nobody", "MinaKessler", "1", "zz-markermina"])
def test_unknown_affiliates_return_404(api, scenario, other_account, affiliate):
    make_approved_commission(ProgramScenario(other_account, prefix="zz-marker"), "200")

    response = api.get(f"/affiliates/{affiliate}/balances/")

    assert response.status_code == 404
    assert response.json() == {"errors": [{"message": "Affiliate not found"}]}
    assert get_json(api.get("/balances/")) == b"[]"


@pytest.mark.parametrize("role", ["viewer", "manager", "owner"])
def test_every_role_can_read(scenario, account, make_key, api, role):
    make_approved_commission(scenario, "200")
    api.key = make_key(account, role)

    assert get_json(api.get("/affiliates/minakessler/balances/")) == b'{"EUR":20}'


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", ["/balances/", "/affiliates/minakessler/balances/"])
def test_rejects_writing_methods(api, scenario, method, path):
    response = api.request(method, path)

    assert response.status_code == 405
    assert response["Allow"] == "GET, HEAD, OPTIONS"
