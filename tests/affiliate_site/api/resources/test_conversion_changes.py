"""Contract 2.2.6 to 2.2.8: conversions changed, removed, given more commissions."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client

from payouts.services.commissions import approve
from payouts.services.funding import top_up
from tests.conftest import NOW, Api
from tests.proof import everything, money_agrees
from tests.shop import SOLD, Shop, remove
from tracking.services.placement import put_below
from tracking.services.programs import archive

UNKNOWN = {"errors": [{"message": "Conversion not found"}]}
NO_JSON = {"errors": [{"message": "Request body was not valid JSON"}]}
FINAL = {
    "errors": [
        {
            "message": "The commission is approved and cannot be changed.",
            "code": "commission_approved",
        }
    ]
}
MISSING = "Missing mandatory parameter(s)"
MANY_DIGITS = "This value has too many digits."
NO_NUMBER = "This value should be a number."
TYPE = "This value should be of type {{ type }}."
LONG = "This value is too long, {{ limit }} characters at most."


@pytest.fixture
def shop(account):
    """A program with a second type."""
    shop = Shop(account)
    shop.type("accessories", "7.5")
    yield shop
    money_agrees(account)


@pytest.fixture
def sale(shop):
    """200 EUR of an order-1, one commission pending."""
    return shop.sell("200", external_id="order-1", meta_data={"plan": "pro"})


@pytest.fixture
def odette(shop):
    """Mina's parent, who earns 3 % by level 2."""
    odette = shop.join("Odette", "Varga")
    put_below(shop.account, affiliate_id=shop.mina.slug, parent=odette.slug, at=SOLD)
    shop.level(2, "3")
    return odette


def at(sale, more="", query=""):
    return f"/conversions/{sale.pk}/{more}{query}"


RECALCULATED = "?recalculate_commissions=true"


def said(response):
    assert response.status_code == 200, response.content
    return response.json()


def refusal(path, message, raw=None):
    return {
        "message": message,
        "message_raw": raw or message,
        "property_path": path,
    }


def refused(response, *entries):
    assert response.status_code == 400, response.content
    assert response.json() == {"errors": list(entries)}


def stored(account):
    """Everything but what each request leaves behind."""
    return {**everything(account), "ApiKey": None}


def numbers(sale):
    rows = sale.account.commissions.filter(conversion=sale)
    return list(rows.order_by("id").values_list("id", flat=True))


def commission(shop, number, **changed):
    """A pending commission of 20 EUR, as it stands in a conversion."""
    return {
        "id": number,
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


def alone(shop, number, sale, **changed):
    """The same, standing alone."""
    return commission(shop, number) | {
        "status": "pending",
        "conversion": {"id": sale.pk},
        "finalization_date": None,
        **changed,
    }


def conversion(shop, sale, **changed):
    """The sale of 200 EUR."""
    return {
        "id": sale.pk,
        "external_id": "order-1",
        "amount": 200,
        "click": None,
        "commissions": [commission(shop, number) for number in numbers(sale)],
        "program": shop.ref,
        "affiliate": shop.mina.ref,
        "customer": None,
        "meta_data": {"plan": "pro"},
        "created_at": "2026-03-04T09:15:27+00:00",
        "warnings": None,
        "affiliate_meta_data": None,
        "tracking_source": "coupon",
    } | changed


def freeze(account, *chosen):
    """Approve these, of an account that pays through the service."""
    account.uses_payouts = True
    account.save()
    top_up(account, amount=Decimal(100), currency="EUR", at=SOLD)
    for number in chosen:
        approve(account, commission_id=number, at=SOLD)


# PATCH.


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        pytest.param({}, {}, id="nothing"),
        pytest.param({"amount": 49.9}, {"amount": 49.9}, id="amount"),
        pytest.param({"amount": "49.90"}, {"amount": 49.9}, id="amount-as-text"),
        pytest.param({"amount": 0}, {"amount": 0}, id="nought"),
        pytest.param({"amount": -0.001}, {"amount": 0}, id="nought-after-rounding"),
        pytest.param({"amount": 0.125}, {"amount": 0.13}, id="half-up"),
        pytest.param({"amount": None}, {}, id="null-amount"),
        pytest.param({"external_id": "O-2"}, {"external_id": "O-2"}, id="external-id"),
        pytest.param({"external_id": 17}, {"external_id": "17"}, id="integer-id"),
        pytest.param({"external_id": " 2 "}, {"external_id": " 2 "}, id="untrimmed-id"),
        pytest.param({"external_id": "  "}, {}, id="blank-id"),
        pytest.param({"external_id": None}, {}, id="null-id"),
        pytest.param({"external_id": "order-1"}, {}, id="its-own-id"),
        pytest.param(
            {"meta_data": {"a": 1.50, "b": True}},
            {"meta_data": {"a": "1.5", "b": "true"}},
            id="meta-data-is-replaced",
        ),
        pytest.param({"meta_data": {}}, {"meta_data": {}}, id="empty-meta-data"),
        pytest.param({"meta_data": None}, {}, id="null-meta-data"),
        pytest.param(
            {"currency": "USD", "id": 7, "affiliate": None, "coupon": "X"},
            {},
            id="unknown-and-read-only",
        ),
    ],
)
def test_changes_what_is_sent_alone(api, shop, sale, body, changed):
    response = api.patch(at(sale), body)

    assert said(response) == conversion(shop, sale, **changed)
    assert list(response.json()) == list(conversion(shop, sale))
    assert said(api.get(at(sale))) == response.json()
    assert "X-RateLimit-Limit" not in response


