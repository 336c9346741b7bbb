"""Contract 2.2: sales over the wire, byte for byte."""

import json
import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from accounts.engines import database_now
from accounts.services.accounts import lock
from affiliate_site.api.resources import conversions as endpoint
from payouts.models.commission_types import RateKind
from payouts.services.commissions import approve, disapprove
from payouts.services.revising import remove_conversion
from tests.conftest import Api
from tests.proof import everything, money_agrees
from tests.shop import SOLD, Shop, remove
from tracking.services.programs import archive

UNHEARD_OF = "00000000-0000-7000-8000-000000000000"
MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00")
HASTY = "To many concurrent attempts to create conversion with id 'order-1'"
DUPLICATE = (
    "Duplicate conversion. There is already a conversion for External id 'order-1'"
)
MISSING = "Missing mandatory parameter(s)"


@pytest.fixture
def shop(account):
    """A program with a second type and a second affiliate."""
    shop = Shop(account)
    shop.type("accessories", "7.5")
    shop.type("flat", "2.5", kind=RateKind.FIXED, title="Flat fee")
    shop.rival = shop.join("Odette", "Varga")
    yield shop
    money_agrees(account)


@pytest.fixture
def clue(shop):
    """The coupon of Mina, as a body has it."""
    return {"coupon": shop.mina.coupon}


def said(response):
    assert response.status_code == 200, response.content
    return response.json()


def refusal(response, status=400):
    """The messages of a refusal that speaks of no field."""
    assert response.status_code == status, response.content
    errors = response.json()["errors"]
    assert all(list(error) == ["message"] for error in errors)
    return [error["message"] for error in errors]


def flaws(response):
    """The messages of a refusal of fields, by path."""
    assert response.status_code == 400, response.content
    errors = response.json()["errors"]
    for error in errors:
        assert list(error) == ["message", "message_raw", "property_path"]
    return [(error["property_path"], error["message"]) for error in errors]


def wire(body):
    """The bytes that orjson would send."""
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


def commission(shop, **changed):
    """A pending commission of 20 EUR for a sub-amount of 200."""
    return {
        "id": changed.pop("id"),
        "conversion_sub_amount": 200,
        "amount": 20,
        "commission_type": "standard",
        "approved": False,
        "affiliate": shop.mina.ref,
        "kind": "regular",
        "currency": "EUR",
        "created_at": "2026-03-04T09:15:27+00:00",
        "payout": None,
        "comment": None,
        "final": None,
        "commission_name": "Standard",
    } | changed


def conversion(shop, sale, **changed):
    """A sale of 200 EUR by Mina's coupon."""
    number = shop.account.commissions.filter(conversion=sale).values_list(
        "id", flat=True
    )
    return {
        "id": sale.pk,
        "external_id": None,
        "amount": 200,
        "click": None,
        "commissions": [commission(shop, id=number[0])],
        "program": shop.ref,
        "affiliate": shop.mina.ref,
        "customer": None,
        "meta_data": {},
        "created_at": "2026-03-04T09:15:27+00:00",
        "warnings": None,
        "affiliate_meta_data": None,
        "tracking_source": "coupon",
    } | changed


# The bodies.


