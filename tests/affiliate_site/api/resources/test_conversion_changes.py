"""Updating and deleting conversions, and adding commissions to them.

See docs/api-contract.md, sections 2.2.6 to 2.2.8.
"""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client

from payouts.services.commissions import approve_commission
from payouts.services.funding import top_up_payout_balance
from tests.conftest import NOW, ApiClient
from tests.ledger_checks import assert_amounts_consistent, snapshot_account
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario, mark_deleted
from tracking.services.hierarchy import set_parent
from tracking.services.programs import archive_program

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
MISSING = "Missing mandatory parameter(s)"
MANY_DIGITS = "This value has too many digits."
NO_NUMBER = "This value should be a number."
TYPE = "This value should be of type {{ type }}."
LONG = "This value is too long, {{ limit }} characters at most."


@pytest.fixture
def scenario(scenario):
    """A program with a second commission type."""
    scenario.create_commission_type("accessories", "7.5")
    yield scenario
    assert_amounts_consistent(scenario.account)


@pytest.fixture
def sale(scenario):
    """The conversion `order-1` of 200 EUR with one pending commission."""
    return scenario.create_conversion(
        "200", external_id="order-1", meta_data={"plan": "pro"}
    )


@pytest.fixture
def odette(scenario):
    """Mina's parent, who earns 3 % on level 2."""
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    set_parent(
        scenario.account,
        affiliate_id=scenario.mina.slug,
        parent_id=odette.slug,
        at=CONVERSION_CREATED_AT,
    )
    scenario.create_level(2, "3")
    return odette


def build_path(sale, more="", query=""):
    return f"/conversions/{sale.pk}/{more}{query}"


RECALCULATED = "?recalculate_commissions=true"


def get_json(response):
    assert response.status_code == 200, response.content
    return response.json()


def build_field_error(path, message, raw=None):
    return {
        "message": message,
        "message_raw": raw or message,
        "property_path": path,
    }


def assert_errors(response, *entries):
    assert response.status_code == 400, response.content
    assert response.json() == {"errors": list(entries)}


def snapshot_account_data(account):
    """Return all rows except those that every request changes."""
    return {**snapshot_account(account), "ApiKey": None}


def list_commission_ids(sale):
    rows = sale.account.commissions.filter(conversion=sale)
    return list(rows.order_by("id").values_list("id", flat=True))


def expected_nested_commission(scenario, number, **changed):
    """Return a pending commission of 20 EUR as nested in a conversion."""
    return {
        "id": number,
        "conversion_sub_amount": 200,
        "amount": 20,
        "commission_type": "standard",
        "approved": False,
        "affiliate": scenario.mina.reference,
        "kind": "regular",
        "currency": "EUR",
        "created_at": "2026-03-04T09:15:27+00:00",
        "payout": None,
        "comment": None,
        "final": None,
        "commission_name": "Standard",
    } | changed


def expected_commission(scenario, number, sale, **changed):
    """Return the same commission as a resource."""
    return expected_nested_commission(scenario, number) | {
        "status": "pending",
        "conversion": {"id": sale.pk},
        "finalization_date": None,
        **changed,
    }


def expected_conversion(scenario, sale, **changed):
    """Return the representation of the conversion of 200 EUR."""
    return {
        "id": sale.pk,
        "external_id": "order-1",
        "amount": 200,
        "click": None,
        "commissions": [
            expected_nested_commission(scenario, number)
            for number in list_commission_ids(sale)
        ],
        "program": scenario.reference,
        "affiliate": scenario.mina.reference,
        "customer": None,
        "meta_data": {"plan": "pro"},
        "created_at": "2026-03-04T09:15:27+00:00",
        "warnings": None,
        "affiliate_meta_data": None,
        "tracking_source": "coupon",
    } | changed


def approve_with_payouts(account, *chosen):
    """Approve these commissions in an account with the payouts feature."""
    account.uses_payouts = True
    account.save()
    top_up_payout_balance(
        account, amount=Decimal(100), currency="EUR", at=CONVERSION_CREATED_AT
    )
    for number in chosen:
        approve_commission(account, commission_id=number, at=CONVERSION_CREATED_AT)


