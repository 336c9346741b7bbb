"""Creating, showing and listing conversions: docs/api-contract.md, section 2.2."""

import json
import re
from datetime import timedelta

import pytest
from django.db import InterfaceError, OperationalError
from django.test import Client
from django.utils import timezone

from accounts.db_compat import get_database_time
from accounts.services.accounts import lock_account
from affiliate_site.api.resources import conversions as endpoint
from payouts.models.commission_types import RateKind
from payouts.services.commissions import approve_commission, disapprove_commission
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
from tests.conftest import ApiClient
from tests.ledger_checks import assert_amounts_consistent
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario, mark_deleted
from tracking.services.concurrency import ConcurrentUpdate

pytestmark = pytest.mark.usefixtures("shared_scenario")

MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00")
TOO_MANY_ATTEMPTS = "To many concurrent attempts to create conversion with id 'order-1'"
MISSING = "Missing mandatory parameter(s)"


@pytest.fixture
def scenario(scenario):
    """A program with a second commission type and a second affiliate."""
    scenario.create_commission_type("accessories", "7.5")
    scenario.create_commission_type("flat", "2.5", kind=RateKind.FIXED, title="Flat fee")
    scenario.second_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    yield scenario
    assert_amounts_consistent(scenario.account)


@pytest.fixture
def tracking_parameter(scenario):
    """The coupon of Mina as part of a body."""
    return {"coupon": scenario.mina.coupon}


def encode_json(body):
    """Return the JSON bytes as orjson encodes them."""
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


# Bodies


@pytest.fixture
def create_sale(api, tracking_parameter):
    """Post a conversion by Mina's coupon with these fields: `create_sale(amount=7)`."""
    return lambda **fields: api.post("/conversions/", tracking_parameter | fields)


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
    accessories = {"commission_type": "accessories", "commission_name": "Accessories"}
    flat = {"commission_type": "flat", "commission_name": "Flat fee"}
    stored = scenario.account.conversions.get()
    expected = expected_conversion(
        scenario,
        stored,
        external_id="order-10417",
        amount=249.9,
        click={
            "created_at": "2026-03-03T19:03:44+00:00",
            "referrer": "https://notes.example.org/lamps",
            "landing_page": "https://shop.example.net/lamp",
        },
        commissions=[
            expected_nested_commission(
                number, conversion_sub_amount=sold, amount=earned, **same | kind
            )
            for number, sold, earned, kind in (
                (first, 200, 20, {"comment": "two lamps"}),
                (second, 49.9, 3.74, accessories),
                (third, 0, 2.5, flat),
            )
        ],
        customer={
            "id": sale["customer"]["id"],
            "customer_id": "acct-55120",
            "status": "paying",
        },
        meta_data={"channel": "web"},
        affiliate_meta_data={"subid1": "newsletter-12"},
        tracking_source="click",
        **same,
    )
    assert response.content == encode_json(expected)
    assert response["Content-Type"] == "application/json"
    assert response["Cache-Control"] == "no-store"
    assert "Link" not in response
    assert get_json(api.get(f"/conversions/{sale['id']}/")) == expected
    assert get_json(api.get("/conversions/")) == [expected]


def test_shows_one_conversion(api, scenario):
    sale = scenario.create_conversion("200", external_id="order-1")

    response = api.get(f"/conversions/{sale.pk}/")

    assert response.content == encode_json(
        expected_conversion(scenario, sale, external_id="order-1")
    )


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

    assert get_json(api.get(f"/conversions/{sale.pk}/")) == expected_conversion(scenario, sale)


def test_hides_the_sub_ids_of_another_affiliates_click(scenario, create_sale):
    click = scenario.create_click(
        scenario.second_affiliate, meta_data={"subid1": "hers"}, at=timezone.now()
    )

    sale = get_json(create_sale(click_id=str(click.public_id)))

    assert sale["click"]["created_at"]
    assert sale["affiliate_meta_data"] is None


def test_creates_an_approved_or_a_warned_conversion(scenario, create_sale):
    scenario.program.update_row(auto_approve_commissions=True)

    sales = [get_json(create_sale(customer_id=text)) for text in ("a", "MINA@notes.example.org")]

    shown = [(sale["warnings"], sale["commissions"][0]["approved"]) for sale in sales]
    assert shown == [(None, True), (["customer_is_affiliate"], False)]


