"""Showing and updating one commission: docs/api-contract.md, section 2.3."""

import pytest

from payouts.services.bonuses import grant_bonuses
from payouts.services.commissions import approve_commission, disapprove_commission
from tests.affiliate_site.api.resources.expected import expected_commission
from tests.command_line import run_command
from tests.ledger_checks import assert_amounts_consistent, snapshot_account
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario, mark_deleted
from tracking.services.programs import archive_program

pytestmark = pytest.mark.usefixtures("shared_scenario")

UNKNOWN = {"errors": [{"message": "Commission not found"}]}
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


@pytest.fixture
def scenario(scenario):
    yield scenario
    assert_amounts_consistent(scenario.account)


@pytest.fixture
def commission(scenario):
    """A pending commission of 20 EUR for a conversion of 200 EUR."""
    return scenario.get_commission(scenario.create_conversion("200"))


def build_path(commission):
    return f"/commissions/{commission.pk}/"


def get_json(response):
    assert response.status_code == 200, response.content
    return response.json()


def list_field_errors(response):
    """Return path, message and template of each error of a 400."""
    assert response.status_code == 400, response.content
    return [
        (error["property_path"], error["message"], error["message_raw"])
        for error in response.json()["errors"]
    ]


def build_field_error(path, message, raw=None):
    return (path, message, raw or message)


def use_payouts(account, *, on=True):
    account.uses_payouts = on
    account.save()


def snapshot_account_data(account):
    """Return all rows except API keys, whose last use changes."""
    return snapshot_account(account) | {"ApiKey": None}


# GET


def test_shows_one_commission(api, commission):
    response = api.get(build_path(commission))

    assert get_json(response) == expected_commission(commission)
    assert list(response.json()) == list(expected_commission(commission))
    assert "X-RateLimit-Limit" not in response
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
    first, second = (
        scenario.get_commission(scenario.create_conversion("200")) for _ in range(2)
    )
    for commission in (first, second):
        approve_commission(
            account, commission_id=commission.pk, at=CONVERSION_CREATED_AT
        )
    order = {"affiliate_id": "minakessler", "amount": 20, "currency": "EUR"}
    (payment,) = get_json(api.post("/payments/", order))

    covered = expected_commission(first, payout={"id": payment["id"]}, **APPROVED)
    assert get_json(api.get(build_path(first))) == covered
    assert get_json(api.get("/commissions/?paid=true")) == [covered]
    assert get_json(api.get("/commissions/?paid=0")) == [
        expected_commission(second, **APPROVED)
    ]
    assert get_json(api.get("/commissions/?paid=1&status=pending")) == []
    api.delete(f"/payments/{payment['id']}/")
    assert get_json(api.get(build_path(first))) == expected_commission(
        first, **APPROVED
    )


def test_shows_a_bonus(api, account, scenario):
    scenario.create_bonus(goal=1, value=50, title="Spring")
    sale = scenario.get_commission(scenario.create_conversion("200"))
    approve_commission(account, commission_id=sale.pk, at=CONVERSION_CREATED_AT)
    (bonus,) = grant_bonuses(account, at=CONVERSION_CREATED_AT.replace(month=4))

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
    assert [path for path, *_ in list_field_errors(rejected)] == [
        "conversion_sub_amount"
    ]


@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_unknown_commissions_return_404(
    api, account, scenario, commission, other_account, method
):
    other_scenario = ProgramScenario(other_account, prefix="zz-marker-")
    foreign = other_scenario.get_commission(other_scenario.create_conversion("200"))
    removed = scenario.create_conversion("10")
    deleted = scenario.get_commission(removed)
    assert api.delete(f"/conversions/{removed.pk}/").status_code == 204
    before = snapshot_account(other_account)

    responses = [
        api.request(method, f"/commissions/{number}/", {"amount": "invalid"})
        for number in (foreign.pk, deleted.pk, 0, "01", "abc", 2**63, "%D9%A3")
    ]

    assert [response.status_code for response in responses] == [404] * len(responses)
    assert [response.json() for response in responses] == [UNKNOWN] * len(responses)
    assert snapshot_account(other_account) == before


