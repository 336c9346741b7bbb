"""Creating, showing, updating and deleting customers: docs/api-contract.md, 2.1.

The error messages of tracking are tested in test_tracking_messages.py.
"""

import re
from datetime import timedelta

import pytest

from payouts.services.programs import ProgramSettings, create_program
from tests.conftest import NOW
from tests.factories.tracking import (
    ClickFactory,
    CustomerFactory,
    EnrollmentFactory,
    ProgramFactory,
)
from tests.ledger_checks import assert_amounts_consistent
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
LIMITS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
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


def build_field_error(path, message, raw=None):
    return {"message": message, "message_raw": raw or message, "property_path": path}


def build_error_body(*entries):
    return {"errors": list(entries)}


def get_rate_limit_headers(response):
    return {name: response[name] for name in LIMITS if name in response}


def expected_rate_limit_headers(limit, used, seconds):
    """Return the rate limit headers after `used` requests at NOW."""
    return dict(
        zip(
            LIMITS,
            (str(limit), str(limit - used), str(int(NOW.timestamp()) + seconds)),
            strict=True,
        )
    )


def make_customer(api, body, query=""):
    response = api.post(
        f"/customers/{query}", {"customer_id": "acct-55120"} | CODE | body
    )
    assert response.status_code == 200, response.content
    return response.json()


# POST /customers/


def test_creates_a_customer_by_a_click(api, account, odette, click):
    body = {
        "customer_id": "acct-55120",
        "click_id": str(click),
        "status": "trial",
        "meta_data": {"plan": "basic"},
        "user_agent": "agent",
        "ip": "203.0.113.7",
    }

    response = api.post("/customers/", body)

    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert get_rate_limit_headers(response) == {}
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
        "referral_code": CODE,
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


def test_shows_a_click_with_few_details(api, account, odette):
    bare = ClickFactory(account=account, enrollment=odette, created_at=NOW)

    shown = make_customer(api, {"referral_code": None, "click_id": str(bare)})

    assert shown["click"] == {
        "created_at": "2026-03-04T09:15:27+00:00",
        "referrer": None,
        "landing_page": None,
    }
    assert shown["affiliate_meta_data"] == {}


ORDER = ["coupon", "referral_code", "click_id", "pair"]


@pytest.mark.parametrize("higher", range(3), ids=ORDER[:3])
def test_attributes_by_the_parameter_of_highest_priority(
    api, account, odette, second_affiliate, asset_pair, higher
):
    rival_pair = {
        "asset_id": str(account.assets.get(program=second_affiliate.program)),
        "source_id": str(account.sources.get(affiliate=second_affiliate.affiliate)),
    }
    account.coupons.create(enrollment=second_affiliate, code="MINA10")
    clicks = [
        str(ClickFactory(account=account, enrollment=item, created_at=NOW))
        for item in (odette, second_affiliate)
    ]
    own = [{"coupon": "ODETTE10"}, CODE, {"click_id": clicks[0]}, asset_pair]
    other = [
        {"coupon": "MINA10"},
        {"referral_code": "mina777"},
        {"click_id": clicks[1]},
        rival_pair,
    ]
    body = {"tracking_id": "unknown"}
    for lower in other[higher + 1 :]:
        body |= lower

    response = api.post(
        "/customers/", {"customer_id": "acct-55120"} | body | own[higher]
    )

    assert response.status_code == 200
    assert response.json()["affiliate"] == ODETTE


@pytest.mark.parametrize(
    "ignored",
    [
        {"click_id": ""},
        {"click_id": "unknown"},
        {"tracking_id": " "},
        {"asset_id": "", "source_id": ""},
        {"asset_id": "4-b81d20"},
        {"coupon": None, "click_id": None, "tracking_id": None, "meta_data": None},
        {"status": None, "user_agent": None, "ip": None, "program_group": None},
        {"metadata": {"a": "b"}, "id": "cu_0000000000000000", "warnings": ["odd"]},
        {"program_group": ""},
        {"click": "text"},
        {"click": {}},
        {"click": {"id": None}},
    ],
    ids=lambda body: "-".join(body),
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


@pytest.mark.parametrize("status", ["new", "trial", "lead", " trial\n"])
def test_starts_with_the_sent_status(api, odette, status):
    assert make_customer(api, {"status": status})["status"] == status.strip()


TEXTS = [
    " leading and trailing ",
    "\tacct\n",
    "emoji 🛶👩‍👩‍👧",
    "combining e\u0301 and \u00e9",
    "quotes ' \" \\ / & < >",
    "\u2028\u202e\ufeff",
    "ACCT-a",
    "0055120",
    "x" * 255,
    "🛶" * 255,
]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text)[:30])
def test_returns_text_byte_for_byte(api, odette, text):
    shown = make_customer(
        api,
        {"customer_id": text, "meta_data": {"key": text, text[:3].strip("'"): text}},
    )

    assert shown["customer_id"] == text
    assert shown["meta_data"]["key"] == text
    assert api.get(f"/customers/{shown['id']}/").json() == shown


