"""Messages of tracking by every endpoint that attributes, byte for byte.

The API 1.6 specification defines them: docs/api-contract.md, sections 2.1.3, 2.2.3,
2.3 and 4.
"""

import json
from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.utils import timezone

from accounts.db_compat import get_database_time
from accounts.services.accounts import lock_account
from tests.affiliate_site.postbacks.queries import flatten_to_query
from tests.affiliate_site.responses import snapshot_account_data
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario, mark_deleted

pytestmark = [
    pytest.mark.usefixtures("shared_scenario"),
    pytest.mark.engine_independent,  # the services that reject run on both
]

# What is sent beside the tracking parameters, `{n}` once for each endpoint: an attempt
# that failed delays the next one with its `external_id`.
API = {
    "POST /conversions/": {"external_id": "order-{n}"},
    "POST /customers/": {"customer_id": "acct-1"},
}
POSTBACKS = {
    f"{method} {path}": body
    for method in ("GET", "POST")
    for path, body in (
        ("/pb/con/c/", {"external_id": "order-{n}"}),
        ("/pb/cus/c/", {"customer_id": "acct-1"}),
    )
}
ALL = API | POSTBACKS
CLICKS = {"POST /clicks/": {}}


def having(name, endpoints):
    return {key: body for key, body in endpoints.items() if name in body}


CONVERSIONS, CUSTOMERS = having("external_id", ALL), having("customer_id", ALL)
ALL_BY_POST = {key: ALL[key] for key in ALL if key.startswith("POST")}
WITH_MANDATORY_ID = CUSTOMERS | having("external_id", POSTBACKS)


def blank(name):
    return f"Parameter '{name}' takes precedence for tracking, but no value was passed"


def invalid_status(value):
    return f"Invalid status '{value}'. Valid are 'new', 'trial', 'lead'"


def duplicate_customer(value):
    return f"Duplicate customer. There is already a customer for Customer id '{value}'"


def duplicate_conversion(value):
    return f"Duplicate conversion. There is already a conversion for External id '{value}'"


MISSING = "Missing mandatory parameter(s)"
LOCKED = "Advertiser account locked"
NO_JSON = "Request body was not valid JSON"
NO_COUPON, NO_CODE = "Unknown coupon code", "Unknown referral code"
NO_CLICK, NO_PAIR = "Invalid click id", "Invalid asset id or source id"
NO_VISITOR = "Invalid tracking id"
DELETED = "Affiliate is deleted"
NOT_APPROVED = "Affiliate is not approved for this program"
ARCHIVED = "Program is archived"
EXPIRED = "Cookie expired"
TOO_EARLY = "To many concurrent attempts to create conversion with id 'order-1'"
NOT_ENROLLED = "Missing tracking parameter value and no customer found for customer id: a{b}"

COUPON, CODE = {"coupon": "{coupon}"}, {"referral_code": "{code}"}
CLICK, OLD_CLICK = {"click_id": "{click}"}, {"click_id": "{old_click}"}
ASSET, SOURCE = {"asset_id": "{asset}"}, {"source_id": "{source}"}
PAIR = ASSET | SOURCE
UNKNOWN_CLICK = {"click_id": "5b0f6f1e-98c4-4c0e-9f0a-3c1f0d2b7a61"}
UNKNOWN_PAIR = {"asset_id": "999999-000000", "source_id": "999999-000000"}
FOREIGN_PAIR = {"asset_id": "{foreign_asset}", "source_id": "{foreign_source}"}
SPECIAL = " {0}'ž🛶\"\u0301 "
EXTERNAL_ID = {"external_id": "order-1"}

NO_ID = {"external_id": None, "customer_id": None}
BLANK_ID = {"external_id": " \t\u00a0", "customer_id": " \t\u00a0"}

SOLD = "conversion order-1"

