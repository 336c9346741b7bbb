"""Creating, showing and listing conversions: docs/api-contract.md, section 2.2."""

import json
import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from accounts.db_compat import get_database_time
from accounts.services.accounts import lock_account
from affiliate_site.api.resources import conversions as endpoint
from payouts.models.commission_types import RateKind
from payouts.services.commissions import approve_commission, disapprove_commission
from payouts.services.conversion_updates import delete_conversion
from tests.conftest import ApiClient
from tests.ledger_checks import assert_amounts_consistent, snapshot_account
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario, mark_deleted
from tracking.services.programs import archive_program

pytestmark = pytest.mark.usefixtures("shared_scenario")

UNKNOWN_CLICK_ID = "00000000-0000-7000-8000-000000000000"
MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00")
TOO_MANY_ATTEMPTS = "To many concurrent attempts to create conversion with id 'order-1'"
DUPLICATE = (
    "Duplicate conversion. There is already a conversion for External id 'order-1'"
)
MISSING = "Missing mandatory parameter(s)"


@pytest.fixture
def scenario(scenario):
    """A program with a second commission type and a second affiliate."""
    scenario.create_commission_type("accessories", "7.5")
    scenario.create_commission_type(
        "flat", "2.5", kind=RateKind.FIXED, title="Flat fee"
    )
    scenario.second_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    yield scenario
    assert_amounts_consistent(scenario.account)


@pytest.fixture
def tracking_parameter(scenario):
    """The coupon of Mina as part of a body."""
    return {"coupon": scenario.mina.coupon}


def get_json(response):
    assert response.status_code == 200, response.content
    return response.json()


def list_error_messages(response, status=400):
    """Return the messages of an error response without field errors."""
    assert response.status_code == status, response.content
    errors = response.json()["errors"]
    assert all(list(error) == ["message"] for error in errors)
    return [error["message"] for error in errors]


def list_field_errors(response):
    """Return the messages of field errors by path."""
    assert response.status_code == 400, response.content
    errors = response.json()["errors"]
    for error in errors:
        assert list(error) == ["message", "message_raw", "property_path"]
    return [(error["property_path"], error["message"]) for error in errors]


def encode_json(body):
    """Return the JSON bytes as orjson encodes them."""
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


