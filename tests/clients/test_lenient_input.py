"""Input that the API accepts for existing clients although the contract is stricter.

See docs/api-contract.md, sections 1.2, 1.3, 1.10 and 1.11.
"""

import json
from datetime import timedelta
from decimal import Decimal

import pytest

from tests.conftest import NOW
from tests.ledger_checks import assert_amounts_consistent, snapshot_account

pytestmark = [
    pytest.mark.usefixtures("shared_scenario"),
    pytest.mark.engine_independent,  # bodies
]

SALE = {"external_id": "order-1", "amount": 200}
ONE = "/affiliates/minakessler/"
ENROLLED = "/programs/harbor-lamp-partners/affiliates/minakessler/"
UNKNOWN_VISITOR = {"errors": [{"message": "Invalid tracking id"}]}
UNKNOWN_CLICK = {"errors": [{"message": "Invalid click id"}]}
MISSING_TRACKING_PARAMETER = {"errors": [{"message": "Missing mandatory parameter(s)"}]}
NO_JSON = {"errors": [{"message": "Request body was not valid JSON"}]}


@pytest.fixture(autouse=True)
def now(time_machine):
    time_machine.move_to(NOW, tick=False)


@pytest.fixture
def scenario(scenario):
    yield scenario
    assert_amounts_consistent(scenario.account)


@pytest.fixture
def tracking_parameter(scenario):
    return {"coupon": scenario.mina.coupon}


@pytest.fixture
def customer(scenario):
    return f"/customers/{scenario.create_customer('acct-1').public_id}/"


@pytest.fixture
def conversion(scenario):
    """A conversion of 200 EUR with a pending commission of 20 EUR."""
    return scenario.create_conversion("200", external_id="order-0")


@pytest.fixture
def commission(scenario, conversion):
    return f"/commissions/{scenario.get_commission(conversion).pk}/"


def get_json(response):
    assert response.status_code == 200, response.content
    return response.json()


def omit_keys(record, *names):
    """Return a record without its unique values."""
    return {name: value for name, value in record.items() if name not in names}


def make_customer(scenario, **changed):
    """Create a customer of Mina and return it without unique values."""
    return {
        "customer_id": "acct-9",
        "status": "new",
        "click": None,
        "program": scenario.reference,
        "affiliate": scenario.mina.reference,
        "affiliate_meta_data": None,
        "meta_data": {},
        "warnings": None,
    } | changed


def get_comparable_customer(response):
    return omit_keys(get_json(response), "id", "created_at")


# Requests and bodies: section 1.2


def test_ignores_unknown_properties(api, scenario, tracking_parameter):
    own = {"customer_id": "acct-9", "shop": {"id": 7}, "metadata": {"a": "b"}, "": []}

    response = api.post("/customers/", tracking_parameter | own)

    assert get_comparable_customer(response) == make_customer(scenario)


def test_ignores_unknown_query_parameters(
    api, scenario, tracking_parameter, conversion
):
    added = "?apiVersion=3&limit=100&per_page=100&use_profile_timezone=1&_=1767225600"
    plain = get_json(api.get("/conversions/"))

    assert get_json(api.get(f"/conversions/{added}")) == plain
    assert get_comparable_customer(
        api.post(f"/customers/{added}", tracking_parameter | {"customer_id": "acct-9"})
    ) == make_customer(scenario)


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("customer", {"customer_id": "acct-2"}),
        ("conversion", {"amount": 300}),
        ("affiliate", {"lastname": "Varga"}),
        ("enrollment", {"coupon": "MINA20"}),
    ],
)
def test_ignores_read_only_fields(api, scenario, conversion, customer, path, change):
    path = {
        "customer": customer,
        "conversion": f"/conversions/{conversion.pk}/",
        "affiliate": ONE,
        "enrollment": ENROLLED,
    }[path]
    record = get_json(api.get(path))
    read_only = {"id": "nobody", "created_at": "2020-01-01T00:00:00+00:00"}
    read_only |= dict.fromkeys(("program", "affiliate", "click", "status"))

    response = api.patch(path, record | change | read_only)

    assert get_json(response) == record | change
    assert get_json(api.get(path)) == record | change


