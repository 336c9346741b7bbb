"""Creating, showing, updating and deleting customers: docs/api-contract.md, 2.1.

The error messages of tracking are tested in test_tracking_messages.py.
"""

import re
from datetime import timedelta

import pytest

from tests.affiliate_site.responses import build_field_error, get_error_message
from tests.conftest import NOW
from tests.factories.tracking import ClickFactory, CustomerFactory
from tracking.services.programs import archive_program

pytestmark = pytest.mark.usefixtures("frozen_time")

HARBOR = {
    "id": "harbor-lamp-partners",
    "title": "Harbor Lamp Partners",
    "currency": "EUR",
}
ODETTE = {"id": "odettevarga", "firstname": "Odette", "lastname": "Varga"}
CODE = {"referral_code": "qv7kd2p"}
SHOWN = {
    "id": "cu_k3Vd9qLmT7xBw2Zs",
    "customer_id": "acct-55120",
    "status": "trial",
    "created_at": "2026-03-04T09:15:27+00:00",
    "click": {
        "created_at": "2026-03-01T09:15:27+00:00",
        "referrer": "https://notes.example.org/lamps",
        "landing_page": "https://shop.example.net/?ref=qv7kd2p",
    },
    "program": HARBOR,
    "affiliate": ODETTE,
    "affiliate_meta_data": {"subid1": "newsletter-12"},
    "meta_data": {"plan": "basic"},
    "warnings": None,
}
NOT_FOUND = {"errors": [{"message": "Customer not found"}]}
ONE = "/customers/cu_k3Vd9qLmT7xBw2Zs/"
TYPE = "This value should be of type {{ type }}."
LONG = "This value is too long, {{ limit }} characters at most."


@pytest.fixture
def customer(account, odette, click):
    """The customer whose representation is SHOWN."""
    return CustomerFactory(
        account=account,
        enrollment=odette,
        public_id="cu_k3Vd9qLmT7xBw2Zs",
        customer_id="acct-55120",
        status="trial",
        click=click,
        meta_data={"plan": "basic"},
        created_at=NOW,
    )


def build_error_body(*entries):
    return {"errors": list(entries)}


def make_customer(api, body, query=""):
    response = api.post(f"/customers/{query}", {"customer_id": "acct-55120"} | CODE | body)
    assert response.status_code == 200, response.content
    return response.json()


# POST /customers/


def test_creates_a_customer_by_a_click(api, account, odette, click):
    body = {
        "customer_id": "acct-55120",
        "click_id": str(click),
        "status": " trial\n",
        "meta_data": {"plan": "basic"},
        "user_agent": "agent",
        "ip": "203.0.113.7",
    }

    response = api.post("/customers/", body)

    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert "Link" not in response
    shown = response.json()
    assert re.fullmatch("cu_[A-Za-z0-9]{16}", shown["id"])
    assert shown == SHOWN | {"id": shown["id"]}
    assert list(shown) == list(SHOWN)
    assert api.get(f"/customers/{shown['id']}/").json() == shown
    stored = account.customers.get()
    assert (stored.user_agent, stored.ip) == ("agent", "203.0.113.7")


WAYS = ["coupon", "referral_code", "pair"]


@pytest.mark.parametrize("parameter_kind", WAYS)
def test_creates_a_customer_without_a_click(api, odette, asset_pair, parameter_kind):
    parameter = {
        "coupon": {"coupon": "ODETTE10"},
        "referral_code": {"referral_code": " \tqv7kd2p\r\n"},
        "pair": asset_pair,
    }[parameter_kind]

    response = api.post("/customers/", {"customer_id": "acct-55120"} | parameter)

    assert response.status_code == 200
    assert response.json() == SHOWN | {
        "id": response.json()["id"],
        "status": "new",
        "click": None,
        "affiliate_meta_data": None,
        "meta_data": {},
    }