def test_shows_a_sale_with_everything(api, shop):
    click = shop.click(
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

    sale = said(response)
    first, second, third = (it["id"] for it in sale["commissions"])
    assert first < second < third
    assert MOMENT.fullmatch(sale["created_at"])
    same = {"created_at": sale["created_at"]}
    expected = {
        "id": sale["id"],
        "external_id": "order-10417",
        "amount": 249.9,
        "click": {
            "created_at": "2026-03-03T19:03:44+00:00",
            "referrer": "https://notes.example.org/lamps",
            "landing_page": "https://shop.example.net/lamp",
        },
        "commissions": [
            commission(shop, id=first, comment="two lamps", **same),
            commission(
                shop,
                id=second,
                conversion_sub_amount=49.9,
                amount=3.74,
                commission_type="accessories",
                commission_name="Accessories",
                **same,
            ),
            commission(
                shop,
                id=third,
                conversion_sub_amount=0,
                amount=2.5,
                commission_type="flat",
                commission_name="Flat fee",
                **same,
            ),
        ],
        "program": shop.ref,
        "affiliate": shop.mina.ref,
        "customer": {
            "id": sale["customer"]["id"],
            "customer_id": "acct-55120",
            "status": "paying",
        },
        "meta_data": {"channel": "web"},
        "created_at": sale["created_at"],
        "warnings": None,
        "affiliate_meta_data": {"subid1": "newsletter-12"},
        "tracking_source": "click",
    }
    assert response.content == wire(expected)
    assert response["Content-Type"] == "application/json"
    assert response["Cache-Control"] == "no-store"
    assert "X-RateLimit-Limit" not in response
    assert "Link" not in response
    assert said(api.get(f"/conversions/{sale['id']}/")) == expected
    assert said(api.get("/conversions/")) == [expected]


def test_shows_the_least_sale(api, shop, clue):
    response = api.post("/conversions/", clue)

    sale = said(response)
    number = sale["commissions"][0]["id"]
    same = {"created_at": sale["created_at"]}
    bare = commission(shop, id=number, conversion_sub_amount=0, amount=0, **same)
    assert response.content == wire(
        {
            "id": sale["id"],
            "external_id": None,
            "amount": 0,
            "click": None,
            "commissions": [bare],
            "program": shop.ref,
            "affiliate": shop.mina.ref,
            "customer": None,
            "meta_data": {},
            "created_at": sale["created_at"],
            "warnings": None,
            "affiliate_meta_data": None,
            "tracking_source": "coupon",
        }
    )


def test_keeps_meta_data_as_text(api, shop, clue):
    sent = '{"first": true, "a": 1.50, "b": 1e2, "c": -0, "plan": " \u00e9 ", "d": ""}'
    body = json.dumps(clue)[:-1] + f', "meta_data": {sent}}}'

    assert said(api.post("/conversions/", body))["meta_data"] == {
        "first": "true",
        "a": "1.50",
        "b": "100",
        "c": "0",
        "plan": " \u00e9 ",
        "d": "",
    }


def test_gives_nested_commissions_exactly_the_keys_of_the_spec(api, shop, clue):
    nested = said(api.post("/conversions/", clue))["commissions"][0]

    assert list(nested) == [
        *("id", "conversion_sub_amount", "amount", "commission_type", "approved"),
        *("affiliate", "kind", "currency", "created_at", "payout", "comment", "final"),
        "commission_name",
    ]


def test_shows_one_sale(api, shop):
    sale = shop.sell("200", external_id="order-1")

    response = api.get(f"/conversions/{sale.pk}/")

    assert response.content == wire(conversion(shop, sale, external_id="order-1"))
    assert response["X-RateLimit-Limit"] == "1500"


def test_shows_a_sale_without_a_removed_customer(api, shop):
    sale = shop.sell("200", customer_id="acct-1")
    public_id = sale.customer.public_id
    before = said(api.get(f"/conversions/{sale.pk}/"))

    api.delete(f"/customers/{public_id}/")

    assert before["customer"] == {
        "id": public_id,
        "customer_id": "acct-1",
        "status": "paying",
    }
    assert said(api.get(f"/conversions/{sale.pk}/")) == before | {"customer": None}


def test_shows_the_names_of_a_removed_affiliate(api, shop):
    sale = shop.sell("200")
    remove(shop.mina.affiliate)

    assert said(api.get(f"/conversions/{sale.pk}/")) == conversion(shop, sale)


def test_hides_the_sub_values_of_somebody_elses_click(api, shop, clue):
    click = shop.click(shop.rival, meta_data={"subid1": "hers"}, at=timezone.now())

    sale = said(api.post("/conversions/", clue | {"click_id": str(click.public_id)}))

    assert sale["click"]["created_at"]
    assert sale["affiliate_meta_data"] is None


@pytest.mark.parametrize(
    ("status", "approved"),
    [("pending", None), ("approved", True), ("disapproved", False)],
)
def test_shows_pending_as_null_to_whoever_asked_for_it(
    api, shop, account, status, approved
):
    account.pending_as_null = True
    account.save()
    sale = shop.sell("200")
    number = shop.commission_of(sale).pk
    if status == "approved":
        approve(account, commission_id=number, at=SOLD)
    elif status == "disapproved":
        disapprove(account, commission_id=number, at=SOLD)

    nested = [commission(shop, id=number, approved=approved)]
    assert said(api.get("/conversions/")) == [
        conversion(shop, sale, commissions=nested)
    ]
    assert said(api.get(f"/conversions/{sale.pk}/"))["commissions"] == nested


@pytest.mark.parametrize(
    ("rules", "body", "born"),
    [
        pytest.param({}, {}, [False, None], id="pending"),
        pytest.param(
            {"auto_approve_commissions": True}, {}, [True, None], id="approved-at-birth"
        ),
        pytest.param(
            {"auto_approve_commissions": True},
            {"customer_id": "Mina@notes.example.org"},
            [False, ["customer_is_affiliate"]],
            id="warned",
        ),
    ],
)
def test_says_in_which_state_a_commission_is_born(api, shop, clue, rules, body, born):
    if rules:
        shop.program.change(**rules)

    sale = said(api.post("/conversions/", clue | {"amount": 200} | body))

    assert [sale["commissions"][0]["approved"], sale["warnings"]] == born
    assert sale["commissions"][0]["final"] is None
    balance = {"EUR": 20} if born[0] else {}
    assert said(api.get("/affiliates/minakessler/balances/")) == balance


def test_keeps_what_lacks_cover_pending(api, shop, account, clue):
    shop.program.change(auto_approve_commissions=True)
    account.uses_payouts = True
    account.save()
    parts = [{"sub_amount": 200}, {"sub_amount": 0}]

    sale = said(api.post("/conversions/", clue | {"commissions": parts}))

    assert [(it["approved"], it["final"]) for it in sale["commissions"]] == [
        (False, None),
        (True, True),
    ]


def test_disapproves_past_the_cap(api, shop, clue):
    shop.program.change(recurring=False)
    body = clue | {"customer_id": "acct-1", "amount": 200}
    first = said(api.post("/conversions/", body))

    second = said(api.post("/conversions/", body))
    numbers = [it["commissions"][0]["id"] for it in (first, second)]

    listed = said(api.get("/commissions/"))
    assert [(it["id"], it["status"]) for it in listed] == [
        (numbers[1], "disapproved"),
        (numbers[0], "pending"),
    ]
    assert second["customer"]["status"] == "paying"


# The messages of the spec.


def locked(shop):
    lock(shop.account, at=SOLD)
    return {"coupon": shop.mina.coupon}


def removed(shop):
    remove(shop.mina.affiliate)
    return {"coupon": shop.mina.coupon}


def disapproved(shop):
    shop.mina.enrolment.change(approved=False)
    return {"coupon": shop.mina.coupon}


def archived(shop):
    archive(shop.account, slug=shop.program.slug, at=SOLD)
    return {"coupon": shop.mina.coupon}


def expired(shop):
    clicked_at = timezone.now() - timedelta(days=45, seconds=1)
    return {"click_id": str(shop.click(at=clicked_at).public_id)}


def known(shop):
    shop.sell("200", external_id="order-1")
    return {"coupon": shop.mina.coupon, "external_id": "order-1"}


def hasty(shop):
    shop.account.conversion_attempts.create(
        source="api", external_id="order-1", failed_at=database_now(), message=""
    )
    return {"coupon": shop.mina.coupon, "external_id": "order-1"}


def blank(name):
    return f"Parameter '{name}' takes precedence for tracking, but no value was passed"


PAIR = {"asset_id": "1-abcdef", "source_id": "1-abcdef"}

MESSAGES = {
    "no-clue": (MISSING, {"amount": 1}),
    "no-clue-but-null": (MISSING, {"coupon": None, "customer_id": None}),
    "blank-customer-alone": (MISSING, {"customer_id": " "}),
    "blank-coupon": (blank("coupon"), {"coupon": "", "referral_code": "x"}),
    "white-coupon": (blank("coupon"), {"coupon": " \t\n"}),
    "blank-referral-code": (blank("referral_code"), {"referral_code": ""}),
    "blank-click": (blank("click_id"), {"click_id": ""} | PAIR),
    "blank-click-object": (blank("click_id"), {"click": {"id": ""}}),
    "blank-asset": (blank("asset_id"), PAIR | {"asset_id": ""}),
    "blank-source": (blank("source_id"), PAIR | {"source_id": " "}),
    "blank-visitor": (blank("tracking_id"), {"tracking_id": ""}),
    "blank-visitor-alias": (blank("tracking_id"), {"visitor_id": ""}),
    "half-a-pair": (MISSING, {"asset_id": "1-abcdef"}),
    "other-half-a-pair": (MISSING, {"source_id": ""}),
    "unknown-code": ("Unknown referral code", {"referral_code": "nobody"}),
    "unknown-coupon": ("Unknown coupon code", {"coupon": "NOBODY"}),
    "unknown-click": ("Invalid click id", {"click_id": UNHEARD_OF}),
    "odd-click": ("Invalid click id", {"click_id": "x"}),
    "unknown-pair": ("Invalid asset id or source id", PAIR),
    "unknown-visitor": ("Invalid tracking id", {"tracking_id": "f" * 32}),
    "cookie": ("Cookie expired", expired),
    "duplicate": (DUPLICATE, known),
    "hasty": (HASTY, hasty),
    "unknown-customer": (
        "Missing tracking parameter value and no customer found for customer id: a{b}",
        {"customer_id": "a{b}"},
    ),
    "not-approved": ("Affiliate is not approved for this program", disapproved),
    "deleted": ("Affiliate is deleted", removed),
    "archived": ("Program is archived", archived),
    "no-object": ("Request body was not valid JSON", b"[]"),
    "no-json": ("Request body was not valid JSON", b"amount=1"),
    "no-body": ("Request body was not valid JSON", b""),
    "locked": ("Advertiser account locked", locked),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_refuses_with_the_message_of_the_spec(api, shop, account, name):
    message, body = MESSAGES[name]
    if callable(body):
        body = body(shop)
    before = everything(account)

    response = api.post("/conversions/", body)

    assert response.status_code == 400
    assert response.content == wire({"errors": [{"message": message}]})
    assert everything_but(account, "ApiKey", "ConversionAttempt") == {
        name: rows
        for name, rows in before.items()
        if name not in ("ApiKey", "ConversionAttempt")
    }


def everything_but(account, *names):
    return {
        name: rows for name, rows in everything(account).items() if name not in names
    }


@pytest.mark.parametrize("external_id", ["{order}", "it's", "é\n", "a" * 255])
def test_echoes_an_external_id_as_it_was_sent(api, shop, clue, external_id):
    shop.sell("200", external_id=external_id)

    response = api.post("/conversions/", clue | {"external_id": external_id})

    assert refusal(response) == [
        "Duplicate conversion. There is already a conversion for External id"
        f" '{external_id}'"
    ]


# The order of the checks.


@pytest.mark.parametrize(
    ("arrange", "body", "message"),
    [
        pytest.param(
            locked,
            {"external_id": [], "coupon": ""},
            ["Advertiser account locked"],
            id="1-locked-before-2-external-id",
        ),
        pytest.param(locked, b"[]", ["Request body was not valid JSON"], id="0-json"),
        pytest.param(
            known, {"amount": "x"}, [DUPLICATE], id="3-duplicate-before-5-fields"
        ),
        pytest.param(hasty, {"amount": "x"}, [HASTY], id="4-hasty-before-5-fields"),
        pytest.param(
            lambda shop: hasty(shop) and known(shop),
            {},
            [DUPLICATE],
            id="3-duplicate-before-4-hasty",
        ),
    ],
)
def test_asks_the_account_and_the_external_id_first(api, shop, arrange, body, message):
    sent = arrange(shop)
    response = api.post(
        "/conversions/", body if isinstance(body, bytes) else sent | body
    )

    assert refusal(response) == message


def test_asks_for_the_external_id_before_anything_else(api, shop):
    response = api.post("/conversions/", {"external_id": [], "amount": "x"})

    assert flaws(response) == [
        ("external_id", "This value should be of type string."),
    ]


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        pytest.param({"amount": "x"}, ["amount"], id="5-before-6-no-clue"),
        pytest.param(
            {"amount": "x", "coupon": ""}, ["amount"], id="5-before-7-blank-clue"
        ),
        pytest.param(
            {"currency": "XXX", "customer_id": "acct-9"},
            ["currency"],
            id="5-before-8-customer",
        ),
        pytest.param(
            {"amount": -1, "coupon": "NOBODY"}, ["amount"], id="5-before-9-coupon"
        ),
    ],
)
def test_asks_for_fields_before_clues(api, shop, body, paths):
    assert [path for path, _ in flaws(api.post("/conversions/", body))] == paths