@pytest.mark.parametrize(
    "content_type",
    [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain;charset=UTF-8",
        "text/html",
        "application/xml",
        "nonsense",
        "",
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_reads_json_under_any_content_type(api, customer, method, content_type):
    path = customer if method == "PATCH" else f"{customer}meta-data/"
    body = {"meta_data": {"a": "b=c&d"}} if method == "PATCH" else {"a": "b=c&d"}

    response = api.request(method, path, body, content_type=content_type)

    assert get_json(response) == get_json(api.get(path))
    assert get_json(api.get(f"{customer}meta-data/")) == {"a": "b=c&d"}


BODIES = {
    "array": "[]",
    "object": "{}",
    "null": "null",
    "text": "approved=1",
    "bytes": b"\xff\x00",
    "twice": '{"a":1,"a":2}',
}


@pytest.mark.parametrize("body", BODIES.values(), ids=list(BODIES))
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "{customer}"),
        ("HEAD", "{customer}"),
        ("PUT", "{customer}status/"),
        ("DELETE", "{customer}status/"),
        ("PUT", "{commission}approved/"),
        ("PUT", "{commission}approval/"),
        ("DELETE", "{commission}approved/"),
        ("DELETE", "{commission}approval/"),
        ("PUT", ENROLLED + "approved/"),
        ("PUT", ENROLLED + "approval/"),
        ("DELETE", ENROLLED + "approval/"),
        ("DELETE", ONE + "group/"),
        ("DELETE", ONE + "parent/"),
    ],
)
def test_ignores_bodies_of_requests_without_input(
    api, customer, commission, method, path, body
):
    path = path.format(customer=customer, commission=commission)
    plain = api.request(method, path)

    response = api.request(method, path, body)

    assert get_json(plain) == get_json(response) if method != "HEAD" else True
    assert (response.status_code, response.content) == (200, plain.content)


@pytest.mark.parametrize("body", BODIES.values(), ids=list(BODIES))
def test_deletes_despite_a_body(api, customer, body):
    response = api.delete(customer, body)

    assert (response.status_code, response.content) == (204, b"")
    assert api.get(customer).json() == {"errors": [{"message": "Customer not found"}]}


@pytest.mark.parametrize("as_array", [False, True], ids=["object", "array"])
def test_accepts_an_array_of_commissions(api, scenario, conversion, as_array):
    line_item = {"conversion_sub_amount": "49.90", "comment": "Renewal"}

    response = api.post(
        f"/conversions/{conversion.pk}/commissions/",
        [line_item] if as_array else line_item,
    )

    [made] = get_json(response)
    assert omit_keys(made, "id", "created_at") == {
        "conversion_sub_amount": 49.9,
        "amount": 4.99,
        "commission_type": "standard",
        "approved": False,
        "affiliate": scenario.mina.reference,
        "kind": "regular",
        "currency": "EUR",
        "payout": None,
        "comment": "Renewal",
        "final": None,
        "commission_name": "Standard",
        "status": "pending",
        "conversion": {"id": conversion.pk},
        "finalization_date": None,
    }


@pytest.mark.parametrize("path", ["/customers/", "/affiliates/", "/conversions/"])
def test_rejects_arrays_elsewhere(api, account, scenario, path):
    before = snapshot_account(account)["AuditLogEntry"]

    response = api.post(path, [{"firstname": "A", "lastname": "B"}])

    assert (response.status_code, response.json()) == (400, NO_JSON)
    assert snapshot_account(account)["AuditLogEntry"] == before


# Values: section 1.3


@pytest.mark.parametrize("path", ["/conversions/", "/pb/con/c/"])
def test_treats_null_as_not_sent(api, scenario, customer, path):
    nulls = ("referral_code", "coupon", "click_id", "tracking_id", "visitor_id")
    nulls += ("asset_id", "source_id", "click", "currency", "commission_type")
    nulls += ("commissions", "meta_data", "program_group", "user_agent", "ip")
    body = SALE | {"customer_id": "acct-1"} | dict.fromkeys(nulls)

    sale = get_json(api.post(path, body))

    [commission] = sale.pop("commissions")
    assert omit_keys(sale, "id", "created_at") == {
        "external_id": "order-1",
        "amount": 200,
        "click": None,
        "program": scenario.reference,
        "affiliate": scenario.mina.reference,
        "customer": {
            "id": customer.split("/")[2],
            "customer_id": "acct-1",
            "status": "paying",
        },
        "meta_data": {},
        "warnings": None,
        "affiliate_meta_data": None,
        "tracking_source": "customer",
    }
    assert commission["amount"] == 20


