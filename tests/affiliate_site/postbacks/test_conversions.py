"""Conversions by postback: `con/c/` and `con/u/` (docs/api-contract.md, section 4)."""

from datetime import timedelta
from decimal import Decimal
from urllib.parse import urlencode

import pytest
from django.utils import timezone

from accounts.db_compat import get_database_time
from accounts.services.accounts import lock_account
from payouts.services.ledger import get_payable_balances_by_slug
from tests.affiliate_site.api.resources.expected import (
    expected_conversion,
    expected_nested_commission,
)
from tests.affiliate_site.responses import (
    build_field_error,
    get_error_message,
    get_json,
    list_field_errors,
    snapshot_account_data,
)
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario, mark_deleted

pytestmark = pytest.mark.usefixtures("shared_scenario")

MISSING = "Missing mandatory parameter(s)"


def get_conflict_code(response):
    """Return the code of a conflict."""
    assert response.status_code == 409, response.content
    [error] = response.json()["errors"]
    assert set(error) == {"message", "code"}
    return error["code"]


def list_commission_values(account):
    """Return sub-amount, amount and status of all commissions."""
    rows = account.commissions.not_deleted().order_by("id")
    return list(rows.values_list("sub_amount", "amount", "status"))


# con/c: the response.


def test_creates_conversion_with_all_fields(send_postback, api, scenario):
    click = scenario.create_click(
        at=timezone.now(),
        referrer="https://notes.example.org/lamps",
        meta_data={"subid1": "newsletter-12"},
    )
    payload = {
        "external_id": "order-1",
        "click_id": str(click.public_id),
        "customer_id": "acct-1",
        "commissions": [
            {"sub_amount": "200.005", "comment": "two lamps"},
            {"sub_amount": "49.90", "commission_type": "accessories"},
        ],
        "meta_data": {"plan": "pro"},
        "amount": "1",
        "user_agent": "Harbor/1",
        "ip": "unknown, 192.0.2.7",
        "override_max_cookie_time": True,
    }

    conversion = get_json(send_postback("con/c/", payload))

    first, second = (commission["id"] for commission in conversion["commissions"])
    stored = scenario.account.conversions.get()
    same = {"created_at": conversion["created_at"]}
    assert conversion == expected_conversion(
        scenario,
        stored,
        external_id="order-1",
        amount=249.91,
        click={
            "created_at": conversion["click"]["created_at"],
            "referrer": "https://notes.example.org/lamps",
            "landing_page": None,
        },
        commissions=[
            expected_nested_commission(
                first, conversion_sub_amount=200.01, comment="two lamps", **same
            ),
            expected_nested_commission(
                second,
                conversion_sub_amount=49.9,
                amount=3.74,
                commission_type="accessories",
                commission_name="Accessories",
                **same,
            ),
        ],
        customer={
            "id": conversion["customer"]["id"],
            "customer_id": "acct-1",
            "status": "paying",
        },
        meta_data={"plan": "pro"},
        affiliate_meta_data={"subid1": "newsletter-12"},
        tracking_source="click",
        **same,
    )
    assert get_json(api.get(f"/conversions/{conversion['id']}/")) == conversion
    assert (stored.ip, stored.user_agent) == ("192.0.2.7", "Harbor/1")


def test_keeps_external_id_unchanged(send_postback, scenario):
    payload = {"external_id": " 1.50 ", "coupon": f" {scenario.mina.coupon}\t"}

    assert get_json(send_postback("con/c/", payload))["external_id"] == " 1.50 "


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        pytest.param({"commission_type": "accessories"}, "accessories", id="type"),
        pytest.param({"commission_types": "accessories"}, "accessories", id="alias"),
        pytest.param({"commission_types": " accessories , standard"}, "accessories", id="first"),
        pytest.param(
            {"commission_type": "accessories", "commission_types": "standard"},
            "accessories",
            id="type and alias",
        ),
        pytest.param({"commission_types": "default,x"}, "standard", id="default"),
    ],
)
def test_uses_first_of_several_commission_types(send_postback, scenario, types, expected):
    payload = {"external_id": "order-1", "coupon": scenario.mina.coupon, "amount": 100}

    [commission] = get_json(send_postback("con/c/", payload | types))["commissions"]

    assert commission["commission_type"] == expected