def test_accepts_an_integer_as_text(api, odette):
    shown = make_customer(api, {"customer_id": 55120})

    assert shown["customer_id"] == "55120"


def test_accepts_numbers_and_booleans_in_meta_data_as_text(api, odette):
    response = api.post(
        "/customers/",
        '{"customer_id": "acct-1", "coupon": "ODETTE10", "meta_data":'
        ' {"a": 1.50, "b": 1e2, "c": true, "d": false, "e": -7, "f": ""}}',
    )

    assert response.json()["meta_data"] == {
        "a": "1.50",
        "b": "100",
        "c": "true",
        "d": "false",
        "e": "-7",
        "f": "",
    }


def test_trims_lookup_values(api, odette):
    shown = make_customer(api, {"referral_code": " \tqv7kd2p\r\n"})

    assert shown["affiliate"] == ODETTE


@pytest.mark.parametrize(
    "body",
    [
        {"click": {"id": "{click}"}},
        {"click_id": "{click}", "click": {"id": "unknown"}},
        {"click_id": None, "click": {"id": "{click}"}},
    ],
    ids=["alias", "both", "null"],
)
def test_accepts_the_id_inside_a_click_object(api, odette, click, body):
    text = str(body).replace("{click}", str(click)).replace("'", '"')

    response = api.post(
        "/customers/", text.replace("None", "null")[:-1] + ', "customer_id": "a"}'
    )

    assert response.status_code == 200
    assert response.json()["click"] == SHOWN["click"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"visitor_id": "unknown"}, "Invalid tracking id"),
        ({"tracking_id": "unknown", "visitor_id": ""}, "Invalid tracking id"),
    ],
    ids=["alias", "both"],
)
def test_accepts_a_visitor_id_as_a_tracking_id(api, odette, body, message):
    response = api.post("/customers/", {"customer_id": "acct-55120"} | body)

    assert response.status_code == 400
    assert response.json() == {"errors": [{"message": message}]}


@pytest.mark.parametrize(
    ("label", "group", "status"),
    [("lamps", "lamps", 200), ("lamps", "books", 400), ("", "books", 400)],
)
def test_finds_only_programs_of_the_group(api, odette, label, group, status):
    odette.program.update_row(program_group=label)

    response = api.post(
        "/customers/",
        {"customer_id": "acct-55120", "program_group": group} | CODE,
    )

    assert response.status_code == status


def test_warns_when_the_customer_is_the_affiliate(api, odette):
    shown = make_customer(api, {"customer_id": "Odette@Notes.example.org"})

    assert shown["warnings"] == ["customer_is_affiliate"]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("203.0.113.7, 198.51.100.2", "203.0.113.7"),
        ("unknown, 198.51.100.2", "198.51.100.2"),
        ("nowhere", None),
        ("", None),
        (7, None),
        ("x" * 5000, None),
        (", " * 600 + "203.0.113.7", "203.0.113.7"),
    ],
    ids=["list", "second", "invalid", "empty", "number", "long", "late"],
)
def test_never_rejects_an_ip_address(api, account, odette, sent, kept):
    make_customer(api, {"ip": sent})

    assert account.customers.get().ip == kept


def test_truncates_a_user_agent_to_1000_characters(api, account, odette):
    make_customer(api, {"user_agent": "🛶" * 1001})

    assert account.customers.get().user_agent == "🛶" * 1000


