"""Contract 2.3: commissions listed, approved, disapproved."""

from datetime import timedelta

import pytest

from payouts.services.commissions import approve, disapprove
from tests.affiliate_site.api.resources.shown import shown_commission
from tests.proof import everything, money_agrees
from tests.shop import SOLD, Shop

UNKNOWN = {"errors": [{"message": "Commission not found"}]}


@pytest.fixture
def shop(account):
    shop = Shop(account)
    yield shop
    money_agrees(account)


@pytest.fixture
def commission(shop):
    """20 EUR of a sale of 200, pending."""
    return shop.commission_of(shop.sell("200"))


APPROVED = {"approved": True, "status": "approved"}
DISAPPROVED = {"approved": False, "status": "disapproved"}


def said(response):
    assert response.status_code == 200, response.content
    return response.json()


def numbers(response):
    return [row["id"] for row in said(response)]


def turn_on_payouts(account):
    account.uses_payouts = True
    account.save()


# The list.


def test_shows_a_commission_standing_alone(api, commission):
    response = api.get("/commissions/")

    assert said(response) == [shown_commission(commission)]
    assert list(response.json()[0]) == list(shown_commission(commission))
    assert response["Link"] == (
        '<http://testserver/1.6/commissions/?page=1>; rel="last", '
        '<http://testserver/1.6/commissions/?page=1>; rel="first"'
    )
    assert response["Content-Type"] == "application/json"
    assert response["X-RateLimit-Limit"] == "1500"


def test_shows_pending_as_null_to_whoever_asked_for_it(api, shop, account, commission):
    account.pending_as_null = True
    account.save()
    others = [shop.commission_of(shop.sell("200")) for _ in range(2)]
    approve(account, commission_id=others[0].pk, at=SOLD)
    disapprove(account, commission_id=others[1].pk, at=SOLD)

    rows = said(api.get("/commissions/"))

    assert rows == [
        shown_commission(others[1], **DISAPPROVED),
        shown_commission(others[0], **APPROVED),
        shown_commission(commission, approved=None),
    ]


def test_lists_newest_first_then_by_number(api, shop):
    late = shop.sell("1", at=SOLD + timedelta(days=1))
    early = shop.sell("2", "3", "4")

    first, second, third = (
        shop.account.commissions.filter(conversion=early)
        .order_by("id")
        .values_list("id", flat=True)
    )
    assert numbers(api.get("/commissions/")) == [
        shop.commission_of(late).pk,
        third,
        second,
        first,
    ]


def test_gives_25_a_page(api, shop):
    shop.sell(*["1"] * 26)

    pages = [api.get(f"/commissions/?status=&page={number}") for number in (1, 2, 3)]

    assert [len(said(page)) for page in pages] == [25, 1, 0]
    base = "<http://testserver/1.6/commissions/?status=&page="
    assert [page["Link"] for page in pages] == [
        f'{base}2>; rel="next", {base}2>; rel="last", {base}1>; rel="first"',
        f'{base}2>; rel="last", {base}1>; rel="first", {base}1>; rel="prev"',
        f'{base}2>; rel="last", {base}1>; rel="first", {base}2>; rel="prev"',
    ]


@pytest.fixture
def cast(shop, account, other_account):
    """Four commissions, by name; `approved` is a rival's."""
    rival = shop.join("Odette", "Varga")
    made = {
        "pending": shop.sell("200"),
        "approved": shop.sell("200", member=rival),
        "disapproved": shop.sell("200"),
    }
    made = {name: shop.commission_of(sale).pk for name, sale in made.items()}
    approve(account, commission_id=made["approved"], at=SOLD)
    disapprove(account, commission_id=made["disapproved"], at=SOLD)
    Shop(other_account, mark="zz-marker-").sell("200")
    return {number: name for name, number in made.items()}


ALL = {"pending", "approved", "disapproved"}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ALL),
        ("status=pending", {"pending"}),
        ("status=approved", {"approved"}),
        ("status=disapproved", {"disapproved"}),
        ("status=", ALL),
        ("approved=true", {"approved"}),
        ("approved=1", {"approved"}),
        ("approved=FALSE", {"disapproved"}),
        ("approved=0", {"disapproved"}),
        ("approved=", ALL),
        ("status=pending&approved=true", {"pending"}),
        ("status=&approved=true", {"approved"}),
        ("paid=true", set()),
        ("paid=false", ALL),
        ("affiliate_id=minakessler", {"pending", "disapproved"}),
        ("affiliate_id=odettevarga", {"approved"}),
        ("affiliate_id=odettevarga&status=pending", set()),
        ("affiliate_id=", ALL),
        ("affiliate_id=nobody", set()),
        ("affiliate_id=MinaKessler", set()),
        ("affiliate_id=zz-markerminakessler", set()),
        ("program_id=nothing&limit=1", ALL),
        ("status=pending&status=approved", {"approved"}),
    ],
)
def test_narrows_the_list(api, cast, query, names):
    rows = numbers(api.get(f"/commissions/?{query}"))

    assert {cast[number] for number in rows} == names


