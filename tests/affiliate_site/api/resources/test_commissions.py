"""Listing, approving and disapproving commissions: docs/api-contract.md, 2.3."""

from datetime import timedelta

import pytest

from payouts.services.commissions import approve_commission, disapprove_commission
from tests.affiliate_site.api.resources.expected import expected_commission
from tests.ledger_checks import assert_amounts_consistent, snapshot_account
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario")

UNKNOWN = {"errors": [{"message": "Commission not found"}]}


@pytest.fixture
def scenario(scenario):
    yield scenario
    assert_amounts_consistent(scenario.account)


@pytest.fixture
def commission(scenario):
    """A pending commission of 20 EUR for a conversion of 200 EUR."""
    return scenario.get_commission(scenario.create_conversion("200"))


APPROVED = {"approved": True, "status": "approved"}
DISAPPROVED = {"approved": False, "status": "disapproved"}


def get_json(response):
    assert response.status_code == 200, response.content
    return response.json()


def list_ids(response):
    return [row["id"] for row in get_json(response)]


def enable_payouts(account):
    account.uses_payouts = True
    account.save()


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
    assert response["X-RateLimit-Limit"] == "1500"


def test_shows_pending_as_null_with_the_option(api, scenario, account, commission):
    account.pending_as_null = True
    account.save()
    others = [
        scenario.get_commission(scenario.create_conversion("200")) for _ in range(2)
    ]
    approve_commission(account, commission_id=others[0].pk, at=CONVERSION_CREATED_AT)
    disapprove_commission(account, commission_id=others[1].pk, at=CONVERSION_CREATED_AT)

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


def test_pages_have_25_rows(api, scenario):
    scenario.create_conversion(*["1"] * 26)

    pages = [api.get(f"/commissions/?status=&page={number}") for number in (1, 2, 3)]

    assert [len(get_json(page)) for page in pages] == [25, 1, 0]
    base = "<http://testserver/1.6/commissions/?status=&page="
    assert [page["Link"] for page in pages] == [
        f'{base}2>; rel="next", {base}2>; rel="last", {base}1>; rel="first"',
        f'{base}2>; rel="last", {base}1>; rel="first", {base}1>; rel="prev"',
        f'{base}2>; rel="last", {base}1>; rel="first", {base}2>; rel="prev"',
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
    approve_commission(
        account, commission_id=created["approved"], at=CONVERSION_CREATED_AT
    )
    disapprove_commission(
        account, commission_id=created["disapproved"], at=CONVERSION_CREATED_AT
    )
    ProgramScenario(other_account, prefix="zz-marker-").create_conversion("200")
    return {number: name for name, number in created.items()}


ALL = {"pending", "approved", "disapproved"}


FILTERS = [
    ("", ALL),
    ("status=pending", {"pending"}),
    ("status=approved", {"approved"}),
    ("status=disapproved", {"disapproved"}),
    ("status=", ALL),
    ("approved=true", {"approved"}),
    ("approved=1", {"approved"}),
    ("approved=FALSE", {"disapproved"}),
    ("approved=0", {"disapproved"}),
    ("approved=", ALL),
    ("status=pending&approved=true", {"pending"}),
    ("status=&approved=true", {"approved"}),
    ("paid=true", set()),
    ("paid=false", ALL),
    ("affiliate_id=minakessler", {"pending", "disapproved"}),
    ("affiliate_id=odettevarga", {"approved"}),
    ("affiliate_id=odettevarga&status=pending", set()),
    ("affiliate_id=", ALL),
    ("affiliate_id=nobody", set()),
    ("affiliate_id=MinaKessler", set()),
    ("affiliate_id=zz-markerminakessler", set()),
    ("program_id=nothing&limit=1", ALL),
    ("status=pending&status=approved", {"approved"}),
]


def test_filters_the_list(api, commissions, subtests):
    for query, names in FILTERS:
        with subtests.test(query=query):
            rows = list_ids(api.get(f"/commissions/?{query}"))

            assert {commissions[number] for number in rows} == names


@pytest.mark.parametrize(
    ("query", "path", "message", "raw"),
    [
        pytest.param(
            *("status=final", "status"),
            "Invalid value 'final'. Valid are 'pending', 'approved', 'disapproved'",
            "Invalid value '{{ value }}'. Valid are {{ values }}",
            id="status",
        ),
        pytest.param(
            *("approved=yes", "approved"),
            *["This value should be true or false."] * 2,
            id="approved",
        ),
        pytest.param(
            "paid=2", "paid", *["This value should be true or false."] * 2, id="paid"
        ),
        pytest.param("page=0", "page", *["Invalid page"] * 2, id="page-0"),
        pytest.param("page=01", "page", *["Invalid page"] * 2, id="page-01"),
    ],
)
def test_rejects_invalid_filters(api, commission, query, path, message, raw):
    response = api.get(f"/commissions/?{query}")

    assert response.status_code == 400
    assert response.json() == {
        "errors": [{"message": message, "message_raw": raw, "property_path": path}]
    }


# Approval


@pytest.mark.parametrize("path", ["approved", "approval"])
@pytest.mark.parametrize("before", ["pending", "approved", "disapproved"])
@pytest.mark.parametrize(
    ("method", "changed"), [("PUT", APPROVED), ("DELETE", DISAPPROVED)]
)
def test_approves_and_disapproves_from_any_status(
    api, account, commission, path, before, method, changed
):
    if before == "approved":
        approve_commission(
            account, commission_id=commission.pk, at=CONVERSION_CREATED_AT
        )
    elif before == "disapproved":
        disapprove_commission(
            account, commission_id=commission.pk, at=CONVERSION_CREATED_AT
        )

    response = api.request(method, f"/commissions/{commission.pk}/{path}/")

    assert get_json(response) == expected_commission(commission, **changed)
    assert list(response.json()) == list(expected_commission(commission))
    assert get_json(api.get("/commissions/")) == [
        expected_commission(commission, **changed)
    ]
    balance = {"EUR": 20} if changed is APPROVED else {}
    assert get_json(api.get("/affiliates/minakessler/balances/")) == balance


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[]", b"nonsense", b"\xff\x00", b'{"approved": false}']
)
def test_ignores_the_body(api, commission, body):
    response = api.put(f"/commissions/{commission.pk}/approved/", body)

    assert get_json(response) == expected_commission(commission, **APPROVED)