NAMES = {"firstname": "Odette", "lastname": "Varga"}
NO_DETAILS = {"company": None, "address": None}


@pytest.mark.parametrize(
    "empty",
    [
        {"company": {}, "address": {}},
        {"company": {"name": None}, "address": {"city": None, "country": None}},
        {"company": None, "address": None},
    ],
    ids=["empty", "empty-inside", "null"],
)
@pytest.mark.parametrize("path", ["/affiliates/", "/affiliate-prospects/"])
def test_treats_an_empty_object_as_not_sent(api, scenario, path, empty):
    created = get_json(api.post(path, NAMES | empty))

    assert created | NAMES | NO_DETAILS == created


def test_empty_objects_keep_stored_values(api, scenario):
    address = {"address": "Pristaniška 4", "postal_code": "6000", "city": "Koper"}
    details = {"company": {"name": "K"}, "address": address | {"country": "SI"}}
    record = get_json(api.patch(ONE, details))

    response = api.patch(ONE, {"company": {}, "address": {}})

    assert get_json(response) == record
    assert record["address"]["country"] == {"code": "SI", "name": "Slovenia"}


@pytest.mark.parametrize(
    ("value", "overridden"),
    [(item, True) for item in ("true", "TRUE", "True", "tRuE", "1")]
    + [(item, False) for item in ("false", "FALSE", "False", "0", "")],
)
def test_accepts_other_spellings_of_booleans(api, scenario, value, overridden):
    scenario.program.update_row(cookie_time=1)
    click = scenario.create_click(at=NOW - timedelta(days=1, seconds=1))
    body = {"customer_id": "acct-9", "click_id": str(click.public_id)}

    response = api.post(f"/customers/?override_max_cookie_time={value}", body)

    if overridden:
        click = {
            "created_at": "2026-03-03T09:15:26+00:00",
            "referrer": None,
            "landing_page": None,
        }
        assert get_comparable_customer(response) == make_customer(
            scenario, click=click, affiliate_meta_data={}
        )
    else:
        assert response.status_code == 400
        assert response.json() == {"errors": [{"message": "Cookie expired"}]}


@pytest.mark.parametrize(
    ("sent", "amount", "earned"),
    [
        ('"49.90"', "49.9", "4.99"),
        ("49.90", "49.9", "4.99"),
        ('"0200"', "200", "20"),
        ('"200.00"', "200", "20"),
        ("2e2", "200", "20"),
        ("0.30000000000000004", "0.3", "0.03"),
    ],
)
def test_accepts_amounts_as_text(api, tracking_parameter, sent, amount, earned):
    body = json.dumps(tracking_parameter | {"amount": "?"}).replace('"?"', sent)

    response = api.post("/conversions/", body)

    sale = json.loads(response.content, parse_float=Decimal, parse_int=Decimal)
    assert response.status_code == 200, response.content
    assert str(sale["amount"]) == amount
    assert str(sale["commissions"][0]["amount"]) == earned


# Meta data: section 1.10

SPELLINGS = {
    "number": ("5", "5"),
    "zero": ("-0.0", "-0.0"),
    "price": ("1.50", "1.50"),
    "exponent": ("1e2", "100"),
    "small": ("25E-3", "0.025"),
    "true": ("true", "true"),
    "false": ("false", "false"),
    "empty": ('""', ""),
    "text": ('" 1.50 "', " 1.50 "),
    "signs": (
        r'"\": { } ] \\ \' / & é🛶"'.replace(r"\'", "'"),
        "\": { } ] \\ ' / & é🛶",
    ),
    "long": (json.dumps("v" * 255), "v" * 255),
}