@pytest.mark.parametrize(
    ("age", "status"),
    [
        (timedelta(days=45), 200),
        (timedelta(days=45, microseconds=1), 400),
    ],
    ids=["at-the-border", "a-microsecond-later"],
)
@pytest.mark.parametrize(
    ("query", "ignoring"),
    [
        ("", False),
        ("?override_max_cookie_time=", False),
        ("?override_max_cookie_time=false", False),
        ("?override_max_cookie_time=0", False),
        ("?override_max_cookie_time=FALSE", False),
        ("?override_max_cookie_time=true", True),
        ("?override_max_cookie_time=1", True),
        ("?override_max_cookie_time=TRUE", True),
        ("?override_max_cookie_time=0&override_max_cookie_time=1", True),
    ],
)
def test_applies_the_cookie_time(api, account, odette, age, status, query, ignoring):
    old = ClickFactory(account=account, enrollment=odette, created_at=NOW - age)
    body = {"customer_id": "acct-55120", "click_id": str(old)}

    response = api.post(f"/customers/{query}", body)

    assert response.status_code == (200 if ignoring else status)
    if response.status_code == 400:
        assert response.json() == {"errors": [{"message": "Cookie expired"}]}


def test_applies_the_current_cookie_time_of_the_program(api, odette, click):
    odette.program.update_row(cookie_time=2)
    body = {"customer_id": "acct-55120", "click_id": str(click)}

    assert api.post("/customers/", body).json() == {
        "errors": [{"message": "Cookie expired"}]
    }
    odette.program.update_row(cookie_time=3)
    assert api.post("/customers/", body).status_code == 200


def test_ignores_the_age_of_a_click_when_a_code_is_sent(api, account, odette):
    old = ClickFactory(
        account=account, enrollment=odette, created_at=NOW - timedelta(days=400)
    )

    assert make_customer(api, {"click_id": str(old)})["click"] is None


@pytest.mark.parametrize("value", ["yes", "2", "%20true", "null", "t"])
def test_rejects_an_invalid_override(api, account, odette, value):
    response = api.post(
        f"/customers/?override_max_cookie_time={value}",
        {"customer_id": "acct-55120"} | CODE,
    )

    assert response.status_code == 400
    assert response.json() == build_error_body(
        build_field_error(
            "override_max_cookie_time", "This value should be true or false."
        )
    )
    assert account.customers.count() == 0


FIELDS = [
    ("customer_id", [], "customer_id", "string", TYPE),
    ("customer_id", True, "customer_id", "string", TYPE),
    ("customer_id", 1.5, "customer_id", "string", TYPE),
    ("customer_id", "x" * 256, "customer_id", 255, LONG),
    ("coupon", {}, "coupon", "string", TYPE),
    ("coupon", "x" * 256, "coupon", 255, LONG),
    ("referral_code", ["qv7kd2p"], "referral_code", "string", TYPE),
    ("click_id", 1.5, "click_id", "string", TYPE),
    ("click", {"id": []}, "click_id", "string", TYPE),
    ("tracking_id", False, "tracking_id", "string", TYPE),
    ("visitor_id", False, "tracking_id", "string", TYPE),
    ("asset_id", [], "asset_id", "string", TYPE),
    ("source_id", [], "source_id", "string", TYPE),
    ("status", [], "status", "string", TYPE),
    ("status", "x" * 256, "status", 255, LONG),
    ("program_group", {}, "program_group", "string", TYPE),
    ("user_agent", [], "user_agent", "string", TYPE),
    ("meta_data", ["a"], "meta_data", "object", TYPE),
    ("meta_data", "plan", "meta_data", "object", TYPE),
    ("meta_data", {"plan": None}, "meta_data[plan]", "string", TYPE),
    ("meta_data", {"plan": ["a"]}, "meta_data[plan]", "string", TYPE),
    ("meta_data", {"plan": {}}, "meta_data[plan]", "string", TYPE),
    ("meta_data", {"plan": "x" * 256}, "meta_data[plan]", 255, LONG),
    ("meta_data", {"k" * 65: "x"}, f"meta_data[{'k' * 65}]", 64, LONG),
    (
        "meta_data",
        {"": "x"},
        "meta_data[]",
        1,
        "This value is too short, {{ limit }} characters at least.",
    ),
    (
        "meta_data",
        {"a/b": "x"},
        "meta_data[a/b]",
        None,
        "This key holds a character that is not allowed.",
    ),
    (
        "meta_data",
        {"a]": "x"},
        "meta_data[a]]",
        None,
        "This key holds a character that is not allowed.",
    ),
    (
        "meta_data",
        {f"k{n}": "x" for n in range(11)},
        "meta_data",
        10,
        "Meta data holds {{ limit }} keys at most.",
    ),
]