# PATCH


@pytest.mark.parametrize(
    ("sent", "changed"),
    [
        pytest.param({"amount": 0}, {"amount": 0}, id="zero"),
        pytest.param({"amount": "12.345"}, {"amount": 12.35}, id="text-half-up"),
        pytest.param({"amount": 12.344}, {"amount": 12.34}, id="number-down"),
        pytest.param({"amount": -0.004}, {"amount": 0}, id="rounds-to-zero"),
        pytest.param(
            {"conversion_sub_amount": 300},
            {"conversion_sub_amount": 300, "amount": 30},
            id="sub-amount",
        ),
        pytest.param(
            {"conversion_sub_amount": "0.30000000000000004", "amount": "5"},
            {"conversion_sub_amount": 0.3, "amount": 5},
            id="both-amounts",
        ),
        pytest.param({"comment": "Thanks"}, {"comment": "Thanks"}, id="comment"),
        pytest.param({"comment": " "}, {"comment": " "}, id="comment-as-sent"),
        pytest.param({"comment": 5}, {"comment": "5"}, id="comment-of-digits"),
        pytest.param({"comment": "é" * 1000}, {"comment": "é" * 1000}, id="long"),
        pytest.param({"approved": True}, APPROVED, id="approve"),
        pytest.param({"approved": False}, DISAPPROVED, id="disapprove"),
        pytest.param({"approved": None}, {}, id="back-to-pending"),
        pytest.param(
            {"amount": 1, "comment": "x", "approved": True},
            {"amount": 1, "comment": "x"} | APPROVED,
            id="together",
        ),
        pytest.param({}, {}, id="nothing"),
        pytest.param(
            {"amount": None, "conversion_sub_amount": None}, {}, id="null-is-not-sent"
        ),
        pytest.param(
            {"id": 7, "status": "approved", "kind": "bonus", "currency": "JPY"},
            {},
            id="read-only-and-unknown",
        ),
    ],
)
def test_updates_the_sent_fields(api, commission, sent, changed):
    response = api.patch(build_path(commission), sent)

    assert get_json(response) == expected_commission(commission, **changed)
    assert list(response.json()) == list(expected_commission(commission))
    assert get_json(api.get(build_path(commission))) == response.json()
    assert "X-RateLimit-Limit" not in response


def test_clears_the_comment_with_null(api, commission):
    api.patch(build_path(commission), {"comment": "Thanks"})

    assert get_json(
        api.patch(build_path(commission), {"comment": None})
    ) == expected_commission(commission)


def test_updates_the_amount_of_the_conversion(api, commission):
    api.patch(build_path(commission), {"conversion_sub_amount": 150.5})

    sale = get_json(api.get(f"/conversions/{commission.conversion_id}/"))
    assert sale["amount"] == 150.5
    assert [
        (row["conversion_sub_amount"], row["amount"]) for row in sale["commissions"]
    ] == [(150.5, 15.05)]


