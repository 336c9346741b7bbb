"""Contract 2.4.8: how an affiliate wants to be paid."""

import pytest

from tests.proof import everything
from tests.shop import Shop

PATH = "/affiliates/minakessler/payout-methods/"
PAYPAL = f"{PATH}paypal/"
ADDRESS = {"paypal_address": "mina@notes.example.org"}
NO_METHOD = {"errors": [{"message": "Payout method not found"}]}
NO_AFFILIATE = {"errors": [{"message": "Affiliate not found"}]}
TYPE = "This value should be of type {{ type }}."
LONG = "This value is too long, {{ limit }} characters at most."
BY_PAYPAL = {
    "id": "paypal",
    "type": "paypal",
    "title": "PayPal",
    "details": ADDRESS,
    "primary": True,
}


def flaw(path, message, raw=None):
    return {"message": message, "message_raw": raw or message, "property_path": path}


@pytest.mark.parametrize(
    "said",
    [
        ADDRESS,
        {"details": ADDRESS},
        {"type": "paypal", "details": ADDRESS, "primary": True},
        {"type": "other", "details": ADDRESS, "primary": None},
        ADDRESS | {"type": "bank", "primary": False},
        ADDRESS | {"details": None, "iban": None},
    ],
    ids=["flat", "details", "whole", "another type", "flat and primary", "nulls"],
)
def test_sets_the_first_method_which_is_primary(api, shop, said):
    response = api.put(PAYPAL, said)

    assert response.status_code == 200
    assert response.json() == BY_PAYPAL
    assert list(response.json()) == list(BY_PAYPAL)
    assert api.get(PAYPAL).json() == BY_PAYPAL
    assert api.get(PATH).json() == [BY_PAYPAL]
    assert response["X-RateLimit-Limit"] == "1500"


@pytest.mark.parametrize(
    ("kind", "title"),
    [
        ("paypal", "PayPal"),
        ("wire_transfer", "Wire transfer"),
        ("bank", "Bank account"),
        ("other", "Other"),
    ],
)
def test_knows_four_ways(api, shop, kind, title):
    response = api.put(f"{PATH}{kind}/", {"iban": 12345})

    assert response.json() == {
        "id": kind,
        "type": kind,
        "title": title,
        "details": {"iban": "12345"},
        "primary": True,
    }


