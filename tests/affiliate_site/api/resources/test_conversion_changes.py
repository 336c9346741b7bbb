"""Updating and deleting conversions, and adding commissions to them.

See docs/api-contract.md, sections 2.2.6 to 2.2.8.
"""

from datetime import timedelta

import pytest
from django.test import Client

from tests.affiliate_site.api.resources.expected import (
    expected_conversion,
    expected_nested_commission,
    list_commission_ids,
)
from tests.affiliate_site.responses import (
    build_field_error,
    get_json,
    snapshot_account_data,
)
from tests.conftest import NOW, ApiClient
from tests.ledger_checks import assert_amounts_consistent, assert_unchanged
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario, mark_deleted

pytestmark = pytest.mark.usefixtures("shared_scenario")

UNKNOWN = {"errors": [{"message": "Conversion not found"}]}
NO_JSON = {"errors": [{"message": "Request body was not valid JSON"}]}
FINAL = {
    "errors": [
        {
            "message": "The commission is approved and cannot be changed.",
            "code": "commission_approved",
        }
    ]
}
DIGITS = "This value has too many digits."
NUMBER = "This value should be a number."
NEGATIVE = "This value should be 0 or more."
NO_TYPE = "Unknown commission type"
MISSING = "Missing mandatory parameter(s)"
TYPE = "This value should be of type {{ type }}."
LONG = "This value is too long, {{ limit }} characters at most."


SALE = {"external_id": "order-1", "meta_data": {"plan": "pro"}}


@pytest.fixture
def scenario(scenario):
    """A program with a second commission type."""
    scenario.create_commission_type("accessories", "7.5")
    yield scenario
    assert_amounts_consistent(scenario.account)


@pytest.fixture
def sale(scenario):
    """The conversion `order-1` of 200 EUR with one pending commission."""
    return scenario.create_conversion("200", **SALE)


@pytest.fixture
def odette(scenario):
    """Mina's parent, who earns 3 % on level 2."""
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.add_child(scenario.mina, odette)
    scenario.create_level(2, "3")
    return odette


def build_path(sale, more="", query=""):
    return f"/conversions/{sale.pk}/{more}{query}"


RECALCULATED = "?recalculate_commissions=true"


def assert_errors(response, *entries):
    assert response.status_code == 400, response.content
    assert response.json() == {"errors": list(entries)}


# PATCH /conversions/{id}/


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        ({}, {}),
        ({"amount": "49.90"}, {"amount": 49.9}),
        ({"amount": -0.001}, {"amount": 0}),
        ({"amount": 0.125}, {"amount": 0.13}),
        ({"amount": None, "external_id": None, "meta_data": None}, {}),
        ({"external_id": "O-2"}, {"external_id": "O-2"}),
        ({"external_id": 17}, {"external_id": "17"}),
        ({"external_id": " 2 "}, {"external_id": " 2 "}),
        ({"external_id": "  "}, {}),
        ({"external_id": "order-1"}, {}),
        ({"meta_data": {"a": 1.50}}, {"meta_data": {"a": "1.5"}}),
        ({"meta_data": {}}, {"meta_data": {}}),
        ({"currency": "USD", "id": 7, "affiliate": None, "coupon": "X"}, {}),
    ],
    ids=str,
)
def test_updates_only_the_sent_fields(api, scenario, sale, body, changed):
    response = api.patch(build_path(sale), body)

    assert get_json(response) == expected_conversion(scenario, sale, **SALE | changed)
    assert list(response.json()) == list(expected_conversion(scenario, sale))
    assert get_json(api.get(build_path(sale))) == response.json()


@pytest.mark.parametrize(
    ("query", "is_recalculated"),
    [
        ("?recalculate_commissions=TRUE", True),
        ("?recalculate_commissions=0&recalculate_commissions=1", True),
        ("?recalculate_commissions=0", False),
        ("?recalculate_commissions=", False),
        ("?recalculate=true", False),
        ("", False),
    ],
)
def test_recalculates_commissions_only_on_request(api, scenario, sale, query, is_recalculated):
    (number,) = list_commission_ids(sale)

    response = api.patch(build_path(sale, query=query), {"amount": 150})

    followed = {"conversion_sub_amount": 150, "amount": 15} if is_recalculated else {}
    nested = [expected_nested_commission(number, **followed)]
    assert get_json(response) == expected_conversion(
        scenario, sale, **SALE | {"amount": 150, "commissions": nested}
    )


