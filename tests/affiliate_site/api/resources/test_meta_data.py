"""The five operations on the meta data of a customer: docs/api-contract.md, 2.1.5."""

from urllib.parse import quote

import pytest

from tests.conftest import NOW
from tests.factories.tracking import CustomerFactory

pytestmark = pytest.mark.usefixtures("frozen_time")

WHOLE = "/customers/cu_k3Vd9qLmT7xBw2Zs/meta-data/"
KEPT = {"plan": "basic", "1": " one ", "a b🛶": "e\u0301"}
LIMITS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
NO_KEY = {"errors": [{"message": "Meta data key not found"}]}
NO_CUSTOMER = {"errors": [{"message": "Customer not found"}]}
TYPE = "This value should be of type {{ type }}."
LONG = "This value is too long, {{ limit }} characters at most."
INVALID_KEY = "This key holds a character that is not allowed."
TEN = {f"key-{n}": str(n) for n in range(10)}


@pytest.fixture
def customer(account):
    return CustomerFactory(
        account=account, public_id="cu_k3Vd9qLmT7xBw2Zs", meta_data=KEPT
    )


def build_path(key):
    return f"{WHOLE}{quote(key, safe='')}/"


def build_field_error(path, message, raw=None):
    return {"message": message, "message_raw": raw or message, "property_path": path}


def get_rate_limit_headers(response):
    return [response.headers.get(name) for name in LIMITS]


# The whole map


def test_shows_the_map(api, customer):
    response = api.get(WHOLE)

    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert response.json() == KEPT
    assert get_rate_limit_headers(response) == [
        "300",
        "299",
        str(int(NOW.timestamp()) + 900),
    ]
    assert "Link" not in response


def test_shows_an_empty_map_as_an_object(api, customer):
    customer.update_row(meta_data={})

    assert api.get(WHOLE).content == b"{}"


MAPS = [
    ("{}", {}),
    ('{"tier": "gold"}', {"tier": "gold"}),
    ('{"b": "1", "a": "2"}', {"b": "1", "a": "2"}),
    (
        '{"a": 1.50, "b": 1e2, "c": true, "d": ""}',
        {"a": "1.50", "b": "100", "c": "true", "d": ""},
    ),
    ('{" k ": " v ", "\\ud83d\\udef6": "e\\u0301"}', {" k ": " v ", "🛶": "e\u0301"}),
    ('{"meta_data": "x", "value": "y"}', {"meta_data": "x", "value": "y"}),
]


@pytest.mark.parametrize("method", ["PUT", "POST"])
@pytest.mark.parametrize(("body", "kept"), MAPS, ids=[case[0][:20] for case in MAPS])
def test_replaces_the_map(api, customer, method, body, kept):
    response = api.request(method, WHOLE, body)

    assert response.status_code == 200
    assert response.json() == kept
    assert customer.reload().meta_data == kept


@pytest.mark.parametrize(
    ("body", "entries"),
    [
        (
            {"plan": None},
            [
                build_field_error(
                    "meta_data[plan]", "This value should be of type string.", TYPE
                )
            ],
        ),
        (
            {"fine": "x", "list": [], "a:b": "x", "long": "x" * 256},
            [
                build_field_error(
                    "meta_data[list]", "This value should be of type string.", TYPE
                ),
                build_field_error("meta_data[a:b]", INVALID_KEY),
                build_field_error(
                    "meta_data[long]",
                    "This value is too long, 255 characters at most.",
                    LONG,
                ),
            ],
        ),
        (
            {"k" * 65: "x"},
            [
                build_field_error(
                    f"meta_data[{'k' * 65}]",
                    "This value is too long, 64 characters at most.",
                    LONG,
                )
            ],
        ),
        (
            TEN | {"eleventh": "x"},
            [
                build_field_error(
                    "meta_data",
                    "Meta data holds 10 keys at most.",
                    "Meta data holds {{ limit }} keys at most.",
                )
            ],
        ),
    ],
    ids=["null", "several", "long-key", "eleven"],
)
def test_rejects_an_invalid_map(api, customer, body, entries):
    response = api.put(WHOLE, body)

    assert response.status_code == 400
    assert response.json() == {"errors": entries}
    assert customer.reload().meta_data == KEPT


@pytest.mark.parametrize("path", [WHOLE, f"{WHOLE}plan/"])
@pytest.mark.parametrize("body", ["", "[]", '"text"', "null", '{"a": "1", "a": "2"}'])
def test_requires_a_json_object(api, customer, path, body):
    response = api.put(path, body)

    assert response.status_code == 400
    assert response.json() == {
        "errors": [{"message": "Request body was not valid JSON"}]
    }


# One key


@pytest.mark.parametrize("key", KEPT)
def test_shows_a_value(api, customer, key):
    response = api.get(build_path(key))

    assert response.status_code == 200
    assert response.json() == {"value": KEPT[key]}
    assert get_rate_limit_headers(response) == [
        "300",
        "299",
        str(int(NOW.timestamp()) + 900),
    ]


KEYS = [
    "plan",
    "tier",
    "1",
    "0",
    " ",
    "ž🛶",
    "a b",
    "a.b",
    "a?b",
    "a#b",
    "a%20b",
    "a;b",
    "$",
    "[0",
    "a+b",
    "%",
    "k" * 64,
]


