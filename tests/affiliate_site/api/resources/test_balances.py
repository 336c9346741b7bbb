"""Contract 2.9: what affiliates are owed."""

import pytest

from payouts.services.commissions import approve, disapprove
from tests.proof import money_agrees
from tests.shop import SOLD, Shop, remove


@pytest.fixture
def shop(account):
    shop = Shop(account)
    yield shop
    money_agrees(account)


def earn(shop, amount, *, member=None, **sale):
    """A sale whose commission is approved."""
    commission = shop.commission_of(shop.sell(amount, member=member, **sale))
    approve(shop.account, commission_id=commission.pk, at=SOLD)
    return commission


def body(response):
    assert response.status_code == 200, response.content
    return response.content


def test_tells_an_empty_list_when_nothing_is_owed(api, shop):
    shop.sell("200")

    assert body(api.get("/balances/")) == b"[]"
    assert body(api.get("/affiliates/minakessler/balances/")) == b"{}"


def test_sorts_affiliates_and_currencies(api, shop):
    rival = shop.join("Abel", "Sorel")
    earn(shop, "237.40", currency="USD")
    earn(shop, "237.40")
    earn(shop, "199", member=rival, currency="JPY")
    earn(shop, "1.235", member=rival, currency="KWD")

    assert body(api.get("/balances/")) == (
        b'[{"affiliate_id":"abelsorel","balances":{"JPY":20,"KWD":0.124}},'
        b'{"affiliate_id":"minakessler","balances":{"EUR":23.74,"USD":23.74}}]'
    )
    assert body(api.get("/affiliates/minakessler/balances/")) == (
        b'{"EUR":23.74,"USD":23.74}'
    )


def test_leaves_out_currencies_and_affiliates_at_nought(api, shop, account):
    rival = shop.join("Odette", "Varga")
    gone = earn(shop, "200", member=rival)
    earn(shop, "200")
    taken_back = earn(shop, "100", currency="CHF")
    earn(shop, "0", currency="JPY")
    for commission in (gone, taken_back):
        disapprove(account, commission_id=commission.pk, at=SOLD)

    assert body(api.get("/balances/")) == (
        b'[{"affiliate_id":"minakessler","balances":{"EUR":20}}]'
    )
    assert body(api.get("/affiliates/odettevarga/balances/")) == b"{}"


def test_includes_removed_affiliates_in_the_list_alone(api, shop):
    earn(shop, "200")
    remove(shop.mina.affiliate)

    alone = api.get("/affiliates/minakessler/balances/")

    assert body(api.get("/balances/")) == (
        b'[{"affiliate_id":"minakessler","balances":{"EUR":20}}]'
    )
    assert alone.status_code == 404
    assert alone.json() == {"errors": [{"message": "Affiliate not found"}]}


def test_is_one_whole_list_without_a_link(api, shop):
    shop.type("all", 100)
    for number in range(26):
        earn(shop, ("1", "all"), member=shop.join("Seller", f"Nr{number:02}"))

    response = api.get("/balances/?page=2")

    assert len(response.json()) == 26
    assert "Link" not in response
    assert response.json() == sorted(
        response.json(), key=lambda row: row["affiliate_id"]
    )


@pytest.mark.parametrize(
    ("path", "limit"),
    [("/balances/", "10"), ("/affiliates/minakessler/balances/", "1500")],
)
def test_tells_how_often_it_may_be_asked(api, shop, path, limit):
    response = api.get(path)

    assert response["X-RateLimit-Limit"] == limit
    assert response["X-RateLimit-Remaining"] == str(int(limit) - 1)
    assert response["Content-Type"] == "application/json"


@pytest.mark.parametrize("affiliate", ["nobody", "MinaKessler", "1", "zz-markermina"])
def test_knows_no_other_affiliates(api, shop, other_account, affiliate):
    earn(Shop(other_account, mark="zz-marker"), "200")

    response = api.get(f"/affiliates/{affiliate}/balances/")

    assert response.status_code == 404
    assert response.json() == {"errors": [{"message": "Affiliate not found"}]}
    assert body(api.get("/balances/")) == b"[]"


@pytest.mark.parametrize("role", ["viewer", "manager", "owner"])
def test_is_read_by_every_role(shop, account, key_for, api, role):
    earn(shop, "200")
    api.key = key_for(account, role)

    assert body(api.get("/affiliates/minakessler/balances/")) == b'{"EUR":20}'


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", ["/balances/", "/affiliates/minakessler/balances/"])
def test_is_only_read(api, shop, method, path):
    response = api.ask(method, path)

    assert response.status_code == 405
    assert response["Allow"] == "GET, HEAD, OPTIONS"