# Fields.


STRING = "This value should be of type string."
LONG = "This value is too long, 255 characters at most."
NUMBER = "This value should be a number."
DIGITS = "This value has too many digits."
NEGATIVE = "This value should be 0 or more."

FIELDS = {
    "external-id-list": ({"external_id": ["a"]}, [("external_id", STRING)]),
    "external-id-flag": ({"external_id": True}, [("external_id", STRING)]),
    "external-id-long": ({"external_id": "a" * 256}, [("external_id", LONG)]),
    "customer-id-object": ({"customer_id": {}}, [("customer_id", STRING)]),
    "customer-id-long": ({"customer_id": "a" * 256}, [("customer_id", LONG)]),
    "coupon-list": ({"coupon": ["A"]}, [("coupon", STRING)]),
    "coupon-number": ({"coupon": 1.5}, [("coupon", STRING)]),
    "click-long": ({"click_id": "a" * 256}, [("click_id", LONG)]),
    "amount-text": ({"amount": "abc"}, [("amount", NUMBER)]),
    "amount-nan": ({"amount": "NaN"}, [("amount", NUMBER)]),
    "amount-exponent-text": ({"amount": "1e2"}, [("amount", NUMBER)]),
    "amount-plus": ({"amount": "+1"}, [("amount", NUMBER)]),
    "amount-space": ({"amount": " 1"}, [("amount", NUMBER)]),
    "amount-comma": ({"amount": "1,5"}, [("amount", NUMBER)]),
    "amount-point": ({"amount": "1."}, [("amount", NUMBER)]),
    "amount-arabic": ({"amount": "\u0661"}, [("amount", NUMBER)]),
    "amount-empty": ({"amount": ""}, [("amount", NUMBER)]),
    "amount-flag": ({"amount": True}, [("amount", NUMBER)]),
    "amount-list": ({"amount": [1]}, [("amount", NUMBER)]),
    "amount-object": ({"amount": {}}, [("amount", NUMBER)]),
    "amount-negative": ({"amount": -1}, [("amount", NEGATIVE)]),
    "amount-negative-text": ({"amount": "-0.005"}, [("amount", NEGATIVE)]),
    "amount-14-digits": ({"amount": 10**13}, [("amount", DIGITS)]),
    "amount-rounds-to-14": ({"amount": "9999999999999.995"}, [("amount", DIGITS)]),
    "amount-16-digits": (
        {"amount": "1234567890123.456", "currency": "KWD"},
        [("amount", DIGITS)],
    ),
    "currency-unknown": ({"currency": "XXX"}, [("currency", "Unknown currency")]),
    "currency-old": ({"currency": "DEM"}, [("currency", "Unknown currency")]),
    "currency-list": ({"currency": []}, [("currency", STRING)]),
    "type-unknown": (
        {"commission_type": "gold"},
        [("commission_type", "Unknown commission type")],
    ),
    "type-case": (
        {"commission_type": "Standard"},
        [("commission_type", "Unknown commission type")],
    ),
    "type-blank": (
        {"commission_type": " "},
        [("commission_type", "Unknown commission type")],
    ),
    "type-flag": ({"commission_type": False}, [("commission_type", STRING)]),
    "parts-object": (
        {"commissions": {"sub_amount": 1}},
        [("commissions", "This value should be of type array.")],
    ),
    "parts-of-numbers": (
        {"commissions": [1, {"sub_amount": 1}]},
        [("commissions[0]", "This value should be of type object.")],
    ),
    "parts-101": (
        {"commissions": [{"sub_amount": 1}] * 101},
        [("commissions", "This list holds 100 items at most.")],
    ),
    "part-odd": (
        {
            "commissions": [
                {"sub_amount": "x", "comment": "c" * 1001},
                {"sub_amount": 1, "commission_type": []},
            ]
        },
        [
            ("commissions[0].sub_amount", NUMBER),
            (
                "commissions[0].comment",
                "This value is too long, 1000 characters at most.",
            ),
            ("commissions[1].commission_type", STRING),
        ],
    ),
    "part-negative": (
        {"commissions": [{"sub_amount": 1}, {"sub_amount": -0.01}]},
        [("commissions[1].sub_amount", NEGATIVE)],
    ),
    "part-types": (
        {
            "commissions": [
                {"sub_amount": 1, "commission_type": "gold"},
                {"sub_amount": 1},
                {"sub_amount": 1, "commission_type": "silver"},
            ]
        },
        [
            ("commissions[0].commission_type", "Unknown commission type"),
            ("commissions[2].commission_type", "Unknown commission type"),
        ],
    ),
    "meta-data-list": (
        {"meta_data": []},
        [("meta_data", "This value should be of type object.")],
    ),
    "meta-data-value": (
        {"meta_data": {"plan": ["a"], "ok": "b"}},
        [("meta_data[plan]", STRING)],
    ),
    "meta-data-long": (
        {"meta_data": {"plan": "a" * 256}},
        [("meta_data[plan]", LONG)],
    ),
    "several": (
        {"amount": "x", "currency": "XXX", "customer_id": [], "meta_data": 1},
        [
            ("customer_id", STRING),
            ("amount", NUMBER),
            ("currency", "Unknown currency"),
            ("meta_data", "This value should be of type object."),
        ],
    ),
}