def test_accepts_short_parameter_names_by_get_only(api, scenario):
    payload = {"external_id": "order-1", "ref": scenario.odette.code}

    by_post = api.post("/pb/con/c/", payload)
    scenario.account.conversion_attempts.all().delete()
    by_get = api.get(f"/pb/con/c/?{urlencode(payload)}")

    assert get_error_message(by_post) == MISSING
    assert get_json(by_get)["affiliate"] == scenario.odette.reference


def test_post_ignores_query(api, scenario):
    click = scenario.create_click(at=CONVERSION_CREATED_AT - timedelta(days=300))
    body = {"external_id": "order-1", "click_id": str(click.public_id)}

    response = api.post("/pb/con/c/?override_max_cookie_time=true&coupon=%00", body)

    assert get_error_message(response) == "Cookie expired"


@pytest.mark.parametrize("body", ["no JSON", "[]", b"\xff", " " * (1024 * 1024 + 1)], ids=range(4))
def test_get_ignores_body(api, scenario, body):
    payload = {"external_id": "order-1", "coupon": scenario.mina.coupon}

    response = api.request("GET", f"/pb/con/c/?{urlencode(payload)}", body)

    assert get_json(response)["external_id"] == "order-1"


# con/c: attribution. Each tracking parameter belongs to another affiliate.

CUSTOMER, COUPON, CODE = "customer", "coupon", "code"
CLICK, PAIR, VISITOR = "click", "pair", "visitor"
AFFILIATES = {
    COUPON: "mina",
    CODE: "odette",
    CLICK: "pavel",
    PAIR: "jana",
    CUSTOMER: "jana",
}
NO_CODE = "Parameter 'referral_code' takes precedence for tracking, but no value was"
NO_CLICK = "Parameter 'click_id' takes precedence for tracking, but no value was passed"
NO_CODE += " passed"

ORDER = [
    # parameters sent, winner by REST, winner by postback
    ([CODE, CLICK], CODE, CLICK),
    ([CODE, CLICK, PAIR], CODE, CLICK),
    ([CODE, CLICK, PAIR, VISITOR], CODE, CLICK),
    ([COUPON, CODE, CLICK, PAIR], COUPON, COUPON),
    ([COUPON, CLICK], COUPON, COUPON),
    ([COUPON, CODE], COUPON, COUPON),
    ([CODE, PAIR], CODE, CODE),
    ([CLICK, PAIR], CLICK, CLICK),
    ([PAIR, VISITOR], PAIR, PAIR),
    ([CODE, "blank click"], CODE, NO_CLICK),
    (["blank code", CLICK], NO_CODE, CLICK),
    (["blank code", "blank click"], NO_CODE, NO_CLICK),
    ([COUPON, "blank code", "blank click"], COUPON, COUPON),
]


@pytest.mark.parametrize(
    ("sent", "rest", "postback"), ORDER, ids=["+".join(case[0]) for case in ORDER]
)
@pytest.mark.parametrize(
    ("address", "payload"),
    [
        ("/conversions/", {"external_id": "order-1"}),
        ("/customers/", {"customer_id": "acct-1"}),
    ],
    ids=["sale", "customer"],
)
def test_uses_its_own_attribution_order(
    api,
    send_postback,
    scenario,
    tracking_parameters,
    address,
    payload,
    sent,
    rest,
    postback,
):
    for name in sent:
        payload = payload | tracking_parameters[name]
    path = "con/c/" if "external_id" in payload else "cus/c/"

    by_postback = send_postback(path, payload)
    delete_created(scenario.account, by_postback, api, address)
    by_rest = api.post(address, payload)

    for response, expected in ((by_postback, postback), (by_rest, rest)):
        if expected in AFFILIATES:
            assert (
                get_json(response)["affiliate"] == getattr(scenario, AFFILIATES[expected]).reference
            )
        else:
            assert get_error_message(response) == expected


def delete_created(account, response, api, address):
    """Delete the created object, so that it can be created again."""
    if response.status_code == 200:
        assert api.delete(f"{address}{response.json()['id']}/").status_code == 204


def test_shows_click_attributed_by_coupon(send_postback, scenario, tracking_parameters):
    payload = (
        {"external_id": "order-1"} | tracking_parameters["coupon"] | tracking_parameters["click"]
    )

    conversion = get_json(send_postback("con/c/", payload))

    assert conversion["tracking_source"] == "coupon"
    assert conversion["click"] is not None
    assert conversion["affiliate_meta_data"] is None  # the click belongs to another affiliate