# Endpoints, what is sent, the message, and steps of `break_rule` before.
CASES = [
    (ALL, COUPON, LOCKED, "locked"),
    (ALL, NO_ID, LOCKED, "locked"),
    (ALL, {"external_id": [], "meta_data": [], "coupon": ""}, LOCKED, "locked"),
    (CLICKS, CODE, LOCKED, "locked"),
    (CLICKS, {}, LOCKED, "locked"),
    # Mandatory parameters
    *((ALL, half, MISSING) for half in (ASSET, SOURCE, ASSET | {"source_id": None})),
    (ALL, {}, MISSING),
    (ALL, {"referral_code": None, "coupon": None}, MISSING),
    (ALL, {"asset_id": ""}, MISSING),
    (ALL, {"program_group": "lamps"}, MISSING),
    (CONVERSIONS, {"customer_id": " "}, MISSING),
    *((ALL_BY_POST, {"click": click}, MISSING) for click in ({"id": None}, {}, "f" * 36)),
    (ALL, {"visitor_id": None}, MISSING),
    (WITH_MANDATORY_ID, COUPON | NO_ID, MISSING),
    (WITH_MANDATORY_ID, COUPON | {"external_id": "", "customer_id": ""}, MISSING),
    (WITH_MANDATORY_ID, COUPON | BLANK_ID, MISSING),
    (WITH_MANDATORY_ID, BLANK_ID | {"meta_data": 5}, MISSING),
    (CUSTOMERS, {"status": "odd"}, MISSING),
    (CONVERSIONS, COUPON | {"commissions": [{"comment": "lamp"}]}, MISSING),
    *((CLICKS, {"referral_code": empty}, MISSING) for empty in (None, "", " \t")),
    *((CLICKS, half, MISSING) for half in ({}, ASSET, SOURCE, ASSET | {"source_id": " "})),
    (CLICKS, COUPON | CLICK, MISSING),
    (CLICKS, {"referrer": [], "meta_data": []}, MISSING),
    # Blank parameters
    (ALL, CODE | {"coupon": ""}, blank("coupon")),
    (ALL, {"coupon": " \t\n"}, blank("coupon")),
    (ALL, {"referral_code": ""}, blank("referral_code")),
    (API, CLICK | {"referral_code": ""}, blank("referral_code")),
    (ALL, PAIR | {"click_id": ""}, blank("click_id")),
    (POSTBACKS, CODE | {"click_id": ""}, blank("click_id")),
    (ALL, {"click": {"id": ""}}, blank("click_id")),
    (ALL, SOURCE | {"asset_id": ""}, blank("asset_id")),
    (ALL, ASSET | {"source_id": "\t"}, blank("source_id")),
    (ALL, {"asset_id": "", "source_id": ""}, blank("asset_id")),
    (ALL, {"tracking_id": ""}, blank("tracking_id")),
    (ALL, {"visitor_id": " "}, blank("tracking_id")),
    (ALL, {"tracking_id": "", "visitor_id": "f" * 32}, blank("tracking_id")),
    (CUSTOMERS, {"coupon": "", "status": "odd"}, blank("coupon")),
    # The status of a customer, then duplicates
    *(
        (CUSTOMERS, CODE | {"status": status}, invalid_status(str(status)))
        for status in ("odd", "paying", "canceled", "Trial", "'{0}\"", 7)
    ),
    (having("customer_id", ALL_BY_POST), CODE | {"status": ""}, invalid_status("")),
    (CUSTOMERS, CODE | {"status": "x"}, invalid_status("x"), "customer acct-1"),
    (CUSTOMERS, CODE, duplicate_customer("acct-1"), "customer acct-1"),
    (CUSTOMERS, {"coupon": "x"}, duplicate_customer("acct-1"), "customer acct-1"),
    *(
        (
            CUSTOMERS,
            CODE | {"customer_id": sent},
            duplicate_customer(sent),
            f"customer {sent}",
        )
        for sent in (SPECIAL, 55120)
    ),
    *(
        (
            CONVERSIONS,
            COUPON | {"external_id": sent},
            duplicate_conversion(sent),
            f"conversion {sent}",
        )
        for sent in ("order-1", SPECIAL, "{order}", "é\n", "a" * 255)
    ),
    (CONVERSIONS, EXTERNAL_ID | {"amount": "x"}, duplicate_conversion("order-1"), SOLD),
    (CONVERSIONS, EXTERNAL_ID, duplicate_conversion("order-1"), SOLD, "attempt"),
    (CONVERSIONS, COUPON | EXTERNAL_ID, TOO_EARLY, "attempt"),
    (CONVERSIONS, EXTERNAL_ID | {"amount": "x", "status": "x"}, TOO_EARLY, "attempt"),
    # Unknown parameters, also those of another account
    (CONVERSIONS, {"customer_id": "a{b}"}, NOT_ENROLLED),
    (ALL, {"coupon": "NOBODY"}, NO_COUPON),
    (ALL, {"coupon": "{lower_coupon}"}, NO_COUPON),
    (ALL, {"coupon": "{foreign_coupon}"}, NO_COUPON),
    (ALL, CODE | {"coupon": "NOBODY"}, NO_COUPON),
    (ALL, COUPON | {"program_group": "books"}, NO_COUPON),
    (ALL, {"referral_code": "no"}, NO_CODE),
    (ALL, {"referral_code": "{upper_code}"}, NO_CODE),
    (ALL, {"referral_code": "{foreign_code}"}, NO_CODE),
    *((ALL, {"click_id": text}, NO_CLICK) for text in ("1", "{foreign_click}")),
    (ALL, UNKNOWN_CLICK, NO_CLICK, "deleted"),
    (ALL, {"click_id": "unknown", "click": {"id": "{click}"}}, NO_CLICK),
    *((ALL, pair, NO_PAIR) for pair in (UNKNOWN_PAIR, FOREIGN_PAIR)),
    (ALL, {"asset_id": "4", "source_id": "77"}, NO_PAIR),
    (ALL, ASSET | {"source_id": "999999-000000"}, NO_PAIR),
    (ALL, {"tracking_id": "0" * 32}, NO_VISITOR),
    (ALL, {"tracking_id": "no", "visitor_id": ""}, NO_VISITOR),
    (ALL, {"tracking_id": None, "visitor_id": "no"}, NO_VISITOR),
    *((CLICKS, {"referral_code": code}, NO_CODE) for code in ("no", 7, 0)),
    (CLICKS, {"referral_code": "{foreign_code}"}, NO_CODE),
    (CLICKS, PAIR | {"referral_code": "no"}, NO_CODE),
    *((CLICKS, pair, NO_PAIR) for pair in (UNKNOWN_PAIR, FOREIGN_PAIR)),
    # Who may not earn
    *((ALL, sent, DELETED, "deleted") for sent in (COUPON, CODE, CLICK, PAIR)),
    (ALL, CODE, DELETED, "deleted", "pending", "archived"),
    *((ALL, sent, NOT_APPROVED, "pending") for sent in (COUPON, CODE, CLICK, PAIR)),
    (ALL, CODE, NOT_APPROVED, "disapproved"),
    (ALL, CODE, NOT_APPROVED, "pending", "archived"),
    (ALL, ASSET | {"source_id": "{not_enrolled}"}, NOT_APPROVED),
    *((ALL, sent, ARCHIVED, "archived") for sent in (COUPON, CODE, PAIR, OLD_CLICK)),
    (ALL, OLD_CLICK, EXPIRED),
    (ALL, {"click": {"id": "{old_click}"}}, EXPIRED),
    *((CLICKS, sent, DELETED, "deleted") for sent in (CODE, PAIR)),
    (CLICKS, CODE, DELETED, "deleted", "pending", "archived"),
    (CLICKS, CODE, NOT_APPROVED, "pending"),
    (CLICKS, CODE, NOT_APPROVED, "pending", "archived"),
    (CLICKS, PAIR, NOT_APPROVED, "disapproved"),
    (CLICKS, ASSET | {"source_id": "{not_enrolled}"}, NOT_APPROVED),
    *((CLICKS, sent, ARCHIVED, "archived") for sent in (CODE, PAIR)),
    # Bodies that are no objects
    *(
        (endpoints, body, NO_JSON, "locked")
        for endpoints in (ALL_BY_POST, CLICKS)
        for body in ("", "[]", "null", "customer_id=acct-1", "{}x", '[{"coupon": "a"}]')
    ),
]


