"""Contract 2.1.5: the five routes of meta data, on a customer."""

from urllib.parse import quote

import pytest

from tests.conftest import NOW
from tests.factories.tracking import CustomerFactory

pytestmark = pytest.mark.usefixtures("now")

WHOLE = "/customers/cu_k3Vd9qLmT7xBw2Zs/meta-data/"
KEPT = {"plan": "basic", "1": " one ", "a b🛶": "e\u0301"}
LIMITS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
NO_KEY = {"errors": [{"message": "Meta data key not found"}]}
NO_CUSTOMER = {"errors": [{"message": "Customer not found"}]}
TYPE = "This value should be of type {{ type }}."
LONG = "This value is too long, {{ limit }} characters at most."
ODD_KEY = "This key holds a character that is not allowed."
TEN = {f"key-{n}": str(n) for n in range(10)}


@pytest.fixture
def customer(account):
    return CustomerFactory(
        account=account, public_id="cu_k3Vd9qLmT7xBw2Zs", meta_data=KEPT
    )


def at(key):
    return f"{WHOLE}{quote(key, safe='')}/"


def flaw(path, message, raw=None):
    return {"message": message, "message_raw": raw or message, "property_path": path}


def limits_of(response):
    return [response.headers.get(name) for name in LIMITS]


# The whole map


def test_shows_the_map(api, customer):
    response = api.get(WHOLE)

    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert response.json() == KEPT
    assert limits_of(response) == ["300", "299", str(int(NOW.timestamp()) + 900)]
    assert "Link" not in response


def test_shows_an_empty_map_as_an_object(api, customer):
    customer.change(meta_data={})

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
@pytest.mark.parametrize(("body", "kept"), MAPS, ids=[it[0][:20] for it in MAPS])
def test_replaces_the_map(api, customer, method, body, kept):
    response = api.ask(method, WHOLE, body)

    assert response.status_code == 200
    assert response.json() == kept
    assert customer.again().meta_data == kept


@pytest.mark.parametrize(
    ("body", "entries"),
    [
        (
            {"plan": None},
            [flaw("meta_data[plan]", "This value should be of type string.", TYPE)],
        ),
        (
            {"fine": "x", "list": [], "a:b": "x", "long": "x" * 256},
            [
                flaw("meta_data[list]", "This value should be of type string.", TYPE),
                flaw("meta_data[a:b]", ODD_KEY),
                flaw(
                    "meta_data[long]",
                    "This value is too long, 255 characters at most.",
                    LONG,
                ),
            ],
        ),
        (
            {"k" * 65: "x"},
            [
                flaw(
                    f"meta_data[{'k' * 65}]",
                    "This value is too long, 64 characters at most.",
                    LONG,
                )
            ],
        ),
        (
            TEN | {"eleventh": "x"},
            [
                flaw(
                    "meta_data",
                    "Meta data holds 10 keys at most.",
                    "Meta data holds {{ limit }} keys at most.",
                )
            ],
        ),
    ],
    ids=["null", "several", "long-key", "eleven"],
)
def test_refuses_an_odd_map(api, customer, body, entries):
    response = api.put(WHOLE, body)

    assert response.status_code == 400
    assert response.json() == {"errors": entries}
    assert customer.again().meta_data == KEPT


@pytest.mark.parametrize("path", [WHOLE, f"{WHOLE}plan/"])
@pytest.mark.parametrize("body", ["", "[]", '"text"', "null", '{"a": "1", "a": "2"}'])
def test_wants_a_json_object(api, customer, path, body):
    response = api.put(path, body)

    assert response.status_code == 400
    assert response.json() == {
        "errors": [{"message": "Request body was not valid JSON"}]
    }


# One key


@pytest.mark.parametrize("key", KEPT)
def test_shows_a_value(api, customer, key):
    response = api.get(at(key))

    assert response.status_code == 200
    assert response.json() == {"value": KEPT[key]}
    assert limits_of(response) == ["300", "299", str(int(NOW.timestamp()) + 900)]


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
    response = api.put(at(key), {"value": " gold 🛶"})

    assert response.status_code == 200
    assert response.json() == {"value": " gold 🛶"}
    assert customer.again().meta_data == KEPT | {key: " gold 🛶"}
    assert api.get(at(key)).json() == {"value": " gold 🛶"}


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
def test_takes_a_value_as_text(api, customer, body, value):
    assert api.put(at("plan"), body).json() == {"value": value}