# con/c: the messages of the API 1.6 specification.


def use_coupon(scenario):
    return {"coupon": scenario.mina.coupon}


def use_old_click(scenario):
    click = scenario.create_click(at=CONVERSION_CREATED_AT - timedelta(days=300))
    return {"click_id": str(click.public_id)}


TOO_EARLY = "To many concurrent attempts to create conversion with id 'order-1'"
LOCKED = "Advertiser account locked"
WRONG_TYPE = "This value should be of type {{ type }}."
STATUS = "Invalid status '{{ value }}'. Valid are 'approved', 'disapproved', 'pending'"
NOT_BOOLEAN = "This value should be true or false."
NOT_A_NUMBER = "This value should be a number."


def build_status_error(value):
    error = build_field_error("status", STATUS, value)
    raw = "Invalid status '{{ value }}'. Valid are {{ values }}"
    return error | {"message_raw": raw}


FIELDS = {
    "amount": ({"amount": "1e2"}, build_field_error("amount", NOT_A_NUMBER)),
    "map": ({"meta_data": "pro"}, build_field_error("meta_data", WRONG_TYPE, "object")),
    "deep map": (
        {"meta_data": {"plan": {"a": "b"}}},
        build_field_error("meta_data[plan]", WRONG_TYPE, "string"),
    ),
    "list": (
        {"commissions": "5"},
        build_field_error("commissions", WRONG_TYPE, "array"),
    ),
    "list with names": (
        {"commissions": {"a": {"sub_amount": "5"}}},
        build_field_error("commissions", WRONG_TYPE, "array"),
    ),
    "coupon": (
        {"coupon": {"a": "b"}},
        build_field_error("coupon", WRONG_TYPE, "string"),
    ),
    "status": ({"status": "paid"}, build_status_error("paid")),
    "status in capitals": ({"status": "Approved"}, build_status_error("Approved")),
    "cookie override": (
        {"override_max_cookie_time": "yes"},
        build_field_error("override_max_cookie_time", NOT_BOOLEAN),
    ),
    "type": (
        {"commission_type": "lamps"},
        build_field_error("commission_type", "Unknown commission type"),
    ),
}


@pytest.mark.parametrize("name", FIELDS)
def test_rejects_invalid_fields(send_postback, scenario, account, name):
    fields, expected = FIELDS[name]

    response = send_postback("con/c/", {"external_id": "order-1"} | use_coupon(scenario) | fields)

    assert response.json() == {"errors": [expected]}
    assert not account.conversions.exists()
    assert account.conversion_attempts.get().origin == "postback"


def test_lists_all_invalid_fields_in_order(send_postback, scenario):
    invalid = {"status": "x", "meta_data": "x", "currency": "zzz", "amount": "x"}

    response = send_postback("con/c/", {"external_id": "order-1"} | invalid)

    paths = [error["property_path"] for error in response.json()["errors"]]
    assert paths == ["amount", "currency", "meta_data", "status"]


@pytest.mark.parametrize("external_id", ["x" * 256, {"a": "b"}], ids=["long", "map"])
def test_invalid_external_id_is_not_stored_as_attempt(send_postback, scenario, external_id):
    response = send_postback(
        "con/c/", {"external_id": external_id, "amount": "x"} | use_coupon(scenario)
    )

    assert [path for path, _ in list_field_errors(response)] == ["external_id"]
    assert not scenario.account.conversion_attempts.exists()


@pytest.mark.parametrize("value", ["true", 1, "1"])
def test_rejects_text_for_boolean_by_post(api, scenario, value):
    payload = {
        "external_id": "order-1",
        "override_max_cookie_time": value,
    } | use_coupon(scenario)

    errors = list_field_errors(api.post("/pb/con/c/", payload))

    assert errors == [("override_max_cookie_time", NOT_BOOLEAN)]


def test_accepts_expired_click_with_override(send_postback, scenario):
    payload = {"external_id": "order-1", "override_max_cookie_time": True}

    assert (
        get_json(send_postback("con/c/", payload | use_old_click(scenario)))["tracking_source"]
        == "click"
    )


# con/c: failed attempts.


def make_failed_attempt(origin, seconds, account):
    """Store a failed attempt of this origin, `seconds` ago."""
    account.conversion_attempts.create(
        origin=origin,
        external_id="order-1",
        failed_at=get_database_time() - timedelta(seconds=seconds),
        reason="unknown_coupon",
    )