@pytest.mark.parametrize(
    ("field", "value", "path", "filling", "template"),
    FIELDS,
    ids=[f"{n}-{case[0]}" for n, case in enumerate(FIELDS)],
)
def test_rejects_an_invalid_field(
    api, account, odette, field, value, path, filling, template
):
    message = re.sub(r"\{\{ \w+ \}\}", str(filling), template)

    response = api.post(
        "/customers/", {"customer_id": "acct-55120"} | CODE | {field: value}
    )

    assert response.status_code == 400
    assert response.json() == build_error_body(
        build_field_error(path, message, template)
    )
    assert account.customers.count() == 0


def test_reports_every_invalid_field_in_documented_order(api, odette):
    names = [
        "customer_id",
        "coupon",
        "referral_code",
        "click_id",
        "tracking_id",
        "asset_id",
        "source_id",
        "status",
        "meta_data",
        "user_agent",
        "program_group",
    ]

    response = api.post("/customers/", dict.fromkeys(reversed(names), 1.5))

    assert response.status_code == 400
    found = [entry["property_path"] for entry in response.json()["errors"]]
    assert found == names


def test_checks_fields_before_tracking_rules(api, customer):
    body = {"customer_id": "acct-55120", "coupon": "", "status": "odd", "meta_data": 1}

    response = api.post("/customers/", body)

    assert response.json() == build_error_body(
        build_field_error("meta_data", "This value should be of type object.", TYPE)
    )


# GET /customers/{id}/


def test_shows_a_customer(api, customer):
    response = api.get(ONE)

    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert response.json() == SHOWN
    assert list(response.json()) == list(SHOWN)
    assert get_rate_limit_headers(response) == expected_rate_limit_headers(1500, 1, 300)
    assert "Link" not in response


@pytest.mark.parametrize("status", ["new", "trial", "lead", "paying", "canceled"])
def test_shows_every_status(api, customer, status):
    customer.update_row(status=status)

    assert api.get(ONE).json() == SHOWN | {"status": status}


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
    assert foreign.reload().deleted_at is None


# PATCH /customers/{id}/


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        ({}, {}),
        ({"customer_id": "acct-9"}, {"customer_id": "acct-9"}),
        ({"customer_id": " 🛶 "}, {"customer_id": " 🛶 "}),
        ({"customer_id": 9}, {"customer_id": "9"}),
        ({"customer_id": "acct-55120"}, {}),
        ({"customer_id": None, "meta_data": None}, {}),
        ({"meta_data": {}}, {"meta_data": {}}),
        ({"meta_data": {"tier": 1}}, {"meta_data": {"tier": "1"}}),
        (
            {"customer_id": "acct-9", "meta_data": {"tier": "gold"}},
            {"customer_id": "acct-9", "meta_data": {"tier": "gold"}},
        ),
        ({"status": "paying", "id": "cu_1", "created_at": None, "program": 1}, {}),
    ],
    ids=[
        "nothing",
        "name",
        "unusual-name",
        "digits",
        "same",
        "nulls",
        "no-meta-data",
        "meta-data",
        "both",
        "read-only",
    ],
)
def test_updates_a_customer(api, customer, body, changed):
    response = api.patch(ONE, body)

    assert response.status_code == 200
    assert response.json() == SHOWN | changed
    assert api.get(ONE).json() == SHOWN | changed
    assert get_rate_limit_headers(response) == {}


@pytest.mark.parametrize(
    ("body", "entry"),
    [
        (
            {"customer_id": ""},
            build_field_error("customer_id", "This value should not be blank."),
        ),
        (
            {"customer_id": " "},
            build_field_error("customer_id", "This value should not be blank."),
        ),
        (
            {"customer_id": []},
            build_field_error(
                "customer_id", "This value should be of type string.", TYPE
            ),
        ),
        (
            {"customer_id": "x" * 256},
            build_field_error(
                "customer_id", "This value is too long, 255 characters at most.", LONG
            ),
        ),
        (
            {"customer_id": "acct-9", "meta_data": {"plan": None}},
            build_field_error(
                "meta_data[plan]", "This value should be of type string.", TYPE
            ),
        ),
    ],
    ids=["empty", "blank", "type", "long", "meta-data"],
)
def test_rejects_an_invalid_change(api, customer, body, entry):
    response = api.patch(ONE, body)

    assert response.status_code == 400
    assert response.json() == build_error_body(entry)
    assert api.get(ONE).json() == SHOWN