def expected_commission(scenario, **changed):
    """Return a pending commission of 20 EUR for a sub-amount of 200."""
    return {
        "id": changed.pop("id"),
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


def expected_conversion(scenario, sale, **changed):
    """Return a conversion of 200 EUR by Mina's coupon."""
    number = scenario.account.commissions.filter(conversion=sale).values_list(
        "id", flat=True
    )
    return {
        "id": sale.pk,
        "external_id": None,
        "amount": 200,
        "click": None,
        "commissions": [expected_commission(scenario, id=number[0])],
        "program": scenario.reference,
        "affiliate": scenario.mina.reference,
        "customer": None,
        "meta_data": {},
        "created_at": "2026-03-04T09:15:27+00:00",
        "warnings": None,
        "affiliate_meta_data": None,
        "tracking_source": "coupon",
    } | changed


# Bodies


def test_shows_a_conversion_with_all_fields(api, scenario):
    click = scenario.create_click(
        referrer="https://notes.example.org/lamps",
        landing_page="https://shop.example.net/lamp",
        meta_data={"subid1": "newsletter-12"},
    )
    body = {
        "external_id": "order-10417",
        "click_id": str(click.public_id),
        "customer_id": "acct-55120",
        "commissions": [
            {"sub_amount": 200, "comment": "two lamps"},
            {"sub_amount": "49.90", "commission_type": "accessories"},
            {"sub_amount": 0, "commission_type": "flat"},
        ],
        "meta_data": {"channel": "web"},
        "user_agent": "Harbor/1",
        "ip": "192.0.2.7",
    }

    response = api.post("/conversions/?override_max_cookie_time=1", body)

    sale = get_json(response)
    first, second, third = (commission["id"] for commission in sale["commissions"])
    assert first < second < third
    assert MOMENT.fullmatch(sale["created_at"])
    same = {"created_at": sale["created_at"]}
    expected = {
        "id": sale["id"],
        "external_id": "order-10417",
        "amount": 249.9,
        "click": {
            "created_at": "2026-03-03T19:03:44+00:00",
            "referrer": "https://notes.example.org/lamps",
            "landing_page": "https://shop.example.net/lamp",
        },
        "commissions": [
            expected_commission(scenario, id=first, comment="two lamps", **same),
            expected_commission(
                scenario,
                id=second,
                conversion_sub_amount=49.9,
                amount=3.74,
                commission_type="accessories",
                commission_name="Accessories",
                **same,
            ),
            expected_commission(
                scenario,
                id=third,
                conversion_sub_amount=0,
                amount=2.5,
                commission_type="flat",
                commission_name="Flat fee",
                **same,
            ),
        ],
        "program": scenario.reference,
        "affiliate": scenario.mina.reference,
        "customer": {
            "id": sale["customer"]["id"],
            "customer_id": "acct-55120",
            "status": "paying",
        },
        "meta_data": {"channel": "web"},
        "created_at": sale["created_at"],
        "warnings": None,
        "affiliate_meta_data": {"subid1": "newsletter-12"},
        "tracking_source": "click",
    }
    assert response.content == encode_json(expected)
    assert response["Content-Type"] == "application/json"
    assert response["Cache-Control"] == "no-store"
    assert "X-RateLimit-Limit" not in response
    assert "Link" not in response
    assert get_json(api.get(f"/conversions/{sale['id']}/")) == expected
    assert get_json(api.get("/conversions/")) == [expected]


def test_shows_a_minimal_conversion(api, scenario, tracking_parameter):
    response = api.post("/conversions/", tracking_parameter)

    sale = get_json(response)
    number = sale["commissions"][0]["id"]
    same = {"created_at": sale["created_at"]}
    bare = expected_commission(
        scenario, id=number, conversion_sub_amount=0, amount=0, **same
    )
    assert response.content == encode_json(
        {
            "id": sale["id"],
            "external_id": None,
            "amount": 0,
            "click": None,
            "commissions": [bare],
            "program": scenario.reference,
            "affiliate": scenario.mina.reference,
            "customer": None,
            "meta_data": {},
            "created_at": sale["created_at"],
            "warnings": None,
            "affiliate_meta_data": None,
            "tracking_source": "coupon",
        }
    )


def test_keeps_meta_data_as_text(api, scenario, tracking_parameter):
    sent = '{"first": true, "a": 1.50, "b": 1e2, "c": -0, "plan": " \u00e9 ", "d": ""}'
    body = json.dumps(tracking_parameter)[:-1] + f', "meta_data": {sent}}}'

    assert get_json(api.post("/conversions/", body))["meta_data"] == {
        "first": "true",
        "a": "1.50",
        "b": "100",
        "c": "0",
        "plan": " \u00e9 ",
        "d": "",
    }


def test_nested_commissions_have_exactly_the_specified_keys(
    api, scenario, tracking_parameter
):
    nested = get_json(api.post("/conversions/", tracking_parameter))["commissions"][0]

    assert list(nested) == [
        *("id", "conversion_sub_amount", "amount", "commission_type", "approved"),
        *("affiliate", "kind", "currency", "created_at", "payout", "comment", "final"),
        "commission_name",
    ]


def test_shows_one_conversion(api, scenario):
    sale = scenario.create_conversion("200", external_id="order-1")

    response = api.get(f"/conversions/{sale.pk}/")

    assert response.content == encode_json(
        expected_conversion(scenario, sale, external_id="order-1")
    )
    assert response["X-RateLimit-Limit"] == "1500"


def test_shows_a_conversion_without_its_deleted_customer(api, scenario):
    sale = scenario.create_conversion("200", customer_id="acct-1")
    public_id = sale.customer.public_id
    before = get_json(api.get(f"/conversions/{sale.pk}/"))

    api.delete(f"/customers/{public_id}/")

    assert before["customer"] == {
        "id": public_id,
        "customer_id": "acct-1",
        "status": "paying",
    }
    assert get_json(api.get(f"/conversions/{sale.pk}/")) == before | {"customer": None}


def test_shows_the_name_of_a_deleted_affiliate(api, scenario):
    sale = scenario.create_conversion("200")
    mark_deleted(scenario.mina.affiliate)

    assert get_json(api.get(f"/conversions/{sale.pk}/")) == expected_conversion(
        scenario, sale
    )


def test_hides_the_sub_ids_of_another_affiliates_click(
    api, scenario, tracking_parameter
):
    click = scenario.create_click(
        scenario.second_affiliate, meta_data={"subid1": "hers"}, at=timezone.now()
    )

    sale = get_json(
        api.post(
            "/conversions/", tracking_parameter | {"click_id": str(click.public_id)}
        )
    )

    assert sale["click"]["created_at"]
    assert sale["affiliate_meta_data"] is None


@pytest.mark.parametrize(
    ("status", "approved"),
    [("pending", None), ("approved", True), ("disapproved", False)],
)
def test_shows_pending_as_null_with_the_option(
    api, scenario, account, status, approved
):
    account.pending_as_null = True
    account.save()
    sale = scenario.create_conversion("200")
    number = scenario.get_commission(sale).pk
    if status == "approved":
        approve_commission(account, commission_id=number, at=CONVERSION_CREATED_AT)
    elif status == "disapproved":
        disapprove_commission(account, commission_id=number, at=CONVERSION_CREATED_AT)

    nested = [expected_commission(scenario, id=number, approved=approved)]
    assert get_json(api.get("/conversions/")) == [
        expected_conversion(scenario, sale, commissions=nested)
    ]
    assert get_json(api.get(f"/conversions/{sale.pk}/"))["commissions"] == nested


@pytest.mark.parametrize(
    ("settings", "body", "approved_and_warnings"),
    [
        pytest.param({}, {}, [False, None], id="pending"),
        pytest.param(
            {"auto_approve_commissions": True},
            {},
            [True, None],
            id="approved-initially",
        ),
        pytest.param(
            {"auto_approve_commissions": True},
            {"customer_id": "Mina@notes.example.org"},
            [False, ["customer_is_affiliate"]],
            id="warned",
        ),
    ],
)
def test_sets_the_initial_status_of_a_commission(
    api, scenario, tracking_parameter, settings, body, approved_and_warnings
):
    if settings:
        scenario.program.update_row(**settings)

    sale = get_json(
        api.post("/conversions/", tracking_parameter | {"amount": 200} | body)
    )

    assert [
        sale["commissions"][0]["approved"],
        sale["warnings"],
    ] == approved_and_warnings
    assert sale["commissions"][0]["final"] is None
    balance = {"EUR": 20} if approved_and_warnings[0] else {}
    assert get_json(api.get("/affiliates/minakessler/balances/")) == balance


def test_keeps_commissions_without_funds_pending(
    api, scenario, account, tracking_parameter
):
    scenario.program.update_row(auto_approve_commissions=True)
    account.uses_payouts = True
    account.save()
    line_items = [{"sub_amount": 200}, {"sub_amount": 0}]

    sale = get_json(
        api.post("/conversions/", tracking_parameter | {"commissions": line_items})
    )

    assert [
        (commission["approved"], commission["final"])
        for commission in sale["commissions"]
    ] == [
        (False, None),
        (True, True),
    ]


def test_disapproves_commissions_above_the_cap(api, scenario, tracking_parameter):
    scenario.program.update_row(recurring=False)
    body = tracking_parameter | {"customer_id": "acct-1", "amount": 200}
    first = get_json(api.post("/conversions/", body))

    second = get_json(api.post("/conversions/", body))
    numbers = [item["commissions"][0]["id"] for item in (first, second)]

    rows = get_json(api.get("/commissions/"))
    assert [(row["id"], row["status"]) for row in rows] == [
        (numbers[1], "disapproved"),
        (numbers[0], "pending"),
    ]
    assert second["customer"]["status"] == "paying"


# Messages of the API 1.6 specification


def locked(scenario):
    lock_account(scenario.account, at=CONVERSION_CREATED_AT)
    return {"coupon": scenario.mina.coupon}


def removed(scenario):
    mark_deleted(scenario.mina.affiliate)
    return {"coupon": scenario.mina.coupon}


def disapproved(scenario):
    scenario.mina.enrollment.update_row(approved=False)
    return {"coupon": scenario.mina.coupon}


def archived(scenario):
    archive_program(
        scenario.account, slug=scenario.program.slug, at=CONVERSION_CREATED_AT
    )
    return {"coupon": scenario.mina.coupon}


def expired(scenario):
    clicked_at = timezone.now() - timedelta(days=45, seconds=1)
    return {"click_id": str(scenario.create_click(at=clicked_at).public_id)}


def make_known_conversion(scenario):
    scenario.create_conversion("200", external_id="order-1")
    return {"coupon": scenario.mina.coupon, "external_id": "order-1"}


def fail_recent_attempt(scenario):
    scenario.account.conversion_attempts.create(
        origin="api", external_id="order-1", failed_at=get_database_time(), message=""
    )
    return {"coupon": scenario.mina.coupon, "external_id": "order-1"}


def blank(name):
    return f"Parameter '{name}' takes precedence for tracking, but no value was passed"


PAIR = {"asset_id": "1-abcdef", "source_id": "1-abcdef"}

MESSAGES = {
    "no-parameter": (MISSING, {"amount": 1}),
    "null-parameters": (MISSING, {"coupon": None, "customer_id": None}),
    "only-blank-customer": (MISSING, {"customer_id": " "}),
    "blank-coupon": (blank("coupon"), {"coupon": "", "referral_code": "x"}),
    "white-coupon": (blank("coupon"), {"coupon": " \t\n"}),
    "blank-referral-code": (blank("referral_code"), {"referral_code": ""}),
    "blank-click": (blank("click_id"), {"click_id": ""} | PAIR),
    "blank-click-object": (blank("click_id"), {"click": {"id": ""}}),
    "blank-asset": (blank("asset_id"), PAIR | {"asset_id": ""}),
    "blank-source": (blank("source_id"), PAIR | {"source_id": " "}),
    "blank-visitor": (blank("tracking_id"), {"tracking_id": ""}),
    "blank-visitor-alias": (blank("tracking_id"), {"visitor_id": ""}),
    "asset-only": (MISSING, {"asset_id": "1-abcdef"}),
    "source-only": (MISSING, {"source_id": ""}),
    "unknown-code": ("Unknown referral code", {"referral_code": "nobody"}),
    "unknown-coupon": ("Unknown coupon code", {"coupon": "NOBODY"}),
    "unknown-click": ("Invalid click id", {"click_id": UNKNOWN_CLICK_ID}),
    "invalid-click": ("Invalid click id", {"click_id": "x"}),
    "unknown-pair": ("Invalid asset id or source id", PAIR),
    "unknown-visitor": ("Invalid tracking id", {"tracking_id": "f" * 32}),
    "cookie": ("Cookie expired", expired),
    "duplicate": (DUPLICATE, make_known_conversion),
    "too-soon": (TOO_MANY_ATTEMPTS, fail_recent_attempt),
    "unknown-customer": (
        "Missing tracking parameter value and no customer found for customer id: a{b}",
        {"customer_id": "a{b}"},
    ),
    "not-approved": ("Affiliate is not approved for this program", disapproved),
    "deleted": ("Affiliate is deleted", removed),
    "archived": ("Program is archived", archived),
    "no-object": ("Request body was not valid JSON", b"[]"),
    "no-json": ("Request body was not valid JSON", b"amount=1"),
    "no-body": ("Request body was not valid JSON", b""),
    "locked": ("Advertiser account locked", locked),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_rejects_with_the_specified_message(api, scenario, account, name):
    message, body = MESSAGES[name]
    if callable(body):
        body = body(scenario)
    before = snapshot_account(account)

    response = api.post("/conversions/", body)

    assert response.status_code == 400
    assert response.content == encode_json({"errors": [{"message": message}]})
    assert snapshot_except(account, "ApiKey", "ConversionAttempt") == {
        name: rows
        for name, rows in before.items()
        if name not in ("ApiKey", "ConversionAttempt")
    }


def snapshot_except(account, *names):
    return {
        name: rows
        for name, rows in snapshot_account(account).items()
        if name not in names
    }


@pytest.mark.parametrize("external_id", ["{order}", "it's", "é\n", "a" * 255])
def test_error_repeats_the_external_id_as_sent(
    api, scenario, tracking_parameter, external_id
):
    scenario.create_conversion("200", external_id=external_id)

    response = api.post(
        "/conversions/", tracking_parameter | {"external_id": external_id}
    )

    assert list_error_messages(response) == [
        "Duplicate conversion. There is already a conversion for External id"
        f" '{external_id}'"
    ]


# Order of the checks


@pytest.mark.parametrize(
    ("arrange", "body", "message"),
    [
        pytest.param(
            locked,
            {"external_id": [], "coupon": ""},
            ["Advertiser account locked"],
            id="1-locked-before-2-external-id",
        ),
        pytest.param(locked, b"[]", ["Request body was not valid JSON"], id="0-json"),
        pytest.param(
            make_known_conversion,
            {"amount": "x"},
            [DUPLICATE],
            id="3-duplicate-before-5-fields",
        ),
        pytest.param(
            fail_recent_attempt,
            {"amount": "x"},
            [TOO_MANY_ATTEMPTS],
            id="4-delay-before-5-fields",
        ),
        pytest.param(
            lambda scenario: (
                fail_recent_attempt(scenario) and make_known_conversion(scenario)
            ),
            {},
            [DUPLICATE],
            id="3-duplicate-before-4-delay",
        ),
    ],
)
def test_checks_account_and_external_id_first(api, scenario, arrange, body, message):
    sent = arrange(scenario)
    response = api.post(
        "/conversions/", body if isinstance(body, bytes) else sent | body
    )

    assert list_error_messages(response) == message


def test_checks_the_external_id_before_other_fields(api, scenario):
    response = api.post("/conversions/", {"external_id": [], "amount": "x"})

    assert list_field_errors(response) == [
        ("external_id", "This value should be of type string."),
    ]


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        pytest.param({"amount": "x"}, ["amount"], id="5-before-6-no-parameter"),
        pytest.param(
            {"amount": "x", "coupon": ""}, ["amount"], id="5-before-7-blank-parameter"
        ),
        pytest.param(
            {"currency": "XXX", "customer_id": "acct-9"},
            ["currency"],
            id="5-before-8-customer",
        ),
        pytest.param(
            {"amount": -1, "coupon": "NOBODY"}, ["amount"], id="5-before-9-coupon"
        ),
    ],
)
def test_checks_fields_before_tracking_parameters(api, scenario, body, paths):
    assert [
        path for path, _ in list_field_errors(api.post("/conversions/", body))
    ] == paths