NUMBER = "This value should be a number."
NEGATIVE = "This value should be 0 or more."
LONG = "This value has too many digits."
BOOLEAN = "This value should be true or false."
TYPE = "This value should be of type {{ type }}."
TOO_LONG = "This value is too long, {{ limit }} characters at most."


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        pytest.param(
            {"amount": -0.005}, [build_field_error("amount", NEGATIVE)], id="negative"
        ),
        pytest.param(
            {"amount": "1e2"}, [build_field_error("amount", NUMBER)], id="exponent-text"
        ),
        pytest.param(
            {"amount": True}, [build_field_error("amount", NUMBER)], id="boolean"
        ),
        pytest.param({"amount": ""}, [build_field_error("amount", NUMBER)], id="empty"),
        pytest.param(
            {"amount": "5 "}, [build_field_error("amount", NUMBER)], id="blank-after"
        ),
        pytest.param(
            {"amount": "9999999999999.995"},
            [build_field_error("amount", LONG)],
            id="rounded-up",
        ),
        pytest.param(
            {"conversion_sub_amount": 10**13},
            [build_field_error("conversion_sub_amount", LONG)],
            id="fourteen-digits",
        ),
        pytest.param(
            {"approved": "true"}, [build_field_error("approved", BOOLEAN)], id="text"
        ),
        pytest.param(
            {"approved": 1}, [build_field_error("approved", BOOLEAN)], id="one"
        ),
        pytest.param(
            {"comment": []},
            [
                build_field_error(
                    "comment", "This value should be of type string.", TYPE
                )
            ],
            id="comment-list",
        ),
        pytest.param(
            {"comment": "x" * 1001},
            [
                build_field_error(
                    "comment", TOO_LONG.replace("{{ limit }}", "1000"), TOO_LONG
                )
            ],
            id="comment-too-long",
        ),
        pytest.param(
            {
                "approved": "x",
                "comment": {},
                "conversion_sub_amount": [],
                "amount": {},
            },
            [
                build_field_error("amount", NUMBER),
                build_field_error("conversion_sub_amount", NUMBER),
                build_field_error(
                    "comment", "This value should be of type string.", TYPE
                ),
                build_field_error("approved", BOOLEAN),
            ],
            id="all-in-documented-order",
        ),
    ],
)
def test_rejects_invalid_values(api, account, commission, sent, found):
    before = snapshot_account_data(account)

    response = api.patch(build_path(commission), {"comment": "kept out"} | sent)

    assert list_field_errors(response) == found
    assert snapshot_account_data(account) == before


@pytest.mark.parametrize("body", [b"", b"[]", b"[{}]", b"null", b'{"amount": NaN}'])
def test_checks_body_before_the_commission(api, commission, body):
    paths = [build_path(commission), "/commissions/0/"]

    responses = [api.patch(path, body) for path in paths]

    assert [(response.status_code, response.json()) for response in responses] == [
        (400, {"errors": [{"message": "Request body was not valid JSON"}]})
    ] * 2


def test_rejects_a_sub_amount_of_level_commissions(api, account, scenario):
    parent = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.mina.affiliate.update_row(parent=parent.affiliate)
    scenario.create_level(2, 3)
    sale = scenario.create_conversion("200")
    level = account.commissions.get(conversion=sale, kind="level")

    response = api.patch(
        build_path(level), {"conversion_sub_amount": 100, "comment": "kept out"}
    )

    ((path, message, raw),) = list_field_errors(response)
    assert (path, message) == ("conversion_sub_amount", raw)
    assert get_json(api.get(build_path(level))) == expected_commission(
        level,
        amount=6,
        commission_type="level-2",
        kind="level",
        affiliate=parent.reference,
        commission_name="Level 2",
    )


def test_reports_the_field_when_the_conversion_grows_too_large(api, scenario, account):
    sale = scenario.create_conversion("9999999999998", "1")
    second = account.commissions.filter(conversion=sale).latest("id")

    response = api.patch(build_path(second), {"conversion_sub_amount": 2.01})

    assert list_field_errors(response) == [
        build_field_error("conversion_sub_amount", LONG)
    ]


@pytest.mark.parametrize(
    ("role", "status"), [("viewer", 403), ("manager", 200), ("owner", 200)]
)
def test_requires_the_manager_role(api, account, make_key, commission, role, status):
    api.key = make_key(account, role)

    assert api.patch(build_path(commission), {}).status_code == status
    assert api.patch("/commissions/0/", {}).status_code == (
        403 if status == 403 else 404
    )
    assert get_json(api.get(build_path(commission))) == expected_commission(commission)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_rejects_other_methods(api, commission, method):
    response = api.request(method, build_path(commission), {})

    assert response.status_code == 405
    assert response["Allow"] == "GET, PATCH, HEAD, OPTIONS"