def test_rounds_in_the_currency_of_the_conversion(api, scenario):
    sale = scenario.create_conversion("1.234", currency="KWD")

    response = api.patch(build_path(sale, query=RECALCULATED), {"amount": 2.0005})

    (nested,) = get_json(response)["commissions"]
    assert (response.json()["amount"], nested["conversion_sub_amount"]) == (2.001,) * 2
    assert (nested["amount"], nested["currency"]) == (0.2, "KWD")


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({"amount": -1}, [("amount", NEGATIVE)]),
        ({"amount": ""}, [("amount", NUMBER)]),
        ({"amount": 10**13}, [("amount", DIGITS)]),
        ({"external_id": "x" * 256}, [("external_id", LONG, 255)]),
        (
            {"external_id": ["a"], "amount": {}, "meta_data": "a"},
            [
                ("amount", NUMBER),
                ("external_id", TYPE, "string"),
                ("meta_data", TYPE, "object"),
            ],
        ),
    ],
    ids=["negative", "empty", "14-digits", "long-id", "all-at-once-in-order"],
)
def test_rejects_invalid_values(api, account, sale, body, errors):
    before = snapshot_account_data(account)

    response = api.patch(build_path(sale, query=RECALCULATED), body)

    assert_errors(response, *(build_field_error(*error) for error in errors))
    assert snapshot_account_data(account) == before


@pytest.mark.parametrize("query", ["", RECALCULATED])
def test_rejects_a_taken_external_id(api, account, scenario, sale, query):
    scenario.create_conversion("1", external_id="order-2")
    before = snapshot_account_data(account)

    response = api.patch(build_path(sale, query=query), {"amount": 1, "external_id": "order-2"})

    assert_errors(
        response,
        {
            "message": "Duplicate conversion. There is already a conversion"
            " for External id 'order-2'"
        },
    )
    assert snapshot_account_data(account) == before


def test_accepts_an_external_id_of_another_account(api, scenario, sale, other_account):
    ProgramScenario(other_account, prefix="zz-marker-").create_conversion(
        "1", external_id="order-2"
    )

    response = api.patch(build_path(sale), {"external_id": "order-2"})

    assert get_json(response)["external_id"] == "order-2"


@pytest.mark.parametrize(
    ("sold", "amount"),
    [
        pytest.param("1", 100, id="14-whole-digits"),
        pytest.param("1", 10**5, id="longer-than-a-column"),
        pytest.param("0.01", 10**13 - 1, id="longer-than-a-decimal"),
    ],
)
def test_rejects_an_amount_that_makes_a_line_item_too_large(
    account, scenario, make_key, sold, amount
):
    client = ApiClient(make_key(account), Client(raise_request_exception=False))
    sale = scenario.create_conversion(sold)
    added = {"conversion_sub_amount": 9 * 10**12}
    get_json(client.post(build_path(sale, "commissions/"), added))
    before = snapshot_account_data(account)

    response = client.patch(build_path(sale, query=RECALCULATED), {"amount": amount})

    assert_errors(response, build_field_error("amount", DIGITS))
    assert snapshot_account_data(account) == before


def test_rejects_an_invalid_recalculation_flag(api, sale):
    response = api.patch(build_path(sale, query="?recalculate_commissions=yes"), {})

    error = "This value should be true or false."
    assert_errors(response, build_field_error("recalculate_commissions", error))


# DELETE /conversions/{id}/


def test_deletes_a_conversion(api, scenario, sale):
    (number,) = list_commission_ids(sale)
    get_json(api.put(f"/commissions/{number}/approved/"))

    response = api.delete(build_path(sale))

    assert (response.status_code, response.content) == (204, b"")
    assert get_json(api.get("/conversions/")) == []
    assert get_json(api.get("/commissions/")) == []
    assert get_json(api.get("/balances/")) == []
    assert get_json(api.get("/affiliates/minakessler/balances/")) == {}
    assert get_json(
        api.post("/conversions/", {"coupon": scenario.mina.coupon, "external_id": "order-1"})
    )