# Fields


STRING = "This value should be of type string."
LONG = "This value is too long, 255 characters at most."
NUMBER = "This value should be a number."
DIGITS = "This value has too many digits."
NEGATIVE = "This value should be 0 or more."

FIELDS = {
    "external-id-list": ({"external_id": ["a"]}, [("external_id", STRING)]),
    "external-id-flag": ({"external_id": True}, [("external_id", STRING)]),
    "external-id-long": ({"external_id": "a" * 256}, [("external_id", LONG)]),
    "customer-id-object": ({"customer_id": {}}, [("customer_id", STRING)]),
    "customer-id-long": ({"customer_id": "a" * 256}, [("customer_id", LONG)]),
    "coupon-list": ({"coupon": ["A"]}, [("coupon", STRING)]),
    "coupon-number": ({"coupon": 1.5}, [("coupon", STRING)]),
    "click-long": ({"click_id": "a" * 256}, [("click_id", LONG)]),
    "amount-text": ({"amount": "abc"}, [("amount", NUMBER)]),
    "amount-nan": ({"amount": "NaN"}, [("amount", NUMBER)]),
    "amount-exponent-text": ({"amount": "1e2"}, [("amount", NUMBER)]),
    "amount-plus": ({"amount": "+1"}, [("amount", NUMBER)]),
    "amount-space": ({"amount": " 1"}, [("amount", NUMBER)]),
    "amount-comma": ({"amount": "1,5"}, [("amount", NUMBER)]),
    "amount-point": ({"amount": "1."}, [("amount", NUMBER)]),
    "amount-arabic": ({"amount": "\u0661"}, [("amount", NUMBER)]),
    "amount-empty": ({"amount": ""}, [("amount", NUMBER)]),
    "amount-flag": ({"amount": True}, [("amount", NUMBER)]),
    "amount-list": ({"amount": [1]}, [("amount", NUMBER)]),
    "amount-object": ({"amount": {}}, [("amount", NUMBER)]),
    "amount-negative": ({"amount": -1}, [("amount", NEGATIVE)]),
    "amount-negative-text": ({"amount": "-0.005"}, [("amount", NEGATIVE)]),
    "amount-14-digits": ({"amount": 10**13}, [("amount", DIGITS)]),
    "amount-rounds-to-14": ({"amount": "9999999999999.995"}, [("amount", DIGITS)]),
    "amount-16-digits": (
        {"amount": "1234567890123.456", "currency": "KWD"},
        [("amount", DIGITS)],
    ),
    "currency-unknown": ({"currency": "XXX"}, [("currency", "Unknown currency")]),
    "currency-old": ({"currency": "DEM"}, [("currency", "Unknown currency")]),
    "currency-list": ({"currency": []}, [("currency", STRING)]),
    "type-unknown": (
        {"commission_type": "gold"},
        [("commission_type", "Unknown commission type")],
    ),
    "type-case": (
        {"commission_type": "Standard"},
        [("commission_type", "Unknown commission type")],
    ),
    "type-flag": ({"commission_type": False}, [("commission_type", STRING)]),
    "line-items-object": (
        {"commissions": {"sub_amount": 1}},
        [("commissions", "This value should be of type array.")],
    ),
    "line-items-of-numbers": (
        {"commissions": [1, {"sub_amount": 1}]},
        [("commissions[0]", "This value should be of type object.")],
    ),
    "line-items-101": (
        {"commissions": [{"sub_amount": 1}] * 101},
        [("commissions", "This list holds 100 items at most.")],
    ),
    "line-item-invalid": (
        {
            "commissions": [
                {"sub_amount": "x", "comment": "c" * 1001},
                {"sub_amount": 1, "commission_type": []},
            ]
        },
        [
            ("commissions[0].sub_amount", NUMBER),
            (
                "commissions[0].comment",
                "This value is too long, 1000 characters at most.",
            ),
            ("commissions[1].commission_type", STRING),
        ],
    ),
    "line-item-negative": (
        {"commissions": [{"sub_amount": 1}, {"sub_amount": -0.01}]},
        [("commissions[1].sub_amount", NEGATIVE)],
    ),
    "line-item-types": (
        {
            "commissions": [
                {"sub_amount": 1, "commission_type": "gold"},
                {"sub_amount": 1},
                {"sub_amount": 1, "commission_type": "silver"},
            ]
        },
        [
            ("commissions[0].commission_type", "Unknown commission type"),
            ("commissions[2].commission_type", "Unknown commission type"),
        ],
    ),
    "meta-data-list": (
        {"meta_data": ["a"]},
        [("meta_data", "This value should be of type object.")],
    ),
    "meta-data-value": (
        {"meta_data": {"plan": ["a"], "ok": "b"}},
        [("meta_data[plan]", STRING)],
    ),
    "meta-data-long": (
        {"meta_data": {"plan": "a" * 256}},
        [("meta_data[plan]", LONG)],
    ),
    "multiple": (
        {"amount": "x", "currency": "XXX", "customer_id": [], "meta_data": 1},
        [
            ("customer_id", STRING),
            ("amount", NUMBER),
            ("currency", "Unknown currency"),
            ("meta_data", "This value should be of type object."),
        ],
    ),
}