# PATCH /conversions/{id}/


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        pytest.param({}, {}, id="nothing"),
        pytest.param({"amount": 49.9}, {"amount": 49.9}, id="amount"),
        pytest.param({"amount": "49.90"}, {"amount": 49.9}, id="amount-as-text"),
        pytest.param({"amount": 0}, {"amount": 0}, id="zero"),
        pytest.param({"amount": -0.001}, {"amount": 0}, id="zero-after-rounding"),
        pytest.param({"amount": 0.125}, {"amount": 0.13}, id="half-up"),
        pytest.param({"amount": None}, {}, id="null-amount"),
        pytest.param({"external_id": "O-2"}, {"external_id": "O-2"}, id="external-id"),
        pytest.param({"external_id": 17}, {"external_id": "17"}, id="integer-id"),
        pytest.param({"external_id": " 2 "}, {"external_id": " 2 "}, id="untrimmed-id"),
        pytest.param({"external_id": "  "}, {}, id="blank-id"),
        pytest.param({"external_id": None}, {}, id="null-id"),
        pytest.param({"external_id": "order-1"}, {}, id="its-own-id"),
        pytest.param(
            {"meta_data": {"a": 1.50, "b": True}},
            {"meta_data": {"a": "1.5", "b": "true"}},
            id="meta-data-is-replaced",
        ),
        pytest.param({"meta_data": {}}, {"meta_data": {}}, id="empty-meta-data"),
        pytest.param({"meta_data": None}, {}, id="null-meta-data"),
        pytest.param(
            {"currency": "USD", "id": 7, "affiliate": None, "coupon": "X"},
            {},
            id="unknown-and-read-only",
        ),
    ],
)
def test_updates_only_the_sent_fields(api, scenario, sale, body, changed):
    response = api.patch(build_path(sale), body)

    assert get_json(response) == expected_conversion(scenario, sale, **changed)
    assert list(response.json()) == list(expected_conversion(scenario, sale))
    assert get_json(api.get(build_path(sale))) == response.json()
    assert "X-RateLimit-Limit" not in response


@pytest.mark.parametrize(
    ("query", "is_recalculated"),
    [
        ("?recalculate_commissions=true", True),
        ("?recalculate_commissions=1", True),
        ("?recalculate_commissions=TRUE", True),
        ("?recalculate_commissions=0&recalculate_commissions=true", True),
        ("?recalculate_commissions=false", False),
        ("?recalculate_commissions=0", False),
        ("?recalculate_commissions=", False),
        ("?recalculate=true", False),
        ("", False),
    ],
)
def test_recalculates_commissions_only_on_request(
    api, scenario, sale, query, is_recalculated
):
    (number,) = list_commission_ids(sale)

    response = api.patch(build_path(sale, query=query), {"amount": 150})

    followed = {"conversion_sub_amount": 150, "amount": 15} if is_recalculated else {}
    nested = [expected_nested_commission(scenario, number, **followed)]
    assert get_json(response) == expected_conversion(
        scenario, sale, amount=150, commissions=nested
    )


@pytest.mark.parametrize(
    ("currency", "sold", "amount", "expected_amount", "expected_commission_amounts"),
    [
        pytest.param("JPY", "1000", 100.5, 101, (101, 10), id="JPY"),
        pytest.param("KWD", "1.234", 2.0005, 2.001, (2.001, 0.2), id="KWD"),
    ],
)
def test_rounds_in_the_currency_of_the_conversion(
    api, scenario, currency, sold, amount, expected_amount, expected_commission_amounts
):
    sale = scenario.create_conversion(sold, currency=currency)

    response = api.patch(build_path(sale, query=RECALCULATED), {"amount": amount})

    (nested,) = get_json(response)["commissions"]
    assert response.json()["amount"] == expected_amount
    assert (
        nested["conversion_sub_amount"],
        nested["amount"],
    ) == expected_commission_amounts
    assert nested["currency"] == currency


def test_updates_the_balances_of_all_affiliates(api, scenario, odette):
    sale = scenario.create_conversion("200")
    for number in list_commission_ids(sale):
        get_json(api.put(f"/commissions/{number}/approved/"))

    response = api.patch(build_path(sale, query=RECALCULATED), {"amount": 50})

    assert [
        (
            commission["kind"],
            commission["conversion_sub_amount"],
            commission["amount"],
            commission["approved"],
        )
        for commission in get_json(response)["commissions"]
    ] == [("regular", 50, 5, True), ("level", 50, 1.5, True)]
    assert get_json(api.get("/balances/")) == [
        {"affiliate_id": "minakessler", "balances": {"EUR": 5}},
        {"affiliate_id": "odettevarga", "balances": {"EUR": 1.5}},
    ]