@pytest.mark.parametrize(
    ("status", "approved"),
    [("pending", None), ("approved", True), ("disapproved", False)],
)
def test_shows_pending_as_null_with_the_option(api, scenario, account, status, approved):
    account.pending_as_null = True
    account.save()
    sale = scenario.create_conversion("200")
    number = scenario.get_commission(sale).pk
    if status == "approved":
        approve_commission(account, commission_id=number, at=CONVERSION_CREATED_AT)
    elif status == "disapproved":
        disapprove_commission(account, commission_id=number, at=CONVERSION_CREATED_AT)

    nested = [expected_nested_commission(number, approved=approved)]
    assert get_json(api.get("/conversions/")) == [
        expected_conversion(scenario, sale, commissions=nested)
    ]
    assert get_json(api.get(f"/conversions/{sale.pk}/"))["commissions"] == nested


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
    scenario.archive()
    return {"coupon": scenario.mina.coupon}


def expired(scenario):
    clicked_at = timezone.now() - timedelta(days=45, seconds=1)
    return {"click_id": str(scenario.create_click(at=clicked_at).public_id)}


def make_known_conversion(scenario):
    scenario.create_conversion("200", external_id="order-1")
    return {"coupon": scenario.mina.coupon, "external_id": "order-1"}


# Order of the checks


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"external_id": [], "amount": "x"}, "external_id"),
        ({"amount": "x"}, "amount"),
        ({"amount": "x", "coupon": ""}, "amount"),
        ({"currency": "XXX", "customer_id": "acct-9"}, "currency"),
        ({"amount": -1, "coupon": "NOBODY"}, "amount"),
    ],
    ids=["id-first", "no-parameter", "blank-parameter", "customer", "coupon"],
)
def test_checks_fields_before_tracking_parameters(api, scenario, body, path):
    errors = list_field_errors(api.post("/conversions/", body))

    assert [name for name, _ in errors] == [path]


# Fields


STRING = "This value should be of type string."
LONG = "This value is too long, 255 characters at most."
NUMBER = "This value should be a number."
DIGITS = "This value has too many digits."
NEGATIVE = "This value should be 0 or more."
OBJECT = "This value should be of type object."
ARRAY = "This value should be of type array."
CURRENCY, NO_TYPE = "Unknown currency", "Unknown commission type"

FIELDS = {
    "amount-text": ({"amount": "abc"}, [("amount", NUMBER)]),
    "amount-negative": ({"amount": "-0.005"}, [("amount", NEGATIVE)]),
    "all-at-once": (
        {"amount": -5, "currency": "DEM", "meta_data": ["a"]},
        [("amount", NEGATIVE), ("currency", CURRENCY), ("meta_data", OBJECT)],
    ),
    "amount-rounds-to-14": ({"amount": "9999999999999.995"}, [("amount", DIGITS)]),
    "amount-16-digits": (
        {"amount": "1234567890123.456", "currency": "KWD"},
        [("amount", DIGITS)],
    ),
    "type-case": ({"commission_type": "Standard"}, [("commission_type", NO_TYPE)]),
    "line-items-object": ({"commissions": {"sub_amount": 1}}, [("commissions", ARRAY)]),
    "line-items-of-numbers": (
        {"commissions": [1, None, {"sub_amount": -1}]},
        [
            *(("commissions[0]", OBJECT), ("commissions[1]", OBJECT)),
            ("commissions[2].sub_amount", NEGATIVE),
        ],
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
            ("commissions[0].comment", LONG.replace("255", "1000")),
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
                {"sub_amount": 1, "commission_type": item} for item in ("gold", None, "silver")
            ]
        },
        [(f"commissions[{number}].commission_type", NO_TYPE) for number in (0, 2)],
    ),
    "line-item-sum": (
        {"commissions": [{"sub_amount": "9999999999999.99"}, {"sub_amount": "0.01"}]},
        [("commissions", DIGITS)],
    ),
    "beyond-the-ledgers-range": (
        {"commissions": [{"sub_amount": 0, "commission_type": "huge"}] * 91},
        [("amount", DIGITS)],
    ),
    "ids": (
        {"external_id": "a" * 256, "customer_id": "a" * 256},
        [("external_id", LONG)],
    ),
    "types": (
        {"amount": [], "currency": [], "commission_type": False, "customer_id": {}}
        | {"meta_data": 1, "coupon": 1.5, "click_id": "a" * 256},
        [
            *(("customer_id", STRING), ("coupon", STRING), ("click_id", LONG)),
            *(("amount", NUMBER), ("currency", STRING), ("commission_type", STRING)),
            ("meta_data", OBJECT),
        ],
    ),
}


@pytest.mark.engine_independent
@pytest.mark.parametrize("name", FIELDS)
def test_reports_every_invalid_field(scenario, account, create_sale, name):
    scenario.create_commission_type("huge", 9_999_999_999_999, kind=RateKind.FIXED)
    body, expected = FIELDS[name]
    before = snapshot_account_data(account, "ConversionAttempt")

    response = create_sale(**body)

    assert list_field_errors(response) == expected
    assert snapshot_account_data(account, "ConversionAttempt") == before