def test_rejects_the_customer_id_of_another_customer(api, account, odette, customer):
    CustomerFactory(account=account, enrollment=odette, customer_id="acct-9")

    response = api.patch(ONE, {"customer_id": "acct-9", "meta_data": {}})

    assert response.status_code == 400
    assert response.json() == {
        "errors": [
            {
                "message": "Duplicate customer. There is already a customer for"
                " Customer id 'acct-9'"
            }
        ]
    }
    assert api.get(ONE).json() == SHOWN


@pytest.mark.parametrize("body", ["", "[]", "null", '{"a": NaN}'])
def test_requires_json_for_an_update(api, customer, body):
    response = api.patch(ONE, body)

    assert response.status_code == 400
    assert response.json() == {
        "errors": [{"message": "Request body was not valid JSON"}]
    }


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
    assert get_rate_limit_headers(response) == {}
    assert api.get(ONE).json() == NOT_FOUND
    assert api.delete(ONE).json() == NOT_FOUND
    assert api.get("/customers/").json() == []
    assert api.get("/customers/?customer_id=acct-55120").json() == []


def test_accepts_the_customer_id_of_a_deleted_customer_again(api, customer):
    api.delete(ONE)

    later = make_customer(api, {})

    assert later["customer_id"] == "acct-55120"
    assert later["id"] != customer.public_id
    assert [row["id"] for row in api.get("/customers/").json()] == [later["id"]]


@pytest.fixture
def selling_program(account):
    """A program with commission types; Odette has the code `sell777` in it."""
    rules = ProgramSettings(title="Harbor Shop", currency="EUR")
    program = create_program(account, slug="harbor-shop", settings=rules, at=NOW)
    EnrollmentFactory(account=account, program=program, code="sell777")


def test_keeps_the_conversions_of_a_deleted_customer(api, account, selling_program):
    sale = api.post(
        "/conversions/",
        {"customer_id": "acct-55120", "referral_code": "sell777", "amount": 20},
    ).json()

    api.delete(f"/customers/{sale['customer']['id']}/")

    assert api.get(f"/conversions/{sale['id']}/").json() == sale | {"customer": None}
    assert_amounts_consistent(account)


# …/status/


@pytest.mark.parametrize("body", ["", "[]", "not json", '{"status": "paying"}'])
def test_cancels_and_restores_a_customer(api, customer, body):
    for _ in range(2):
        response = api.delete(f"{ONE}status/", body)
        assert response.status_code == 200
        assert response.json() == SHOWN | {"status": "canceled"}
        assert get_rate_limit_headers(response) == {}
    for _ in range(2):
        response = api.put(f"{ONE}status/", body)
        assert response.status_code == 200
        assert response.json() == SHOWN | {"status": "trial"}
        assert get_rate_limit_headers(response) == {}


def test_restores_a_customer_with_conversions_to_paying(api, account, selling_program):
    customer = make_customer(api, {"referral_code": "sell777", "status": "lead"})
    sale = {"customer_id": "acct-55120", "amount": 20}
    one = f"/customers/{customer['id']}/"

    states = [customer["status"]]
    for method, path, body in [
        ("POST", "/conversions/", sale),
        ("DELETE", f"{one}status/", None),
        ("PUT", f"{one}status/", None),
        ("DELETE", f"{one}status/", None),
        ("POST", "/conversions/", sale),
    ]:
        assert api.request(method, path, body).status_code == 200
        states.append(api.get(one).json()["status"])

    assert states == ["lead", "paying", "canceled", "paying", "canceled", "paying"]
    assert_amounts_consistent(account)


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
    assert get_rate_limit_headers(response) == expected_rate_limit_headers(1500, 1, 300)
    address = "<http://testserver/1.6/customers/?page=1>"
    assert response["Link"] == f'{address}; rel="last", {address}; rel="first"'