def list_failed_attempts(account):
    rows = account.conversion_attempts.order_by("origin")
    return list(rows.values_list("origin", "external_id", "reason"))


def test_failed_attempt_delays_postback_retries_only(send_postback, api, scenario, account):
    invalid = {"external_id": "order-1", "coupon": "NOBODY"}

    assert get_error_message(send_postback("con/c/", invalid)) == "Unknown coupon code"
    assert get_error_message(send_postback("con/c/", invalid | use_coupon(scenario))) == TOO_EARLY
    assert list_failed_attempts(account) == [("postback", "order-1", "unknown_coupon")]
    assert get_json(api.post("/conversions/", invalid | use_coupon(scenario)))["id"]


def test_failed_attempt_expires_after_ten_seconds(send_postback, scenario, account):
    make_failed_attempt("postback", 10, account)

    get_json(send_postback("con/c/", {"external_id": "order-1"} | use_coupon(scenario)))

    assert list_failed_attempts(account) == []


def test_update_is_not_delayed_by_failed_attempt(send_postback, scenario, account):
    scenario.create_conversion("200", external_id="order-1")
    make_failed_attempt("postback", 1, account)

    assert get_json(send_postback("con/u/", {"external_id": "order-1", "amount": 100}))
    assert list_failed_attempts(account) == [("postback", "order-1", "unknown_coupon")]


# con/c: with a status.


@pytest.mark.parametrize(
    ("status", "is_approved"),
    [("approved", True), ("disapproved", False), ("pending", False)],
)
@pytest.mark.parametrize("auto", [False, True])
def test_creates_conversion_with_status(
    send_postback, scenario, account, status, is_approved, auto
):
    scenario.program.update_row(auto_approve_commissions=auto)
    payload = {"external_id": "order-1", "amount": 200, "status": status}

    conversion = get_json(send_postback("con/c/", payload | use_coupon(scenario)))

    assert [commission["approved"] for commission in conversion["commissions"]] == [is_approved]
    assert list_commission_values(account) == [(200, 20, status)]
    balances = {"minakessler": {"EUR": Decimal(20)}} if is_approved else {}
    assert get_payable_balances_by_slug(account) == balances


def test_accepts_status_that_the_final_commission_has(send_postback, scenario, account):
    scenario.enable_payouts(20)
    scenario.program.update_row(auto_approve_commissions=True)
    payload = {"external_id": "order-1", "amount": 200, "status": "approved"}

    conversion = get_json(send_postback("con/c/", payload | use_coupon(scenario)))

    assert [commission["final"] for commission in conversion["commissions"]] == [True]
    assert list_commission_values(account) == [(200, 20, "approved")]


@pytest.mark.parametrize(
    ("auto", "status", "code"),
    [
        pytest.param(False, "approved", "commission_unfunded", id="unfunded"),
        pytest.param(True, "disapproved", "commission_approved", id="final"),
        pytest.param(True, "pending", "commission_approved", id="final-to-pending"),
    ],
)
def test_stores_nothing_if_the_status_is_rejected(
    send_postback, scenario, account, auto, status, code
):
    scenario.enable_payouts(20 if auto else 0)
    scenario.program.update_row(auto_approve_commissions=auto)
    before = snapshot_account_data(account, "ConversionAttempt")
    payload = {"external_id": "order-1", "amount": 200, "status": status}

    response = send_postback("con/c/", payload | {"customer_id": "acct-1"} | use_coupon(scenario))

    assert get_conflict_code(response) == code
    assert snapshot_account_data(account, "ConversionAttempt") == before
    [(source, external_id, _)] = list_failed_attempts(account)
    assert (source, external_id) == ("postback", "order-1")


# Recurring conversions.


@pytest.mark.parametrize(
    "settings", [{"recurring": False}, {"recurring_cap": 1}], ids=["once", "capped"]
)
def test_disapproves_renewals_beyond_the_cap(send_postback, scenario, account, settings):
    scenario.program.update_row(auto_approve_commissions=True, **settings)
    payload = {"customer_id": "acct-1", "amount": 50}
    first = payload | {"external_id": "order-1"} | use_coupon(scenario)

    get_json(send_postback("con/c/", first))
    conversion = get_json(send_postback("con/c/", payload | {"external_id": "order-2"}))

    assert conversion["customer"]["status"] == "paying"
    statuses = [status for *_, status in list_commission_values(account)]
    assert statuses == ["approved", "disapproved"]