def test_has_no_rate_limit_of_its_own(api, commission):
    response = api.put(f"/commissions/{commission.pk}/approved/")

    assert "X-RateLimit-Limit" not in response


@pytest.mark.parametrize(
    "number",
    ["abc", "0", "01", "-1", "1.0", "%31%00", "10" * 15, str(2**63), "٣", "+1"],
)
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_invalid_ids_return_404(api, commission, method, number):
    response = api.request(method, f"/commissions/{number}/approved/")

    assert response.status_code == 404
    if "%00" not in number:
        assert response.json() == UNKNOWN


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_commissions_of_other_accounts_return_404(
    api, commission, other_account, method
):
    other_scenario = ProgramScenario(other_account, prefix="zz-marker-")
    foreign = other_scenario.get_commission(other_scenario.create_conversion("200"))
    before = snapshot_account(other_account)

    response = api.request(method, f"/commissions/{foreign.pk}/approved/")

    assert response.status_code == 404
    assert response.json() == UNKNOWN
    assert snapshot_account(other_account) == before


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_rejects_changes_of_a_final_commission(api, account, commission, method):
    approve_commission(account, commission_id=commission.pk, at=CONVERSION_CREATED_AT)
    enable_payouts(account)
    before = snapshot_account(account)

    response = api.request(method, f"/commissions/{commission.pk}/approved/")

    assert response.status_code == 409
    assert response.json() == {
        "errors": [
            {
                "message": "The commission is approved and cannot be changed.",
                "code": "commission_approved",
            }
        ]
    }
    assert {**snapshot_account(account), "ApiKey": None} == {**before, "ApiKey": None}


def test_rejects_approval_without_funds(api, account, commission):
    enable_payouts(account)

    response = api.put(f"/commissions/{commission.pk}/approved/")

    assert response.status_code == 409
    assert response.json() == {
        "errors": [
            {
                "message": "The payout balance does not cover this commission.",
                "code": "commission_unfunded",
            }
        ]
    }
    assert get_json(api.get("/commissions/")) == [expected_commission(commission)]


def test_shows_when_a_commission_became_final(api, scenario, account):
    zero = scenario.get_commission(scenario.create_conversion("0"))
    enable_payouts(account)

    data = get_json(api.put(f"/commissions/{zero.pk}/approved/"))

    moment = zero.reload().finalized_at.strftime("%Y-%m-%dT%H:%M:%S+00:00")
    assert data == expected_commission(
        zero,
        conversion_sub_amount=0,
        amount=0,
        final=True,
        finalization_date=moment,
        **APPROVED,
    )


def test_disapproves_with_the_payouts_feature(api, account, commission):
    enable_payouts(account)

    response = api.delete(f"/commissions/{commission.pk}/approved/")

    assert get_json(response) == expected_commission(commission, **DISAPPROVED)


@pytest.mark.parametrize(
    ("role", "status"), [("viewer", 403), ("manager", 200), ("owner", 200)]
)
def test_requires_the_manager_role(api, account, make_key, commission, role, status):
    api.key = make_key(account, role)

    responses = [
        api.request(method, f"/commissions/{commission.pk}/approved/").status_code
        for method in ("PUT", "DELETE")
    ]

    assert responses == [status, status]
    assert api.get("/commissions/").status_code == 200


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH"])
def test_rejects_other_methods(api, commission, method):
    response = api.request(method, f"/commissions/{commission.pk}/approved/")

    assert response.status_code == 405
    assert response["Allow"] == "PUT, DELETE, OPTIONS"