@pytest.mark.parametrize(
    ("query", "follows"),
    [
        ("?recalculate_commissions=true", True),
        ("?recalculate_commissions=1", True),
        ("?recalculate_commissions=TRUE", True),
        ("?recalculate_commissions=0&recalculate_commissions=true", True),
        ("?recalculate_commissions=false", False),
        ("?recalculate_commissions=0", False),
        ("?recalculate_commissions=", False),
        ("?recalculate=true", False),
        ("", False),
    ],
)
def test_lets_the_commissions_follow_where_that_is_asked_for(
    api, shop, sale, query, follows
):
    (number,) = numbers(sale)

    response = api.patch(at(sale, query=query), {"amount": 150})

    followed = {"conversion_sub_amount": 150, "amount": 15} if follows else {}
    nested = [commission(shop, number, **followed)]
    assert said(response) == conversion(shop, sale, amount=150, commissions=nested)


@pytest.mark.parametrize(
    ("currency", "sold", "amount", "became", "parts"),
    [
        pytest.param("JPY", "1000", 100.5, 101, (101, 10), id="JPY"),
        pytest.param("KWD", "1.234", 2.0005, 2.001, (2.001, 0.2), id="KWD"),
    ],
)
def test_rounds_in_the_currency_of_the_sale(
    api, shop, currency, sold, amount, became, parts
):
    sale = shop.sell(sold, currency=currency)

    response = api.patch(at(sale, query=RECALCULATED), {"amount": amount})

    (nested,) = said(response)["commissions"]
    assert response.json()["amount"] == became
    assert (nested["conversion_sub_amount"], nested["amount"]) == parts
    assert nested["currency"] == currency


def test_moves_the_balances_of_everybody_who_earned(api, shop, odette):
    sale = shop.sell("200")
    for number in numbers(sale):
        said(api.put(f"/commissions/{number}/approved/"))

    response = api.patch(at(sale, query=RECALCULATED), {"amount": 50})

    assert [
        (it["kind"], it["conversion_sub_amount"], it["amount"], it["approved"])
        for it in said(response)["commissions"]
    ] == [("regular", 50, 5, True), ("level", 50, 1.5, True)]
    assert said(api.get("/balances/")) == [
        {"affiliate_id": "minakessler", "balances": {"EUR": 5}},
        {"affiliate_id": "odettevarga", "balances": {"EUR": 1.5}},
    ]


def test_keeps_final_commissions_as_they_are(api, shop, account):
    sale = shop.sell("100", "100", external_id="order-1", meta_data={"plan": "pro"})
    first, second = numbers(sale)
    freeze(account, first)

    response = api.patch(at(sale, query=RECALCULATED), {"amount": 100})

    kept, followed = said(response)["commissions"]
    assert kept == commission(
        shop, first, conversion_sub_amount=100, amount=10, approved=True, final=True
    )
    assert followed == commission(shop, second, conversion_sub_amount=50, amount=5)
    assert said(api.get("/balances/")) == [
        {"affiliate_id": "minakessler", "balances": {"EUR": 10}}
    ]


