"""Contract 2.10: payments made, listed, canceled; what it does to 2.9."""

import re
from datetime import UTC, datetime

import pytest
import time_machine

from payouts.services.commissions import approve
from tests.proof import everything, money_agrees
from tests.shop import SOLD, Shop, remove

UNKNOWN = {"errors": [{"message": "Payment not found"}]}
ORDER = {"affiliate_id": "minakessler", "amount": 23.74, "currency": "EUR"}
APRIL = datetime(2026, 4, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def shop(account):
    shop = Shop(account)
    shop.rival = shop.join("Odette", "Varga")
    yield shop
    money_agrees(account)


def shown(payment, **changed):
    """A payment of 23.74 EUR to Mina, with the id that it has."""
    return {
        "id": payment["id"],
        "created_at": "2026-04-01T12:00:00+00:00",
        "affiliate": {"id": "minakessler", "firstname": "Mina", "lastname": "Kessler"},
        "amount": 23.74,
        "currency": "EUR",
    } | changed


def said(response):
    assert response.status_code == 200, response.content
    return response.json()


def paid(api, *orders, at=APRIL):
    """Payments of these orders, in one batch."""
    with time_machine.travel(at, tick=False):
        return said(api.post("/payments/", list(orders)))


def ids(response):
    return [row["id"] for row in said(response)]


def flaws(response):
    """Path, message and template of each entry of a 400."""
    assert response.status_code == 400, response.content
    return [
        (it["property_path"], it["message"], it["message_raw"])
        for it in response.json()["errors"]
    ]


def flaw(path, message, raw=None):
    return (path, message, raw or message)


def stored(account):
    """Everything but the moment at which a key was used last."""
    return everything(account) | {"ApiKey": None}


def balances(api):
    return {row["affiliate_id"]: row["balances"] for row in said(api.get("/balances/"))}


# Paying.


@pytest.mark.parametrize("of", [dict, lambda order: [order]], ids=["object", "array"])
def test_answers_an_array_for_one_object_too(api, shop, of):
    with time_machine.travel(APRIL, tick=False):
        response = api.post("/payments/", of(ORDER))

    (payment,) = said(response)
    assert payment == shown(payment)
    assert list(payment) == ["id", "created_at", "affiliate", "amount", "currency"]
    assert re.fullmatch(r"pa_[A-Za-z0-9]{16}", payment["id"])
    assert b'"amount":23.74,' in response.content
    assert response["X-RateLimit-Limit"] == "300"
    assert "Link" not in response
    assert said(api.get(f"/payments/{payment['id']}/")) == payment
    assert balances(api) == {"minakessler": {"EUR": -23.74}}


def test_keeps_the_order_in_which_they_were_sent(api, shop):
    orders = [
        {"affiliate_id": "odettevarga", "amount": 5, "currency": "JPY"},
        {"affiliate_id": " minakessler\t", "amount": "0.30", "currency": " kwd"},
        {"affiliate_id": "odettevarga", "amount": 0.005, "currency": "eur"},
        {"affiliate_id": "minakessler", "amount": 9999999999999.99, "currency": "EUR"},
    ]

    first, second, third, fourth = payments = paid(api, *orders)

    odette = shop.rival.ref
    assert payments == [
        shown(first, affiliate=odette, amount=5, currency="JPY"),
        shown(second, amount=0.3, currency="KWD"),
        shown(third, affiliate=odette, amount=0.01),
        shown(fourth, amount=9999999999999.99),
    ]
    assert balances(api) == {
        "minakessler": {"EUR": -9999999999999.99, "KWD": -0.3},
        "odettevarga": {"EUR": -0.01, "JPY": -5},
    }


def test_pays_500_at_once_and_no_more(api, shop):
    least = ORDER | {"amount": 0.01}

    too_many = api.post("/payments/", [least] * 501)
    payments = paid(api, *[least] * 500)

    limit = "This list holds {{ limit }} items at most."
    assert flaws(too_many) == [flaw("", limit.replace("{{ limit }}", "500"), limit)]
    assert len({payment["id"] for payment in payments}) == 500
    assert balances(api) == {"minakessler": {"EUR": -5}}


def test_pays_whoever_is_removed_while_the_account_is_locked(api, account, shop):
    sale = shop.commission_of(shop.sell("200"))
    approve(account, commission_id=sale.pk, at=SOLD)
    remove(shop.mina.affiliate)
    account.locked_at = SOLD
    account.save()

    (payment,) = paid(api, ORDER | {"amount": 20})

    assert payment == shown(payment, amount=20)
    assert said(api.get("/payments/?affiliate_id=minakessler")) == [payment]
    assert balances(api) == {}
    assert api.delete(f"/payments/{payment['id']}/").status_code == 204
    assert balances(api) == {"minakessler": {"EUR": 20}}


def test_pays_again_what_is_sent_again(api, shop):
    twice = [paid(api, ORDER), paid(api, ORDER)]

    assert twice[0][0]["id"] != twice[1][0]["id"]
    assert balances(api) == {"minakessler": {"EUR": -47.48}}


def test_pays_once_for_one_idempotency_key(api, shop):
    keyed = {"Idempotency-Key": "payout-1"}
    first = api.post("/payments/", [ORDER], **keyed)

    again = api.post("/payments/", [ORDER], **keyed)
    other = api.post("/payments/", ORDER, **keyed)

    assert (again.status_code, again.content) == (200, first.content)
    assert again["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first
    assert (other.status_code, other.json()["errors"][0]["code"]) == (
        *(409, "idempotency_key_reused"),
    )
    assert ids(api.get("/payments/")) == [first.json()[0]["id"]]


# What is refused.


MISSING = "Missing mandatory parameter(s)"
NUMBER = "This value should be a number."
ABOVE = "This value should be greater than 0."
DIGITS = "This value has too many digits."
CURRENCY = "Unknown currency"
AFFILIATE = "Unknown affiliate"
TYPE = "This value should be of type {{ type }}."
TEXT, OBJECT = (TYPE.replace("{{ type }}", it) for it in ("string", "object"))

ODD = {
    "nothing": (
        {"affiliate_id": None, "amount": None, "currency": None},
        [flaw(name, MISSING) for name in ("affiliate_id", "amount", "currency")],
    ),
    "blank": (
        {"affiliate_id": " ", "currency": ""},
        [flaw("affiliate_id", MISSING), flaw("currency", MISSING)],
    ),
    "nought": ({"amount": 0}, [flaw("amount", ABOVE)]),
    "below nought": ({"amount": "-5"}, [flaw("amount", ABOVE)]),
    "a bit below nought": ({"amount": -0.004}, [flaw("amount", ABOVE)]),
    "nought when rounded": ({"amount": 0.0049}, [flaw("amount", ABOVE)]),
    "a third of a yen": (
        {"amount": "0.4", "currency": "JPY"},
        [flaw("amount", ABOVE)],
    ),
    "less than a fils": (
        {"amount": "0.0004", "currency": "KWD"},
        [flaw("amount", ABOVE)],
    ),
    "too long": ({"amount": 10**13}, [flaw("amount", DIGITS)]),
    "too long when rounded": (
        {"amount": "9999999999999.995"},
        [flaw("amount", DIGITS)],
    ),
    "sixteen digits": (
        {"amount": "1234567890123.456", "currency": "KWD"},
        [flaw("amount", DIGITS)],
    ),
    "an exponent in text": ({"amount": "1e2"}, [flaw("amount", NUMBER)]),
    "a list": ({"amount": [5]}, [flaw("amount", NUMBER)]),
    "a boolean": ({"amount": True}, [flaw("amount", NUMBER)]),
    "no currency of today": ({"currency": "DEM"}, [flaw("currency", CURRENCY)]),
    "types": (
        {"affiliate_id": {}, "amount": "x", "currency": False},
        [
            flaw("affiliate_id", TEXT, TYPE),
            flaw("amount", NUMBER),
            flaw("currency", TEXT, TYPE),
        ],
    ),
    "somebody unknown": ({"affiliate_id": "nobody"}, [flaw("affiliate_id", AFFILIATE)]),
    "other letters": (
        {"affiliate_id": "MinaKessler"},
        [flaw("affiliate_id", AFFILIATE)],
    ),
    "somebody elses": (
        {"affiliate_id": "zz-markerminakessler"},
        [flaw("affiliate_id", AFFILIATE)],
    ),
    "nought when rounded, for nobody": (
        {"affiliate_id": None, "amount": 0.4, "currency": "JPY"},
        [flaw("affiliate_id", MISSING), flaw("amount", ABOVE)],
    ),
    "all that is wrong": (
        {"affiliate_id": "nobody", "amount": 0, "currency": "zzz"},
        [
            flaw("affiliate_id", AFFILIATE),
            flaw("amount", ABOVE),
            flaw("currency", CURRENCY),
        ],
    ),
}


@pytest.mark.parametrize("in_array", [False, True], ids=["object", "array"])
@pytest.mark.parametrize(("odd", "found"), ODD.values(), ids=ODD)
def test_refuses_odd_orders_and_names_the_field(
    api, account, shop, other_account, odd, found, in_array
):
    Shop(other_account, mark="zz-marker")
    before = stored(account)
    order = ORDER | odd

    response = api.post("/payments/", [ORDER, order, ORDER] if in_array else order)

    prefix = "[1]." if in_array else ""
    assert flaws(response) == [(prefix + path, *words) for path, *words in found]
    assert stored(account) == before


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        pytest.param([], [flaw("", MISSING)], id="empty"),
        pytest.param(
            [ORDER, None, 5, "x", [ORDER]],
            [flaw(f"[{number}]", OBJECT, TYPE) for number in (1, 2, 3, 4)],
            id="no-objects",
        ),
        pytest.param(
            [{}, ORDER | {"affiliate_id": "nobody"}],
            [flaw(f"[0].{it}", MISSING) for it in ORDER]
            + [flaw("[1].affiliate_id", AFFILIATE)],
            id="an-empty-object-and-somebody-unknown",
        ),
        pytest.param(
            {}, [flaw(it, MISSING) for it in ORDER], id="an-empty-object-alone"
        ),
    ],
)
def test_refuses_odd_arrays(api, account, shop, sent, found):
    before = stored(account)

    response = api.post("/payments/", sent)

    assert flaws(response) == found
    assert stored(account) == before