def break_rule(scenario, step):
    """Cause a failure that a case names."""
    account, at = scenario.account, CONVERSION_CREATED_AT
    name, _, value = step.partition(" ")
    if name == "locked":
        lock_account(account, at=at)
    elif name == "customer":
        scenario.create_customer(value)
    elif name == "conversion":
        scenario.create_conversion("10", external_id=value)
    elif name == "attempt":
        for origin in ("api", "postback"):
            account.conversion_attempts.create(
                origin=origin, failed_at=get_database_time(), reason="", **EXTERNAL_ID
            )
    elif name == "deleted":
        mark_deleted(scenario.mina.affiliate)
    elif name == "archived":
        scenario.archive(at=at)
    else:
        approved = {"pending": None, "disapproved": False}[name]
        scenario.mina.enrollment.update_row(approved=approved)


@pytest.fixture
def placeholders(scenario, other_account):
    """The values of the placeholders in the cases."""
    foreign = ProgramScenario(other_account, prefix="zz-marker-")
    elsewhere = ProgramScenario(scenario.account, "second", email=None)
    mina, theirs = scenario.mina, foreign.mina

    def click(scenario, **age):
        clicked_at = timezone.now() - timedelta(**age)
        return str(scenario.create_click(at=clicked_at).public_id)

    return {
        "{coupon}": mina.coupon,
        "{lower_coupon}": mina.coupon.lower(),
        "{code}": mina.code,
        "{upper_code}": mina.code.swapcase(),
        "{asset}": mina.asset_id,
        "{source}": mina.source_id,
        "{not_enrolled}": elsewhere.mina.source_id,
        "{click}": click(scenario),
        "{old_click}": click(scenario, days=45, seconds=1),
        "{foreign_coupon}": theirs.coupon,
        "{foreign_code}": theirs.code,
        "{foreign_click}": click(foreign),
        "{foreign_asset}": theirs.asset_id,
        "{foreign_source}": theirs.source_id,
    }