@pytest.mark.parametrize(
    ("body", "flaws"),
    [
        pytest.param(
            {"amount": -1},
            [refusal("amount", "This value should be 0 or more.")],
            id="below-nought",
        ),
        pytest.param({"amount": "1e2"}, [refusal("amount", NO_NUMBER)], id="exponent"),
        pytest.param({"amount": ""}, [refusal("amount", NO_NUMBER)], id="empty"),
        pytest.param({"amount": " 1"}, [refusal("amount", NO_NUMBER)], id="spaced"),
        pytest.param({"amount": True}, [refusal("amount", NO_NUMBER)], id="boolean"),
        pytest.param({"amount": [1]}, [refusal("amount", NO_NUMBER)], id="array"),
        pytest.param(
            {"amount": 10**13}, [refusal("amount", MANY_DIGITS)], id="14-whole-digits"
        ),
        pytest.param(
            b'{"amount": 12345678901234.56}',
            [refusal("amount", MANY_DIGITS)],
            id="16-digits",
        ),
        pytest.param(
            {"external_id": ["a"], "amount": {}, "meta_data": "a"},
            [
                refusal("amount", NO_NUMBER),
                refusal("external_id", TYPE.replace("{{ type }}", "string"), TYPE),
                refusal("meta_data", TYPE.replace("{{ type }}", "object"), TYPE),
            ],
            id="all-at-once-in-order",
        ),
        pytest.param(
            {"external_id": "x" * 256},
            [refusal("external_id", LONG.replace("{{ limit }}", "255"), LONG)],
            id="long-id",
        ),
        pytest.param(
            {"meta_data": {"plan": None}},
            [refusal("meta_data[plan]", TYPE.replace("{{ type }}", "string"), TYPE)],
            id="null-in-meta-data",
        ),
    ],
)
def test_refuses_odd_values(api, account, sale, body, flaws):
    before = stored(account)

    response = api.patch(at(sale, query=RECALCULATED), body)

    refused(response, *flaws)
    assert stored(account) == before


@pytest.mark.parametrize("value", ["yes", "2", "null", "true%20"])
def test_refuses_an_odd_flag(api, account, sale, value):
    before = stored(account)

    response = api.patch(
        at(sale, query=f"?recalculate_commissions={value}"), {"amount": 1}
    )

    refused(
        response,
        refusal("recalculate_commissions", "This value should be true or false."),
    )
    assert stored(account) == before


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"null", b"17", b'{"amount": 1', b'{"amount": 1, "amount": 2}']
)
def test_wants_an_object(api, account, sale, body):
    before = stored(account)

    response = api.patch(at(sale), body)

    assert response.status_code == 400
    assert response.json() == NO_JSON
    assert stored(account) == before


@pytest.mark.parametrize("query", ["", RECALCULATED])
def test_refuses_an_external_id_that_is_taken(api, account, shop, sale, query):
    shop.sell("1", external_id="order-2")
    before = stored(account)

    response = api.patch(at(sale, query=query), {"amount": 1, "external_id": "order-2"})

    refused(
        response,
        {
            "message": "Duplicate conversion. There is already a conversion"
            " for External id 'order-2'"
        },
    )
    assert stored(account) == before


def test_takes_an_external_id_of_another_account(api, shop, sale, other_account):
    Shop(other_account, mark="zz-marker-").sell("1", external_id="order-2")

    response = api.patch(at(sale), {"external_id": "order-2"})

    assert said(response)["external_id"] == "order-2"


@pytest.mark.parametrize(
    ("sold", "amount"),
    [
        pytest.param("1", 100, id="14-whole-digits"),
        pytest.param("1", 10**5, id="longer-than-a-column"),
        pytest.param("0.01", 10**13 - 1, id="longer-than-a-decimal"),
    ],
)
def test_refuses_an_amount_by_which_a_part_grows_too_long(
    account, shop, key_for, sold, amount
):
    calm = Api(key_for(account), Client(raise_request_exception=False))
    sale = shop.sell(sold)
    added = {"conversion_sub_amount": 9 * 10**12}
    said(calm.post(at(sale, "commissions/"), added))
    before = stored(account)

    response = calm.patch(at(sale, query=RECALCULATED), {"amount": amount})

    refused(response, refusal("amount", MANY_DIGITS))
    assert stored(account) == before