@pytest.mark.parametrize("body", [b"", b"null", b"5", b'"x"', b"[NaN]", b"[{]"])
def test_wants_an_object_or_an_array(api, shop, body):
    response = api.post("/payments/", body)

    assert response.status_code == 400
    assert response.json() == {
        "errors": [{"message": "Request body was not valid JSON"}]
    }


def test_names_the_order_that_no_balance_could_hold(api, account, shop):
    most = ORDER | {"amount": 9999999999999}
    before = stored(account)

    response = api.post("/payments/", [most] * 91)

    assert flaws(response) == [flaw("[90].amount", DIGITS)]
    assert stored(account) == before


# Canceling.


def test_cancels_once_whatever_the_body(api, account, shop):
    (payment,) = paid(api, ORDER)
    path = f"/payments/{payment['id']}/"

    response = api.delete(path, b"nonsense")

    assert (response.status_code, response.content) == (204, b"")
    assert response["X-RateLimit-Limit"] == "300"
    before = stored(account)
    for method in ("DELETE", "GET"):
        again = api.ask(method, path)
        assert (again.status_code, again.json()) == (404, UNKNOWN)
    assert stored(account) == before
    assert said(api.get("/payments/")) == []
    assert said(api.get("/affiliates/minakessler/payments/")) == []
    assert balances(api) == {}


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_does_not_know_other_payments(
    api, shop, account, other_account, other_api, method
):
    theirs = Shop(other_account, mark="zz-marker-")
    order = ORDER | {"affiliate_id": theirs.mina.slug}
    (foreign,) = paid(other_api, order)
    (own,) = paid(api, ORDER)
    number = account.payments.get().pk
    before = stored(other_account)

    answers = [
        api.ask(method, f"/payments/{it}/")
        for it in (foreign["id"], own["id"].lower(), own["id"].upper(), number, "pa_")
    ]

    assert {it.status_code for it in answers} == {404}
    assert [it.json() for it in answers] == [UNKNOWN] * len(answers)
    assert stored(other_account) == before
    assert ids(api.get("/payments/")) == [own["id"]]