# con/u.


@pytest.fixture
def order(scenario):
    """A conversion of 200 EUR with two line items and a level of 3 %."""
    earlier = CONVERSION_CREATED_AT - timedelta(days=1)
    scenario.add_child(scenario.mina, scenario.odette, at=earlier)
    scenario.create_level(2, "3")
    return scenario.create_conversion("180", ("20", "accessories"), external_id="order-1")


INITIAL = [(180, 18), (20, Decimal("1.5")), (180, Decimal("5.4")), (20, Decimal("0.6"))]
HALVED = [
    *((90, 9), (10, Decimal("0.75"))),
    *((90, Decimal("2.7")), (10, Decimal("0.3"))),
]


def list_amounts(account):
    return [values[:2] for values in list_commission_values(account)]


@pytest.mark.parametrize(
    ("changes", "amount", "expected"),
    [
        pytest.param({}, 200, INITIAL, id="nothing"),
        pytest.param({"amount": 100}, 100, HALVED, id="recalculated"),
        pytest.param(
            {"amount": 100, "recalculate_commissions": True},
            100,
            HALVED,
            id="recalculation requested",
        ),
        pytest.param(
            {"amount": 100, "recalculate_commissions": False},
            100,
            INITIAL,
            id="without recalculation",
        ),
        pytest.param({"amount": "99.995", "currency": " eur "}, 100, HALVED, id="eur"),
        pytest.param({"amount": 0}, 0, [(0, 0)] * 4, id="zero"),
    ],
)
def test_recalculates_commissions_on_amount_change(
    send_postback, api, order, changes, amount, expected
):
    response = send_postback("con/u/", {"external_id": "order-1"} | changes)

    assert get_json(response) == get_json(api.get(f"/conversions/{order.pk}/"))
    assert get_json(response)["amount"] == amount
    assert list_amounts(order.account) == expected


def test_replaces_meta_data(send_postback, scenario):
    scenario.create_conversion("200", external_id="order-1", meta_data={"plan": "basic", "a": "b"})

    conversion = get_json(
        send_postback("con/u/", {"external_id": "order-1", "meta_data": {"c": ""}})
    )

    assert conversion["meta_data"] == {"c": ""}


@pytest.mark.parametrize("status", ["approved", "disapproved", "pending"])
def test_sets_status_of_all_commissions(send_postback, scenario, order, account, status):
    first, second, *_ = account.commissions.order_by("id")
    scenario.approve(first)
    scenario.disapprove(second)

    for _ in range(2):
        get_json(send_postback("con/u/", {"external_id": "order-1", "status": status}))

        assert [status for *_, status in list_commission_values(account)] == [status] * 4
    events = account.audit_log.filter(kind="commission.updated").count()
    assert events == 2 + (3 if status != "pending" else 2)


def test_disapproves_paid_commission(send_postback, scenario, account):
    conversion = scenario.create_conversion("200", external_id="order-1")
    scenario.approve(scenario.get_commission(conversion))
    scenario.pay(20)

    conversion = get_json(
        send_postback("con/u/", {"external_id": "order-1", "status": "disapproved"})
    )

    assert conversion["commissions"][0]["payout"] is None
    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": Decimal(-20)}}


FIXED_CURRENCY = "The currency of a conversion cannot change"
REJECTED = {
    "currency": ({"currency": "USD"}, build_field_error("currency", FIXED_CURRENCY)),
    "status": ({"status": "paid"}, build_status_error("paid")),
    "blank status": ({"status": " "}, build_status_error("")),
    "amount": ({"amount": "1e2"}, build_field_error("amount", NOT_A_NUMBER)),
    "meta data": (
        {"meta_data": "pro"},
        build_field_error("meta_data", WRONG_TYPE, "object"),
    ),
    "flag": (
        {"recalculate_commissions": "yes"},
        build_field_error("recalculate_commissions", NOT_BOOLEAN),
    ),
}