@pytest.mark.parametrize("final", [1, 2], ids=["regular", "level"])
def test_rejects_deletion_when_a_commission_is_final(api, account, scenario, odette, final):
    sale = scenario.create_conversion("200", "100")
    scenario.enable_payouts(100)
    scenario.approve(account.commissions.get(pk=list_commission_ids(sale)[final]))

    with assert_unchanged(account, snapshot_account_data):
        response = api.delete(build_path(sale))

    assert response.status_code == 409
    assert response.json() == FINAL


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None),
        ("PATCH", "", {}),
        ("PATCH", RECALCULATED, {"amount": "x"}),
        ("DELETE", "", None),
        ("POST", "commissions/", []),
        ("GET", "meta-data/", None),
        ("PUT", "meta-data/", {"a": "b"}),
        ("GET", "meta-data/plan/", None),
        ("PUT", "meta-data/plan/", {"value": "b"}),
        ("DELETE", "meta-data/plan/", None),
    ],
)
def test_deleted_conversion_returns_404(api, account, sale, method, path, body):
    api.delete(build_path(sale))

    with assert_unchanged(account, snapshot_account_data):
        response = api.request(method, build_path(sale, path), body)

    assert response.status_code == 404
    assert response.json() == UNKNOWN


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None),
        ("PATCH", "", {"comment": "a"}),
        ("PUT", "approved/", None),
        ("DELETE", "approved/", None),
    ],
)
def test_commissions_of_a_deleted_conversion_return_404(api, sale, method, path, body):
    (number,) = list_commission_ids(sale)
    api.delete(build_path(sale))

    response = api.request(method, f"/commissions/{number}/{path}", body)

    assert response.status_code == 404
    assert response.json() == {"errors": [{"message": "Commission not found"}]}