# The lists.


def test_lists_newest_first_in_pages(api, shop):
    early = paid(api, *[ORDER] * 26)
    (late,) = paid(api, ORDER, at=APRIL.replace(second=1))
    newest_first = [late["id"], *(payment["id"] for payment in reversed(early))]

    for path in ("/payments/", "/affiliates/minakessler/payments/"):
        pages = [api.get(f"{path}?x=1&page={number}") for number in (1, 2, 3)]

        base = f"<http://testserver/1.6{path}?x=1&page="
        assert [ids(page) for page in pages] == [
            *(newest_first[:25], newest_first[25:], []),
        ]
        assert [page["Link"] for page in pages] == [
            f'{base}2>; rel="next", {base}2>; rel="last", {base}1>; rel="first"',
            f'{base}2>; rel="last", {base}1>; rel="first", {base}1>; rel="prev"',
            f'{base}2>; rel="last", {base}1>; rel="first", {base}2>; rel="prev"',
        ]


def test_lists_the_payments_of_one_affiliate(api, shop, other_account, other_api):
    theirs = Shop(other_account, mark="zz-marker-")
    paid(other_api, ORDER | {"affiliate_id": theirs.mina.slug})
    mine, odettes, canceled = paid(
        api, ORDER, ORDER | {"affiliate_id": "odettevarga"}, ORDER
    )
    api.delete(f"/payments/{canceled['id']}/")

    response = api.get("/affiliates/minakessler/payments/?affiliate_id=odettevarga")

    assert said(response) == [shown(mine)]
    assert response["X-RateLimit-Limit"] == "1500"
    assert ids(api.get("/payments/?affiliate_id=odettevarga")) == [odettes["id"]]