# Status transitions: docs/api-contract.md, section 2.3.3.


def apply_status(account, commission, status):
    if status != "pending":
        decide = {"approved": approve_commission, "disapproved": disapprove_commission}[
            status
        ]
        decide(account, commission_id=commission.pk, at=CONVERSION_CREATED_AT)


ACTIONS = {
    "approve": ("PATCH", "", {"approved": True}),
    "approve-by-put": ("PUT", "approved/", None),
    "disapprove": ("PATCH", "", {"approved": False}),
    "disapprove-by-delete": ("DELETE", "approval/", None),
    "back-to-pending": ("PATCH", "", {"approved": None}),
    "other-amount": ("PATCH", "", {"amount": 19}),
    "other-sub-amount": ("PATCH", "", {"conversion_sub_amount": 190}),
    "same-amounts": ("PATCH", "", {"amount": 20, "conversion_sub_amount": 200}),
    "comment": ("PATCH", "", {"comment": "x"}),
}
ONLY_COMMENTS = {"same-amounts", "comment"}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("status", ["pending", "approved", "disapproved"])
def test_allows_every_transition_without_the_payouts_feature(
    api, account, commission, action, status
):
    apply_status(account, commission, status)
    method, path, body = ACTIONS[action]

    response = api.request(method, build_path(commission) + path, body)

    data = get_json(response)
    assert (data["final"], data["finalization_date"]) == (None, None)
    balance = data["amount"] if data["status"] == "approved" else None
    assert get_json(api.get("/affiliates/minakessler/balances/")) == (
        {"EUR": balance} if balance else {}
    )


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("status", ["pending", "approved", "disapproved"])
def test_finalizes_and_requires_funds_with_the_payouts_feature(
    api, account, commission, action, status
):
    apply_status(account, commission, status)
    use_payouts(account)
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
def test_makes_a_funded_approval_final(api, account, commission, action, status):
    apply_status(account, commission, status)
    use_payouts(account)
    run_command("fund_payouts", "harbor", "20", "EUR")
    method, path, body = ACTIONS[action]

    data = get_json(api.request(method, build_path(commission) + path, body))

    moment = commission.reload().finalized_at.strftime("%Y-%m-%dT%H:%M:%S+00:00")
    assert data == expected_commission(
        commission, final=True, finalization_date=moment, **APPROVED
    )
    assert get_json(api.get(build_path(commission))) == data


def test_checks_fields_before_the_state(api, account, commission):
    approve_commission(account, commission_id=commission.pk, at=CONVERSION_CREATED_AT)
    use_payouts(account)

    response = api.patch(build_path(commission), {"amount": -1, "approved": True})

    assert list_field_errors(response) == [build_field_error("amount", NEGATIVE)]


@pytest.mark.parametrize("on", [True, False], ids=["turned-on", "turned-off"])
def test_is_final_while_the_payouts_feature_is_on(api, account, commission, on):
    """The feature is turned on or off after the approval."""
    use_payouts(account)
    run_command("fund_payouts", "harbor", "20", "EUR")
    use_payouts(account, on=not on)
    approve_commission(account, commission_id=commission.pk, at=CONVERSION_CREATED_AT)
    use_payouts(account, on=on)

    shows_final = get_json(api.get(build_path(commission)))["final"]

    rejected = api.patch(build_path(commission), {"amount": 19}).status_code == 409
    assert rejected is on
    assert shows_final is (True if on else None)


@pytest.mark.parametrize("on", [False, True], ids=["off", "on"])
def test_works_in_an_archived_program_for_a_removed_affiliate(
    api, account, scenario, commission, on
):
    archive_program(account, slug=scenario.program.slug, at=CONVERSION_CREATED_AT)
    mark_deleted(scenario.mina.affiliate)
    use_payouts(account, on=on)

    data = get_json(api.patch(build_path(commission), {"amount": 5, "approved": False}))

    assert data == expected_commission(commission, amount=5, **DISAPPROVED)