@pytest.mark.parametrize("name", REJECTED)
def test_changes_nothing_if_one_field_is_invalid(send_postback, order, account, name):
    fields, expected = REJECTED[name]
    valid = {"amount": 100, "meta_data": {"a": "b"}, "status": "approved"}
    before = snapshot_account_data(account, "ConversionAttempt")

    response = send_postback("con/u/", {"external_id": "order-1"} | valid | fields)

    assert response.json() == {"errors": [expected]}
    assert snapshot_account_data(account, "ConversionAttempt") == before


@pytest.mark.parametrize(
    ("currency", "sent", "expected"), [("JPY", "10.5", 11), ("KWD", "10.0005", 10.001)]
)
def test_rounds_in_the_currency_of_the_conversion(
    send_postback, scenario, currency, sent, expected
):
    scenario.create_conversion("200", external_id="order-1", currency=currency)
    payload = {"external_id": "order-1", "amount": sent, "currency": currency.lower()}

    assert get_json(send_postback("con/u/", payload))["amount"] == expected


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"status": "disapproved"}, "commission_approved"),
        ({"status": "pending"}, "commission_approved"),
        ({"status": "approved"}, "commission_unfunded"),
    ],
    ids=["disapproved", "pending", "approved"],
)
def test_rejects_all_changes_if_one_commission_conflicts(
    send_postback, scenario, account, fields, code
):
    scenario.enable_payouts(20)
    scenario.create_conversion("200", "100", external_id="order-1")
    first, _ = account.commissions.order_by("id")
    scenario.approve(first)
    before = snapshot_account_data(account, "ConversionAttempt")
    others = {"amount": 150, "recalculate_commissions": False, "meta_data": {"a": "b"}}

    response = send_postback("con/u/", {"external_id": "order-1"} | others | fields)

    assert get_conflict_code(response) == code
    assert snapshot_account_data(account, "ConversionAttempt") == before


def test_skips_final_commissions(send_postback, scenario, account):
    scenario.enable_payouts(30)
    scenario.create_conversion("200", "100", external_id="order-1")
    first, _ = account.commissions.order_by("id")
    scenario.approve(first)

    get_json(send_postback("con/u/", {"external_id": "order-1", "status": "approved"}))

    assert [status for *_, status in list_commission_values(account)] == [
        "approved",
        "approved",
    ]


def test_checks_funds_for_the_new_amount(send_postback, scenario, account):
    scenario.enable_payouts(10)
    scenario.create_conversion("200", external_id="order-1")
    payload = {"external_id": "order-1", "status": "approved", "amount": 100}

    get_json(send_postback("con/u/", payload))

    assert list_commission_values(account) == [(100, 10, "approved")]


@pytest.mark.parametrize("name", ["unknown", "deleted", "other account", "other case"])
def test_conversion_not_found(send_postback, scenario, account, other_account, name):
    conversion = scenario.create_conversion("200", external_id="order-1")
    ProgramScenario(other_account, prefix="zz-marker-").create_conversion(
        "200", external_id="theirs"
    )
    if name == "deleted":
        scenario.delete(conversion)
    external_ids = {
        "deleted": "order-1",
        "other account": "theirs",
        "other case": "ORDER-1",
    }
    payload = {"external_id": external_ids.get(name, "order-2"), "status": "invalid"}

    response = send_postback("con/u/", payload)

    assert get_error_message(response, 404) == "Conversion not found"


@pytest.mark.parametrize("payload", [{}, {"external_id": " "}, {"amount": "x"}])
def test_update_requires_external_id(send_postback, scenario, payload):
    assert get_error_message(send_postback("con/u/", payload)) == MISSING


def test_updates_in_archived_program_of_deleted_affiliate(send_postback, scenario):
    scenario.create_conversion("200", external_id="order-1")
    scenario.archive()
    mark_deleted(scenario.mina.affiliate)
    payload = {"external_id": "order-1", "amount": 100, "status": "approved"}

    conversion = get_json(send_postback("con/u/", payload))

    assert (conversion["amount"], conversion["commissions"][0]["approved"]) == (
        100,
        True,
    )


def test_rejects_updates_of_locked_account(send_postback, scenario):
    scenario.create_conversion("200", external_id="order-1")
    lock_account(scenario.account, at=CONVERSION_CREATED_AT)
    before = snapshot_account_data(scenario.account, "ConversionAttempt")

    assert (
        get_error_message(send_postback("con/u/", {"external_id": "order-1", "amount": 1}))
        == LOCKED
    )
    assert snapshot_account_data(scenario.account, "ConversionAttempt") == before