@pytest.mark.parametrize("name", FIELDS)
def test_names_every_field_that_is_wrong(api, shop, account, clue, name):
    body, wrong = FIELDS[name]
    before = everything_but(account, "ApiKey", "ConversionAttempt")

    response = api.post("/conversions/", clue | body)

    assert flaws(response) == wrong
    assert everything_but(account, "ApiKey", "ConversionAttempt") == before


@pytest.mark.parametrize(
    "parts", [[{}, {}], [{"sub_amount": 1}, {}], [{"sub_amount": None, "amount": 1}]]
)
def test_tells_once_that_parts_lack_their_amounts(api, shop, clue, parts):
    response = api.post("/conversions/", clue | {"commissions": parts})

    assert refusal(response) == [MISSING]


def test_tells_what_is_odd_beside_what_is_missing(api, shop, clue):
    told = clue | {"commissions": [{}, {"sub_amount": "x"}, {}]}

    response = api.post("/conversions/", told)

    assert response.json()["errors"] == [
        {
            "message": "This value should be a number.",
            "message_raw": "This value should be a number.",
            "property_path": "commissions[1].sub_amount",
        },
        {"message": MISSING},
    ]


def test_gives_the_template_of_a_message_too(api, shop, clue):
    body = clue | {"customer_id": "a" * 256, "amount": []}
    template = "This value is too long, {{ limit }} characters at most."

    assert api.post("/conversions/", body).json() == {
        "errors": [
            {
                "message": template.replace("{{ limit }}", "255"),
                "message_raw": template,
                "property_path": "customer_id",
            },
            {
                "message": "This value should be a number.",
                "message_raw": "This value should be a number.",
                "property_path": "amount",
            },
        ]
    }


def test_refuses_a_sum_that_does_not_fit(api, shop, clue):
    parts = [{"sub_amount": "9999999999999.99"}, {"sub_amount": "0.01"}]

    response = api.post("/conversions/", clue | {"commissions": parts})

    assert [message for _, message in flaws(response)] == [DIGITS]


def test_refuses_what_the_ledger_cannot_hold(api, shop, clue):
    shop.type("huge", 9_999_999_999_999, kind=RateKind.FIXED)
    parts = [{"sub_amount": 0, "commission_type": "huge"}] * 91

    response = api.post("/conversions/", clue | {"commissions": parts})

    assert flaws(response) == [("amount", DIGITS)]
    assert said(api.get("/conversions/")) == []


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"external_id": None}, id="null-external-id"),
        pytest.param({"external_id": " "}, id="blank-external-id"),
        pytest.param({"customer_id": ""}, id="blank-customer-id"),
        pytest.param({"amount": None, "currency": None}, id="null-amount"),
        pytest.param({"commissions": []}, id="no-parts"),
        pytest.param({"commissions": None}, id="null-parts"),
        pytest.param({"commission_type": "default"}, id="default-type"),
        pytest.param({"commission_type": " standard "}, id="trimmed-type"),
        pytest.param({"meta_data": {}}, id="no-meta-data"),
        pytest.param({"program_id": "no-such-program"}, id="program-id"),
        pytest.param({"program_id": []}, id="odd-program-id"),
        pytest.param({"ip": "no address", "user_agent": "u" * 9999}, id="odd-client"),
        pytest.param({"metadata": {"a": "b"}, "status": 7}, id="unknown-fields"),
        pytest.param({"id": 7, "created_at": "x", "warnings": 1}, id="read-only"),
        pytest.param({"program_group": ""}, id="blank-group"),
        pytest.param({"click": {}, "visitor_id": None}, id="empty-aliases"),
    ],
)
def test_takes_as_not_sent(api, shop, clue, body):
    sale = said(api.post("/conversions/", clue | {"amount": 0} | body))

    assert sale["external_id"] is sale["customer"] is None
    assert (sale["amount"], len(sale["commissions"])) == (0, 1)
    assert sale["meta_data"] == {}
    assert sale["commissions"][0]["commission_type"] == "standard"
    assert sale["commissions"][0]["currency"] == "EUR"


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        pytest.param(" Order 1 ", " Order 1 ", id="as-sent"),
        pytest.param(10417, "10417", id="digits"),
        pytest.param(0, "0", id="nought"),
        pytest.param("a" * 255, "a" * 255, id="255"),
        pytest.param("é🪔", "é🪔", id="not-ascii"),
    ],
)
def test_keeps_ids_exactly_as_sent(api, shop, clue, sent, kept):
    sale = said(
        api.post("/conversions/", clue | {"external_id": sent, "customer_id": sent})
    )

    assert sale["external_id"] == sale["customer"]["customer_id"] == kept