@pytest.mark.parametrize("number", ["abc", "0", "01", "-1", str(2**63), "٣", "1 "])
@pytest.mark.parametrize(
    ("method", "more"),
    [("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "commissions/")],
)
def test_invalid_ids_return_404(api, sale, method, more, number):
    response = api.request(method, f"/conversions/{number}/{more}", {"amount": 1})

    assert response.status_code == 404
    assert response.json() == UNKNOWN


# POST /conversions/{id}/commissions/


def expected_commission(sale, number, sold, earned, **changed):
    """Return an added commission as a resource."""
    amounts = {"conversion_sub_amount": sold, "amount": earned}
    return expected_nested_commission(number, **amounts) | {
        "status": "pending",
        "conversion": {"id": sale.pk},
        "finalization_date": None,
        **changed,
    }


def test_adds_one_commission(api, scenario, sale, frozen_time):
    frozen_time.move_to(NOW + timedelta(hours=1))
    body = {"conversion_sub_amount": 49.9, "commission_type": " accessories "}

    response = api.post(build_path(sale, "commissions/"), body | {"comment": "A renewal"})

    first, second = list_commission_ids(sale)
    texts = {"commission_type": "accessories", "commission_name": "Accessories"}
    texts |= {"comment": "A renewal", "created_at": "2026-03-04T10:15:27+00:00"}
    added = expected_commission(sale, second, 49.9, 3.74, **texts)
    assert get_json(response) == [added]
    assert list(response.json()[0]) == list(added)
    shown = get_json(api.get(build_path(sale)))
    assert shown["amount"] == 200
    assert [item["id"] for item in shown["commissions"]] == [first, second]
    assert "Link" not in response


def test_adds_many_commissions_with_their_levels(api, scenario, sale, odette, frozen_time):
    body = [
        {"conversion_sub_amount": "100"},
        {"conversion_sub_amount": 0, "commission_type": "default", "comment": None},
    ]

    response = api.post(build_path(sale, "commissions/"), body)

    _, first, second, level, zero = list_commission_ids(sale)
    level_2 = {"affiliate": odette.reference, "kind": "level"}
    level_2 |= {"commission_type": "level-2", "commission_name": "Level 2"}
    assert get_json(response) == [
        expected_commission(sale, first, 100, 10),
        expected_commission(sale, second, 0, 0),
        expected_commission(sale, level, 100, 3, **level_2),
        expected_commission(sale, zero, 0, 0, **level_2),
    ]


def test_shows_pending_as_null_with_the_option(api, account, sale):
    account.pending_as_null = True
    account.save()

    (added,) = get_json(api.post(build_path(sale, "commissions/"), {"conversion_sub_amount": 1}))
    changed = get_json(api.patch(build_path(sale, query=RECALCULATED), {"amount": 100}))

    assert (added["approved"], added["status"]) == (None, "pending")
    assert [item["approved"] for item in changed["commissions"]] == [None, None]


SOLD, ONE = "conversion_sub_amount", {"conversion_sub_amount": 5}
INVALID = [
    ([], [("", MISSING)]),
    *((body, [(SOLD, MISSING)]) for body in ({}, {"sub_amount": 5}, {SOLD: None})),
    ([ONE, {}], [(f"[1].{SOLD}", MISSING)]),
    ({SOLD: -0.01}, [(SOLD, NEGATIVE)]),
    (
        [{SOLD: "5 "}, ONE, {SOLD: 10**13, "comment": "x" * 1001}],
        [(f"[0].{SOLD}", NUMBER), (f"[2].{SOLD}", DIGITS), ("[2].comment", LONG, 1000)],
    ),
    ([ONE, 5], [("[1]", TYPE, "object")]),
    ([None], [("[0]", TYPE, "object")]),
    ([ONE] * 101, [("", "This list holds {{ limit }} items at most.", 100)]),
    (ONE | {"commission_type": "level-2"}, [("commission_type", NO_TYPE)]),
    (
        [ONE | {"commission_type": name} for name in ("Standard", "standard", "bonus")],
        [(f"[{number}].commission_type", NO_TYPE) for number in (0, 2)],
    ),
    (ONE | {"commission_type": ["standard"]}, [("commission_type", TYPE, "string")]),
]


@pytest.mark.parametrize(("body", "errors"), INVALID, ids=range(len(INVALID)))
def test_rejects_all_commissions_when_one_is_invalid(api, account, sale, body, errors):
    before = snapshot_account_data(account)

    response = api.post(build_path(sale, "commissions/"), body)

    assert_errors(response, *(build_field_error(*error) for error in errors))
    assert snapshot_account_data(account) == before


def test_accepts_a_hundred_commissions(api, sale):
    response = api.post(build_path(sale, "commissions/"), [{"conversion_sub_amount": 1}] * 100)

    assert len(get_json(response)) == 100


@pytest.mark.parametrize(
    ("status", "errors"),
    [
        pytest.param(
            409,
            [{"message": "This program is archived.", "code": "program_archived"}],
            id="archived",
        ),
        pytest.param(400, [{"message": "Affiliate is deleted"}], id="deleted-too"),
    ],
)
def test_adds_nothing_when_the_program_or_affiliate_forbids_it(
    api, account, scenario, sale, status, errors
):
    scenario.archive()
    if status == 400:
        mark_deleted(scenario.mina.affiliate)

    with assert_unchanged(account, snapshot_account_data):
        response = api.post(build_path(sale, "commissions/"), {"conversion_sub_amount": 5})

    assert response.status_code == status
    assert response.json() == {"errors": errors}


# All three operations


@pytest.mark.parametrize("state", ["archived", "locked", "deleted"])
def test_updates_and_deletes_in_any_program_state(api, account, scenario, sale, state):
    if state == "archived":
        scenario.archive()
    elif state == "locked":
        account.locked_at = CONVERSION_CREATED_AT
        account.save()
    else:
        mark_deleted(scenario.mina.affiliate)

    changed = api.patch(build_path(sale, query=RECALCULATED), {"amount": 50})
    removed = api.delete(build_path(sale))

    assert [commission["amount"] for commission in get_json(changed)["commissions"]] == [5]
    assert removed.status_code == 204


def test_checks_body_before_the_conversion(api, scenario):
    responses = [
        api.patch("/conversions/999/", b"nonsense"),
        api.post("/conversions/999/commissions/", b"null"),
    ]

    assert [(response.status_code, response.json()) for response in responses] == [
        (400, NO_JSON)
    ] * 2
