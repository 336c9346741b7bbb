"""Showing and updating one commission: docs/api-contract.md, section 2.3."""

import pytest

from payouts.services.bonuses import grant_bonuses
from tests.affiliate_site.api.resources.expected import expected_commission
from tests.affiliate_site.responses import (
    build_field_error,
    get_json,
    has_only_errors,
    list_field_errors,
    snapshot_account_data,
)
from tests.ledger_checks import assert_unchanged
from tests.program_scenario import CONVERSION_CREATED_AT, mark_deleted

pytestmark = pytest.mark.usefixtures("shared_scenario", "consistent_amounts")

APPROVED = {"approved": True, "status": "approved"}
DISAPPROVED = {"status": "disapproved"}
FROZEN = {
    "errors": [
        {
            "message": "The commission is approved and cannot be changed.",
            "code": "commission_approved",
        }
    ]
}
UNFUNDED = {
    "errors": [
        {
            "message": "The payout balance does not cover this commission.",
            "code": "commission_unfunded",
        }
    ]
}


def build_path(commission):
    return f"/commissions/{commission.pk}/"


# GET


def test_shows_one_commission(api, commission):
    response = api.get(build_path(commission))

    assert get_json(response) == expected_commission(commission)
    assert list(response.json()) == list(expected_commission(commission))
    assert "Link" not in response


def test_shows_only_pending_as_null_with_the_option(api, account, commission):
    account.pending_as_null = True
    account.save()
    path = build_path(commission)

    responses = [
        api.get(path),
        api.patch(path, {"approved": True}),
        api.patch(path, {"approved": None}),
        api.patch(path, {"approved": False}),
    ]

    assert [get_json(response) for response in responses] == [
        expected_commission(commission, approved=None),
        expected_commission(commission, **APPROVED),
        expected_commission(commission, approved=None),
        expected_commission(commission, **DISAPPROVED),
    ]


def test_shows_and_filters_by_its_payment(api, account, scenario):
    first, second = (scenario.get_commission(scenario.create_conversion("200")) for _ in range(2))
    for commission in (first, second):
        scenario.approve(commission)
    order = {"affiliate_id": "minakessler", "amount": 20, "currency": "EUR"}
    (payment,) = get_json(api.post("/payments/", order))

    covered = expected_commission(first, payout={"id": payment["id"]}, **APPROVED)
    assert get_json(api.get(build_path(first))) == covered
    assert get_json(api.get("/commissions/?paid=true")) == [covered]
    assert get_json(api.get("/commissions/?paid=0")) == [expected_commission(second, **APPROVED)]
    assert get_json(api.get("/commissions/?paid=1&status=pending")) == []
    api.delete(f"/payments/{payment['id']}/")
    assert get_json(api.get(build_path(first))) == expected_commission(first, **APPROVED)


def test_shows_a_bonus(api, account, scenario):
    scenario.create_bonus(goal=1, value=50, title="Spring")
    sale = scenario.get_commission(scenario.create_conversion("200"))
    scenario.approve(sale)
    (bonus,) = grant_bonuses(account, at=CONVERSION_CREATED_AT.replace(month=4)).granted

    bare = expected_commission(bonus) | {
        "conversion_sub_amount": None,
        "amount": 50,
        "commission_type": "bonus",
        "kind": "bonus",
        "created_at": "2026-04-04T09:15:27+00:00",
        "commission_name": "Spring",
        "conversion": None,
    }
    assert get_json(api.get(build_path(bonus))) == bare
    response = api.patch(build_path(bonus), {"approved": True, "amount": 7})
    assert get_json(response) == bare | APPROVED | {"amount": 7}
    assert response.json()["conversion"] is None
    rejected = api.patch(build_path(bonus), {"conversion_sub_amount": 1})
    assert [path for path, *_ in list_field_errors(rejected)] == ["conversion_sub_amount"]


# PATCH


UPDATES = [
    ({"amount": "12.345"}, {"amount": 12.35}),
    ({"amount": -0.004}, {"amount": 0}),
    ({"conversion_sub_amount": 300}, {"conversion_sub_amount": 300, "amount": 30}),
    (
        {"conversion_sub_amount": "0.30000000000000004", "amount": "5"},
        {"conversion_sub_amount": 0.3, "amount": 5},
    ),
    ({"comment": " "}, {"comment": " "}),
    ({"comment": 5}, {"comment": "5"}),
    ({"comment": "é" * 1000}, {"comment": "é" * 1000}),
    ({"approved": True}, APPROVED),
    ({"approved": False}, DISAPPROVED),
    ({"approved": None}, {}),
    (
        {"amount": 1, "comment": "x", "approved": True},
        {"amount": 1, "comment": "x"} | APPROVED,
    ),
    ({"amount": None, "conversion_sub_amount": None}, {}),
    ({"id": 7, "status": "approved", "kind": "bonus", "currency": "JPY"}, {}),
]


@pytest.mark.parametrize(("sent", "changed"), UPDATES, ids=range(len(UPDATES)))
def test_updates_the_sent_fields(api, commission, sent, changed):
    response = api.patch(build_path(commission), sent)

    assert get_json(response) == expected_commission(commission, **changed)
    assert list(response.json()) == list(expected_commission(commission))
    assert get_json(api.get(build_path(commission))) == response.json()


def test_clears_the_comment_with_null(api, commission):
    api.patch(build_path(commission), {"comment": "Thanks"})

    assert get_json(api.patch(build_path(commission), {"comment": None})) == expected_commission(
        commission
    )


NUMBER = "This value should be a number."
NEGATIVE = "This value should be 0 or more."
LONG = "This value has too many digits."
BOOLEAN = "This value should be true or false."
TYPE = "This value should be of type {{ type }}."
TOO_LONG = "This value is too long, {{ limit }} characters at most."