@pytest.mark.parametrize(("sent", "kept"), SPELLINGS.values(), ids=list(SPELLINGS))
def test_stores_numbers_and_booleans_in_meta_data_as_text(
    api, scenario, tracking_parameter, customer, sent, kept
):
    body = json.dumps(tracking_parameter | {"customer_id": "acct-9", "meta_data": "?"})

    created = api.post("/customers/", body.replace('"?"', f'{{"plan": {sent}}}'))
    whole = api.put(f"{customer}meta-data/", f'{{"plan": {sent}}}')
    one = api.put(f"{customer}meta-data/seats/", f'{{"value": {sent}}}')

    assert get_comparable_customer(created) == make_customer(
        scenario, meta_data={"plan": kept}
    )
    assert get_json(whole) == {"plan": kept}
    assert get_json(one) == {"value": kept}


def test_accepts_any_printable_meta_data_key(api, customer):
    labels = ["k" * 64, "Tarif ü", "[0", "a.b", "1", "plan-of<the>year", "$", "🛶", " "]
    data = {label: label for label in labels}

    assert get_json(api.put(f"{customer}meta-data/", data)) == data
    assert get_json(api.get(customer))["meta_data"] == data


# Aliases: section 1.11


@pytest.mark.parametrize("status", ["approved", "disapproved"])
def test_accepts_approval_of_a_commission_by_the_alias(api, commission, status):
    record = get_json(api.get(commission))
    method = "PUT" if status == "approved" else "DELETE"

    response = api.request(method, f"{commission}approval/")

    decided = record | {"status": status, "approved": status == "approved"}
    assert get_json(response) == decided
    assert get_json(api.get(commission)) == decided
    assert get_json(api.request(method, f"{commission}approved/")) == decided


@pytest.mark.parametrize("approved", [True, False])
def test_accepts_approval_of_an_affiliate_by_the_alias(
    api, account, scenario, approved
):
    account.enrollments.update(approved=None)
    record = get_json(api.get(ENROLLED))

    response = api.request("PUT" if approved else "DELETE", f"{ENROLLED}approval/")

    assert get_json(response) == record | {"approved": approved}
    assert get_json(api.get(ENROLLED)) == record | {"approved": approved}


@pytest.mark.parametrize(
    "parent",
    [
        {"affiliate_id": "odettevarga"},
        {"affiliate": {"id": "odettevarga"}},
        {"via": "odettevarga"},
        {"affiliate_id": "odettevarga", "via": "minakessler"},
        {"affiliate_id": "odettevarga", "affiliate": {"id": "nobody"}},
    ],
    ids=["id", "object", "via", "both-via", "both-object"],
)
@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_accepts_a_parent_by_post(api, scenario, method, parent):
    scenario.create_enrolled_affiliate("Odette", "Varga")
    record = get_json(api.get(ONE))

    response = api.request(method, f"{ONE}parent/", parent)

    assert get_json(response) == record | {"parent_id": "odettevarga"}
    assert get_json(api.get(ONE)) == record | {"parent_id": "odettevarga"}


def test_accepts_the_referral_code_of_a_parent(api, scenario):
    code = scenario.create_enrolled_affiliate("Odette", "Varga").code
    record = get_json(api.get(ONE))

    response = api.post(f"{ONE}parent/", {"via": code})

    assert get_json(response) == record | {"parent_id": "odettevarga"}


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({"note": "Called back"}, "Called back"),
        ({}, "Called"),
        ({"note": None}, "Called"),
    ],
    ids=["text", "nothing", "null"],
)
def test_accepts_a_note_by_put(api, scenario, method, sent, kept):
    note = get_json(api.post(f"{ONE}notes/", {"note": "Called"}))

    response = api.request(method, f"{ONE}notes/{note['id']}/", sent)

    assert get_json(response) == note | {"note": kept}
    assert get_json(api.get(f"{ONE}notes/")) == [note | {"note": kept}]


@pytest.mark.parametrize("of", ["customer", "conversion", "affiliate"])
def test_accepts_meta_data_by_post(api, customer, conversion, of):
    path = {"customer": customer, "conversion": f"/conversions/{conversion.pk}/"}.get(
        of, ONE
    )
    api.put(f"{path}meta-data/", {"old": "gone"})

    response = api.post(f"{path}meta-data/", {"plan": "pro"})

    assert get_json(response) == {"plan": "pro"}
    assert get_json(api.get(f"{path}meta-data/")) == {"plan": "pro"}
    assert get_json(api.get(path))["meta_data"] == {"plan": "pro"}