@pytest.mark.engine_independent
@pytest.mark.parametrize("name", FIELDS)
def test_reports_every_invalid_field(api, scenario, account, tracking_parameter, name):
    body, expected = FIELDS[name]
    before = snapshot_except(account, "ApiKey", "ConversionAttempt")

    response = api.post("/conversions/", tracking_parameter | body)

    assert list_field_errors(response) == expected
    assert snapshot_except(account, "ApiKey", "ConversionAttempt") == before


@pytest.mark.parametrize(
    "line_items",
    [[{}, {}], [{"sub_amount": 1}, {}], [{"sub_amount": None, "amount": 1}]],
)
def test_reports_missing_sub_amounts_once(
    api, scenario, tracking_parameter, line_items
):
    response = api.post(
        "/conversions/", tracking_parameter | {"commissions": line_items}
    )

    assert list_error_messages(response) == [MISSING]


def test_reports_invalid_and_missing_fields_together(api, scenario, tracking_parameter):
    body = tracking_parameter | {"commissions": [{}, {"sub_amount": "x"}, {}]}

    response = api.post("/conversions/", body)

    assert response.json()["errors"] == [
        {
            "message": "This value should be a number.",
            "message_raw": "This value should be a number.",
            "property_path": "commissions[1].sub_amount",
        },
        {"message": MISSING},
    ]


def test_returns_the_message_template(api, scenario, tracking_parameter):
    body = tracking_parameter | {"customer_id": "a" * 256, "amount": []}
    template = "This value is too long, {{ limit }} characters at most."

    assert api.post("/conversions/", body).json() == {
        "errors": [
            {
                "message": template.replace("{{ limit }}", "255"),
                "message_raw": template,
                "property_path": "customer_id",
            },
            {
                "message": "This value should be a number.",
                "message_raw": "This value should be a number.",
                "property_path": "amount",
            },
        ]
    }


def test_rejects_a_sum_that_is_too_large(api, scenario, tracking_parameter):
    line_items = [{"sub_amount": "9999999999999.99"}, {"sub_amount": "0.01"}]

    response = api.post(
        "/conversions/", tracking_parameter | {"commissions": line_items}
    )

    assert [message for _, message in list_field_errors(response)] == [DIGITS]


def test_rejects_amounts_beyond_the_ledgers_range(api, scenario, tracking_parameter):
    scenario.create_commission_type("huge", 9_999_999_999_999, kind=RateKind.FIXED)
    line_items = [{"sub_amount": 0, "commission_type": "huge"}] * 91

    response = api.post(
        "/conversions/", tracking_parameter | {"commissions": line_items}
    )

    assert list_field_errors(response) == [("amount", DIGITS)]
    assert get_json(api.get("/conversions/")) == []


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"external_id": None}, id="null-external-id"),
        pytest.param({"external_id": " "}, id="blank-external-id"),
        pytest.param({"customer_id": ""}, id="blank-customer-id"),
        pytest.param({"amount": None, "currency": None}, id="null-amount"),
        pytest.param({"commissions": []}, id="no-line-items"),
        pytest.param({"commissions": None}, id="null-line-items"),
        pytest.param({"commission_type": "default"}, id="default-type"),
        pytest.param({"commission_type": " standard "}, id="trimmed-type"),
        pytest.param({"meta_data": {}}, id="no-meta-data"),
        pytest.param({"program_id": "no-such-program"}, id="program-id"),
        pytest.param({"program_id": []}, id="unusual-program-id"),
        pytest.param(
            {"ip": "no address", "user_agent": "u" * 9999}, id="unusual-client"
        ),
        pytest.param({"metadata": {"a": "b"}, "status": 7}, id="unknown-fields"),
        pytest.param({"id": 7, "created_at": "x", "warnings": 1}, id="read-only"),
        pytest.param({"program_group": ""}, id="blank-group"),
        pytest.param({"click": {}, "visitor_id": None}, id="empty-aliases"),
    ],
)
def test_treats_as_not_sent(api, scenario, tracking_parameter, body):
    sale = get_json(
        api.post("/conversions/", tracking_parameter | {"amount": 0} | body)
    )

    assert sale["external_id"] is sale["customer"] is None
    assert (sale["amount"], len(sale["commissions"])) == (0, 1)
    assert sale["meta_data"] == {}
    assert sale["commissions"][0]["commission_type"] == "standard"
    assert sale["commissions"][0]["currency"] == "EUR"


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        pytest.param(" Order 1 ", " Order 1 ", id="as-sent"),
        pytest.param(10417, "10417", id="digits"),
        pytest.param(0, "0", id="zero"),
        pytest.param("a" * 255, "a" * 255, id="255"),
        pytest.param("é🪔", "é🪔", id="not-ascii"),
    ],
)
def test_stores_ids_exactly_as_sent(api, scenario, tracking_parameter, sent, kept):
    sale = get_json(
        api.post(
            "/conversions/",
            tracking_parameter | {"external_id": sent, "customer_id": sent},
        )
    )

    assert sale["external_id"] == sale["customer"]["customer_id"] == kept