@pytest.mark.parametrize(
    ("query", "path", "message", "raw"),
    [
        pytest.param(
            *("status=final", "status"),
            "Invalid value 'final'. Valid are 'pending', 'approved', 'disapproved'",
            "Invalid value '{{ value }}'. Valid are {{ values }}",
            id="status",
        ),
        pytest.param(
            *("approved=yes", "approved"),
            *["This value should be true or false."] * 2,
            id="approved",
        ),
        pytest.param(
            "paid=2", "paid", *["This value should be true or false."] * 2, id="paid"
        ),
        pytest.param("page=0", "page", *["Invalid page"] * 2, id="page-0"),
        pytest.param("page=01", "page", *["Invalid page"] * 2, id="page-01"),
    ],
)
def test_refuses_odd_filters(api, commission, query, path, message, raw):
    response = api.get(f"/commissions/?{query}")

    assert response.status_code == 400
    assert response.json() == {
        "errors": [{"message": message, "message_raw": raw, "property_path": path}]
    }


# The decision.


@pytest.mark.parametrize("path", ["approved", "approval"])
@pytest.mark.parametrize("before", ["pending", "approved", "disapproved"])
@pytest.mark.parametrize(
    ("method", "changed"), [("PUT", APPROVED), ("DELETE", DISAPPROVED)]
)
def test_decides_from_any_state(
    api, account, commission, path, before, method, changed
):
    if before == "approved":
        approve(account, commission_id=commission.pk, at=SOLD)
    elif before == "disapproved":
        disapprove(account, commission_id=commission.pk, at=SOLD)

    response = api.ask(method, f"/commissions/{commission.pk}/{path}/")

    assert said(response) == shown_commission(commission, **changed)
    assert list(response.json()) == list(shown_commission(commission))
    assert said(api.get("/commissions/")) == [shown_commission(commission, **changed)]
    balance = {"EUR": 20} if changed is APPROVED else {}
    assert said(api.get("/affiliates/minakessler/balances/")) == balance


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[]", b"nonsense", b"\xff\x00", b'{"approved": false}']
)
def test_never_reads_a_body(api, commission, body):
    response = api.put(f"/commissions/{commission.pk}/approved/", body)

    assert said(response) == shown_commission(commission, **APPROVED)


def test_has_no_fixed_limit(api, commission):
    response = api.put(f"/commissions/{commission.pk}/approved/")

    assert "X-RateLimit-Limit" not in response


@pytest.mark.parametrize(
    "number",
    ["abc", "0", "01", "-1", "1.0", "%31%00", "10" * 15, str(2**63), "٣", "+1"],
)
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_does_not_know_odd_numbers(api, commission, method, number):
    response = api.ask(method, f"/commissions/{number}/approved/")

    assert response.status_code == 404
    if "%00" not in number:
        assert response.json() == UNKNOWN


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_does_not_know_the_commissions_of_other_accounts(
    api, commission, other_account, method
):
    theirs = Shop(other_account, mark="zz-marker-")
    foreign = theirs.commission_of(theirs.sell("200"))
    before = everything(other_account)

    response = api.ask(method, f"/commissions/{foreign.pk}/approved/")

    assert response.status_code == 404
    assert response.json() == UNKNOWN
    assert everything(other_account) == before


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_refuses_what_is_final(api, account, commission, method):
    approve(account, commission_id=commission.pk, at=SOLD)
    turn_on_payouts(account)
    before = everything(account)

    response = api.ask(method, f"/commissions/{commission.pk}/approved/")

    assert response.status_code == 409
    assert response.json() == {
        "errors": [
            {
                "message": "The commission is approved and cannot be changed.",
                "code": "commission_approved",
            }
        ]
    }
    assert {**everything(account), "ApiKey": None} == {**before, "ApiKey": None}


def test_refuses_what_is_not_funded(api, account, commission):
    turn_on_payouts(account)

    response = api.put(f"/commissions/{commission.pk}/approved/")

    assert response.status_code == 409
    assert response.json() == {
        "errors": [
            {
                "message": "The payout balance does not cover this commission.",
                "code": "commission_unfunded",
            }
        ]
    }
    assert said(api.get("/commissions/")) == [shown_commission(commission)]


def test_shows_when_a_commission_became_final(api, shop, account):
    nought = shop.commission_of(shop.sell("0"))
    turn_on_payouts(account)

    answer = said(api.put(f"/commissions/{nought.pk}/approved/"))

    moment = nought.again().finalized_at.strftime("%Y-%m-%dT%H:%M:%S+00:00")
    assert answer == shown_commission(
        nought,
        conversion_sub_amount=0,
        amount=0,
        final=True,
        finalization_date=moment,
        **APPROVED,
    )


def test_disapproves_with_the_payout_feature(api, account, commission):
    turn_on_payouts(account)

    response = api.delete(f"/commissions/{commission.pk}/approved/")

    assert said(response) == shown_commission(commission, **DISAPPROVED)


@pytest.mark.parametrize(
    ("role", "status"), [("viewer", 403), ("manager", 200), ("owner", 200)]
)
def test_asks_for_a_manager(api, account, key_for, commission, role, status):
    api.key = key_for(account, role)

    answers = [
        api.ask(method, f"/commissions/{commission.pk}/approved/").status_code
        for method in ("PUT", "DELETE")
    ]

    assert answers == [status, status]
    assert api.get("/commissions/").status_code == 200


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH"])
def test_knows_no_other_method(api, commission, method):
    response = api.ask(method, f"/commissions/{commission.pk}/approved/")

    assert response.status_code == 405
    assert response["Allow"] == "PUT, DELETE, OPTIONS"