@pytest.mark.parametrize(
    "ignored",
    [
        {"click_id": "unknown", "tracking_id": " ", "asset_id": "", "source_id": ""},
        {"click_id": "", "asset_id": "4-b81d20", "program_group": "", "click": {}},
        {"coupon": None, "click_id": None, "tracking_id": None, "meta_data": None},
        {"status": None, "user_agent": None, "ip": None, "program_group": None},
        {"metadata": {"a": "b"}, "id": "cu_0000000000000000", "warnings": ["odd"]},
        {"click": "text"},
        {"click": {"id": None}},
    ],
    ids=range(7),
)
def test_ignores_unneeded_values(api, odette, ignored):
    shown = make_customer(api, ignored)

    assert shown == SHOWN | {
        "id": shown["id"],
        "status": "new",
        "click": None,
        "affiliate_meta_data": None,
        "meta_data": {},
    }
    assert shown["id"] != "cu_0000000000000000"


TEXTS = [
    " leading and trailing \t\n",
    "emoji 🛶👩‍👩‍👧 e\u0301 \u00e9",
    "quotes ' \" \\ / & < > \u2028\u202e\ufeff",
    "🛶" * 255,
]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text)[:30])
def test_returns_text_byte_for_byte(api, odette, text):
    shown = make_customer(api, {"customer_id": text, "meta_data": {text[:3]: text}})

    assert (shown["customer_id"], shown["meta_data"]) == (text, {text[:3]: text})
    assert api.get(f"/customers/{shown['id']}/").json() == shown


@pytest.mark.parametrize(
    ("sent", "kept"),
    [("unknown, 198.51.100.2", "198.51.100.2"), ("nowhere", None), (7, None)],
    ids=["second", "invalid", "number"],
)
def test_never_rejects_an_ip_address(api, account, odette, sent, kept):
    make_customer(api, {"ip": sent})

    assert account.customers.get().ip == kept


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 400),
        ("?override_max_cookie_time=FALSE", 400),
        ("?override_max_cookie_time=0&override_max_cookie_time=1", 200),
    ],
)
def test_overrides_the_cookie_time_in_the_query(api, account, odette, query, status):
    clicked_at = NOW - timedelta(days=45, microseconds=1)
    click = ClickFactory(account=account, enrollment=odette, created_at=clicked_at)
    body = {"customer_id": "acct-1", "click_id": str(click)}

    assert api.post(f"/customers/{query}", body).status_code == status


FIELDS = {
    "too long": (
        {"customer_id": "x" * 256, "coupon": "x" * 256, "status": "x" * 256},
        [(name, LONG, 255) for name in ("customer_id", "coupon", "status")],
    ),
    "aliases": (
        {"click": {"id": []}, "visitor_id": False},
        [("click_id", TYPE, "string"), ("tracking_id", TYPE, "string")],
    ),
    "meta data": ({"meta_data": ["a"]}, [("meta_data", TYPE, "object")]),
    "meta data values": (
        {"meta_data": {"plan": None, "a/b": "x"}},
        [
            ("meta_data[plan]", TYPE, "string"),
            ("meta_data[a/b]", "This key holds a character that is not allowed."),
        ],
    ),
}


@pytest.mark.parametrize("name", FIELDS)
def test_rejects_invalid_fields(api, account, odette, name):
    sent, errors = FIELDS[name]

    response = api.post("/customers/", {"customer_id": "acct-55120"} | CODE | sent)

    assert response.status_code == 400
    assert response.json()["errors"] == [build_field_error(*error) for error in errors]
    assert account.customers.count() == 0


def test_reports_every_invalid_field_in_documented_order(api, odette):
    names = [
        *("customer_id", "coupon", "referral_code", "click_id", "tracking_id"),
        *("asset_id", "source_id", "status", "meta_data", "user_agent"),
        "program_group",
    ]

    response = api.post("/customers/", dict.fromkeys(reversed(names), 1.5))

    assert response.status_code == 400
    found = [entry["property_path"] for entry in response.json()["errors"]]
    assert found == names


def test_checks_fields_before_tracking_rules(api, customer):
    body = {"customer_id": "acct-55120", "coupon": "", "status": "odd", "meta_data": 1}

    response = api.post("/customers/", body)

    assert response.json() == build_error_body(build_field_error("meta_data", TYPE, "object"))