@pytest.mark.parametrize(
    ("said", "details"),
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
def test_replaces_the_details_unless_only_primary_is_sent(api, shop, said, details):
    api.put(PAYPAL, ADDRESS)

    response = api.put(PAYPAL, said)

    assert response.status_code == 200
    assert response.json() == BY_PAYPAL | {"details": details}
    assert api.get(PATH).json() == [response.json()]


def test_moves_the_primary_way(api, shop):
    def primaries():
        return [it["id"] for it in api.get(PATH).json() if it["primary"]]

    seen = []
    for kind, said in [
        ("bank", {"iban": "1"}),
        ("paypal", ADDRESS),
        ("paypal", {"primary": True}),
        ("other", {"x": "y", "primary": True}),
        ("other", {"primary": False}),
        ("bank", {"type": "bank", "details": {"iban": "2"}, "primary": False}),
    ]:
        assert api.put(f"{PATH}{kind}/", said).status_code == 200
        seen += primaries()

    assert seen == ["bank", "bank", "paypal", "other", "other", "other"]
    assert [(it["id"], it["details"]) for it in api.get(PATH).json()] == [
        ("bank", {"iban": "2"}),
        ("paypal", ADDRESS),
        ("other", {"x": "y"}),
    ]


def test_keeps_20_details_of_255_characters(api, shop):
    details = {f"key-{n}": "š" * 255 for n in range(20)}

    flat = api.put(PAYPAL, details | {"type": "x", "primary": True})
    nested = api.put(f"{PATH}bank/", {"details": details})

    assert flat.json()["details"] == nested.json()["details"] == details


@pytest.mark.parametrize(
    ("said", "entries"),
    [
        (
            {"details": "paypal"},
            [flaw("details", "This value should be of type object.", TYPE)],
        ),
        (
            {"details": [], "primary": "true"},
            [
                flaw("details", "This value should be of type object.", TYPE),
                flaw("primary", "This value should be true or false."),
            ],
        ),
        (
            {"details": {"fine": "x", "a": [], "b": "x" * 256}},
            [
                flaw("details[a]", "This value should be of type string.", TYPE),
                flaw(
                    "details[b]",
                    "This value is too long, 255 characters at most.",
                    LONG,
                ),
            ],
        ),
        (
            {"details": {f"key-{n}": "x" for n in range(21)}},
            [
                flaw(
                    "details",
                    "This list holds 20 items at most.",
                    "This list holds {{ limit }} items at most.",
                )
            ],
        ),
        ({"primary": 1}, [flaw("primary", "This value should be true or false.")]),
    ],
    ids=["text", "list and flag", "values", "too many", "no boolean"],
)
def test_refuses_odd_details_and_keeps_the_old(api, shop, said, entries):
    api.put(PAYPAL, ADDRESS)

    response = api.put(PAYPAL, said)

    assert response.status_code == 400
    assert response.json() == {"errors": entries}
    assert api.get(PATH).json() == [BY_PAYPAL]


def test_takes_null_among_the_details_for_not_sent_in_either_form(api, shop):
    flat = api.put(PAYPAL, ADDRESS | {"iban": None})
    nested = api.put(PAYPAL, {"details": ADDRESS | {"iban": None}})

    assert (flat.status_code, flat.json()) == (200, BY_PAYPAL)
    assert (nested.status_code, nested.json()) == (200, BY_PAYPAL)


@pytest.mark.parametrize("body", ["", "[]", '"paypal"'])
def test_wants_a_json_object(api, shop, body):
    response = api.put(PAYPAL, body)

    assert response.status_code == 400
    assert response.json() == {
        "errors": [{"message": "Request body was not valid JSON"}]
    }


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("GET", "paypal"),
        ("GET", "cash"),
        ("PUT", "cash"),
        ("PUT", "PayPal"),
        ("PUT", "wire-transfer"),
    ],
)
def test_knows_no_way_that_is_not_set_or_not_there(api, account, shop, method, kind):
    response = api.ask(method, f"{PATH}{kind}/", {"details": []})

    assert response.status_code == 404
    assert response.json() == NO_METHOD
    assert api.get(PATH).json() == []


@pytest.mark.parametrize("slug", ["nobody", "zzmarkerminakessler"])
def test_does_not_know_other_affiliates(api, other_api, other_account, shop, slug):
    other = Shop(other_account, mark="zz-marker-")
    other_api.put(f"/affiliates/{other.mina.slug}/payout-methods/paypal/", ADDRESS)
    path, before = f"/affiliates/{slug}/payout-methods/", everything(other_account)

    answers = [
        api.get(path),
        api.get(f"{path}paypal/"),
        api.put(f"{path}paypal/", {"details": []}),
        api.put(f"{path}cash/", ADDRESS),
    ]

    assert [(it.status_code, it.json()) for it in answers] == [(404, NO_AFFILIATE)] * 4
    assert everything(other_account) == before


def test_keeps_the_ways_of_each_affiliate_apart(api, shop):
    shop.join("Odette", "Varga")
    api.put(PAYPAL, ADDRESS)

    response = api.put("/affiliates/odettevarga/payout-methods/bank/", {"iban": "1"})

    assert response.json()["primary"] is True
    assert api.get(PATH).json() == [BY_PAYPAL]


def test_tells_the_diary_which_way_but_no_detail(api, account, shop):
    api.put(PAYPAL, ADDRESS)

    line = account.events.get(kind="payout_method.set")
    assert (line.subject, line.facts) == (
        "affiliate:minakessler",
        {"method": "paypal"},
    )