@pytest.mark.parametrize("program_group", ["lamps", " lamps "])
def test_counts_only_programs_of_the_group(api, shop, clue, program_group):
    shop.program.change(group_label="lamps")

    inside = api.post("/conversions/", clue | {"program_group": program_group})
    outside = api.post("/conversions/", clue | {"program_group": "chairs"})

    assert said(inside)["program"] == shop.ref
    assert refusal(outside) == ["Unknown coupon code"]


def test_does_not_ask_a_known_customer_for_the_group(api, shop):
    shop.customer("acct-1")
    body = {"customer_id": "acct-1", "program_group": "chairs"}

    assert said(api.post("/conversions/", body))["tracking_source"] == "customer"


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("override_max_cookie_time=true", 200),
        ("override_max_cookie_time=1", 200),
        ("override_max_cookie_time=TRUE", 200),
        ("override_max_cookie_time=false&override_max_cookie_time=true", 200),
        ("override_max_cookie_time=false", 400),
        ("override_max_cookie_time=0", 400),
        ("override_max_cookie_time=", 400),
        ("override=true", 400),
    ],
)
def test_overrides_the_cookie_time_in_the_query(api, shop, query, status):
    response = api.post(f"/conversions/?{query}", expired(shop))

    assert response.status_code == status
    if status == 400:
        assert refusal(response) == ["Cookie expired"]


def test_refuses_an_odd_override(api, shop, clue):
    response = api.post("/conversions/?override_max_cookie_time=yes", clue)

    assert flaws(response) == [
        ("override_max_cookie_time", "This value should be true or false.")
    ]


# Who earns.


CLUES = ["customer", "coupon", "referral_code", "click", "asset_source"]


def clues_of(shop, member, name):
    if name == "customer":
        shop.customer(f"of-{member.slug}", member=member)
    return {
        "customer": {"customer_id": f"of-{member.slug}"},
        "coupon": {"coupon": member.coupon},
        "referral_code": {"referral_code": member.code},
        "click": {"click_id": str(shop.click(member, at=timezone.now()).public_id)},
        "asset_source": {"asset_id": member.asset_id, "source_id": member.source_id},
    }[name]


@pytest.mark.parametrize("name", CLUES)
def test_finds_the_affiliate_by_each_clue(api, shop, name):
    body = clues_of(shop, shop.rival, name)

    sale = said(api.post("/conversions/", body))

    assert sale["affiliate"] == shop.rival.ref
    assert sale["commissions"][0]["affiliate"] == shop.rival.ref
    assert sale["tracking_source"] == name


@pytest.mark.parametrize(
    ("higher", "lower"),
    [
        pytest.param(higher, lower, id=f"{higher}-before-{lower}")
        for number, higher in enumerate(CLUES)
        for lower in CLUES[number + 1 :]
    ],
)
def test_prefers_the_higher_clue(api, shop, higher, lower):
    body = clues_of(shop, shop.mina, lower) | clues_of(shop, shop.rival, higher)

    sale = said(api.post("/conversions/", body))

    assert (sale["affiliate"], sale["tracking_source"]) == (shop.rival.ref, higher)


@pytest.mark.parametrize("sent", [" {} ", "\t{}\n", "{}"])
def test_trims_what_it_looks_up(api, shop, sent):
    body = {"coupon": sent.format(shop.mina.coupon)}

    assert said(api.post("/conversions/", body))["affiliate"] == shop.mina.ref


def test_compares_codes_letter_by_letter(api, shop):
    for body in (
        {"coupon": shop.mina.coupon.lower()},
        {"referral_code": shop.mina.code.upper()},
    ):
        if body.get("referral_code") != shop.mina.code:
            assert refusal(api.post("/conversions/", body))[0].startswith("Unknown")


def test_takes_the_other_spellings_of_a_click(api, shop):
    mine, hers = (
        str(shop.click(member, at=timezone.now()).public_id)
        for member in (shop.mina, shop.rival)
    )

    alone = said(api.post("/conversions/", {"click": {"id": mine}}))
    both = said(api.post("/conversions/", {"click": {"id": mine}, "click_id": hers}))

    assert alone["affiliate"] == shop.mina.ref
    assert both["affiliate"] == shop.rival.ref


def test_does_not_see_the_clues_of_another_account(api, shop, other_account):
    theirs = Shop(other_account, mark="zz-marker-")
    theirs.customer("acct-1")

    messages = [
        refusal(api.post("/conversions/", clues_of(theirs, theirs.mina, name)))
        for name in CLUES[1:]
    ]
    customer = refusal(api.post("/conversions/", {"customer_id": "acct-1"}))

    assert messages == [
        ["Unknown coupon code"],
        ["Unknown referral code"],
        ["Invalid click id"],
        ["Invalid asset id or source id"],
    ]
    assert customer == [
        "Missing tracking parameter value and no customer found for customer id: acct-1"
    ]


@pytest.mark.parametrize("status", ["new", "trial", "lead", "canceled"])
def test_moves_the_customer_to_paying(api, shop, status):
    shop.customer("acct-1").change(status=status)

    sale = said(api.post("/conversions/", {"customer_id": "acct-1", "coupon": ""}))

    assert sale["customer"]["status"] == "paying"


# Amounts.


AMOUNTS = {
    "integer": ("200", None, "200", "20"),
    "nought": ("0", None, "0", "0"),
    "minus-nought": ("-0", None, "0", "0"),
    "minus-nought-point": ("-0.0", None, "0", "0"),
    "minus-almost-nought": ("-0.004", None, "0", "0"),
    "two-decimals": ("49.90", None, "49.9", "4.99"),
    "text": ('"49.90"', None, "49.9", "4.99"),
    "text-with-noughts": ('"0049.9000"', None, "49.9", "4.99"),
    "binary": ("0.30000000000000004", None, "0.3", "0.03"),
    "exponent": ("1e2", None, "100", "10"),
    "negative-exponent": ("125E-1", None, "12.5", "1.25"),
    "half-a-cent": ("0.005", None, "0.01", "0"),
    "less-than-half-a-cent": ("0.0049999", None, "0", "0"),
    "not-a-float": ("90071992547.93", None, "90071992547.93", "9007199254.79"),
    "the-most": ("9999999999999.99", None, "9999999999999.99", "1000000000000"),
    "the-most-as-text": (
        '"9999999999999.994"',
        None,
        "9999999999999.99",
        "1000000000000",
    ),
    "yen": ("99.5", "JPY", "100", "10"),
    "yen-down": ("99.4999", "JPY", "99", "10"),
    "yen-small-case": ('"1500"', "jpy", "1500", "150"),
    "dinar": ("1.2345", "KWD", "1.235", "0.124"),
    "dinar-exact": ("1.234", " kwd ", "1.234", "0.123"),
    "dinar-most": ("123456789012.345", "KWD", "123456789012.345", "12345678901.235"),
    "euro-sent": ("1.2345", "EUR", "1.23", "0.12"),
}


