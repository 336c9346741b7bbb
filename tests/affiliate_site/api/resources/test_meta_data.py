"""The operations on the meta data of customers, affiliates and conversions.

See docs/api-contract.md, section 2.1.5.
"""

from urllib.parse import quote

import pytest

from tests.affiliate_site.responses import build_field_error, has_only_errors

pytestmark = pytest.mark.usefixtures("shared_scenario")

KEPT = {"plan": "basic", "1": " one ", "a b🛶": "e\u0301"}
NO_KEY = {"errors": [{"message": "Meta data key not found"}]}
MISSING = "Missing mandatory parameter(s)"
TYPE = "This value should be of type {{ type }}."
LONG = "This value is too long, {{ limit }} characters at most."
INVALID_KEY = "This key holds a character that is not allowed."
MANY = "Meta data holds {{ limit }} keys at most."
TEN = {f"key-{n}": str(n) for n in range(10)}


class Owner:
    """An object with meta data, and the path of its map."""

    def __init__(self, path, row):
        self.path = f"{path}meta-data/"
        self.row = row
        row.update_row(meta_data=KEPT)

    def build_path(self, key):
        return f"{self.path}{quote(key, safe='')}/"

    @property
    def meta_data(self):
        return self.row.reload().meta_data


@pytest.fixture(params=["customers", "affiliates", "conversions"])
def owner(request, scenario):
    if request.param == "customers":
        row = scenario.create_customer("acct-1")
        return Owner(f"/customers/{row.public_id}/", row)
    if request.param == "affiliates":
        return Owner("/affiliates/minakessler/", scenario.mina.affiliate)
    row = scenario.create_conversion("0")
    return Owner(f"/conversions/{row.pk}/", row)


# The whole map


def test_shows_the_map(api, owner):
    response = api.get(owner.path)

    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert response.json() == KEPT
    assert "Link" not in response
    owner.row.update_row(meta_data={})
    assert api.get(owner.path).content == b"{}"


@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_replaces_the_map(api, owner, method):
    body = '{"a": 1.50, "b": true, " k ": "", "\\ud83d\\udef6": "e\\u0301", "value": "y"}'
    kept = {"a": "1.50", "b": "true", " k ": "", "🛶": "e\u0301", "value": "y"}

    response = api.request(method, owner.path, body)

    assert response.status_code == 200
    assert response.json() == kept
    assert owner.meta_data == kept


@pytest.mark.parametrize(
    ("body", "entries"),
    [
        (
            {"fine": "x", "null": None, "a:b": "x", "long": "x" * 256, "k" * 65: "x"},
            [
                ("meta_data[null]", TYPE, "string"),
                ("meta_data[a:b]", INVALID_KEY),
                ("meta_data[long]", LONG, 255),
                (f"meta_data[{'k' * 65}]", LONG, 64),
            ],
        ),
        (TEN | {"eleventh": "x"}, [("meta_data", MANY, 10)]),
    ],
    ids=["several", "eleven"],
)
def test_rejects_an_invalid_map(api, owner, body, entries):
    response = api.put(owner.path, body)

    assert has_only_errors(response, *(build_field_error(*entry) for entry in entries))
    assert owner.meta_data == KEPT


@pytest.mark.parametrize("tail", ["", "plan/"])
def test_requires_a_json_object(api, owner, tail):
    response = api.put(owner.path + tail, "[]")

    error = {"message": "Request body was not valid JSON"}
    assert has_only_errors(response, error)


# One key


KEYS = [
    *("plan", "0", " ", "ž🛶", "a.b", "a?b", "a#b", "a%20b", "$", "[0", "a+b"),
    "k" * 64,
]


@pytest.mark.parametrize("key", KEYS)
def test_sets_and_shows_a_key(api, owner, key):
    response = api.put(owner.build_path(key), {"value": " gold 🛶"})

    assert response.status_code == 200
    assert response.json() == {"value": " gold 🛶"}
    assert owner.meta_data == KEPT | {key: " gold 🛶"}
    assert api.get(owner.build_path(key)).json() == {"value": " gold 🛶"}


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ('{"value": ""}', ""),
        ('{"value": 1.50}', "1.50"),
        ('{"value": false, "key": "y"}', "false"),
    ],
)
def test_accepts_a_value_as_text(api, owner, body, value):
    assert api.put(owner.build_path("plan"), body).json() == {"value": value}


@pytest.mark.parametrize(
    ("key", "body", "error"),
    [
        ("plan", {}, (MISSING,)),
        ("plan", {"value": None}, (MISSING,)),
        ("plan", {"value": []}, (TYPE, "string")),
        ("plan", {"value": "x" * 256}, (LONG, 255)),
        (
            "plan",
            '{"value": 12345678901234567890}',
            ("This value has too many digits.",),
        ),
        ("k" * 65, {"value": "x"}, (LONG, 64)),
    ],
    ids=["missing", "null", "list", "long", "digits", "long-key"],
)
def test_rejects_an_invalid_value(api, owner, key, body, error):
    response = api.put(owner.build_path(key), body)

    assert has_only_errors(response, build_field_error("value", *error))
    assert owner.meta_data == KEPT


@pytest.mark.parametrize("key", ["a:b", '"', "{", "}", "a]", "\\", "'", "&"])
def test_rejects_a_key_with_a_forbidden_character(api, owner, key):
    response = api.put(owner.build_path(key), {"value": "x"})

    assert has_only_errors(response, build_field_error("value", INVALID_KEY))
    for method in ("GET", "DELETE"):
        answer = api.request(method, owner.build_path(key))
        assert (answer.status_code, answer.json()) == (404, NO_KEY)


def test_rejects_an_eleventh_key(api, owner):
    owner.row.update_row(meta_data=TEN)

    response = api.put(owner.build_path("eleventh"), {"value": "x"})
    again = api.put(owner.build_path("key-9"), {"value": "x"})

    assert has_only_errors(response, build_field_error("value", MANY, 10))
    assert again.status_code == 200
    assert owner.meta_data == TEN | {"key-9": "x"}


@pytest.mark.parametrize("key", KEPT)
def test_deletes_a_key(api, owner, key):
    response = api.delete(owner.build_path(key), "not json")

    assert (response.status_code, response.content) == (204, b"")
    assert owner.meta_data == {name: KEPT[name] for name in KEPT if name != key}
    for method in ("GET", "DELETE"):
        again = api.request(method, owner.build_path(key))
        assert (again.status_code, again.json()) == (404, NO_KEY)


@pytest.mark.parametrize("key", ["Plan", "0", "plan ", "a%20b🛶"])
def test_unknown_keys_return_404(api, owner, key):
    response = api.get(owner.build_path(key))

    assert (response.status_code, response.json()) == (404, NO_KEY)


@pytest.mark.parametrize(
    ("tail", "body"), [("", {"a": None}), ("plan/", {"value": []}), ("a:b/", {})]
)
def test_deleted_owners_return_404_before_errors(api, owner, tail, body):
    api.delete(owner.path.removesuffix("meta-data/"))

    response = api.put(owner.path + tail, body)

    assert response.status_code == 404
    assert response.json()["errors"][0]["message"].endswith(" not found")


def test_audit_log_records_changes_without_values(api, account, owner):
    for value in ("basic", "secret"):
        api.put(owner.build_path("plan"), {"value": value})

    kind = owner.path.split("/")[1].removesuffix("s")
    events = account.audit_log.filter(kind=f"{kind}.updated")
    assert [entry.details for entry in events] == [{"fields": ["meta_data"]}]
