"""Creating, listing and canceling payments: docs/api-contract.md, 2.9 and 2.10."""

import re
from datetime import UTC, datetime

import pytest
import time_machine

from tests.affiliate_site.responses import (
    build_field_error,
    get_json,
    has_only_errors,
    list_field_errors,
    snapshot_account_data,
)
from tests.ledger_checks import assert_amounts_consistent, assert_unchanged
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario, mark_deleted

pytestmark = pytest.mark.usefixtures("shared_scenario")

UNKNOWN = {"errors": [{"message": "Payment not found"}]}
ORDER = {"affiliate_id": "minakessler", "amount": 23.74, "currency": "EUR"}
APRIL = datetime(2026, 4, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def scenario(scenario):
    scenario.second_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    yield scenario
    assert_amounts_consistent(scenario.account)


def expected_payment(payment, **changed):
    """Return the representation of a payment of 23.74 EUR to Mina."""
    return {
        "id": payment["id"],
        "created_at": "2026-04-01T12:00:00+00:00",
        "affiliate": {"id": "minakessler", "firstname": "Mina", "lastname": "Kessler"},
        "amount": 23.74,
        "currency": "EUR",
    } | changed


def make_payments(api, *orders, at=APRIL):
    """Create payments in one batch."""
    with time_machine.travel(at, tick=False):
        return get_json(api.post("/payments/", list(orders)))


def list_ids(response):
    return [row["id"] for row in get_json(response)]


def balances(api):
    return {row["affiliate_id"]: row["balances"] for row in get_json(api.get("/balances/"))}


# POST /payments/


@pytest.mark.parametrize("of", [dict, lambda order: [order]], ids=["object", "array"])
def test_returns_an_array_for_one_object_too(api, scenario, of):
    with time_machine.travel(APRIL, tick=False):
        response = api.post("/payments/", of(ORDER))

    (payment,) = get_json(response)
    assert payment == expected_payment(payment)
    assert list(payment) == ["id", "created_at", "affiliate", "amount", "currency"]
    assert re.fullmatch(r"pa_[A-Za-z0-9]{16}", payment["id"])
    assert b'"amount":23.74,' in response.content
    assert "Link" not in response
    assert get_json(api.get(f"/payments/{payment['id']}/")) == payment
    assert balances(api) == {"minakessler": {"EUR": -23.74}}


def test_keeps_the_order_of_the_request(api, scenario):
    orders = [
        {"affiliate_id": "odettevarga", "amount": 5, "currency": "JPY"},
        {"affiliate_id": " minakessler\t", "amount": "0.30", "currency": " kwd"},
        {"affiliate_id": "odettevarga", "amount": 0.005, "currency": "eur"},
        {"affiliate_id": "minakessler", "amount": 9999999999999.99, "currency": "EUR"},
    ]

    first, second, third, fourth = payments = make_payments(api, *orders)

    odette = scenario.second_affiliate.reference
    assert payments == [
        expected_payment(first, affiliate=odette, amount=5, currency="JPY"),
        expected_payment(second, amount=0.3, currency="KWD"),
        expected_payment(third, affiliate=odette, amount=0.01),
        expected_payment(fourth, amount=9999999999999.99),
    ]
    assert balances(api) == {
        "minakessler": {"EUR": -9999999999999.99, "KWD": -0.3},
        "odettevarga": {"EUR": -0.01, "JPY": -5},
    }


def test_accepts_500_payments_but_not_501(api, scenario):
    least = ORDER | {"amount": 0.01}

    too_many = api.post("/payments/", [least] * 501)
    payments = make_payments(api, *[least] * 500)

    assert list_field_errors(too_many) == [("", "This list holds 500 items at most.")]
    assert len({payment["id"] for payment in payments}) == 500
    assert balances(api) == {"minakessler": {"EUR": -5}}


def test_pays_a_deleted_affiliate_in_a_locked_account(api, account, scenario):
    sale = scenario.get_commission(scenario.create_conversion("200"))
    scenario.approve(sale)
    mark_deleted(scenario.mina.affiliate)
    scenario.archive()
    account.locked_at = CONVERSION_CREATED_AT
    account.save()

    (payment,) = make_payments(api, ORDER | {"amount": 20})

    assert payment == expected_payment(payment, amount=20)
    assert get_json(api.get("/payments/?affiliate_id=minakessler")) == [payment]
    assert balances(api) == {}
    assert sale.reload().payment.public_id == payment["id"]
    assert api.delete(f"/payments/{payment['id']}/").status_code == 204
    assert balances(api) == {"minakessler": {"EUR": 20}}


def test_repeated_request_pays_again(api, scenario):
    twice = [make_payments(api, ORDER), make_payments(api, ORDER)]

    assert twice[0][0]["id"] != twice[1][0]["id"]
    assert balances(api) == {"minakessler": {"EUR": -47.48}}


# Invalid requests


MISSING = "Missing mandatory parameter(s)"
NUMBER = "This value should be a number."
ABOVE = "This value should be greater than 0."
DIGITS = "This value has too many digits."
CURRENCY = "Unknown currency"
AFFILIATE = "Unknown affiliate"
TYPE = "This value should be of type {{ type }}."
ORDER_NAMES = ("affiliate_id", "amount", "currency")
INVALID_ORDERS = {
    "nulls": (dict.fromkeys(ORDER_NAMES), [(name, MISSING) for name in ORDER_NAMES]),
    "blank": (
        {"affiliate_id": " ", "currency": ""},
        [("affiliate_id", MISSING), ("currency", MISSING)],
    ),
    "zero": ({"amount": 0}, [("amount", ABOVE)]),
    "negative": ({"amount": "-5"}, [("amount", ABOVE)]),
    "rounds to zero from below": ({"amount": -0.004}, [("amount", ABOVE)]),
    "a third of a yen": ({"amount": "0.4", "currency": "JPY"}, [("amount", ABOVE)]),
    "less than a fils": ({"amount": "0.0004", "currency": "KWD"}, [("amount", ABOVE)]),
    "too long when rounded": ({"amount": "9999999999999.995"}, [("amount", DIGITS)]),
    "sixteen digits": (
        {"amount": "1234567890123.456", "currency": "KWD"},
        [("amount", DIGITS)],
    ),
    "obsolete currency": ({"currency": "DEM"}, [("currency", CURRENCY)]),
    "types": (
        {"affiliate_id": {}, "amount": "x", "currency": False},
        [
            ("affiliate_id", TYPE, "string"),
            ("amount", NUMBER),
            ("currency", TYPE, "string"),
        ],
    ),
    "wrong case": ({"affiliate_id": "MinaKessler"}, [("affiliate_id", AFFILIATE)]),
    "foreign affiliate": (
        {"affiliate_id": "zz-markerminakessler"},
        [("affiliate_id", AFFILIATE)],
    ),
    "rounds to zero, without affiliate": (
        {"affiliate_id": None, "amount": 0.4, "currency": "JPY"},
        [("affiliate_id", MISSING), ("amount", ABOVE)],
    ),
    "all errors": (
        {"affiliate_id": "nobody", "amount": 0, "currency": "zzz"},
        [("affiliate_id", AFFILIATE), ("amount", ABOVE), ("currency", CURRENCY)],
    ),
}


@pytest.mark.engine_independent
@pytest.mark.parametrize("in_array", [False, True], ids=["object", "array"])
@pytest.mark.parametrize(("invalid", "found"), INVALID_ORDERS.values(), ids=INVALID_ORDERS)
def test_rejects_invalid_payments(api, account, scenario, other_account, invalid, found, in_array):
    ProgramScenario(other_account, prefix="zz-marker")
    before = snapshot_account_data(account)
    order = ORDER | invalid

    response = api.post("/payments/", [ORDER, order, ORDER] if in_array else order)

    prefix = "[1]." if in_array else ""
    expected = [build_field_error(prefix + path, *words) for path, *words in found]
    assert has_only_errors(response, *expected)
    assert snapshot_account_data(account) == before


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        ([], [("", MISSING)]),
        (
            [ORDER, None, 5, "x", [ORDER]],
            [(f"[{number}]", TYPE, "object") for number in (1, 2, 3, 4)],
        ),
        (
            [{}, ORDER | {"affiliate_id": "nobody"}],
            [(f"[0].{name}", MISSING) for name in ORDER] + [("[1].affiliate_id", AFFILIATE)],
        ),
        (
            [ORDER | {"affiliate_id": slug} for slug in ("x", "minakessler", "y")],
            [("[0].affiliate_id", AFFILIATE), ("[2].affiliate_id", AFFILIATE)],
        ),
        ({}, [(name, MISSING) for name in ORDER]),
    ],
    ids=["empty", "no-objects", "empty-and-unknown", "unknown", "an-empty-object"],
)
def test_rejects_invalid_arrays(api, account, scenario, sent, found):
    with assert_unchanged(account, snapshot_account_data):
        response = api.post("/payments/", sent)

    assert has_only_errors(response, *(build_field_error(*error) for error in found))