@pytest.mark.parametrize(
    "line_items",
    [[{}, {}], [{"sub_amount": 1}, {}], [{"sub_amount": None, "amount": 1}]],
)
def test_reports_missing_sub_amounts_once(scenario, create_sale, line_items):
    assert get_error_message(create_sale(commissions=line_items)) == MISSING


def test_reports_invalid_and_missing_fields_together(scenario, create_sale):
    response = create_sale(commissions=[{}, {"sub_amount": "x"}, {}])

    assert response.json()["errors"] == [
        build_field_error("commissions[1].sub_amount", NUMBER),
        {"message": MISSING},
    ]


@pytest.mark.parametrize(
    "body",
    [
        {"external_id": None, "amount": None, "currency": None, "commissions": None},
        {"external_id": " ", "customer_id": "", "commissions": [], "meta_data": {}},
        {"commission_type": " standard ", "program_group": "", "click": {}},
        {"commission_type": "default", "program_id": [], "visitor_id": None},
        {"ip": "no address", "user_agent": "u" * 9999, "program_id": "no-program"},
        {"metadata": {"a": "b"}, "status": 7, "id": 7, "warnings": 1},
    ],
    ids=["null", "blank", "trimmed", "default", "client", "unknown"],
)
def test_treats_as_not_sent(scenario, create_sale, body):
    sale = get_json(create_sale(**{"amount": 0} | body))

    assert sale["external_id"] is sale["customer"] is None
    assert (sale["amount"], sale["meta_data"]) == (0, {})
    [commission] = sale["commissions"]
    assert (commission["commission_type"], commission["currency"]) == (
        "standard",
        "EUR",
    )


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (" Order 1 ", " Order 1 "),
        (10417, "10417"),
        (0, "0"),
        ("é🪔" * 127, "é🪔" * 127),
    ],
    ids=["as-sent", "digits", "zero", "not-ascii"],
)
def test_stores_ids_exactly_as_sent(scenario, create_sale, sent, kept):
    sale = get_json(create_sale(external_id=sent, customer_id=sent))

    assert sale["external_id"] == sale["customer"]["customer_id"] == kept


def test_ignores_the_group_for_a_known_customer(api, scenario):
    scenario.create_customer("acct-1")
    body = {"customer_id": "acct-1", "program_group": "chairs"}

    assert get_json(api.post("/conversions/", body))["tracking_source"] == "customer"


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("override_max_cookie_time=TRUE", 200),
        ("override_max_cookie_time=false&override_max_cookie_time=1", 200),
        ("override_max_cookie_time=0", 400),
        ("override=true", 400),
    ],
)
def test_overrides_the_cookie_time_in_the_query(api, scenario, query, status):
    response = api.post(f"/conversions/?{query}", expired(scenario))

    assert response.status_code == status
    if status == 400:
        assert get_error_message(response) == "Cookie expired"


def test_rejects_an_invalid_override(api, scenario):
    response = api.post("/conversions/?override_max_cookie_time=yes", expired(scenario))

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
        "click": {"click_id": str(scenario.create_click(affiliate, at=timezone.now()).public_id)},
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


# Amounts