# DELETE.


def test_removes_a_sale_for_good(api, shop, sale):
    (number,) = numbers(sale)
    said(api.put(f"/commissions/{number}/approved/"))

    response = api.delete(at(sale))

    assert (response.status_code, response.content) == (204, b"")
    assert said(api.get("/conversions/")) == []
    assert said(api.get("/commissions/")) == []
    assert said(api.get("/balances/")) == []
    assert said(api.get("/affiliates/minakessler/balances/")) == {}
    assert said(
        api.post(
            "/conversions/", {"coupon": shop.mina.coupon, "external_id": "order-1"}
        )
    )


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"nonsense"])
def test_never_reads_the_body_of_a_removal(api, sale, body):
    assert api.delete(at(sale), body).status_code == 204


def test_keeps_the_status_of_the_customer(api, shop):
    customer = shop.customer("acct-1")
    sale = shop.sell("200", customer_id="acct-1")

    api.delete(at(sale))

    assert said(api.get(f"/customers/{customer.public_id}/"))["status"] == "paying"


@pytest.mark.parametrize("number", [0, 1, 2])
def test_keeps_a_sale_of_which_one_commission_is_final(
    api, account, shop, odette, number
):
    sale = shop.sell("200", "100")
    freeze(account, numbers(sale)[number])
    before = stored(account)

    response = api.delete(at(sale))

    assert response.status_code == 409
    assert response.json() == FINAL
    assert stored(account) == before


REQUESTS = pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("GET", "", None, id="read"),
        pytest.param("PATCH", "", {}, id="change"),
        pytest.param("PATCH", RECALCULATED, {"amount": "x"}, id="recalculate"),
        pytest.param("DELETE", "", None, id="remove"),
        pytest.param("POST", "commissions/", [], id="add"),
        pytest.param("GET", "meta-data/", None, id="meta-data"),
        pytest.param("PUT", "meta-data/", {"a": "b"}, id="replace-meta-data"),
        pytest.param("GET", "meta-data/plan/", None, id="meta-datum"),
        pytest.param("PUT", "meta-data/plan/", {"value": "b"}, id="set-meta-datum"),
        pytest.param("DELETE", "meta-data/plan/", None, id="remove-meta-datum"),
    ],
)


@REQUESTS
def test_does_not_know_a_removed_sale(api, account, sale, method, path, body):
    api.delete(at(sale))
    before = stored(account)

    response = api.ask(method, at(sale, path), body)

    assert response.status_code == 404
    assert response.json() == UNKNOWN
    assert stored(account) == before


@REQUESTS
def test_does_not_know_the_sales_of_other_accounts(
    api, shop, other_account, method, path, body
):
    theirs = Shop(other_account, mark="zz-marker-")
    foreign = theirs.sell("200", meta_data={"plan": "zz-marker"})
    before = stored(other_account)

    response = api.ask(method, at(foreign, path), body)

    assert response.status_code == 404
    assert response.json() == UNKNOWN
    assert stored(other_account) == before


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("GET", "", None, id="read"),
        pytest.param("PATCH", "", {"comment": "a"}, id="change"),
        pytest.param("PUT", "approved/", None, id="approve"),
        pytest.param("DELETE", "approved/", None, id="disapprove"),
    ],
)
def test_does_not_know_the_commissions_of_a_removed_sale(api, sale, method, path, body):
    (number,) = numbers(sale)
    api.delete(at(sale))

    response = api.ask(method, f"/commissions/{number}/{path}", body)

    assert response.status_code == 404
    assert response.json() == {"errors": [{"message": "Commission not found"}]}


@pytest.mark.parametrize("number", ["abc", "0", "01", "-1", "1.0", str(2**63), "٣"])
@pytest.mark.parametrize(
    ("method", "more"), [("PATCH", ""), ("DELETE", ""), ("POST", "commissions/")]
)
def test_does_not_know_odd_numbers(api, sale, method, more, number):
    response = api.ask(method, f"/conversions/{number}/{more}", {"amount": 1})

    assert response.status_code == 404
    assert response.json() == UNKNOWN


# POST …/commissions/.