# GET /customers/{id}/


def test_shows_a_customer(api, customer):
    response = api.get(ONE)

    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert response.json() == SHOWN
    assert list(response.json()) == list(SHOWN)
    assert "Link" not in response


def test_shows_a_deleted_affiliate(api, odette, customer):
    odette.affiliate.update_row(deleted_at=NOW)

    assert api.get(ONE).json() == SHOWN
    assert api.get("/customers/").json() == [SHOWN]


@pytest.mark.parametrize(
    ("method", "tail", "body"),
    [
        ("GET", "", None),
        ("PATCH", "", {}),
        ("PATCH", "", {"customer_id": []}),
        ("DELETE", "", None),
        ("PUT", "status/", None),
        ("DELETE", "status/", None),
    ],
    ids=["get", "patch", "patch-invalid", "delete", "restore", "cancel"],
)
@pytest.mark.parametrize("kind", ["unknown", "removed", "foreign", "another-case"])
def test_unknown_customers_return_404(
    api, account, other_account, customer, method, tail, body, kind
):
    removed = CustomerFactory(account=account, deleted_at=NOW)
    foreign = CustomerFactory(account=other_account)
    public_id = {
        "unknown": "acct-55120",
        "removed": removed.public_id,
        "foreign": foreign.public_id,
        "another-case": "CU_k3Vd9qLmT7xBw2Zs",
    }[kind]

    response = api.request(method, f"/customers/{public_id}/{tail}", body)

    assert response.status_code == 404
    assert response["Content-Type"] == "application/json"
    assert response.json() == NOT_FOUND
    assert (foreign.reload().deleted_at, foreign.status) == (None, "new")


# PATCH /customers/{id}/


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        ({}, {}),
        ({"customer_id": " 🛶 "}, {"customer_id": " 🛶 "}),
        ({"customer_id": 9}, {"customer_id": "9"}),
        ({"customer_id": "acct-55120"}, {}),
        ({"customer_id": None, "meta_data": None}, {}),
        ({"meta_data": {}}, {"meta_data": {}}),
        (
            {"customer_id": "acct-9", "meta_data": {"tier": 1}},
            {"customer_id": "acct-9", "meta_data": {"tier": "1"}},
        ),
        ({"status": "paying", "id": "cu_1", "created_at": None, "program": 1}, {}),
    ],
    ids=range(8),
)
def test_updates_a_customer(api, customer, body, changed):
    response = api.patch(ONE, body)

    assert response.status_code == 200
    assert response.json() == SHOWN | changed
    assert api.get(ONE).json() == SHOWN | changed


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"customer_id": " "}, ("customer_id", "This value should not be blank.")),
        ({"customer_id": []}, ("customer_id", TYPE, "string")),
        ({"customer_id": "x" * 256}, ("customer_id", LONG, 255)),
        ({"meta_data": {"plan": None}}, ("meta_data[plan]", TYPE, "string")),
    ],
    ids=["blank", "type", "long", "meta-data"],
)
def test_rejects_an_invalid_change(api, customer, body, error):
    response = api.patch(ONE, body)

    assert response.status_code == 400
    assert response.json() == build_error_body(build_field_error(*error))
    assert api.get(ONE).json() == SHOWN


def test_rejects_the_customer_id_of_another_customer(api, account, odette, customer):
    CustomerFactory(account=account, enrollment=odette, customer_id="acct-9")

    response = api.patch(ONE, {"customer_id": "acct-9", "meta_data": {}})

    assert response.status_code == 400
    assert get_error_message(response) == (
        "Duplicate customer. There is already a customer for Customer id 'acct-9'"
    )
    assert api.get(ONE).json() == SHOWN


def test_updates_a_customer_of_an_archived_program(api, account, customer):
    archive_program(account, slug="harbor-lamp-partners", at=NOW)

    response = api.patch(ONE, {"customer_id": "acct-9"})

    assert response.json() == SHOWN | {"customer_id": "acct-9"}


# DELETE /customers/{id}/