INVALID = [
    ({"amount": -0.005}, [("amount", NEGATIVE)]),
    ({"amount": "9999999999999.995"}, [("amount", LONG)]),
    ({"conversion_sub_amount": 10**13}, [("conversion_sub_amount", LONG)]),
    ({"approved": 1}, [("approved", BOOLEAN)]),
    ({"comment": "x" * 1001}, [("comment", TOO_LONG, 1000)]),
    (
        {"approved": "x", "comment": {}, "conversion_sub_amount": [], "amount": {}},
        [
            *(("amount", NUMBER), ("conversion_sub_amount", NUMBER)),
            *(("comment", TYPE, "string"), ("approved", BOOLEAN)),
        ],
    ),
]


@pytest.mark.parametrize(("sent", "found"), INVALID, ids=range(len(INVALID)))
def test_rejects_invalid_values(api, account, commission, sent, found):
    with assert_unchanged(account, snapshot_account_data):
        response = api.patch(build_path(commission), {"comment": "kept out"} | sent)

    assert has_only_errors(response, *(build_field_error(*error) for error in found))


@pytest.mark.parametrize("body", [b"", b"[]", b"[{}]", b"null", b'{"amount": NaN}'])
def test_checks_body_before_the_commission(api, commission, body):
    paths = [build_path(commission), "/commissions/0/"]

    responses = [api.patch(path, body) for path in paths]

    assert [(response.status_code, response.json()) for response in responses] == [
        (400, {"errors": [{"message": "Request body was not valid JSON"}]})
    ] * 2


def test_reports_the_field_when_the_conversion_grows_too_large(api, scenario, account):
    sale = scenario.create_conversion("9999999999998", "1")
    second = account.commissions.filter(conversion=sale).latest("id")

    with assert_unchanged(account, snapshot_account_data):
        response = api.patch(build_path(second), {"conversion_sub_amount": 2.01})

    assert list_field_errors(response) == [("conversion_sub_amount", LONG)]


# Status transitions: docs/api-contract.md, section 2.3.3.


ACTIONS = {
    "approve": ("PATCH", "", {"approved": True}),
    "approve-by-put": ("PUT", "approved/", None),
    "disapprove": ("PATCH", "", {"approved": False}),
    "disapprove-by-delete": ("DELETE", "approval/", None),
    "back-to-pending": ("PATCH", "", {"approved": None}),
    "other-amount": ("PATCH", "", {"amount": 19}),
    "other-sub-amount": ("PATCH", "", {"conversion_sub_amount": 190}),
    "amount-and-comment": ("PATCH", "", {"amount": 1, "comment": "no"}),
    "only-another-part": ("PATCH", "", {"conversion_sub_amount": 300, "amount": 20}),
    "same-amounts": ("PATCH", "", {"amount": 20, "conversion_sub_amount": 200}),
    "comment": ("PATCH", "", {"comment": "x"}),
}
ONLY_COMMENTS = {"same-amounts", "comment"}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("status", ["pending", "approved", "disapproved"])
def test_finalizes_and_requires_funds_with_the_payouts_feature(
    api, scenario, account, commission, action, status
):
    scenario.set_status(commission, status)
    scenario.enable_payouts()
    before = snapshot_account_data(account)
    method, path, body = ACTIONS[action]

    response = api.request(method, build_path(commission) + path, body)

    error = None
    if status == "approved" and action not in ONLY_COMMENTS:
        error = FROZEN
    elif status != "approved" and action in ("approve", "approve-by-put"):
        error = UNFUNDED
    if error:
        assert (response.status_code, response.json()) == (409, error)
        assert snapshot_account_data(account) == before
    else:
        assert get_json(response)["id"] == commission.pk


@pytest.mark.parametrize("status", ["pending", "disapproved"])
@pytest.mark.parametrize("action", ["approve", "approve-by-put"])
def test_makes_a_funded_approval_final(api, scenario, commission, action, status):
    scenario.set_status(commission, status)
    scenario.enable_payouts(20)
    method, path, body = ACTIONS[action]

    data = get_json(api.request(method, build_path(commission) + path, body))

    moment = commission.reload().finalized_at.strftime("%Y-%m-%dT%H:%M:%S+00:00")
    assert data == expected_commission(commission, final=True, finalization_date=moment, **APPROVED)
    assert get_json(api.get(build_path(commission))) == data


def test_checks_fields_before_the_state(api, scenario, commission):
    scenario.approve(commission)
    scenario.enable_payouts()

    response = api.patch(build_path(commission), {"amount": -1, "approved": True})

    assert list_field_errors(response) == [("amount", NEGATIVE)]


@pytest.mark.parametrize("on", [True, False], ids=["turned-on", "turned-off"])
def test_is_final_while_the_payouts_feature_is_on(api, scenario, account, commission, on):
    """The feature is turned on or off after the approval."""
    scenario.enable_payouts(20)
    account.uses_payouts = not on
    account.save()
    scenario.approve(commission)
    account.uses_payouts = on
    account.save()

    shows_final = get_json(api.get(build_path(commission)))["final"]

    rejected = api.patch(build_path(commission), {"amount": 19}).status_code == 409
    assert rejected is on
    assert shows_final is (True if on else None)


@pytest.mark.parametrize("on", [False, True], ids=["off", "on"])
def test_works_in_an_archived_program_for_a_removed_affiliate(
    api, account, scenario, commission, on
):
    scenario.archive()
    mark_deleted(scenario.mina.affiliate)
    account.uses_payouts = on
    account.save()

    data = get_json(api.patch(build_path(commission), {"amount": 5, "approved": False}))

    assert data == expected_commission(commission, amount=5, **DISAPPROVED)