TRACKING = ["/customers/", "/conversions/", "/pb/cus/c/", "/pb/con/c/"]
NAMED = {"customer_id": "acct-9", "external_id": "order-1"}
BLANK = {
    "errors": [
        {
            "message": "Parameter 'tracking_id' takes precedence for tracking,"
            " but no value was passed"
        }
    ]
}
VISITORS = {
    "alias": ({"visitor_id": "f" * 32}, UNKNOWN_VISITOR),
    "blank-alias": ({"visitor_id": ""}, BLANK),
    "null-alias": ({"visitor_id": None}, MISSING_TRACKING_PARAMETER),
    "with-null": ({"visitor_id": "f" * 32, "tracking_id": None}, UNKNOWN_VISITOR),
    "with-blank": ({"visitor_id": "f" * 32, "tracking_id": ""}, BLANK),
    "click-alias": ({"click": {"id": "f" * 36}}, UNKNOWN_CLICK),
    "click-null": ({"click": {"id": None}}, MISSING_TRACKING_PARAMETER),
    "click-empty": ({"click": {}}, MISSING_TRACKING_PARAMETER),
    "click-text": ({"click": "f" * 36}, MISSING_TRACKING_PARAMETER),
}


@pytest.mark.parametrize("path", TRACKING)
@pytest.mark.parametrize(("sent", "answer"), VISITORS.values(), ids=list(VISITORS))
def test_accepts_visitor_and_click_names_of_the_browser_script(
    api, scenario, path, sent, answer
):
    named = "customer_id" if "cus" in path else "external_id"

    response = api.post(path, {named: "new"} | sent)

    assert response.status_code == 400
    assert response.json() == answer


@pytest.mark.parametrize("path", TRACKING)
@pytest.mark.parametrize(
    "sent",
    [
        {"click": {"id": "{click}"}},
        {"click": {"id": " {click} ", "created_at": "2026-01-01"}},
        {"click_id": "{click}", "click": {"id": "unknown"}},
        {"click_id": None, "click": {"id": "{click}"}},
        {"click_id": "{click}", "visitor_id": "unknown", "tracking_id": "unknown"},
    ],
    ids=["alias", "white-space", "both", "with-null", "with-visitor"],
)
def test_accepts_a_click_object(api, scenario, path, sent):
    click = str(scenario.create_click(meta_data={"subid1": "letter"}).public_id)
    body = NAMED | json.loads(json.dumps(sent).replace("{click}", click))

    created = get_json(api.post(path, body))

    assert created["affiliate"] == scenario.mina.reference
    assert created["affiliate_meta_data"] == {"subid1": "letter"}
    assert created["click"] == {
        "created_at": "2026-03-03T19:03:44+00:00",
        "referrer": None,
        "landing_page": None,
    }


@pytest.mark.parametrize("path", TRACKING)
def test_prefers_click_id_over_its_alias(api, scenario, path):
    click = str(scenario.create_click().public_id)

    response = api.post(path, NAMED | {"click_id": "unknown", "click": {"id": click}})

    assert response.status_code == 400
    assert response.json() == UNKNOWN_CLICK


@pytest.mark.parametrize("path", TRACKING)
def test_prefers_tracking_id_over_its_alias(api, scenario, path):
    response = api.post(path, NAMED | {"tracking_id": "", "visitor_id": "f" * 32})

    assert response.status_code == 400
    assert response.json() == BLANK


@pytest.mark.parametrize("path", [*TRACKING, "/affiliates/"])
def test_ignores_metadata(api, scenario, tracking_parameter, path):
    body = NAMED | NAMES | tracking_parameter

    single = get_json(api.post(path, body | {"metadata": {"a": "b"}, "metaData": 7}))

    assert single["meta_data"] == {}


def test_ignores_metadata_next_to_meta_data(api, scenario, tracking_parameter):
    both = {"meta_data": {"plan": "pro"}, "metadata": {"plan": None}}

    created = api.post(
        "/customers/", tracking_parameter | both | {"customer_id": "acct-9"}
    )
    changed = api.patch(f"/customers/{created.json()['id']}/", {"metadata": {}})

    assert get_comparable_customer(created) == make_customer(
        scenario, meta_data={"plan": "pro"}
    )
    assert get_json(changed) == get_json(created)