@pytest.mark.parametrize("program_group", ["lamps", " lamps "])
def test_attributes_only_to_programs_of_the_group(
    api, scenario, tracking_parameter, program_group
):
    scenario.program.update_row(program_group="lamps")

    inside = api.post(
        "/conversions/", tracking_parameter | {"program_group": program_group}
    )
    outside = api.post(
        "/conversions/", tracking_parameter | {"program_group": "chairs"}
    )

    assert get_json(inside)["program"] == scenario.reference
    assert list_error_messages(outside) == ["Unknown coupon code"]


def test_ignores_the_group_for_a_known_customer(api, scenario):
    scenario.create_customer("acct-1")
    body = {"customer_id": "acct-1", "program_group": "chairs"}

    assert get_json(api.post("/conversions/", body))["tracking_source"] == "customer"


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("override_max_cookie_time=true", 200),
        ("override_max_cookie_time=1", 200),
        ("override_max_cookie_time=TRUE", 200),
        ("override_max_cookie_time=false&override_max_cookie_time=true", 200),
        ("override_max_cookie_time=false", 400),
        ("override_max_cookie_time=0", 400),
        ("override_max_cookie_time=", 400),
        ("override=true", 400),
    ],
)
def test_overrides_the_cookie_time_in_the_query(api, scenario, query, status):
    response = api.post(f"/conversions/?{query}", expired(scenario))

    assert response.status_code == status
    if status == 400:
        assert list_error_messages(response) == ["Cookie expired"]


def test_rejects_an_invalid_override(api, scenario, tracking_parameter):
    response = api.post(
        "/conversions/?override_max_cookie_time=yes", tracking_parameter
    )

    assert list_field_errors(response) == [
        ("override_max_cookie_time", "This value should be true or false.")
    ]


# Attribution


TRACKING_PARAMETERS = ["customer", "coupon", "referral_code", "click", "asset_source"]


def build_tracking_parameters(scenario, affiliate, name):
    if name == "customer":
        scenario.create_customer(f"of-{affiliate.slug}", affiliate=affiliate)
    return {
        "customer": {"customer_id": f"of-{affiliate.slug}"},
        "coupon": {"coupon": affiliate.coupon},
        "referral_code": {"referral_code": affiliate.code},
        "click": {
            "click_id": str(
                scenario.create_click(affiliate, at=timezone.now()).public_id
            )
        },
        "asset_source": {
            "asset_id": affiliate.asset_id,
            "source_id": affiliate.source_id,
        },
    }[name]


@pytest.mark.parametrize("name", TRACKING_PARAMETERS)
def test_finds_the_affiliate_by_each_tracking_parameter(api, scenario, name):
    body = build_tracking_parameters(scenario, scenario.second_affiliate, name)

    sale = get_json(api.post("/conversions/", body))

    assert sale["affiliate"] == scenario.second_affiliate.reference
    assert sale["commissions"][0]["affiliate"] == scenario.second_affiliate.reference
    assert sale["tracking_source"] == name


@pytest.mark.parametrize(
    ("higher", "lower"),
    [
        pytest.param(higher, lower, id=f"{higher}-before-{lower}")
        for number, higher in enumerate(TRACKING_PARAMETERS)
        for lower in TRACKING_PARAMETERS[number + 1 :]
    ],
)
def test_prefers_the_parameter_of_higher_priority(api, scenario, higher, lower):
    body = build_tracking_parameters(
        scenario, scenario.mina, lower
    ) | build_tracking_parameters(scenario, scenario.second_affiliate, higher)

    sale = get_json(api.post("/conversions/", body))

    assert (sale["affiliate"], sale["tracking_source"]) == (
        scenario.second_affiliate.reference,
        higher,
    )


@pytest.mark.parametrize("sent", [" {} ", "\t{}\n", "{}"])
def test_trims_lookup_values(api, scenario, sent):
    body = {"coupon": sent.format(scenario.mina.coupon)}

    assert (
        get_json(api.post("/conversions/", body))["affiliate"]
        == scenario.mina.reference
    )


def test_compares_codes_case_sensitively(api, scenario):
    for body in (
        {"coupon": scenario.mina.coupon.lower()},
        {"referral_code": scenario.mina.code.upper()},
    ):
        if body.get("referral_code") != scenario.mina.code:
            assert list_error_messages(api.post("/conversions/", body))[0].startswith(
                "Unknown"
            )


def test_accepts_alternative_names_of_the_click_id(api, scenario):
    click, other_click = (
        str(scenario.create_click(affiliate, at=timezone.now()).public_id)
        for affiliate in (scenario.mina, scenario.second_affiliate)
    )

    by_object = get_json(api.post("/conversions/", {"click": {"id": click}}))
    both = get_json(
        api.post("/conversions/", {"click": {"id": click}, "click_id": other_click})
    )

    assert by_object["affiliate"] == scenario.mina.reference
    assert both["affiliate"] == scenario.second_affiliate.reference


def test_ignores_tracking_parameters_of_another_account(api, scenario, other_account):
    other_scenario = ProgramScenario(other_account, prefix="zz-marker-")
    other_scenario.create_customer("acct-1")

    messages = [
        list_error_messages(
            api.post(
                "/conversions/",
                build_tracking_parameters(other_scenario, other_scenario.mina, name),
            )
        )
        for name in TRACKING_PARAMETERS[1:]
    ]
    customer = list_error_messages(api.post("/conversions/", {"customer_id": "acct-1"}))

    assert messages == [
        ["Unknown coupon code"],
        ["Unknown referral code"],
        ["Invalid click id"],
        ["Invalid asset id or source id"],
    ]
    assert customer == [
        "Missing tracking parameter value and no customer found for customer id: acct-1"
    ]


@pytest.mark.parametrize("status", ["new", "trial", "lead", "canceled"])
def test_sets_the_customer_to_paying(api, scenario, status):
    scenario.create_customer("acct-1").update_row(status=status)

    sale = get_json(api.post("/conversions/", {"customer_id": "acct-1", "coupon": ""}))

    assert sale["customer"]["status"] == "paying"


# Amounts


AMOUNTS = {
    "integer": ("200", None, "200", "20"),
    "zero": ("0", None, "0", "0"),
    "minus-zero": ("-0", None, "0", "0"),
    "minus-zero-point": ("-0.0", None, "0", "0"),
    "minus-almost-zero": ("-0.004", None, "0", "0"),
    "two-decimals": ("49.90", None, "49.9", "4.99"),
    "text": ('"49.90"', None, "49.9", "4.99"),
    "text-with-zeros": ('"0049.9000"', None, "49.9", "4.99"),
    "binary": ("0.30000000000000004", None, "0.3", "0.03"),
    "exponent": ("1e2", None, "100", "10"),
    "negative-exponent": ("125E-1", None, "12.5", "1.25"),
    "half-a-cent": ("0.005", None, "0.01", "0"),
    "less-than-half-a-cent": ("0.0049999", None, "0", "0"),
    "not-a-float": ("90071992547.93", None, "90071992547.93", "9007199254.79"),
    "the-most": ("9999999999999.99", None, "9999999999999.99", "1000000000000"),
    "the-most-as-text": (
        '"9999999999999.994"',
        None,
        "9999999999999.99",
        "1000000000000",
    ),
    "yen": ("99.5", "JPY", "100", "10"),
    "yen-down": ("99.4999", "JPY", "99", "10"),
    "yen-small-case": ('"1500"', "jpy", "1500", "150"),
    "dinar": ("1.2345", "KWD", "1.235", "0.124"),
    "dinar-exact": ("1.234", " kwd ", "1.234", "0.123"),
    "dinar-most": ("123456789012.345", "KWD", "123456789012.345", "12345678901.235"),
    "euro-sent": ("1.2345", "EUR", "1.23", "0.12"),
}


