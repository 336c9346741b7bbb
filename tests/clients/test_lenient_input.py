"""Input that the API accepts for existing clients although the contract is stricter.

See docs/api-contract.md, sections 1.2, 1.3, 1.10 and 1.11.
"""

import json

import pytest

from tests.affiliate_site.responses import get_json
from tests.conftest import NOW

pytestmark = [
    pytest.mark.usefixtures("shared_scenario", "consistent_amounts"),
    pytest.mark.engine_independent,  # bodies
]

SALE = {"external_id": "order-1", "amount": 200}
ONE = "/affiliates/minakessler/"
ENROLLED = "/programs/harbor-lamp-partners/affiliates/minakessler/"


@pytest.fixture(autouse=True)
def now(time_machine):
    time_machine.move_to(NOW, tick=False)


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


def test_ignores_unknown_query_parameters(api, scenario, tracking_parameter, conversion):
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
def test_ignores_bodies_of_requests_without_input(api, customer, commission, method, path, body):
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

# Aliases: section 1.11


TRACKING = ["/customers/", "/conversions/", "/pb/cus/c/", "/pb/con/c/"]
NAMED = {"customer_id": "acct-9", "external_id": "order-1"}


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


@pytest.mark.parametrize("path", [*TRACKING, "/affiliates/"])
def test_ignores_metadata(api, scenario, tracking_parameter, path):
    body = NAMED | NAMES | tracking_parameter

    single = get_json(api.post(path, body | {"metadata": {"a": "b"}, "metaData": 7}))

    assert single["meta_data"] == {}


def test_ignores_metadata_next_to_meta_data(api, scenario, tracking_parameter):
    both = {"meta_data": {"plan": "pro"}, "metadata": {"plan": None}}

    created = api.post("/customers/", tracking_parameter | both | {"customer_id": "acct-9"})
    changed = api.patch(f"/customers/{created.json()['id']}/", {"metadata": {}})

    assert get_comparable_customer(created) == make_customer(scenario, meta_data={"plan": "pro"})
    assert get_json(changed) == get_json(created)