def test_keeps_final_commissions_unchanged(api, scenario, account):
    sale = scenario.create_conversion(
        "100", "100", external_id="order-1", meta_data={"plan": "pro"}
    )
    first, second = list_commission_ids(sale)
    approve_with_payouts(account, first)

    response = api.patch(build_path(sale, query=RECALCULATED), {"amount": 100})

    kept, followed = get_json(response)["commissions"]
    assert kept == expected_nested_commission(
        scenario, first, conversion_sub_amount=100, amount=10, approved=True, final=True
    )
    assert followed == expected_nested_commission(
        scenario, second, conversion_sub_amount=50, amount=5
    )
    assert get_json(api.get("/balances/")) == [
        {"affiliate_id": "minakessler", "balances": {"EUR": 10}}
    ]


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        pytest.param(
            {"amount": -1},
            [build_field_error("amount", "This value should be 0 or more.")],
            id="negative",
        ),
        pytest.param(
            {"amount": "1e2"}, [build_field_error("amount", NO_NUMBER)], id="exponent"
        ),
        pytest.param(
            {"amount": ""}, [build_field_error("amount", NO_NUMBER)], id="empty"
        ),
        pytest.param(
            {"amount": " 1"}, [build_field_error("amount", NO_NUMBER)], id="spaced"
        ),
        pytest.param(
            {"amount": True}, [build_field_error("amount", NO_NUMBER)], id="boolean"
        ),
        pytest.param(
            {"amount": [1]}, [build_field_error("amount", NO_NUMBER)], id="array"
        ),
        pytest.param(
            {"amount": 10**13},
            [build_field_error("amount", MANY_DIGITS)],
            id="14-whole-digits",
        ),
        pytest.param(
            b'{"amount": 12345678901234.56}',
            [build_field_error("amount", MANY_DIGITS)],
            id="16-digits",
        ),
        pytest.param(
            {"external_id": ["a"], "amount": {}, "meta_data": "a"},
            [
                build_field_error("amount", NO_NUMBER),
                build_field_error(
                    "external_id", TYPE.replace("{{ type }}", "string"), TYPE
                ),
                build_field_error(
                    "meta_data", TYPE.replace("{{ type }}", "object"), TYPE
                ),
            ],
            id="all-at-once-in-order",
        ),
        pytest.param(
            {"external_id": "x" * 256},
            [
                build_field_error(
                    "external_id", LONG.replace("{{ limit }}", "255"), LONG
                )
            ],
            id="long-id",
        ),
        pytest.param(
            {"meta_data": {"plan": None}},
            [
                build_field_error(
                    "meta_data[plan]", TYPE.replace("{{ type }}", "string"), TYPE
                )
            ],
            id="null-in-meta-data",
        ),
    ],
)
def test_rejects_invalid_values(api, account, sale, body, errors):
    before = snapshot_account_data(account)

    response = api.patch(build_path(sale, query=RECALCULATED), body)

    assert_errors(response, *errors)
    assert snapshot_account_data(account) == before


@pytest.mark.parametrize("value", ["yes", "2", "null", "true%20"])
def test_rejects_an_invalid_recalculation_flag(api, account, sale, value):
    before = snapshot_account_data(account)

    response = api.patch(
        build_path(sale, query=f"?recalculate_commissions={value}"), {"amount": 1}
    )

    assert_errors(
        response,
        build_field_error(
            "recalculate_commissions", "This value should be true or false."
        ),
    )
    assert snapshot_account_data(account) == before


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"null", b"17", b'{"amount": 1', b'{"amount": 1, "amount": 2}']
)
def test_requires_an_object(api, account, sale, body):
    before = snapshot_account_data(account)

    response = api.patch(build_path(sale), body)

    assert response.status_code == 400
    assert response.json() == NO_JSON
    assert snapshot_account_data(account) == before