@pytest.mark.parametrize(
    "affiliate", ["nobody", "removed", "MinaKessler", "zz-marker-minakessler"]
)
def test_lists_nothing_of_an_affiliate_that_is_not_there(
    api, shop, other_account, affiliate
):
    Shop(other_account, mark="zz-marker-")
    remove(shop.join("Removed", "").affiliate)

    response = api.get(f"/affiliates/{affiliate}/payments/")

    assert response.status_code == 404
    assert response.json() == {"errors": [{"message": "Affiliate not found"}]}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["next", "last", "first", "rival"]),
        ("affiliate_id=", ["next", "last", "first", "rival"]),
        ("affiliate_id=minakessler", ["next", "last", "first"]),
        ("affiliate_id=nobody", []),
        ("affiliate_id=Minakessler", []),
        ("date_from=2026-04-02", ["next"]),
        ("date_to=2026-04-01", ["last", "first", "rival"]),
        ("date_from=2026-04-01&date_to=2026-04-01", ["last", "first"]),
        ("date_from=2026-04-02&date_to=2026-04-01", []),
        ("date_to=2999-12-31&affiliate_id=odettevarga", ["rival"]),
        ("currency=JPY&per_page=1", ["next", "last", "first", "rival"]),
    ],
)
def test_narrows_the_list(api, shop, query, names):
    rivals = ORDER | {"affiliate_id": "odettevarga"}
    made = {
        paid(api, order, at=at)[0]["id"]: name
        for name, order, at in [
            ("rival", rivals, datetime(2026, 3, 31, 23, 59, 59, tzinfo=UTC)),
            ("first", ORDER, datetime(2026, 4, 1, tzinfo=UTC)),
            ("last", ORDER, datetime(2026, 4, 1, 23, 59, 59, 999999, tzinfo=UTC)),
            ("next", ORDER, datetime(2026, 4, 2, tzinfo=UTC)),
        ]
    }

    rows = ids(api.get(f"/payments/?{query}"))

    assert [made[number] for number in rows] == names


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("date_from=", [flaw("date_from", "Invalid date")]),
        ("date_to=2026-02-30", [flaw("date_to", "Invalid date")]),
        ("date_from=2026-1-1", [flaw("date_from", "Invalid date")]),
        (
            "page=0&date_to=3000-01-01&date_from=1969-12-31&affiliate_id=%00",
            [
                flaw("affiliate_id", "This value is not valid text."),
                flaw("date_from", "Invalid date"),
                flaw("date_to", "Invalid date"),
                flaw("page", "Invalid page"),
            ],
        ),
    ],
    ids=["empty", "no-day", "short", "all-in-the-tables-order"],
)
def test_refuses_odd_filters(api, shop, query, found):
    assert flaws(api.get(f"/payments/?{query}")) == found


# Who may.


@pytest.mark.parametrize("role", ["viewer", "manager"])
def test_lets_only_owners_pay_and_cancel(api, account, shop, key_for, role):
    (payment,) = paid(api, ORDER)
    api.key = key_for(account, role)
    path = f"/payments/{payment['id']}/"

    refused = [
        api.post("/payments/", b"nonsense"),
        api.delete(path),
        api.delete("/payments/pa_unknown/"),
    ]

    for response in refused:
        trace = response["X-Trace-Id"]
        assert response.status_code == 403
        assert response.json() == {
            "message": "Forbidden",
            "code": 403,
            "traceId": trace,
        }
    for readable in ("/payments/", "/affiliates/minakessler/payments/"):
        assert said(api.get(readable)) == [payment]
    assert said(api.get(path)) == payment