def test_books_one_commission(api, shop, sale, now):
    now.move_to(NOW + timedelta(hours=1))
    body = {"conversion_sub_amount": 49.9, "commission_type": " accessories "}

    response = api.post(at(sale, "commissions/"), body | {"comment": "A renewal"})

    first, second = numbers(sale)
    booked = alone(
        shop,
        second,
        sale,
        conversion_sub_amount=49.9,
        amount=3.74,
        commission_type="accessories",
        commission_name="Accessories",
        comment="A renewal",
        created_at="2026-03-04T10:15:27+00:00",
    )
    assert said(response) == [booked]
    assert list(response.json()[0]) == list(booked)
    assert said(api.get(at(sale)))["amount"] == 200
    assert [it["id"] for it in said(api.get(at(sale)))["commissions"]] == [
        first,
        second,
    ]
    assert "Link" not in response
    assert "X-RateLimit-Limit" not in response


def test_books_many_with_their_levels(api, shop, sale, odette, now):
    body = [
        {"conversion_sub_amount": "100"},
        {"conversion_sub_amount": 0, "commission_type": "default", "comment": None},
    ]

    response = api.post(at(sale, "commissions/"), body)

    _, first, second, level, nought = numbers(sale)
    of_odette = {
        "affiliate": odette.ref,
        "kind": "level",
        "commission_type": "level-2",
        "commission_name": "Level 2",
    }
    assert said(response) == [
        alone(shop, first, sale, conversion_sub_amount=100, amount=10),
        alone(shop, second, sale, conversion_sub_amount=0, amount=0),
        alone(shop, level, sale, conversion_sub_amount=100, amount=3, **of_odette),
        alone(shop, nought, sale, conversion_sub_amount=0, amount=0, **of_odette),
    ]


def test_books_in_the_currency_of_the_sale(api, shop):
    sale = shop.sell("1000", currency="JPY")

    (booked,) = said(
        api.post(at(sale, "commissions/"), {"conversion_sub_amount": 14.5})
    )

    assert booked["conversion_sub_amount"] == 15
    assert (booked["amount"], booked["currency"]) == (2, "JPY")


def test_shows_pending_as_null_to_whoever_asked_for_it(api, account, sale):
    account.pending_as_null = True
    account.save()

    (booked,) = said(api.post(at(sale, "commissions/"), {"conversion_sub_amount": 1}))
    changed = said(api.patch(at(sale, query=RECALCULATED), {"amount": 100}))

    assert (booked["approved"], booked["status"]) == (None, "pending")
    assert [it["approved"] for it in changed["commissions"]] == [None, None]


@pytest.mark.parametrize(
    ("body", "flaws"),
    [
        pytest.param([], [refusal("", MISSING)], id="empty-array"),
        pytest.param({}, [refusal("conversion_sub_amount", MISSING)], id="nothing"),
        pytest.param(
            {"sub_amount": 5},
            [refusal("conversion_sub_amount", MISSING)],
            id="the-old-name",
        ),
        pytest.param(
            {"conversion_sub_amount": None},
            [refusal("conversion_sub_amount", MISSING)],
            id="null",
        ),
        pytest.param(
            [{"conversion_sub_amount": 5}, {}],
            [refusal("[1].conversion_sub_amount", MISSING)],
            id="nothing-in-an-array",
        ),
        pytest.param(
            {"conversion_sub_amount": -0.01},
            [refusal("conversion_sub_amount", "This value should be 0 or more.")],
            id="below-nought",
        ),
        pytest.param(
            [
                {"conversion_sub_amount": "5 "},
                {"conversion_sub_amount": 5},
                {"conversion_sub_amount": 10**13, "comment": "x" * 1001},
            ],
            [
                refusal("[0].conversion_sub_amount", NO_NUMBER),
                refusal("[2].conversion_sub_amount", MANY_DIGITS),
                refusal("[2].comment", LONG.replace("{{ limit }}", "1000"), LONG),
            ],
            id="every-flaw",
        ),
        pytest.param(
            [{"conversion_sub_amount": 5}, 5],
            [refusal("[1]", TYPE.replace("{{ type }}", "object"), TYPE)],
            id="no-object",
        ),
        pytest.param(
            [None],
            [refusal("[0]", TYPE.replace("{{ type }}", "object"), TYPE)],
            id="null-in-an-array",
        ),
        pytest.param(
            [{"conversion_sub_amount": 1}] * 101,
            [
                refusal(
                    "",
                    "This list holds 100 items at most.",
                    "This list holds {{ limit }} items at most.",
                )
            ],
            id="101",
        ),
        pytest.param(
            {"conversion_sub_amount": 5, "commission_type": "level-2"},
            [refusal("commission_type", "Unknown commission type")],
            id="unknown-type",
        ),
        pytest.param(
            [
                {"conversion_sub_amount": 5, "commission_type": "Standard"},
                {"conversion_sub_amount": 5, "commission_type": "standard"},
                {"conversion_sub_amount": 5, "commission_type": "bonus"},
            ],
            [
                refusal("[0].commission_type", "Unknown commission type"),
                refusal("[2].commission_type", "Unknown commission type"),
            ],
            id="unknown-types",
        ),
        pytest.param(
            {"conversion_sub_amount": 5, "commission_type": ["standard"]},
            [refusal("commission_type", TYPE.replace("{{ type }}", "string"), TYPE)],
            id="type-of-odd-type",
        ),
    ],
)
def test_refuses_all_for_one_flaw(api, account, sale, body, flaws):
    before = stored(account)

    response = api.post(at(sale, "commissions/"), body)

    refused(response, *flaws)
    assert stored(account) == before