def test_reports_the_payment_that_exceeds_the_ledgers_range(api, account, scenario):
    most = ORDER | {"amount": 9999999999999}

    with assert_unchanged(account, snapshot_account_data):
        response = api.post("/payments/", [most] * 91)

    assert list_field_errors(response) == [("[90].amount", DIGITS)]


# DELETE /payments/{id}/


def test_cancels_once_and_ignores_the_body(api, account, scenario):
    (payment,) = make_payments(api, ORDER)
    path = f"/payments/{payment['id']}/"

    response = api.delete(path, b"nonsense")

    assert (response.status_code, response.content) == (204, b"")
    with assert_unchanged(account, snapshot_account_data):
        for method in ("DELETE", "GET"):
            again = api.request(method, path)
            assert (again.status_code, again.json()) == (404, UNKNOWN)
    assert get_json(api.get("/payments/")) == []
    assert get_json(api.get("/affiliates/minakessler/payments/")) == []
    assert balances(api) == {}


# GET


def test_lists_newest_first_in_pages(api, scenario):
    early = make_payments(api, *[ORDER] * 26)
    (late,) = make_payments(api, ORDER, at=APRIL.replace(second=1))
    newest_first = [late["id"], *(payment["id"] for payment in reversed(early))]

    for path in ("/payments/", "/affiliates/minakessler/payments/"):
        pages = [list_ids(api.get(f"{path}?page={number}")) for number in (1, 2, 3)]

        assert pages == [newest_first[:25], newest_first[25:], []]


