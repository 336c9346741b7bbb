"""Listing, approving and disapproving commissions: docs/api-contract.md, 2.3."""

from datetime import timedelta

import pytest

from payouts.services.commissions import approve_commission, disapprove_commission
from tests.affiliate_site.api.resources.expected import expected_commission
from tests.affiliate_site.responses import get_json, list_field_errors
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario", "consistent_amounts")

UNKNOWN = {"errors": [{"message": "Commission not found"}]}


APPROVED = {"approved": True, "status": "approved"}
DISAPPROVED = {"approved": False, "status": "disapproved"}


def list_ids(response):
    return [row["id"] for row in get_json(response)]


# List


def test_shows_a_commission(api, commission):
    response = api.get("/commissions/")

    assert get_json(response) == [expected_commission(commission)]
    assert list(response.json()[0]) == list(expected_commission(commission))
    assert response["Link"] == (
        '<http://testserver/1.6/commissions/?page=1>; rel="last", '
        '<http://testserver/1.6/commissions/?page=1>; rel="first"'
    )
    assert response["Content-Type"] == "application/json"


def test_shows_pending_as_null_with_the_option(api, scenario, account, commission):
    account.pending_as_null = True
    account.save()
    others = [scenario.get_commission(scenario.create_conversion("200")) for _ in range(2)]
    scenario.approve(others[0])
    scenario.disapprove(others[1])

    rows = get_json(api.get("/commissions/"))

    assert rows == [
        expected_commission(others[1], **DISAPPROVED),
        expected_commission(others[0], **APPROVED),
        expected_commission(commission, approved=None),
    ]


def test_lists_newest_first_then_by_id(api, scenario):
    late = scenario.create_conversion("1", at=CONVERSION_CREATED_AT + timedelta(days=1))
    early = scenario.create_conversion("2", "3", "4")

    first, second, third = (
        scenario.account.commissions.filter(conversion=early)
        .order_by("id")
        .values_list("id", flat=True)
    )
    assert list_ids(api.get("/commissions/")) == [
        scenario.get_commission(late).pk,
        third,
        second,
        first,
    ]


@pytest.fixture
def commissions(scenario, account, other_account):
    """Three commissions by ID, with their names; Odette earns `approved`."""
    other_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    created = {
        "pending": scenario.create_conversion("200"),
        "approved": scenario.create_conversion("200", affiliate=other_affiliate),
        "disapproved": scenario.create_conversion("200"),
    }
    created = {name: scenario.get_commission(sale).pk for name, sale in created.items()}
    approve_commission(account, commission_id=created["approved"], at=CONVERSION_CREATED_AT)
    disapprove_commission(account, commission_id=created["disapproved"], at=CONVERSION_CREATED_AT)
    ProgramScenario(other_account, prefix="zz-marker-").create_conversion("200")
    return {number: name for name, number in created.items()}


ALL = {"pending", "approved", "disapproved"}


FILTERS = [
    ("", ALL),
    ("status=pending", {"pending"}),
    ("status=approved", {"approved"}),
    ("status=", ALL),
    ("approved=1", {"approved"}),
    ("approved=FALSE", {"disapproved"}),
    ("status=pending&approved=true", {"pending"}),
    ("status=%20approved%20", {"approved"}),
    ("status=approved&approved=perhaps", {"approved"}),
    ("status=&approved=true", {"approved"}),
    ("paid=true", set()),
    ("paid=false", ALL),
    ("affiliate_id=minakessler", {"pending", "disapproved"}),
    ("affiliate_id=odettevarga&status=pending", set()),
    ("affiliate_id=zz-markerminakessler", set()),
    ("program_id=nothing&limit=1", ALL),
    ("status=pending&status=approved", {"approved"}),
]


def test_filters_the_list(api, commissions, subtests):
    for query, names in FILTERS:
        with subtests.test(query=query):
            rows = list_ids(api.get(f"/commissions/?{query}"))

            assert {commissions[number] for number in rows} == names


def test_rejects_invalid_filters(api, commission):
    response = api.get("/commissions/?status=final&paid=2&page=01")
    approved = api.get("/commissions/?approved=yes")

    values = "'pending', 'approved', 'disapproved'"
    assert list_field_errors(response) == [
        ("status", f"Invalid value 'final'. Valid are {values}"),
        ("paid", "This value should be true or false."),
        ("page", "Invalid page"),
    ]
    assert list_field_errors(approved) == [("approved", "This value should be true or false.")]


# Approval


@pytest.mark.parametrize("path", ["approved", "approval"])
@pytest.mark.parametrize("before", ["pending", "approved", "disapproved"])
@pytest.mark.parametrize(("method", "changed"), [("PUT", APPROVED), ("DELETE", DISAPPROVED)])
def test_approves_and_disapproves_from_any_status(
    api, account, commission, path, before, method, changed
):
    decide = {"approved": approve_commission, "disapproved": disapprove_commission}
    if before in decide:
        decide[before](account, commission_id=commission.pk, at=CONVERSION_CREATED_AT)

    response = api.request(method, f"/commissions/{commission.pk}/{path}/")

    assert get_json(response) == expected_commission(commission, **changed)
    assert list(response.json()) == list(expected_commission(commission))
    assert get_json(api.get("/commissions/")) == [expected_commission(commission, **changed)]
    balance = {"EUR": 20} if changed is APPROVED else {}
    assert get_json(api.get("/affiliates/minakessler/balances/")) == balance


@pytest.mark.parametrize("number", ["abc", "01", "%31%00", str(2**63), "٣"])
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_invalid_ids_return_404(api, commission, method, number):
    response = api.request(method, f"/commissions/{number}/approved/")

    assert response.status_code == 404
    if "%00" not in number:
        assert response.json() == UNKNOWN