def test_takes_a_hundred_at_once(api, sale):
    response = api.post(at(sale, "commissions/"), [{"conversion_sub_amount": 1}] * 100)

    assert len(said(response)) == 100


@pytest.mark.parametrize("body", [b"", b"null", b'"a"', b"[{]"])
def test_wants_an_object_or_an_array(api, sale, body):
    response = api.post(at(sale, "commissions/"), body)

    assert response.status_code == 400
    assert response.json() == NO_JSON


@pytest.mark.parametrize(
    ("status", "errors"),
    [
        pytest.param(
            409,
            [{"message": "This program is archived.", "code": "program_archived"}],
            id="archived",
        ),
        pytest.param(400, [{"message": "Affiliate is deleted"}], id="deleted-too"),
    ],
)
def test_adds_nothing_against_a_rule(api, account, shop, sale, status, errors):
    archive(account, slug=shop.program.slug, at=SOLD)
    if status == 400:
        remove(shop.mina.affiliate)
    before = stored(account)

    response = api.post(at(sale, "commissions/"), {"conversion_sub_amount": 5})

    assert response.status_code == status
    assert response.json() == {"errors": errors}
    assert stored(account) == before


def test_adds_once_for_one_idempotency_key(api, sale):
    body = {"conversion_sub_amount": 5}
    headers = {"Idempotency-Key": "renewal-1"}

    first, second = (
        api.post(at(sale, "commissions/"), body, **headers) for _ in range(2)
    )

    assert second.content == first.content
    assert second["Idempotent-Replayed"] == "true"
    assert len(numbers(sale)) == 2


# All three.


@pytest.mark.parametrize("state", ["archived", "locked", "deleted"])
def test_changes_and_removes_whatever_became_of_the_program(
    api, account, shop, sale, state
):
    if state == "archived":
        archive(account, slug=shop.program.slug, at=SOLD)
    elif state == "locked":
        account.locked_at = SOLD
        account.save()
    else:
        remove(shop.mina.affiliate)

    changed = api.patch(at(sale, query=RECALCULATED), {"amount": 50})
    removed = api.delete(at(sale))

    assert [it["amount"] for it in said(changed)["commissions"]] == [5]
    assert removed.status_code == 204


@pytest.mark.parametrize(
    ("role", "statuses"),
    [
        ("viewer", [403, 403, 403]),
        ("manager", [200, 200, 204]),
        ("owner", [200, 200, 204]),
    ],
)
def test_asks_for_a_manager(api, account, key_for, sale, role, statuses):
    api.key = key_for(account, role)

    answers = [
        api.patch(at(sale), {"amount": 1}),
        api.post(at(sale, "commissions/"), {"conversion_sub_amount": 1}),
        api.delete(at(sale)),
    ]

    assert [it.status_code for it in answers] == statuses


def test_reads_the_body_before_it_looks_for_the_sale(api, shop):
    answers = [
        api.patch("/conversions/999/", b"nonsense"),
        api.post("/conversions/999/commissions/", b"nonsense"),
    ]

    assert [(it.status_code, it.json()) for it in answers] == [(400, NO_JSON)] * 2
