"""Postbacks told both ways, and the shop that they speak of."""

from urllib.parse import urlencode

import pytest
from django.utils import timezone

from tests.conftest import Api
from tests.proof import money_agrees
from tests.shop import Shop


def pairs(said, name=""):
    """An object as the parameters of a query, with brackets."""
    if isinstance(said, dict):
        for key, value in said.items():
            yield from pairs(value, f"{name}[{key}]" if name else key)
    elif isinstance(said, list):
        for number, value in enumerate(said):
            yield from pairs(value, f"{name}[{number}]")
    else:
        yield name, str(said).lower() if isinstance(said, bool) else said


@pytest.fixture(params=["GET", "POST"])
def tell(request, api):
    """Send a postback by GET, and by POST: `tell("con/c/", {…})`."""

    def send(path, said, *, by: Api = api, **headers):
        if request.param == "POST":
            return by.post(f"/pb/{path}", said, **headers)
        return by.get(f"/pb/{path}?{urlencode(list(pairs(said)))}", **headers)

    return send


@pytest.fixture
def shop(account):
    """Mina sells by her coupon, and others by whatever points at them alone."""
    shop = Shop(account)
    shop.type("accessories", "7.5")
    shop.odette = shop.join("Odette", "Varga")
    shop.pavel = shop.join("Pavel", "Horn")
    shop.jana = shop.join("Jana", "Lind")
    yield shop
    money_agrees(account)


@pytest.fixture
def pay_through_service(account):
    """From now on approving needs cover, and is final."""
    account.uses_payouts = True
    account.save()
    return account


@pytest.fixture
def clues(shop):
    """Each kind of clue, of somebody else."""
    click = shop.click(shop.pavel, at=timezone.now(), meta_data={"subid1": "his"})
    return {
        "coupon": {"coupon": shop.mina.coupon},
        "code": {"referral_code": shop.odette.code},
        "click": {"click_id": str(click.public_id)},
        "pair": {"asset_id": shop.jana.asset_id, "source_id": shop.jana.source_id},
        "visitor": {"tracking_id": "0" * 32},
        "blank coupon": {"coupon": " "},
        "blank code": {"referral_code": " "},
        "blank click": {"click_id": " "},
    }