@pytest.mark.parametrize("query", ["", RECALCULATED])
def test_rejects_a_taken_external_id(api, account, scenario, sale, query):
    scenario.create_conversion("1", external_id="order-2")
    before = snapshot_account_data(account)

    response = api.patch(
        build_path(sale, query=query), {"amount": 1, "external_id": "order-2"}
    )

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

    assert_errors(response, build_field_error("amount", MANY_DIGITS))
    assert snapshot_account_data(account) == before


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
        api.post(
            "/conversions/", {"coupon": scenario.mina.coupon, "external_id": "order-1"}
        )
    )


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"nonsense"])
def test_ignores_the_body_of_a_delete(api, sale, body):
    assert api.delete(build_path(sale), body).status_code == 204


def test_deleting_keeps_the_status_of_the_customer(api, scenario):
    customer = scenario.create_customer("acct-1")
    sale = scenario.create_conversion("200", customer_id="acct-1")

    api.delete(build_path(sale))

    assert get_json(api.get(f"/customers/{customer.public_id}/"))["status"] == "paying"


@pytest.mark.parametrize("number", [0, 1, 2])
def test_rejects_deletion_when_a_commission_is_final(
    api, account, scenario, odette, number
):
    sale = scenario.create_conversion("200", "100")
    approve_with_payouts(account, list_commission_ids(sale)[number])
    before = snapshot_account_data(account)

    response = api.delete(build_path(sale))

    assert response.status_code == 409
    assert response.json() == FINAL
    assert snapshot_account_data(account) == before


REQUESTS = pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("GET", "", None, id="read"),
        pytest.param("PATCH", "", {}, id="change"),
        pytest.param("PATCH", RECALCULATED, {"amount": "x"}, id="recalculate"),
        pytest.param("DELETE", "", None, id="remove"),
        pytest.param("POST", "commissions/", [], id="add"),
        pytest.param("GET", "meta-data/", None, id="meta-data"),
        pytest.param("PUT", "meta-data/", {"a": "b"}, id="replace-meta-data"),
        pytest.param("GET", "meta-data/plan/", None, id="meta-datum"),
        pytest.param("PUT", "meta-data/plan/", {"value": "b"}, id="set-meta-datum"),
        pytest.param("DELETE", "meta-data/plan/", None, id="remove-meta-datum"),
    ],
)


@REQUESTS
def test_deleted_conversion_returns_404(api, account, sale, method, path, body):
    api.delete(build_path(sale))
    before = snapshot_account_data(account)

    response = api.request(method, build_path(sale, path), body)

    assert response.status_code == 404
    assert response.json() == UNKNOWN
    assert snapshot_account_data(account) == before


@REQUESTS
def test_conversions_of_other_accounts_return_404(
    api, scenario, other_account, method, path, body
):
    other_scenario = ProgramScenario(other_account, prefix="zz-marker-")
    foreign = other_scenario.create_conversion("200", meta_data={"plan": "zz-marker"})
    before = snapshot_account_data(other_account)

    response = api.request(method, build_path(foreign, path), body)

    assert response.status_code == 404
    assert response.json() == UNKNOWN
    assert snapshot_account_data(other_account) == before


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("GET", "", None, id="read"),
        pytest.param("PATCH", "", {"comment": "a"}, id="change"),
        pytest.param("PUT", "approved/", None, id="approve"),
        pytest.param("DELETE", "approved/", None, id="disapprove"),
    ],
)
def test_commissions_of_a_deleted_conversion_return_404(api, sale, method, path, body):
    (number,) = list_commission_ids(sale)
    api.delete(build_path(sale))

    response = api.request(method, f"/commissions/{number}/{path}", body)

    assert response.status_code == 404
    assert response.json() == {"errors": [{"message": "Commission not found"}]}


@pytest.mark.parametrize("number", ["abc", "0", "01", "-1", "1.0", str(2**63), "٣"])
@pytest.mark.parametrize(
    ("method", "more"), [("PATCH", ""), ("DELETE", ""), ("POST", "commissions/")]
)
def test_invalid_ids_return_404(api, sale, method, more, number):
    response = api.request(method, f"/conversions/{number}/{more}", {"amount": 1})

    assert response.status_code == 404
    assert response.json() == UNKNOWN


# POST /conversions/{id}/commissions/


