"""Payout methods of an affiliate: docs/api-contract.md, section 2.4.8."""

import pytest

from tests.affiliate_site.responses import build_field_error, has_only_errors

pytestmark = pytest.mark.usefixtures("shared_scenario")

PATH = "/affiliates/minakessler/payout-methods/"
PAYPAL = f"{PATH}paypal/"
ADDRESS = {"paypal_address": "mina@notes.example.org"}
NO_METHOD = {"errors": [{"message": "Payout method not found"}]}
TYPE = "This value should be of type {{ type }}."
LONG = "This value is too long, {{ limit }} characters at most."
BY_PAYPAL = {
    "id": "paypal",
    "type": "paypal",
    "title": "PayPal",
    "details": ADDRESS,
    "primary": True,
}


@pytest.mark.parametrize(
    "body",
    [
        ADDRESS,
        {"details": ADDRESS},
        {"type": "paypal", "details": ADDRESS, "primary": True},
        {"type": "other", "details": ADDRESS, "primary": None},
        ADDRESS | {"type": "bank", "primary": False},
        ADDRESS | {"details": None, "iban": None},
        {"details": ADDRESS | {"iban": None}},
    ],
    ids=[
        *("flat", "details", "whole", "another type", "flat and primary"),
        *("nulls", "nulls inside"),
    ],
)
def test_first_payout_method_is_primary(api, scenario, body):
    response = api.put(PAYPAL, body)

    assert response.status_code == 200
    assert response.json() == BY_PAYPAL
    assert list(response.json()) == list(BY_PAYPAL)
    assert api.get(PAYPAL).json() == BY_PAYPAL
    assert api.get(PATH).json() == [BY_PAYPAL]


@pytest.mark.parametrize(
    ("kind", "title"),
    [
        ("paypal", "PayPal"),
        ("wire_transfer", "Wire transfer"),
        ("bank", "Bank account"),
        ("other", "Other"),
    ],
)
def test_accepts_four_payout_methods(api, scenario, kind, title):
    response = api.put(f"{PATH}{kind}/", {"iban": 12345})

    assert response.json() == {
        "id": kind,
        "type": kind,
        "title": title,
        "details": {"iban": "12345"},
        "primary": True,
    }


@pytest.mark.parametrize(
    ("body", "details"),
    [
        ({"b": "2"}, {"b": "2"}),
        ({"details": {"b": "2"}, "c": "3"}, {"b": "2"}),
        ({"details": {}}, {}),
        ({"primary": True}, ADDRESS),
        ({"type": "paypal", "primary": True}, ADDRESS),
        ({"primary": False, "details": None}, ADDRESS),
    ],
    ids=["flat", "details", "no details", "primary alone", "and type", "not primary"],
)
def test_keeps_the_details_when_only_primary_is_sent(api, scenario, body, details):
    api.put(PAYPAL, ADDRESS)

    response = api.put(PAYPAL, body)

    assert response.status_code == 200
    assert response.json() == BY_PAYPAL | {"details": details}
    assert api.get(PATH).json() == [response.json()]


def test_changes_the_primary_payout_method(api, scenario):
    def primaries():
        return [row["id"] for row in api.get(PATH).json() if row["primary"]]

    seen = []
    for kind, body in [
        ("bank", {"iban": "1"}),
        ("paypal", ADDRESS),
        ("paypal", {"primary": True}),
        ("other", {"x": "y", "primary": True}),
        ("other", {"primary": False}),
        ("bank", {"type": "bank", "details": {"iban": "2"}, "primary": False}),
    ]:
        assert api.put(f"{PATH}{kind}/", body).status_code == 200
        seen += primaries()

    assert seen == ["bank", "bank", "paypal", "other", "other", "other"]
    assert [(row["id"], row["details"]) for row in api.get(PATH).json()] == [
        ("bank", {"iban": "2"}),
        ("paypal", ADDRESS),
        ("other", {"x": "y"}),
    ]


def test_keeps_20_details_of_255_characters(api, scenario):
    details = {f"key-{n}": "š" * 255 for n in range(20)}

    flat = api.put(PAYPAL, details | {"type": "x", "primary": True})
    nested = api.put(f"{PATH}bank/", {"details": details})

    assert flat.json()["details"] == nested.json()["details"] == details


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        (
            {"details": [], "primary": 1},
            [
                ("details", TYPE, "object"),
                ("primary", "This value should be true or false."),
            ],
        ),
        (
            {"details": {"fine": "x", "a": [], "b": "x" * 256}},
            [("details[a]", TYPE, "string"), ("details[b]", LONG, 255)],
        ),
        (
            {"details": {f"key-{n}": "x" for n in range(21)}},
            [("details", "This list holds {{ limit }} items at most.", 20)],
        ),
    ],
    ids=["list and flag", "values", "too many"],
)
def test_rejects_invalid_details(api, scenario, body, errors):
    api.put(PAYPAL, ADDRESS)

    response = api.put(PAYPAL, body)

    assert has_only_errors(response, *(build_field_error(*error) for error in errors))
    assert api.get(PATH).json() == [BY_PAYPAL]


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("GET", "paypal"),
        ("GET", "cash"),
        ("PUT", "cash"),
        ("PUT", "PayPal"),
        ("PUT", "wire-transfer"),
        ("PUT", "wise"),  # staff can set it
    ],
)
def test_unknown_payout_methods_return_404(api, account, scenario, method, kind):
    response = api.request(method, f"{PATH}{kind}/", {"details": []})

    assert response.status_code == 404
    assert response.json() == NO_METHOD
    assert api.get(PATH).json() == []


def test_keeps_the_payout_methods_of_affiliates_separate(api, scenario):
    scenario.create_enrolled_affiliate("Odette", "Varga")
    api.put(PAYPAL, ADDRESS)

    response = api.put("/affiliates/odettevarga/payout-methods/bank/", {"iban": "1"})

    assert response.json()["primary"] is True
    assert api.get(PATH).json() == [BY_PAYPAL]


def test_audit_log_records_the_payout_method_with_masked_details(api, account, scenario):
    api.put(PAYPAL, ADDRESS)

    line = account.audit_log.get(kind="payout_method.set")
    assert (line.subject, line.details) == (
        f"affiliate:{scenario.mina.affiliate.log_id}",
        {
            "method": "paypal",
            "fields": ["email", "primary"],
            "email": [None, "m•••@•••"],
        },
    )