def test_lists_the_payments_of_one_affiliate(api, scenario, other_account, other_api):
    other_scenario = ProgramScenario(other_account, prefix="zz-marker-")
    make_payments(other_api, ORDER | {"affiliate_id": other_scenario.mina.slug})
    mine, odettes, canceled = make_payments(
        api, ORDER, ORDER | {"affiliate_id": "odettevarga"}, ORDER
    )
    api.delete(f"/payments/{canceled['id']}/")

    response = api.get("/affiliates/minakessler/payments/?affiliate_id=odettevarga")

    assert get_json(response) == [expected_payment(mine)]
    assert list_ids(api.get("/payments/?affiliate_id=odettevarga")) == [odettes["id"]]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["next", "last", "first", "other"]),
        ("affiliate_id=", ["next", "last", "first", "other"]),
        ("affiliate_id=minakessler", ["next", "last", "first"]),
        ("affiliate_id=nobody", []),
        ("affiliate_id=Minakessler", []),
        ("date_from=2026-04-02", ["next"]),
        ("date_to=2026-04-01", ["last", "first", "other"]),
        ("date_from=2026-04-01&date_to=2026-04-01", ["last", "first"]),
        ("date_from=2026-04-02&date_to=2026-04-01", []),
        ("date_to=2999-12-31&affiliate_id=odettevarga", ["other"]),
        ("currency=JPY&per_page=1", ["next", "last", "first", "other"]),
    ],
)
def test_filters_the_list(api, scenario, query, names):
    other_order = ORDER | {"affiliate_id": "odettevarga"}
    created = {
        make_payments(api, order, at=at)[0]["id"]: name
        for name, order, at in [
            ("other", other_order, datetime(2026, 3, 31, 23, 59, 59, tzinfo=UTC)),
            ("first", ORDER, datetime(2026, 4, 1, tzinfo=UTC)),
            ("last", ORDER, datetime(2026, 4, 1, 23, 59, 59, 999999, tzinfo=UTC)),
            ("next", ORDER, datetime(2026, 4, 2, tzinfo=UTC)),
        ]
    }

    rows = list_ids(api.get(f"/payments/?{query}"))

    assert [created[number] for number in rows] == names


def test_rejects_invalid_filters(api, scenario):
    response = api.get("/payments/?page=0&date_to=&date_from=x&affiliate_id=%00")

    assert list_field_errors(response) == [
        ("affiliate_id", "This value is not valid text."),
        ("date_from", "Invalid date"),
        ("date_to", "Invalid date"),
        ("page", "Invalid page"),
    ]