def test_adds_one_commission(api, scenario, sale, frozen_time):
    frozen_time.move_to(NOW + timedelta(hours=1))
    body = {"conversion_sub_amount": 49.9, "commission_type": " accessories "}

    response = api.post(
        build_path(sale, "commissions/"), body | {"comment": "A renewal"}
    )

    first, second = list_commission_ids(sale)
    added = expected_commission(
        scenario,
        second,
        sale,
        conversion_sub_amount=49.9,
        amount=3.74,
        commission_type="accessories",
        commission_name="Accessories",
        comment="A renewal",
        created_at="2026-03-04T10:15:27+00:00",
    )
    assert get_json(response) == [added]
    assert list(response.json()[0]) == list(added)
    assert get_json(api.get(build_path(sale)))["amount"] == 200
    assert [
        commission["id"]
        for commission in get_json(api.get(build_path(sale)))["commissions"]
    ] == [
        first,
        second,
    ]
    assert "Link" not in response
    assert "X-RateLimit-Limit" not in response


def test_adds_many_commissions_with_their_levels(
    api, scenario, sale, odette, frozen_time
):
    body = [
        {"conversion_sub_amount": "100"},
        {"conversion_sub_amount": 0, "commission_type": "default", "comment": None},
    ]

    response = api.post(build_path(sale, "commissions/"), body)

    _, first, second, level, zero = list_commission_ids(sale)
    of_odette = {
        "affiliate": odette.reference,
        "kind": "level",
        "commission_type": "level-2",
        "commission_name": "Level 2",
    }
    assert get_json(response) == [
        expected_commission(
            scenario, first, sale, conversion_sub_amount=100, amount=10
        ),
        expected_commission(scenario, second, sale, conversion_sub_amount=0, amount=0),
        expected_commission(
            scenario, level, sale, conversion_sub_amount=100, amount=3, **of_odette
        ),
        expected_commission(
            scenario, zero, sale, conversion_sub_amount=0, amount=0, **of_odette
        ),
    ]


def test_adds_commissions_in_the_currency_of_the_conversion(api, scenario):
    sale = scenario.create_conversion("1000", currency="JPY")

    (added,) = get_json(
        api.post(build_path(sale, "commissions/"), {"conversion_sub_amount": 14.5})
    )

    assert added["conversion_sub_amount"] == 15
    assert (added["amount"], added["currency"]) == (2, "JPY")


def test_shows_pending_as_null_with_the_option(api, account, sale):
    account.pending_as_null = True
    account.save()

    (added,) = get_json(
        api.post(build_path(sale, "commissions/"), {"conversion_sub_amount": 1})
    )
    changed = get_json(api.patch(build_path(sale, query=RECALCULATED), {"amount": 100}))

    assert (added["approved"], added["status"]) == (None, "pending")
    assert [commission["approved"] for commission in changed["commissions"]] == [
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        pytest.param([], [build_field_error("", MISSING)], id="empty-array"),
        pytest.param(
            {}, [build_field_error("conversion_sub_amount", MISSING)], id="nothing"
        ),
        pytest.param(
            {"sub_amount": 5},
            [build_field_error("conversion_sub_amount", MISSING)],
            id="the-old-name",
        ),
        pytest.param(
            {"conversion_sub_amount": None},
            [build_field_error("conversion_sub_amount", MISSING)],
            id="null",
        ),
        pytest.param(
            [{"conversion_sub_amount": 5}, {}],
            [build_field_error("[1].conversion_sub_amount", MISSING)],
            id="nothing-in-an-array",
        ),
        pytest.param(
            {"conversion_sub_amount": -0.01},
            [
                build_field_error(
                    "conversion_sub_amount", "This value should be 0 or more."
                )
            ],
            id="negative",
        ),
        pytest.param(
            [
                {"conversion_sub_amount": "5 "},
                {"conversion_sub_amount": 5},
                {"conversion_sub_amount": 10**13, "comment": "x" * 1001},
            ],
            [
                build_field_error("[0].conversion_sub_amount", NO_NUMBER),
                build_field_error("[2].conversion_sub_amount", MANY_DIGITS),
                build_field_error(
                    "[2].comment", LONG.replace("{{ limit }}", "1000"), LONG
                ),
            ],
            id="every-error",
        ),
        pytest.param(
            [{"conversion_sub_amount": 5}, 5],
            [build_field_error("[1]", TYPE.replace("{{ type }}", "object"), TYPE)],
            id="no-object",
        ),
        pytest.param(
            [None],
            [build_field_error("[0]", TYPE.replace("{{ type }}", "object"), TYPE)],
            id="null-in-an-array",
        ),
        pytest.param(
            [{"conversion_sub_amount": 1}] * 101,
            [
                build_field_error(
                    "",
                    "This list holds 100 items at most.",
                    "This list holds {{ limit }} items at most.",
                )
            ],
            id="101",
        ),
        pytest.param(
            {"conversion_sub_amount": 5, "commission_type": "level-2"},
            [build_field_error("commission_type", "Unknown commission type")],
            id="unknown-type",
        ),
        pytest.param(
            [
                {"conversion_sub_amount": 5, "commission_type": "Standard"},
                {"conversion_sub_amount": 5, "commission_type": "standard"},
                {"conversion_sub_amount": 5, "commission_type": "bonus"},
            ],
            [
                build_field_error("[0].commission_type", "Unknown commission type"),
                build_field_error("[2].commission_type", "Unknown commission type"),
            ],
            id="unknown-types",
        ),
        pytest.param(
            {"conversion_sub_amount": 5, "commission_type": ["standard"]},
            [
                build_field_error(
                    "commission_type", TYPE.replace("{{ type }}", "string"), TYPE
                )
            ],
            id="type-of-wrong-type",
        ),
    ],
)
def test_rejects_all_commissions_when_one_is_invalid(api, account, sale, body, errors):
    before = snapshot_account_data(account)

    response = api.post(build_path(sale, "commissions/"), body)

    assert_errors(response, *errors)
    assert snapshot_account_data(account) == before


