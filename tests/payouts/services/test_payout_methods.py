"""Contract 2.4.8: ways to be paid, set and made primary in one piece."""

import pytest

from payouts.errors import PayoutMethodNotFound
from payouts.services.payout_methods import set_payout_method
from tests.proof import Broken, everything, failing_at
from tests.shop import SOLD, Shop
from tracking.errors import AffiliateNotFound


def put(account, kind, details=None, *, primary=False, affiliate="minakessler"):
    return set_payout_method(
        account,
        affiliate_id=affiliate,
        kind=kind,
        details=details,
        primary=primary,
        at=SOLD,
    )


def shown(account):
    rows = account.payout_methods.as_defined()
    return [(it.kind, it.details, it.is_primary) for it in rows]


def test_has_one_primary_way_at_any_time(account, shop):
    put(account, "bank", {"iban": "1"})
    put(account, "paypal", {"address": "m"}, primary=True)
    put(account, "bank", primary=False)

    assert shown(account) == [
        ("bank", {"iban": "1"}, False),
        ("paypal", {"address": "m"}, True),
    ]


def test_moves_the_primary_way_wholly_or_not_at_all(account, shop):
    put(account, "bank", {"iban": "1"})
    before, number = everything(account), 0
    while True:
        with failing_at(number) as asked:
            try:
                put(account, "paypal", {"address": "m"}, primary=True)
            except Broken:
                assert everything(account) == before, asked[-1]
            else:
                break
        number += 1

    assert number > 4
    assert [primary for _, _, primary in shown(account)] == [False, True]


def test_leaves_the_ways_of_others_alone(account, other_account, shop):
    other = Shop(other_account, mark="zz-marker-")
    put(other_account, "paypal", {"a": "zz"}, affiliate=other.mina.slug)
    odette = shop.join("Odette", "Varga")
    put(account, "other", {"a": "b"}, affiliate=odette.slug)
    before = everything(other_account)

    put(account, "paypal", {"a": "b"})
    put(account, "bank", primary=True)

    assert everything(other_account) == before
    assert account.payout_methods.get(affiliate=odette.affiliate).is_primary


@pytest.mark.parametrize(
    ("kind", "affiliate", "refusal"),
    [
        ("cash", "minakessler", PayoutMethodNotFound),
        ("PayPal", "minakessler", PayoutMethodNotFound),
        ("paypal", "nobody", AffiliateNotFound),
        ("paypal", "zzmarkerminakessler", AffiliateNotFound),
    ],
)
def test_refuses_what_is_not_there(
    account, other_account, shop, kind, affiliate, refusal
):
    Shop(other_account, mark="zz-marker-")

    with pytest.raises(refusal):
        put(account, kind, {"a": "b"}, affiliate=affiliate)

    assert shown(account) == shown(other_account) == []