def amounts_of(response):
    """Amounts as they stand in the bytes: of the sale, of its parts, of the shares."""
    assert response.status_code == 200, response.content
    return [
        re.findall(rb'"%s":([^,}]*)' % name, response.content)
        for name in (b"conversion_sub_amount", b"amount")
    ]


@pytest.mark.parametrize("name", AMOUNTS)
@pytest.mark.parametrize("as_part", [False, True], ids=["amount", "part"])
def test_reads_and_writes_amounts_digit_by_digit(api, shop, clue, name, as_part):
    sent, currency, kept, earned = AMOUNTS[name]
    body = clue | ({"currency": currency} if currency else {}) | {"amount": "HERE"}
    if as_part:
        body["commissions"] = [{"sub_amount": "HERE"}]
        body["amount"] = 7
    text = json.dumps(body).replace('"HERE"', sent)

    response = api.post("/conversions/", text)

    assert amounts_of(response) == [
        [kept.encode()],
        [kept.encode(), earned.encode()],
    ]
    number = response.json()["id"]
    assert amounts_of(api.get(f"/conversions/{number}/")) == amounts_of(response)


@pytest.mark.parametrize(
    ("currency", "kept"), [("JPY", b"100"), ("KWD", b"99.5"), ("EUR", b"99.5")]
)
def test_takes_the_currency_of_the_program(api, account, currency, kept):
    shop = Shop(account, "another", currency=currency)

    response = api.post(
        "/conversions/", {"coupon": shop.mina.coupon, "amount": "99.50"}
    )

    assert amounts_of(response)[0] == [kept]
    assert response.json()["commissions"][0]["currency"] == currency
    assert response.json()["program"]["currency"] == currency
    money_agrees(account)


def test_shows_the_currency_of_the_sale_on_its_commissions(api, shop, clue):
    sale = said(api.post("/conversions/", clue | {"amount": 10, "currency": "chf"}))

    assert sale["commissions"][0]["currency"] == "CHF"
    assert sale["program"]["currency"] == "EUR"
    assert "currency" not in sale
    number = sale["commissions"][0]["id"]
    said(api.put(f"/commissions/{number}/approved/"))
    assert said(api.get("/affiliates/minakessler/balances/")) == {"CHF": 1}


def test_adds_the_parts_and_forgets_the_amount(api, shop, clue):
    body = clue | {
        "amount": 999,
        "commission_type": "gold",
        "commissions": [
            {"sub_amount": "0.005"},
            {"conversion_sub_amount": "0.005"},
            {"sub_amount": "0.1", "conversion_sub_amount": 7},
            {"sub_amount": 0.2, "commission_type": " flat "},
        ],
    }

    response = api.post("/conversions/", body)

    assert amounts_of(response)[0] == [b"0.01", b"0.01", b"0.1", b"0.2"]
    assert response.json()["amount"] == 0.32
    assert [it["commission_type"] for it in response.json()["commissions"]] == [
        *("standard", "standard", "standard", "flat"),
    ]


def test_takes_a_hundred_parts(api, shop, clue):
    parts = [{"sub_amount": "0.01"}] * 100

    sale = said(api.post("/conversions/", clue | {"commissions": parts}))

    assert (sale["amount"], len(sale["commissions"])) == (1, 100)
    numbers = [it["id"] for it in sale["commissions"]]
    assert numbers == sorted(numbers)


# Duplicates and the 10-second rule, row by row.


FAILING = {"external_id": "order-1", "coupon": "NOBODY"}


@pytest.fixture
def failed(api, shop):
    """A failed attempt; `failed(seconds)` makes it so old."""
    assert refusal(api.post("/conversions/", FAILING)) == ["Unknown coupon code"]

    def age(seconds):
        moment = database_now() - timedelta(seconds=seconds)
        shop.account.conversion_attempts.update(failed_at=moment)
        return moment

    return age


def attempts(account):
    return list(
        account.conversion_attempts.order_by("id").values_list(
            "source", "external_id", "message"
        )
    )


def failed_at(account):
    return account.conversion_attempts.get().failed_at


def test_remembers_a_failed_attempt(api, shop, account):
    before = database_now()

    api.post("/conversions/", FAILING)

    assert attempts(account) == [("api", "order-1", "Unknown coupon code")]
    assert before <= failed_at(account) <= database_now()


def test_refuses_a_retry_within_ten_seconds(api, account, clue, failed):
    moment = failed(9)

    for _ in range(2):
        response = api.post("/conversions/", clue | {"external_id": "order-1"})

        assert refusal(response) == [HASTY]
    assert failed_at(account) == moment
    assert said(api.get("/conversions/")) == []


def test_takes_a_retry_after_ten_seconds_and_forgets(api, account, clue, failed):
    failed(10)

    sale = said(api.post("/conversions/", clue | {"external_id": "order-1"}))

    assert sale["external_id"] == "order-1"
    assert attempts(account) == []


def test_begins_the_pause_anew_when_a_retry_fails(api, account, failed):
    moment = failed(10)

    response = api.post("/conversions/", FAILING)

    assert refusal(response) == ["Unknown coupon code"]
    assert failed_at(account) > moment + timedelta(seconds=9)
    assert refusal(api.post("/conversions/", FAILING)) == [HASTY]


def test_tells_of_a_duplicate_within_ten_seconds_too(api, shop, account, clue, failed):
    shop.sell("200", external_id="order-1")
    moment = failed(3)

    response = api.post("/conversions/", clue | {"external_id": "order-1"})

    assert refusal(response) == [DUPLICATE]
    assert failed_at(account) == moment


FAILURES = {
    "fields": ({"amount": "x"}, ""),
    "query": ({}, "?override_max_cookie_time=maybe"),
    "no-clue": ({"coupon": None}, ""),
    "blank": ({"coupon": ""}, ""),
    "unknown-customer": ({"coupon": None, "customer_id": "acct-9"}, ""),
    "unknown-coupon": ({"coupon": "NOBODY"}, ""),
    "unknown-type": ({"commission_type": "gold"}, ""),
    "too-long-in-the-programs-currency": ({"amount": "9999999999999.995"}, ""),
}