def extract_amounts(response):
    """Return the literal amounts of the conversion, line items and commissions."""
    assert response.status_code == 200, response.content
    return [
        re.findall(rb'"%s":([^,}]*)' % name, response.content)
        for name in (b"conversion_sub_amount", b"amount")
    ]


@pytest.mark.parametrize("name", AMOUNTS)
@pytest.mark.parametrize("as_part", [False, True], ids=["amount", "part"])
def test_reads_and_writes_amounts_exactly(
    api, scenario, tracking_parameter, name, as_part
):
    sent, currency, kept, earned = AMOUNTS[name]
    body = (
        tracking_parameter
        | ({"currency": currency} if currency else {})
        | {"amount": "HERE"}
    )
    if as_part:
        body["commissions"] = [{"sub_amount": "HERE"}]
        body["amount"] = 7
    text = json.dumps(body).replace('"HERE"', sent)

    response = api.post("/conversions/", text)

    assert extract_amounts(response) == [
        [kept.encode()],
        [kept.encode(), earned.encode()],
    ]
    number = response.json()["id"]
    assert extract_amounts(api.get(f"/conversions/{number}/")) == extract_amounts(
        response
    )


@pytest.mark.parametrize(
    ("currency", "kept"), [("JPY", b"100"), ("KWD", b"99.5"), ("EUR", b"99.5")]
)
def test_uses_the_currency_of_the_program(api, account, currency, kept):
    scenario = ProgramScenario(account, "another", email=None, currency=currency)

    response = api.post(
        "/conversions/", {"coupon": scenario.mina.coupon, "amount": "99.50"}
    )

    assert extract_amounts(response)[0] == [kept]
    assert response.json()["commissions"][0]["currency"] == currency
    assert response.json()["program"]["currency"] == currency
    assert_amounts_consistent(account)


def test_shows_the_currency_of_the_conversion_on_its_commissions(
    api, scenario, tracking_parameter
):
    sale = get_json(
        api.post(
            "/conversions/", tracking_parameter | {"amount": 10, "currency": "chf"}
        )
    )

    assert sale["commissions"][0]["currency"] == "CHF"
    assert sale["program"]["currency"] == "EUR"
    assert "currency" not in sale
    number = sale["commissions"][0]["id"]
    get_json(api.put(f"/commissions/{number}/approved/"))
    assert get_json(api.get("/affiliates/minakessler/balances/")) == {"CHF": 1}


def test_sums_the_line_items_and_ignores_the_amount(api, scenario, tracking_parameter):
    body = tracking_parameter | {
        "amount": 999,
        "commission_type": "gold",
        "commissions": [
            {"sub_amount": "0.005"},
            {"conversion_sub_amount": "0.005"},
            {"sub_amount": "0.1", "conversion_sub_amount": 7},
            {"sub_amount": 0.2, "commission_type": " flat "},
        ],
    }

    response = api.post("/conversions/", body)

    assert extract_amounts(response)[0] == [b"0.01", b"0.01", b"0.1", b"0.2"]
    assert response.json()["amount"] == 0.32
    assert [
        commission["commission_type"] for commission in response.json()["commissions"]
    ] == [
        *("standard", "standard", "standard", "flat"),
    ]


def test_accepts_a_hundred_line_items(api, scenario, tracking_parameter):
    line_items = [{"sub_amount": "0.01"}] * 100

    sale = get_json(
        api.post("/conversions/", tracking_parameter | {"commissions": line_items})
    )

    assert (sale["amount"], len(sale["commissions"])) == (1, 100)
    numbers = [commission["id"] for commission in sale["commissions"]]
    assert numbers == sorted(numbers)


# Duplicates and the delay of ten seconds after a failed attempt


FAILING = {"external_id": "order-1", "coupon": "NOBODY"}


@pytest.fixture
def failed_attempt(api, scenario):
    """A failed attempt; `failed_attempt(seconds)` sets its age."""
    assert list_error_messages(api.post("/conversions/", FAILING)) == [
        "Unknown coupon code"
    ]

    def age(seconds):
        moment = get_database_time() - timedelta(seconds=seconds)
        scenario.account.conversion_attempts.update(failed_at=moment)
        return moment

    return age


def attempts(account):
    return list(
        account.conversion_attempts.order_by("id").values_list(
            "origin", "external_id", "message"
        )
    )


def get_failed_at(account):
    return account.conversion_attempts.get().failed_at


def test_records_a_failed_attempt(api, scenario, account):
    before = get_database_time()

    api.post("/conversions/", FAILING)

    assert attempts(account) == [("api", "order-1", "Unknown coupon code")]
    assert before <= get_failed_at(account) <= get_database_time()


def test_rejects_a_retry_within_ten_seconds(
    api, account, tracking_parameter, failed_attempt
):
    moment = failed_attempt(9)

    for _ in range(2):
        response = api.post(
            "/conversions/", tracking_parameter | {"external_id": "order-1"}
        )

        assert list_error_messages(response) == [TOO_MANY_ATTEMPTS]
    assert get_failed_at(account) == moment
    assert get_json(api.get("/conversions/")) == []


def test_accepts_a_retry_after_ten_seconds_and_deletes_the_attempt(
    api, account, tracking_parameter, failed_attempt
):
    failed_attempt(10)

    sale = get_json(
        api.post("/conversions/", tracking_parameter | {"external_id": "order-1"})
    )

    assert sale["external_id"] == "order-1"
    assert attempts(account) == []


def test_restarts_the_delay_when_a_retry_fails(api, account, failed_attempt):
    moment = failed_attempt(10)

    response = api.post("/conversions/", FAILING)

    assert list_error_messages(response) == ["Unknown coupon code"]
    assert get_failed_at(account) > moment + timedelta(seconds=9)
    assert list_error_messages(api.post("/conversions/", FAILING)) == [
        TOO_MANY_ATTEMPTS
    ]


def test_reports_a_duplicate_within_ten_seconds_too(
    api, scenario, account, tracking_parameter, failed_attempt
):
    scenario.create_conversion("200", external_id="order-1")
    moment = failed_attempt(3)

    response = api.post(
        "/conversions/", tracking_parameter | {"external_id": "order-1"}
    )

    assert list_error_messages(response) == [DUPLICATE]
    assert get_failed_at(account) == moment


FAILURES = {
    "fields": ({"amount": "x"}, ""),
    "query": ({}, "?override_max_cookie_time=maybe"),
    "no-parameter": ({"coupon": None}, ""),
    "blank": ({"coupon": ""}, ""),
    "unknown-customer": ({"coupon": None, "customer_id": "acct-9"}, ""),
    "unknown-coupon": ({"coupon": "NOBODY"}, ""),
    "unknown-type": ({"commission_type": "gold"}, ""),
    "too-long-in-the-programs-currency": ({"amount": "9999999999999.995"}, ""),
}