FILTERS = [
    ("", 3),
    ("program_id=harbor-lamp-partners", 2),
    ("program_id=Harbor-Lamp-Partners", 0),
    ("program_id=unknown", 0),
    ("program_id=zz-marker-program", 0),
    ("program_id=", 3),
    ("affiliate_id=odettevarga", 2),
    ("affiliate_id=minakessler", 1),
    ("affiliate_id=unknown", 0),
    ("affiliate_id=zz-marker-affiliate", 0),
    ("affiliate_id=", 3),
    ("customer_id=acct-55120", 1),
    ("customer_id=ACCT-55120", 1),
    ("customer_id=Acct-55120", 0),
    ("customer_id=%20%F0%9F%9B%B6%26", 1),
    ("customer_id=%F0%9F%9B%B6%26", 0),
    ("customer_id=cu_k3Vd9qLmT7xBw2Zs", 0),
    ("customer_id=", 3),
    ("date_from=2026-03-04", 1),
    ("date_from=2026-03-03&date_to=2026-03-03", 1),
    ("date_to=2026-03-03", 2),
    ("date_from=2026-03-04&date_to=2026-03-03", 0),
    ("affiliate_id=odettevarga&date_from=2026-03-04", 1),
    ("affiliate_id=minakessler&program_id=harbor-lamp-partners", 0),
    ("status=trial&limit=1&unknown=1", 3),
    ("customer_id=unknown&customer_id=acct-55120", 1),
]


@pytest.mark.parametrize(("query", "count"), FILTERS, ids=[case[0] for case in FILTERS])
def test_filters_the_list(api, customers, query, count):
    response = api.get(f"/customers/?{query}")

    assert response.status_code == 200
    assert len(response.json()) == count


@pytest.mark.parametrize(
    ("query", "entries"),
    [
        ("date_from=today", [build_field_error("date_from", "Invalid date")]),
        ("date_to=", [build_field_error("date_to", "Invalid date")]),
        ("date_from=2026-02-29", [build_field_error("date_from", "Invalid date")]),
        ("page=0", [build_field_error("page", "Invalid page")]),
        (
            "customer_id=%00",
            [build_field_error("customer_id", "This value is not valid text.")],
        ),
        (
            "page=x&date_to=x&date_from=x&program_id=%00",
            [
                build_field_error("program_id", "This value is not valid text."),
                build_field_error("date_from", "Invalid date"),
                build_field_error("date_to", "Invalid date"),
                build_field_error("page", "Invalid page"),
            ],
        ),
    ],
    ids=["from", "to", "leap", "page", "nul", "all"],
)
def test_rejects_an_invalid_query(api, customers, query, entries):
    response = api.get(f"/customers/?{query}")

    assert response.status_code == 400
    assert response.json() == build_error_body(*entries)


def test_paginates_26_rows(api, account, odette):
    for n in range(26):
        CustomerFactory(
            account=account,
            enrollment=odette,
            customer_id=f"acct-{n:02}",
            created_at=NOW - timedelta(minutes=n),
        )
    CustomerFactory(account=account, program=ProgramFactory(account=account))
    address = (
        "<http://testserver/1.6/customers/?program_id=harbor-lamp-partners&page={}>"
    ).format

    first, second, beyond = (
        api.get(f"/customers/?page={page}&program_id=harbor-lamp-partners")
        for page in (1, 2, 3)
    )

    names = [f"acct-{n:02}" for n in range(26)]
    assert [row["customer_id"] for row in first.json()] == names[:25]
    assert [row["customer_id"] for row in second.json()] == names[25:]
    assert (beyond.status_code, beyond.json()) == (200, [])
    assert first["Link"] == (
        f'{address(2)}; rel="next", {address(2)}; rel="last", {address(1)}; rel="first"'
    )
    assert second["Link"] == (
        f'{address(2)}; rel="last", {address(1)}; rel="first", {address(1)}; rel="prev"'
    )
    assert beyond["Link"] == (
        f'{address(2)}; rel="last", {address(1)}; rel="first", {address(2)}; rel="prev"'
    )


def test_lists_the_later_row_first_at_equal_times(api, account, odette):
    for n in range(3):
        CustomerFactory(
            account=account, enrollment=odette, customer_id=f"acct-{n}", created_at=NOW
        )

    rows = api.get("/customers/").json()

    assert [row["customer_id"] for row in rows] == ["acct-2", "acct-1", "acct-0"]


def test_hides_rows_of_another_account(
    api, other_api, other_account, foreign_enrollment, customers
):
    foreign = other_api.post(
        "/customers/", {"customer_id": "zz-marker", "coupon": "zz-marker-coupon"}
    )

    responses = [api.get("/customers/"), api.get("/customers/?customer_id=zz-marker")]

    assert foreign.status_code == 200
    assert all(b"zz-marker" not in response.content for response in responses)