@pytest.mark.parametrize("name", FAILURES)
def test_counts_as_failed_from_the_fields_on(api, account, clue, name):
    body, query = FAILURES[name]

    response = api.post(
        f"/conversions/{query}", clue | {"external_id": "order-1"} | body
    )

    assert response.status_code == 400
    assert [row[:2] for row in attempts(account)] == [("api", "order-1")]
    retry = api.post("/conversions/", clue | {"external_id": "order-1"})
    assert refusal(retry) == [HASTY]


@pytest.mark.parametrize("break_it", [removed, disapproved, archived, expired])
def test_counts_what_the_rules_refuse_as_failed(api, shop, account, break_it):
    response = api.post("/conversions/", break_it(shop) | {"external_id": "order-1"})

    assert response.status_code == 400
    assert [row[:2] for row in attempts(account)] == [("api", "order-1")]


NO_FAILURES = {
    "no-external-id": {"coupon": "NOBODY"},
    "null-external-id": {"coupon": "NOBODY", "external_id": None},
    "blank-external-id": {"coupon": "NOBODY", "external_id": " "},
    "odd-external-id": {"coupon": "NOBODY", "external_id": ["order-1"]},
    "long-external-id": {"coupon": "NOBODY", "external_id": "a" * 256},
    "no-json": b'{"external_id": "order-1"',
    "doubled-key": b'{"external_id": "order-1", "external_id": "order-1"}',
    "too-large": b'{"external_id": "order-1", "a": "%s"}' % (b"a" * 1024 * 1024),
}


@pytest.mark.parametrize("name", NO_FAILURES)
def test_does_not_count_as_failed(api, shop, account, name):
    response = api.post("/conversions/", NO_FAILURES[name])

    assert response.status_code in (400, 413)
    assert attempts(account) == []


@pytest.mark.parametrize("break_it", [locked, known])
def test_does_not_count_locks_and_duplicates_as_failed(api, shop, account, break_it):
    body = break_it(shop) | {"external_id": "order-1"}

    assert api.post("/conversions/", body).status_code == 400
    assert attempts(account) == []


@pytest.mark.parametrize(
    ("role", "plan", "status"), [("viewer", "pro", 403), ("owner", "basic", 403)]
)
def test_does_not_count_missing_rights_as_failed(
    account, shop, key_for, set_plan, role, plan, status
):
    set_plan(account, plan)

    response = Api(key_for(account, role)).post("/conversions/", FAILING)

    assert response.status_code == status
    assert attempts(account) == []


def test_does_not_count_a_wrong_key_as_failed(account, shop):
    response = Api("aff_live_wrong").post("/conversions/", FAILING)

    assert response.status_code == 401
    assert attempts(account) == []


def test_delays_no_other_sale(api, clue, failed):
    failed(0)

    for external_id in ("order-2", "Order-1", "order-1 ", 1):
        said(api.post("/conversions/", clue | {"external_id": external_id}))


def test_delays_no_other_account(other_api, other_account, failed):
    failed(0)
    theirs = Shop(other_account, mark="zz-marker-")
    body = {"coupon": theirs.mina.coupon, "external_id": "order-1"}

    assert said(other_api.post("/conversions/", body))["external_id"] == "order-1"
    money_agrees(other_account)


def test_remembers_a_digit_id_as_its_text(api, clue, shop, account):
    api.post("/conversions/", FAILING | {"external_id": 17})

    response = api.post("/conversions/", clue | {"external_id": "17"})

    assert refusal(response) == [HASTY.replace("order-1", "17")]


@pytest.mark.parametrize(
    ("crash", "status"),
    [(RuntimeError("the lamp fell"), 500), (OperationalError("away"), 503)],
)
def test_remembers_a_fault_of_ours(
    account, shop, key_for, clue, monkeypatch, crash, status
):
    def fail(*args, **kwargs):
        raise crash

    quiet = Api(key_for(account), Client(raise_request_exception=False))
    body = clue | {"external_id": "order-1"}
    with monkeypatch.context() as broken:
        broken.setattr(endpoint, "record_conversion", fail)
        response = quiet.post("/conversions/", body)

    assert response.status_code == status
    assert response.json()["code"] == status
    assert [row[:2] for row in attempts(account)] == [("api", "order-1")]
    assert refusal(quiet.post("/conversions/", body)) == [HASTY]


def test_says_too_many_attempts_when_a_lock_is_not_got(
    api, account, shop, clue, monkeypatch
):
    def wait(*args, **kwargs):
        raise OperationalError("database is locked")

    monkeypatch.setattr(endpoint, "record_conversion", wait)

    response = api.post("/conversions/", clue | {"external_id": "order-1"})

    assert refusal(response) == [HASTY]
    assert attempts(account) == []


def test_answers_all_the_same_when_a_failure_cannot_be_remembered(
    account, shop, key_for, monkeypatch
):
    def away(*args, **kwargs):
        raise OperationalError("away")

    quiet = Api(key_for(account), Client(raise_request_exception=False))
    monkeypatch.setattr("affiliate_site.api.attempts.remember_failure", away)

    response = quiet.post("/conversions/", FAILING)

    assert refusal(response) == ["Unknown coupon code"]


# Reading.


@pytest.mark.parametrize(
    "number",
    ["abc", "0", "01", "-1", "1.0", "1" + "0" * 30, str(2**63), "٣", "+1", "1 "],
)
def test_does_not_know_odd_numbers(api, shop, number):
    shop.sell("200")

    response = api.get(f"/conversions/{number}/")

    assert refusal(response, 404) == ["Conversion not found"]


def test_does_not_know_the_sales_of_other_accounts(api, shop, other_account):
    foreign = Shop(other_account, mark="zz-marker-").sell("200")

    for number in (foreign.pk, foreign.pk + 1000):
        response = api.get(f"/conversions/{number}/")

        assert refusal(response, 404) == ["Conversion not found"]


def test_does_not_show_removed_sales(api, shop):
    sale = shop.sell("0", external_id="order-1")
    remove_conversion(shop.account, conversion_id=sale.pk, at=SOLD)

    assert refusal(api.get(f"/conversions/{sale.pk}/"), 404) == ["Conversion not found"]
    assert said(api.get("/conversions/")) == []
    again = api.post(
        "/conversions/", {"coupon": shop.mina.coupon, "external_id": "order-1"}
    )
    assert said(again)["id"] != sale.pk