@pytest.mark.parametrize("name", FAILURES)
def test_records_a_failure_from_field_validation_on(
    api, account, tracking_parameter, name
):
    body, query = FAILURES[name]

    response = api.post(
        f"/conversions/{query}", tracking_parameter | {"external_id": "order-1"} | body
    )

    assert response.status_code == 400
    assert [row[:2] for row in attempts(account)] == [("api", "order-1")]
    retry = api.post("/conversions/", tracking_parameter | {"external_id": "order-1"})
    assert list_error_messages(retry) == [TOO_MANY_ATTEMPTS]


@pytest.mark.parametrize("arrange", [removed, disapproved, archived, expired])
def test_records_business_errors_as_failed(api, scenario, account, arrange):
    response = api.post("/conversions/", arrange(scenario) | {"external_id": "order-1"})

    assert response.status_code == 400
    assert [row[:2] for row in attempts(account)] == [("api", "order-1")]


NO_FAILURES = {
    "no-external-id": {"coupon": "NOBODY"},
    "null-external-id": {"coupon": "NOBODY", "external_id": None},
    "blank-external-id": {"coupon": "NOBODY", "external_id": " "},
    "invalid-external-id": {"coupon": "NOBODY", "external_id": ["order-1"]},
    "long-external-id": {"coupon": "NOBODY", "external_id": "a" * 256},
    "no-json": b'{"external_id": "order-1"',
    "doubled-key": b'{"external_id": "order-1", "external_id": "order-1"}',
    "too-large": b'{"external_id": "order-1", "a": "%s"}' % (b"a" * 1024 * 1024),
}


@pytest.mark.parametrize("name", NO_FAILURES)
def test_does_not_record_as_failed(api, scenario, account, name):
    response = api.post("/conversions/", NO_FAILURES[name])

    assert response.status_code in (400, 413)
    assert attempts(account) == []


@pytest.mark.parametrize("arrange", [locked, make_known_conversion])
def test_does_not_record_locks_and_duplicates_as_failed(
    api, scenario, account, arrange
):
    body = arrange(scenario) | {"external_id": "order-1"}

    assert api.post("/conversions/", body).status_code == 400
    assert attempts(account) == []


@pytest.mark.parametrize(
    ("role", "plan", "status"), [("viewer", "pro", 403), ("owner", "basic", 403)]
)
def test_does_not_record_missing_permissions_as_failed(
    account, scenario, make_key, set_plan, role, plan, status
):
    set_plan(account, plan)

    response = ApiClient(make_key(account, role)).post("/conversions/", FAILING)

    assert response.status_code == status
    assert attempts(account) == []


def test_does_not_record_a_wrong_key_as_failed(account, scenario):
    response = ApiClient("aff_live_wrong").post("/conversions/", FAILING)

    assert response.status_code == 401
    assert attempts(account) == []


def test_does_not_delay_other_conversions(api, tracking_parameter, failed_attempt):
    failed_attempt(0)

    for external_id in ("order-2", "Order-1", "order-1 ", 1):
        get_json(
            api.post("/conversions/", tracking_parameter | {"external_id": external_id})
        )


def test_does_not_delay_other_accounts(other_api, other_account, failed_attempt):
    failed_attempt(0)
    other_scenario = ProgramScenario(other_account, prefix="zz-marker-")
    body = {"coupon": other_scenario.mina.coupon, "external_id": "order-1"}

    assert get_json(other_api.post("/conversions/", body))["external_id"] == "order-1"
    assert_amounts_consistent(other_account)


def test_records_an_integer_id_as_text(api, tracking_parameter, scenario, account):
    api.post("/conversions/", FAILING | {"external_id": 17})

    response = api.post("/conversions/", tracking_parameter | {"external_id": "17"})

    assert list_error_messages(response) == [TOO_MANY_ATTEMPTS.replace("order-1", "17")]


@pytest.mark.parametrize(
    ("crash", "status"),
    [(RuntimeError("the lamp fell"), 500), (OperationalError("fail"), 503)],
)
def test_records_a_server_error_as_failed(
    account, scenario, make_key, tracking_parameter, monkeypatch, crash, status
):
    def fail(*args, **kwargs):
        raise crash

    client = ApiClient(make_key(account), Client(raise_request_exception=False))
    body = tracking_parameter | {"external_id": "order-1"}
    with monkeypatch.context() as broken:
        broken.setattr(endpoint, "create_conversion", fail)
        response = client.post("/conversions/", body)

    assert response.status_code == status
    assert response.json()["code"] == status
    assert [row[:2] for row in attempts(account)] == [("api", "order-1")]
    assert list_error_messages(client.post("/conversions/", body)) == [
        TOO_MANY_ATTEMPTS
    ]


def test_a_lock_timeout_is_503_and_delays_no_retry(
    account, scenario, make_key, tracking_parameter, monkeypatch
):
    def wait(*args, **kwargs):
        raise OperationalError("database is locked")

    client = ApiClient(make_key(account), Client(raise_request_exception=False))
    body = tracking_parameter | {"external_id": "order-1"}
    with monkeypatch.context() as busy:
        busy.setattr(endpoint, "create_conversion", wait)
        response = client.post("/conversions/", body)

    assert response.status_code == response.json()["code"] == 503
    assert attempts(account) == []
    assert get_json(client.post("/conversions/", body))["external_id"] == "order-1"


def test_responds_even_when_a_failure_cannot_be_recorded(
    account, scenario, make_key, monkeypatch
):
    def fail(*args, **kwargs):
        raise OperationalError("fail")

    client = ApiClient(make_key(account), Client(raise_request_exception=False))
    monkeypatch.setattr(
        "affiliate_site.api.conversion_attempts.record_failed_attempt", fail
    )

    response = client.post("/conversions/", FAILING)

    assert list_error_messages(response) == ["Unknown coupon code"]


# Reading


@pytest.mark.parametrize(
    "number",
    ["abc", "0", "01", "-1", "1.0", "1" + "0" * 30, str(2**63), "٣", "+1", "1 "],
)
def test_invalid_ids_return_404(api, scenario, number):
    scenario.create_conversion("200")

    response = api.get(f"/conversions/{number}/")

    assert list_error_messages(response, 404) == ["Conversion not found"]


def test_conversions_of_other_accounts_return_404(api, scenario, other_account):
    foreign = ProgramScenario(other_account, prefix="zz-marker-").create_conversion(
        "200"
    )

    for number in (foreign.pk, foreign.pk + 1000):
        response = api.get(f"/conversions/{number}/")

        assert list_error_messages(response, 404) == ["Conversion not found"]


def test_does_not_show_deleted_conversions(api, scenario):
    sale = scenario.create_conversion("0", external_id="order-1")
    delete_conversion(scenario.account, conversion_id=sale.pk, at=CONVERSION_CREATED_AT)

    assert list_error_messages(api.get(f"/conversions/{sale.pk}/"), 404) == [
        "Conversion not found"
    ]
    assert get_json(api.get("/conversions/")) == []
    again = api.post(
        "/conversions/", {"coupon": scenario.mina.coupon, "external_id": "order-1"}
    )
    assert get_json(again)["id"] != sale.pk