def fill(body, placeholders):
    if isinstance(body, dict):
        return {key: fill(value, placeholders) for key, value in body.items()}
    return placeholders.get(body, body) if isinstance(body, str) else body


def send(api, endpoint, body):
    method, path = endpoint.split(" ")
    if method == "POST":
        return api.post(path, body)
    sent = {name: value for name, value in body.items() if value is not None}
    return api.get(f"{path}?{urlencode(list(flatten_to_query(sent)))}")


def format_case(case):
    return ascii(f"{case[2]:.20} {case[1]} {case[3:]}")[:120]


@pytest.mark.parametrize("case", CASES, ids=format_case)
def test_rejects_with_the_specified_message(api, scenario, account, placeholders, subtests, case):
    endpoints, sent, message, *steps = case
    for step in steps:
        break_rule(scenario, step)
    before = snapshot_account_data(account, "ConversionAttempt")

    for number, (endpoint, others) in enumerate(endpoints.items()):
        body = sent
        if isinstance(sent, dict):
            others = {key: text.format(n=number) for key, text in others.items()}
            body = fill(others | sent, placeholders)
        response = send(api, endpoint, body)

        with subtests.test(endpoint=endpoint):
            error = {"errors": [{"message": message}]}
            assert response.status_code == 400
            assert response["Content-Type"] == "application/json"
            assert response.content == encode_json(error)
    assert snapshot_account_data(account, "ConversionAttempt") == before


def encode_json(body):
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


def test_locked_account_allows_everything_except_tracking(api, scenario, account):
    customer = scenario.create_customer("acct-1")
    click = scenario.create_click().public_id
    lock_account(account, at=CONVERSION_CREATED_AT)
    one = f"/customers/{customer.public_id}/"
    affiliates = f"/programs/{scenario.program.slug}/affiliates/"
    calls = [
        ("GET", "/customers/", None, 200),
        ("GET", one, None, 200),
        ("PATCH", one, {"customer_id": "acct-9"}, 200),
        ("DELETE", f"{one}status/", None, 200),
        ("PUT", f"{one}status/", None, 200),
        ("PUT", f"{one}meta-data/", {"plan": "basic"}, 200),
        ("PUT", f"{one}meta-data/plan/", {"value": "pro"}, 200),
        ("DELETE", f"{one}meta-data/plan/", None, 204),
        ("DELETE", one, None, 204),
        ("GET", "/clicks/", None, 200),
        ("GET", f"/clicks/{click}/", None, 200),
        ("POST", "/affiliates/", {"firstname": "Hana", "lastname": "Novak"}, 200),
        ("POST", affiliates, {"affiliate": {"id": "hananovak"}}, 200),
        ("PUT", f"{affiliates}hananovak/approved/", None, 200),
        ("GET", "/programs/", None, 200),
    ]

    responses = [api.request(method, path, body) for method, path, body, _ in calls]

    assert [response.status_code for response in responses] == [status for *_, status in calls]