@pytest.fixture
def cast(shop, account, other_account):
    """Sales by name: two programs, two affiliates, three days."""
    elsewhere = Shop(account, "second-program", email=None)
    midnight = SOLD.replace(hour=0, minute=0, second=0)
    made = {
        "early": shop.sell(
            "1",
            at=midnight - timedelta(microseconds=1),
            external_id="order-1",
            customer_id="acct-1",
        ),
        "midnight": shop.sell("2", at=midnight, member=shop.rival),
        "late": shop.sell("3", "4", at=midnight + timedelta(days=1, microseconds=-1)),
        "next": elsewhere.sell("5", at=midnight + timedelta(days=1)),
    }
    approve(account, commission_id=shop.commission_of(made["early"]).pk, at=SOLD)
    disapprove(account, commission_id=shop.commission_of(made["midnight"]).pk, at=SOLD)
    first = account.commissions.filter(conversion=made["late"]).first()
    approve(account, commission_id=first.pk, at=SOLD)
    theirs = Shop(other_account, mark="zz-marker-")
    theirs.sell("6", external_id="order-1", customer_id="acct-1")
    return {sale.pk: name for name, sale in made.items()}


EVERY = ["next", "late", "midnight", "early"]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", EVERY),
        ("program_id=harbor-lamp-partners", EVERY[1:]),
        ("program_id=second-program", ["next"]),
        ("program_id=", EVERY),
        ("program_id=unknown", []),
        ("program_id=Second-Program", []),
        ("program_id=zz-marker-harbor-lamp-partners", []),
        ("external_id=order-1", ["early"]),
        ("external_id=Order-1", []),
        ("external_id=", EVERY),
        ("external_id=order-2", []),
        ("affiliate_id=odettevarga", ["midnight"]),
        ("affiliate_id=minakessler", ["late", "early"]),
        ("affiliate_id=zzmarkerminakessler", []),
        ("customer_id=acct-1", ["early"]),
        ("customer_id=ACCT-1", []),
        ("customer_id=", EVERY),
        ("pending=true", ["next", "late"]),
        ("pending=1", ["next", "late"]),
        ("pending=True", ["next", "late"]),
        ("pending=false", EVERY),
        ("pending=0", EVERY),
        ("pending=", EVERY),
        ("pending=true&program_id=harbor-lamp-partners", ["late"]),
        ("pending=true&external_id=order-1", []),
        ("date_from=2026-03-04", EVERY[:3]),
        ("date_to=2026-03-04", EVERY[1:]),
        ("date_from=2026-03-04&date_to=2026-03-04", ["late", "midnight"]),
        ("date_from=2026-03-05&date_to=2026-03-04", []),
        ("date_from=1970-01-01&date_to=2999-12-31", EVERY),
        ("use_profile_timezone=true", EVERY),
        ("use_profile_timezone=nonsense&date_to=2026-03-03", ["early"]),
        ("limit=1&per_page=1&per-page=1", EVERY),
        ("affiliate_id=odettevarga&affiliate_id=minakessler", ["late", "early"]),
        ("order=asc&unknown=%F0%9F", EVERY),
    ],
)
def test_narrows_the_list(api, cast, query, names):
    rows = said(api.get(f"/conversions/?{query}"))

    assert [cast[row["id"]] for row in rows] == names


def test_does_not_find_sales_by_a_removed_customer(api, shop):
    sale = shop.sell("200", customer_id="acct-1")
    api.delete(f"/customers/{sale.customer.public_id}/")
    found = [
        said(api.get(f"/conversions/?customer_id={it}")) for it in ("acct-1", "cu_")
    ]

    assert found == [[], []]
    assert len(said(api.get("/conversions/"))) == 1


@pytest.mark.parametrize(
    ("query", "path", "message"),
    [
        *(
            pytest.param(f"{name}={day}", name, "Invalid date", id=f"{name}-{day}")
            for name in ("date_from", "date_to")
            for day in (
                *("", "2026-02-29", "2026-3-04", "20260304", "04.03.2026", "today"),
                *("2026-03-04T00:00:00", " 2026-03-04", "1969-12-31", "3000-01-01"),
                *("0000-01-01", "٢٠٢٦-03-04", "2026-13-01"),
            )
        ),
        ("pending=maybe", "pending", "This value should be true or false."),
        ("pending=yes", "pending", "This value should be true or false."),
        ("page=0", "page", "Invalid page"),
        ("page=-1", "page", "Invalid page"),
        ("page=1.0", "page", "Invalid page"),
        ("page=1000000000", "page", "Invalid page"),
        ("external_id=%00", "external_id", "This value is not valid text."),
    ],
)
def test_refuses_odd_filters(api, shop, query, path, message):
    response = api.get(f"/conversions/?{query}")

    assert response.status_code == 400
    assert response.json() == {
        "errors": [{"message": message, "message_raw": message, "property_path": path}]
    }


def test_names_every_odd_filter(api, shop):
    response = api.get("/conversions/?page=x&date_to=x&date_from=x&pending=x")

    assert flaws(response) == [
        ("pending", "This value should be true or false."),
        ("date_from", "Invalid date"),
        ("date_to", "Invalid date"),
        ("page", "Invalid page"),
    ]


def test_gives_25_a_page_newest_first(api, shop):
    sales = [
        shop.sell("0", at=SOLD + timedelta(minutes=number // 2)) for number in range(53)
    ]
    newest = [sale.pk for sale in reversed(sales)]
    asked = "/conversions/?program_id=harbor-lamp-partners&page="

    pages = [api.get(f"{asked}{number}") for number in (1, 2, 3, 4)]

    numbers = [[row["id"] for row in said(page)] for page in pages]
    assert numbers == [newest[:25], newest[25:50], newest[50:], []]
    link = f'<http://testserver/1.6{asked}%d>; rel="%s"'
    assert [page["Link"] for page in pages] == [
        ", ".join(link % entry for entry in entries)
        for entries in (
            [(2, "next"), (3, "last"), (1, "first")],
            [(3, "next"), (3, "last"), (1, "first"), (1, "prev")],
            [(3, "last"), (1, "first"), (2, "prev")],
            [(3, "last"), (1, "first"), (3, "prev")],
        )
    ]
    assert pages[0]["X-RateLimit-Limit"] == "900"


@pytest.mark.parametrize("sales", [1, 25])
def test_reads_a_page_by_the_same_number_of_statements(api, shop, statements, sales):
    for _ in range(sales):
        shop.sell("1", "2")

    with statements() as asked:
        said(api.get("/conversions/"))

    assert len(asked) <= 6


@pytest.mark.parametrize(
    ("role", "status"), [("viewer", 403), ("manager", 200), ("owner", 200)]
)
def test_asks_for_a_manager_to_sell(account, shop, key_for, clue, role, status):
    api = Api(key_for(account, role))

    assert api.post("/conversions/", clue).status_code == status
    assert api.get("/conversions/").status_code == 200


def test_keeps_the_amount_of_a_sale_exactly(api, shop, account, clue):
    api.post("/conversions/", json.dumps(clue)[:-1] + ', "amount": 90071992547.93}')

    assert account.conversions.get().amount == Decimal("90071992547.93")