@pytest.fixture
def conversions(scenario, account, other_account):
    """Conversions by name: two programs, two affiliates, three days."""
    elsewhere = ProgramScenario(account, "second-program", email=None)
    midnight = CONVERSION_CREATED_AT.replace(hour=0, minute=0, second=0)
    created = {
        "early": scenario.create_conversion(
            "1",
            at=midnight - timedelta(microseconds=1),
            external_id="order-1",
            customer_id="acct-1",
        ),
        "midnight": scenario.create_conversion(
            "2", at=midnight, affiliate=scenario.second_affiliate
        ),
        "late": scenario.create_conversion(
            "3", "4", at=midnight + timedelta(days=1, microseconds=-1)
        ),
        "next": elsewhere.create_conversion("5", at=midnight + timedelta(days=1)),
    }
    approve_commission(
        account,
        commission_id=scenario.get_commission(created["early"]).pk,
        at=CONVERSION_CREATED_AT,
    )
    disapprove_commission(
        account,
        commission_id=scenario.get_commission(created["midnight"]).pk,
        at=CONVERSION_CREATED_AT,
    )
    first = account.commissions.filter(conversion=created["late"]).first()
    approve_commission(account, commission_id=first.pk, at=CONVERSION_CREATED_AT)
    other_scenario = ProgramScenario(other_account, prefix="zz-marker-")
    other_scenario.create_conversion("6", external_id="order-1", customer_id="acct-1")
    return {sale.pk: name for name, sale in created.items()}


EVERY = ["next", "late", "midnight", "early"]


FILTERS = [
    ("", EVERY),
    ("program_id=harbor-lamp-partners", EVERY[1:]),
    ("program_id=second-program", ["next"]),
    ("program_id=", EVERY),
    ("program_id=unknown", []),
    ("program_id=Second-Program", []),
    ("program_id=zz-marker-harbor-lamp-partners", []),
    ("external_id=order-1", ["early"]),
    ("external_id=Order-1", []),
    ("external_id=", EVERY),
    ("external_id=order-2", []),
    ("affiliate_id=odettevarga", ["midnight"]),
    ("affiliate_id=minakessler", ["late", "early"]),
    ("affiliate_id=zzmarkerminakessler", []),
    ("customer_id=acct-1", ["early"]),
    ("customer_id=ACCT-1", []),
    ("customer_id=", EVERY),
    ("pending=true", ["next", "late"]),
    ("pending=1", ["next", "late"]),
    ("pending=True", ["next", "late"]),
    ("pending=false", EVERY),
    ("pending=0", EVERY),
    ("pending=", EVERY),
    ("pending=true&program_id=harbor-lamp-partners", ["late"]),
    ("pending=true&external_id=order-1", []),
    ("date_from=2026-03-04", EVERY[:3]),
    ("date_to=2026-03-04", EVERY[1:]),
    ("date_from=2026-03-04&date_to=2026-03-04", ["late", "midnight"]),
    ("date_from=2026-03-05&date_to=2026-03-04", []),
    ("date_from=1970-01-01&date_to=2999-12-31", EVERY),
    ("use_profile_timezone=true", EVERY),
    ("use_profile_timezone=nonsense&date_to=2026-03-03", ["early"]),
    ("limit=1&per_page=1&per-page=1", EVERY),
    ("affiliate_id=odettevarga&affiliate_id=minakessler", ["late", "early"]),
    ("order=asc&unknown=%F0%9F", EVERY),
]


def test_filters_the_list(api, conversions, subtests):
    for query, names in FILTERS:
        with subtests.test(query=query):
            rows = get_json(api.get(f"/conversions/?{query}"))

            assert [conversions[row["id"]] for row in rows] == names


def test_does_not_find_conversions_by_a_deleted_customer(api, scenario):
    sale = scenario.create_conversion("200", customer_id="acct-1")
    api.delete(f"/customers/{sale.customer.public_id}/")
    found = [
        get_json(api.get(f"/conversions/?customer_id={item}"))
        for item in ("acct-1", "cu_")
    ]

    assert found == [[], []]
    assert len(get_json(api.get("/conversions/"))) == 1


@pytest.mark.engine_independent
@pytest.mark.parametrize(
    ("query", "path", "message"),
    [
        *(
            pytest.param(f"{name}={day}", name, "Invalid date", id=f"{name}-{day}")
            for name in ("date_from", "date_to")
            for day in (
                *("", "2026-02-29", "2026-3-04", "20260304", "04.03.2026", "today"),
                *("2026-03-04T00:00:00", " 2026-03-04", "1969-12-31", "3000-01-01"),
                *("0000-01-01", "٢٠٢٦-03-04", "2026-13-01"),
            )
        ),
        ("pending=maybe", "pending", "This value should be true or false."),
        ("pending=yes", "pending", "This value should be true or false."),
        ("page=0", "page", "Invalid page"),
        ("page=-1", "page", "Invalid page"),
        ("page=1.0", "page", "Invalid page"),
        ("page=1000000000", "page", "Invalid page"),
        ("external_id=%00", "external_id", "This value is not valid text."),
    ],
)
def test_rejects_invalid_filters(api, scenario, query, path, message):
    response = api.get(f"/conversions/?{query}")

    assert response.status_code == 400
    assert response.json() == {
        "errors": [{"message": message, "message_raw": message, "property_path": path}]
    }


def test_reports_every_invalid_filter(api, scenario):
    response = api.get("/conversions/?page=x&date_to=x&date_from=x&pending=x")

    assert list_field_errors(response) == [
        ("pending", "This value should be true or false."),
        ("date_from", "Invalid date"),
        ("date_to", "Invalid date"),
        ("page", "Invalid page"),
    ]


def test_pages_have_25_rows_newest_first(api, scenario):
    sales = [
        scenario.create_conversion(
            "0", at=CONVERSION_CREATED_AT + timedelta(minutes=number // 2)
        )
        for number in range(53)
    ]
    newest = [sale.pk for sale in reversed(sales)]
    path = "/conversions/?program_id=harbor-lamp-partners&page="

    pages = [api.get(f"{path}{number}") for number in (1, 2, 3, 4)]

    numbers = [[row["id"] for row in get_json(page)] for page in pages]
    assert numbers == [newest[:25], newest[25:50], newest[50:], []]
    link = f'<http://testserver/1.6{path}%d>; rel="%s"'
    assert [page["Link"] for page in pages] == [
        ", ".join(link % entry for entry in entries)
        for entries in (
            [(2, "next"), (3, "last"), (1, "first")],
            [(3, "next"), (3, "last"), (1, "first"), (1, "prev")],
            [(3, "last"), (1, "first"), (2, "prev")],
            [(3, "last"), (1, "first"), (3, "prev")],
        )
    ]
    assert pages[0]["X-RateLimit-Limit"] == "900"


@pytest.mark.parametrize("sales", [1, 25])
def test_page_takes_a_constant_number_of_queries(api, scenario, capture_queries, sales):
    for _ in range(sales):
        scenario.create_conversion("1", "2")

    with capture_queries() as captured:
        get_json(api.get("/conversions/"))

    assert len(captured) <= 6


@pytest.mark.parametrize(
    ("role", "status"), [("viewer", 403), ("manager", 200), ("owner", 200)]
)
def test_requires_the_manager_role_to_create(
    account, scenario, make_key, tracking_parameter, role, status
):
    api = ApiClient(make_key(account, role))

    assert api.post("/conversions/", tracking_parameter).status_code == status
    assert api.get("/conversions/").status_code == 200


def test_stores_the_exact_amount(api, scenario, account, tracking_parameter):
    api.post(
        "/conversions/",
        json.dumps(tracking_parameter)[:-1] + ', "amount": 90071992547.93}',
    )

    assert account.conversions.get().amount == Decimal("90071992547.93")