@pytest.mark.parametrize("key", KEYS)
def test_sets_a_key(api, customer, key):
    response = api.put(build_path(key), {"value": " gold 🛶"})

    assert response.status_code == 200
    assert response.json() == {"value": " gold 🛶"}
    assert customer.reload().meta_data == KEPT | {key: " gold 🛶"}
    assert api.get(build_path(key)).json() == {"value": " gold 🛶"}


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ('{"value": ""}', ""),
        ('{"value": 7}', "7"),
        ('{"value": 1.50}', "1.50"),
        ('{"value": false}', "false"),
        ('{"value": "x", "key": "y"}', "x"),
    ],
)
def test_accepts_a_value_as_text(api, customer, body, value):
    assert api.put(build_path("plan"), body).json() == {"value": value}


@pytest.mark.parametrize(
    ("body", "entry"),
    [
        ({}, build_field_error("value", "Missing mandatory parameter(s)")),
        ({"value": None}, build_field_error("value", "Missing mandatory parameter(s)")),
        (
            {"value": []},
            build_field_error("value", "This value should be of type string.", TYPE),
        ),
        (
            {"value": {}},
            build_field_error("value", "This value should be of type string.", TYPE),
        ),
        (
            {"value": "x" * 256},
            build_field_error(
                "value", "This value is too long, 255 characters at most.", LONG
            ),
        ),
        (
            '{"value": 12345678901234567890}',
            build_field_error("value", "This value has too many digits."),
        ),
    ],
    ids=["missing", "null", "list", "object", "long", "digits"],
)
def test_rejects_an_invalid_value(api, customer, body, entry):
    response = api.put(build_path("plan"), body)

    assert response.status_code == 400
    assert response.json() == {"errors": [entry]}
    assert customer.reload().meta_data == KEPT


@pytest.mark.parametrize("key", ["a:b", '"', "{", "}", "a]", "\\", "'", "&"])
def test_rejects_a_key_with_a_forbidden_character(api, customer, key):
    response = api.put(build_path(key), {"value": "x"})

    assert response.status_code == 400
    assert response.json() == {"errors": [build_field_error("value", INVALID_KEY)]}
    for method in ("GET", "DELETE"):
        answer = api.request(method, build_path(key))
        assert (answer.status_code, answer.json()) == (404, NO_KEY)


def test_rejects_a_key_that_is_too_long(api, customer):
    response = api.put(build_path("k" * 65), {"value": "x"})

    assert response.json() == {
        "errors": [
            build_field_error(
                "value", "This value is too long, 64 characters at most.", LONG
            )
        ]
    }


def test_rejects_an_eleventh_key(api, customer):
    customer.update_row(meta_data=TEN)

    response = api.put(build_path("eleventh"), {"value": "x"})
    again = api.put(build_path("key-9"), {"value": "x"})

    assert response.status_code == 400
    assert response.json() == {
        "errors": [
            build_field_error(
                "value",
                "Meta data holds 10 keys at most.",
                "Meta data holds {{ limit }} keys at most.",
            )
        ]
    }
    assert again.status_code == 200
    assert customer.reload().meta_data == TEN | {"key-9": "x"}


@pytest.mark.parametrize("body", ["", "[]", "not json"])
@pytest.mark.parametrize("key", KEPT)
def test_deletes_a_key(api, customer, key, body):
    response = api.delete(build_path(key), body)

    assert response.status_code == 204
    assert response.content == b""
    assert key not in customer.reload().meta_data
    assert len(customer.reload().meta_data) == 2
    again = api.delete(build_path(key), body)
    assert (again.status_code, again.json()) == (404, NO_KEY)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("key", ["unknown", "Plan", "0", "plan ", "a%20b🛶"])
def test_unknown_keys_return_404(api, customer, method, key):
    response = api.request(method, build_path(key))

    assert response.status_code == 404
    assert response.json() == NO_KEY


# Unknown customers


@pytest.mark.parametrize("kind", ["unknown", "removed", "foreign"])
@pytest.mark.parametrize(
    ("method", "tail", "body"),
    [
        ("GET", "", None),
        ("PUT", "", {"a": None}),
        ("POST", "", {}),
        ("GET", "plan/", None),
        ("PUT", "plan/", {"value": []}),
        ("PUT", "a:b/", {"value": "x"}),
        ("DELETE", "plan/", None),
    ],
    ids=["get", "put", "post", "get-key", "put-key", "put-invalid-key", "delete-key"],
)
def test_unknown_customers_return_404(
    api, account, other_account, kind, method, tail, body
):
    removed = CustomerFactory(account=account, deleted_at=NOW, meta_data=KEPT)
    foreign = CustomerFactory(account=other_account, meta_data=KEPT)
    public_id = {
        "unknown": "cu_0000000000000000",
        "removed": removed.public_id,
        "foreign": foreign.public_id,
    }[kind]

    response = api.request(method, f"/customers/{public_id}/meta-data/{tail}", body)

    assert response.status_code == 404
    assert response.json() == NO_CUSTOMER
    assert foreign.reload().meta_data == KEPT


def test_alias_shares_the_rate_limit(api, customer):
    remaining = [
        api.request(method, WHOLE, {})["X-RateLimit-Remaining"]
        for method in ("PUT", "POST", "PUT", "GET")
    ]

    assert remaining == ["299", "298", "297", "299"]