AMOUNTS = {
    "minus-zero-point": ("-0.0", None, "0", "0"),
    "text": ('"49.90"', None, "49.9", "4.99"),
    "binary": ("0.30000000000000004", None, "0.3", "0.03"),
    "exponent": ("1e2", None, "100", "10"),
    "less-than-half-a-cent": ("0.0049999", None, "0", "0"),
    "not-a-float": ("90071992547.93", None, "90071992547.93", "9007199254.79"),
    "the-most": ("9999999999999.99", None, "9999999999999.99", "1000000000000"),
    "yen": ("99.5", "JPY", "100", "10"),
    "yen-small-case": ('"1500"', "jpy", "1500", "150"),
    "dinar": ("1.2345", "KWD", "1.235", "0.124"),
    "dinar-most": ("123456789012.345", "KWD", "123456789012.345", "12345678901.235"),
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
def test_reads_and_writes_amounts_exactly(api, scenario, tracking_parameter, name, as_part):
    sent, currency, kept, earned = AMOUNTS[name]
    body = tracking_parameter | ({"currency": currency} if currency else {}) | {"amount": "HERE"}
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
    assert extract_amounts(api.get(f"/conversions/{number}/")) == extract_amounts(response)


@pytest.mark.parametrize(
    ("currency", "kept"), [("JPY", b"100"), ("KWD", b"99.5"), ("EUR", b"99.5")]
)
def test_uses_the_currency_of_the_program(api, account, currency, kept):
    scenario = ProgramScenario(account, "another", email=None, currency=currency)
    body = {"coupon": scenario.mina.coupon, "amount": "99.50"}

    response = api.post("/conversions/", body)

    assert extract_amounts(response)[0] == [kept]
    assert response.json()["commissions"][0]["currency"] == currency
    assert response.json()["program"]["currency"] == currency
    assert_amounts_consistent(account)


def test_shows_the_currency_of_the_conversion_on_its_commissions(api, scenario, create_sale):
    sale = get_json(create_sale(amount=10, currency="chf"))

    assert sale["commissions"][0]["currency"] == "CHF"
    assert sale["program"]["currency"] == "EUR"
    assert "currency" not in sale
    get_json(api.put(f"/commissions/{sale['commissions'][0]['id']}/approved/"))
    assert get_json(api.get("/affiliates/minakessler/balances/")) == {"CHF": 1}


def test_sums_the_line_items_and_ignores_the_amount(scenario, create_sale):
    line_items = [
        {"sub_amount": "0.005"},
        {"conversion_sub_amount": "0.005"},
        {"sub_amount": "0.1", "conversion_sub_amount": 7},
        {"sub_amount": 0.2, "commission_type": " flat "},
    ]

    response = create_sale(amount=999, commission_type="gold", commissions=line_items)

    assert extract_amounts(response)[0] == [b"0.01", b"0.01", b"0.1", b"0.2"]
    assert response.json()["amount"] == 0.32
    types = [item["commission_type"] for item in response.json()["commissions"]]
    assert types == ["standard", "standard", "standard", "flat"]


def test_accepts_a_hundred_line_items(scenario, create_sale):
    sale = get_json(create_sale(commissions=[{"sub_amount": "0.01"}] * 100))

    assert sale["amount"] == 1
    numbers = [commission["id"] for commission in sale["commissions"]]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 100


# Duplicates and the delay of ten seconds after a failed attempt


FAILING = {"external_id": "order-1", "coupon": "NOBODY"}
UNKNOWN_COUPON = "Unknown coupon code"


def attempts(account):
    return list(
        account.conversion_attempts.order_by("id").values_list("origin", "external_id", "reason")
    )


def test_delays_a_retry_by_ten_seconds(api, account, tracking_parameter):
    retry = tracking_parameter | {"external_id": "order-1"}
    assert get_error_message(api.post("/conversions/", FAILING)) == UNKNOWN_COUPON
    assert attempts(account) == [("api", "order-1", "unknown_coupon")]
    moment = get_database_time() - timedelta(seconds=9)
    account.conversion_attempts.update(failed_at=moment)

    for _ in range(2):
        response = api.post("/conversions/", retry)

        assert get_error_message(response) == TOO_MANY_ATTEMPTS
    assert account.conversion_attempts.get().failed_at == moment
    assert get_json(api.get("/conversions/")) == []
    account.conversion_attempts.update(failed_at=moment - timedelta(seconds=1))
    assert get_json(api.post("/conversions/", retry))["external_id"] == "order-1"
    assert attempts(account) == []


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
def test_records_a_failure_from_field_validation_on(api, account, tracking_parameter, name):
    body, query = FAILURES[name]

    response = api.post(
        f"/conversions/{query}", tracking_parameter | {"external_id": "order-1"} | body
    )

    assert response.status_code == 400
    assert [row[:2] for row in attempts(account)] == [("api", "order-1")]
    retry = api.post("/conversions/", tracking_parameter | {"external_id": "order-1"})
    assert get_error_message(retry) == TOO_MANY_ATTEMPTS


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
def test_does_not_record_locks_and_duplicates_as_failed(api, scenario, account, arrange):
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


def test_records_an_integer_id_as_text(api, tracking_parameter, scenario, account):
    api.post("/conversions/", FAILING | {"external_id": 17})

    response = api.post("/conversions/", tracking_parameter | {"external_id": "17"})

    assert get_error_message(response) == TOO_MANY_ATTEMPTS.replace("order-1", "17")


def create_during(failure, client, body, monkeypatch):
    """Send a conversion to a service that fails."""

    def fail(*args, **kwargs):
        raise failure

    with monkeypatch.context() as broken:
        broken.setattr(endpoint, "create_conversion", fail)
        return client.post("/conversions/", body)


def test_records_a_server_error_as_failed(
    account, scenario, make_key, tracking_parameter, monkeypatch
):
    client = ApiClient(make_key(account), Client(raise_request_exception=False))
    body = tracking_parameter | {"external_id": "order-1"}

    response = create_during(RuntimeError("a bug"), client, body, monkeypatch)

    assert response.status_code == response.json()["code"] == 500
    assert [row[:2] for row in attempts(account)] == [("api", "order-1")]
    assert get_error_message(client.post("/conversions/", body)) == TOO_MANY_ATTEMPTS


@pytest.mark.parametrize(
    "failure",
    [
        OperationalError("database is locked"),
        OperationalError("canceling statement due to statement timeout"),
        InterfaceError("connection already closed"),
        ConcurrentUpdate(),
    ],
    ids=repr,
)
def test_a_503_delays_no_retry(
    account, scenario, make_key, tracking_parameter, monkeypatch, failure
):
    client = ApiClient(make_key(account), Client(raise_request_exception=False))
    body = tracking_parameter | {"external_id": "order-1"}

    response = create_during(failure, client, body, monkeypatch)

    assert response.status_code == response.json()["code"] == 503
    assert attempts(account) == []
    assert get_json(client.post("/conversions/", body))["external_id"] == "order-1"


def test_responds_even_when_a_failure_cannot_be_recorded(account, scenario, make_key, monkeypatch):
    def fail(*args, **kwargs):
        raise OperationalError("fail")

    client = ApiClient(make_key(account), Client(raise_request_exception=False))
    monkeypatch.setattr("tracking.services.attempts.record_failed_attempt", fail)

    response = client.post("/conversions/", FAILING)

    assert get_error_message(response) == UNKNOWN_COUPON


# Reading


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
    scenario.approve(scenario.get_commission(created["early"]))
    scenario.disapprove(scenario.get_commission(created["midnight"]))
    first = account.commissions.filter(conversion=created["late"]).first()
    scenario.approve(first)
    other_scenario = ProgramScenario(other_account, prefix="zz-marker-")
    other_scenario.create_conversion("6", external_id="order-1", customer_id="acct-1")
    return {sale.pk: name for name, sale in created.items()}


EVERY = ["next", "late", "midnight", "early"]
FILTERS = {
    "": EVERY,
    "program_id=harbor-lamp-partners": EVERY[1:],
    "program_id=Second-Program": [],
    "program_id=zz-marker-harbor-lamp-partners": [],
    "external_id=order-1": ["early"],
    "external_id=Order-1": [],
    "external_id=": EVERY,
    "affiliate_id=odettevarga": ["midnight"],
    "affiliate_id=zzmarkerminakessler": [],
    "affiliate_id=odettevarga&affiliate_id=minakessler": ["late", "early"],
    "customer_id=acct-1": ["early"],
    "customer_id=ACCT-1": [],
    "customer_id=": EVERY,
    "pending=true": ["next", "late"],
    "pending=0": EVERY,
    "pending=": EVERY,
    "pending=1&program_id=harbor-lamp-partners": ["late"],
    "pending=true&external_id=order-1": [],
    "date_from=2026-03-04": EVERY[:3],
    "date_to=2026-03-04": EVERY[1:],
    "date_from=2026-03-04&date_to=2026-03-04": ["late", "midnight"],
    "use_profile_timezone=nonsense&limit=1&order=asc&unknown=%F0%9F": EVERY,
}


def test_filters_the_list(api, conversions, subtests):
    for query, names in FILTERS.items():
        with subtests.test(query=query):
            rows = get_json(api.get(f"/conversions/?{query}"))

            assert [conversions[row["id"]] for row in rows] == names


def test_reports_every_invalid_filter(api, scenario):
    response = api.get("/conversions/?page=x&date_to=&date_from=x&pending=yes&external_id=%00")

    assert response.status_code == 400
    assert response.json()["errors"] == [
        build_field_error("external_id", "This value is not valid text."),
        build_field_error("pending", "This value should be true or false."),
        build_field_error("date_from", "Invalid date"),
        build_field_error("date_to", "Invalid date"),
        build_field_error("page", "Invalid page"),
    ]


def test_lists_the_later_first_in_pages_of_25(api, scenario):
    sales = [
        scenario.create_conversion(
            "0", at=CONVERSION_CREATED_AT + timedelta(minutes=number // 2)
        ).pk
        for number in range(27)
    ]

    pages = [api.get(f"/conversions/?page={number}") for number in (1, 2)]

    numbers = [[row["id"] for row in get_json(page)] for page in pages]
    assert numbers == [sales[:1:-1], sales[1::-1]]
    assert pages[0]["Link"].startswith("<http://testserver/1.6/conversions/?page=2>;")