@pytest.mark.parametrize(
    ("body", "entry"),
    [
        ({}, flaw("value", "Missing mandatory parameter(s)")),
        ({"value": None}, flaw("value", "Missing mandatory parameter(s)")),
        ({"value": []}, flaw("value", "This value should be of type string.", TYPE)),
        ({"value": {}}, flaw("value", "This value should be of type string.", TYPE)),
        (
            {"value": "x" * 256},
            flaw("value", "This value is too long, 255 characters at most.", LONG),
        ),
        (
            '{"value": 12345678901234567890}',
            flaw("value", "This value has too many digits."),
        ),
    ],
    ids=["missing", "null", "list", "object", "long", "digits"],
)
def test_refuses_an_odd_value(api, customer, body, entry):
    response = api.put(at("plan"), body)

    assert response.status_code == 400
    assert response.json() == {"errors": [entry]}
    assert customer.again().meta_data == KEPT


@pytest.mark.parametrize("key", ["a:b", '"', "{", "}", "a]", "\\", "'", "&"])
def test_refuses_a_key_with_a_forbidden_character(api, customer, key):
    response = api.put(at(key), {"value": "x"})

    assert response.status_code == 400
    assert response.json() == {"errors": [flaw("value", ODD_KEY)]}
    for method in ("GET", "DELETE"):
        answer = api.ask(method, at(key))
        assert (answer.status_code, answer.json()) == (404, NO_KEY)


def test_refuses_a_key_that_is_too_long(api, customer):
    response = api.put(at("k" * 65), {"value": "x"})

    assert response.json() == {
        "errors": [
            flaw("value", "This value is too long, 64 characters at most.", LONG)
        ]
    }


def test_refuses_an_eleventh_key(api, customer):
    customer.change(meta_data=TEN)

    response = api.put(at("eleventh"), {"value": "x"})
    again = api.put(at("key-9"), {"value": "x"})

    assert response.status_code == 400
    assert response.json() == {
        "errors": [
            flaw(
                "value",
                "Meta data holds 10 keys at most.",
                "Meta data holds {{ limit }} keys at most.",
            )
        ]
    }
    assert again.status_code == 200
    assert customer.again().meta_data == TEN | {"key-9": "x"}


@pytest.mark.parametrize("body", ["", "[]", "not json"])
@pytest.mark.parametrize("key", KEPT)
def test_forgets_a_key(api, customer, key, body):
    response = api.delete(at(key), body)

    assert response.status_code == 204
    assert response.content == b""
    assert key not in customer.again().meta_data
    assert len(customer.again().meta_data) == 2
    again = api.delete(at(key), body)
    assert (again.status_code, again.json()) == (404, NO_KEY)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("key", ["unknown", "Plan", "0", "plan ", "a%20b🛶"])
def test_does_not_know_other_keys(api, customer, method, key):
    response = api.ask(method, at(key))

    assert response.status_code == 404
    assert response.json() == NO_KEY


# Whose


@pytest.mark.parametrize("which", ["unknown", "removed", "foreign"])
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
    ids=["get", "put", "post", "get-key", "put-key", "put-odd-key", "delete-key"],
)
def test_does_not_know_other_customers(
    api, account, other_account, which, method, tail, body
):
    removed = CustomerFactory(account=account, removed_at=NOW, meta_data=KEPT)
    foreign = CustomerFactory(account=other_account, meta_data=KEPT)
    public_id = {
        "unknown": "cu_0000000000000000",
        "removed": removed.public_id,
        "foreign": foreign.public_id,
    }[which]

    response = api.ask(method, f"/customers/{public_id}/meta-data/{tail}", body)

    assert response.status_code == 404
    assert response.json() == NO_CUSTOMER
    assert foreign.again().meta_data == KEPT


def test_counts_an_alias_with_what_it_stands_for(api, customer):
    left = [
        api.ask(method, WHOLE, {})["X-RateLimit-Remaining"]
        for method in ("PUT", "POST", "PUT", "GET")
    ]

    assert left == ["299", "298", "297", "299"]