def test_accepts_a_hundred_commissions(api, sale):
    response = api.post(
        build_path(sale, "commissions/"), [{"conversion_sub_amount": 1}] * 100
    )

    assert len(get_json(response)) == 100


@pytest.mark.parametrize("body", [b"", b"null", b'"a"', b"[{]"])
def test_requires_an_object_or_an_array(api, sale, body):
    response = api.post(build_path(sale, "commissions/"), body)

    assert response.status_code == 400
    assert response.json() == NO_JSON


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
    archive_program(account, slug=scenario.program.slug, at=CONVERSION_CREATED_AT)
    if status == 400:
        mark_deleted(scenario.mina.affiliate)
    before = snapshot_account_data(account)

    response = api.post(build_path(sale, "commissions/"), {"conversion_sub_amount": 5})

    assert response.status_code == status
    assert response.json() == {"errors": errors}
    assert snapshot_account_data(account) == before


def test_adds_once_for_one_idempotency_key(api, sale):
    body = {"conversion_sub_amount": 5}
    headers = {"Idempotency-Key": "renewal-1"}

    first, second = (
        api.post(build_path(sale, "commissions/"), body, **headers) for _ in range(2)
    )

    assert second.content == first.content
    assert second["Idempotent-Replayed"] == "true"
    assert len(list_commission_ids(sale)) == 2


# All three operations


@pytest.mark.parametrize("state", ["archived", "locked", "deleted"])
def test_updates_and_deletes_in_any_program_state(api, account, scenario, sale, state):
    if state == "archived":
        archive_program(account, slug=scenario.program.slug, at=CONVERSION_CREATED_AT)
    elif state == "locked":
        account.locked_at = CONVERSION_CREATED_AT
        account.save()
    else:
        mark_deleted(scenario.mina.affiliate)

    changed = api.patch(build_path(sale, query=RECALCULATED), {"amount": 50})
    removed = api.delete(build_path(sale))

    assert [
        commission["amount"] for commission in get_json(changed)["commissions"]
    ] == [5]
    assert removed.status_code == 204


@pytest.mark.parametrize(
    ("role", "statuses"),
    [
        ("viewer", [403, 403, 403]),
        ("manager", [200, 200, 204]),
        ("owner", [200, 200, 204]),
    ],
)
def test_requires_the_manager_role(api, account, make_key, sale, role, statuses):
    api.key = make_key(account, role)

    responses = [
        api.patch(build_path(sale), {"amount": 1}),
        api.post(build_path(sale, "commissions/"), {"conversion_sub_amount": 1}),
        api.delete(build_path(sale)),
    ]

    assert [response.status_code for response in responses] == statuses


def test_checks_body_before_the_conversion(api, scenario):
    responses = [
        api.patch("/conversions/999/", b"nonsense"),
        api.post("/conversions/999/commissions/", b"nonsense"),
    ]

    assert [(response.status_code, response.json()) for response in responses] == [
        (400, NO_JSON)
    ] * 2