@pytest.mark.parametrize("body", ["", "[]", "{}", "not json"])
def test_deletes_a_customer(api, customer, body):
    response = api.delete(ONE, body)

    assert response.status_code == 204
    assert response.content == b""
    assert api.get(ONE).json() == NOT_FOUND
    assert api.delete(ONE).json() == NOT_FOUND
    assert api.get("/customers/").json() == []
    assert api.get("/customers/?customer_id=acct-55120").json() == []


# …/status/


@pytest.mark.parametrize("body", ["", "[]", "not json", '{"status": "paying"}'])
def test_cancels_and_restores_a_customer(api, customer, body):
    for _ in range(2):
        response = api.delete(f"{ONE}status/", body)
        assert response.status_code == 200
        assert response.json() == SHOWN | {"status": "canceled"}
    for _ in range(2):
        response = api.put(f"{ONE}status/", body)
        assert response.status_code == 200
        assert response.json() == SHOWN | {"status": "trial"}


# GET /customers/


@pytest.fixture
def customers(account, other_account, odette, second_affiliate, customer):
    """Three customers on three days, one deleted one, one of another account."""
    CustomerFactory(
        account=account,
        enrollment=second_affiliate,
        customer_id="ACCT-55120",
        created_at=NOW - timedelta(days=1),
    )
    CustomerFactory(
        account=account,
        enrollment=odette,
        customer_id=" 🛶&",
        created_at=NOW - timedelta(days=2),
    )
    CustomerFactory(account=account, enrollment=odette, customer_id="", deleted_at=NOW)
    CustomerFactory(
        account=other_account,
        customer_id="acct-55120",
        program__slug="zz-marker-program",
        affiliate__slug="zz-marker-affiliate",
    )


def test_lists_customers_newest_first(api, customers):
    response = api.get("/customers/")

    assert response.status_code == 200
    assert response.json()[0] == SHOWN
    assert [row["customer_id"] for row in response.json()] == [
        "acct-55120",
        "ACCT-55120",
        " 🛶&",
    ]
    address = "<http://testserver/1.6/customers/?page=1>"
    assert response["Link"] == f'{address}; rel="last", {address}; rel="first"'


FILTERS = {
    "program_id=harbor-lamp-partners": 2,
    "program_id=Harbor-Lamp-Partners": 0,
    "program_id=zz-marker-program": 0,
    "affiliate_id=odettevarga": 2,
    "affiliate_id=zz-marker-affiliate": 0,
    "customer_id=acct-55120": 1,
    "customer_id=Acct-55120": 0,
    "customer_id=%20%F0%9F%9B%B6%26": 1,
    "customer_id=%F0%9F%9B%B6%26": 0,
    "customer_id=cu_k3Vd9qLmT7xBw2Zs": 0,
    "customer_id=&program_id=&affiliate_id=": 3,
    "date_from=2026-03-03&date_to=2026-03-03": 1,
    "date_from=2026-03-04&date_to=2026-03-03": 0,
    "affiliate_id=minakessler&program_id=harbor-lamp-partners": 0,
    "status=trial&limit=1&unknown=1": 3,
    "customer_id=unknown&customer_id=acct-55120": 1,
}


@pytest.mark.parametrize("query", FILTERS)
def test_filters_the_list(api, customers, query):
    response = api.get(f"/customers/?{query}")

    assert response.status_code == 200
    assert len(response.json()) == FILTERS[query]


def test_rejects_an_invalid_query(api, customers):
    response = api.get("/customers/?page=x&date_to=x&date_from=x&program_id=%00")

    assert response.status_code == 400
    assert response.json() == build_error_body(
        build_field_error("program_id", "This value is not valid text."),
        build_field_error("date_from", "Invalid date"),
        build_field_error("date_to", "Invalid date"),
        build_field_error("page", "Invalid page"),
    )


def test_lists_the_later_row_first_at_equal_times(api, account, odette):
    for n in range(3):
        CustomerFactory(account=account, enrollment=odette, customer_id=f"acct-{n}", created_at=NOW)

    rows = api.get("/customers/").json()

    assert [row["customer_id"] for row in rows] == ["acct-2", "acct-1", "acct-0"]
