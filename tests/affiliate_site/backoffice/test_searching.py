"""Searching a list: whole words, each column by its own index, of one's own account."""

from datetime import timedelta

import pytest
from django.urls import reverse

from payouts.services.revising import remove_conversion
from tests.shop import SOLD, Shop

LIST = "tracking_conversion"


def numbers(client, page, term):
    answer = client.get(reverse(f"admin:{page}_changelist"), {"q": term})
    assert answer.status_code == 200
    return sorted(row.pk for row in answer.context["cl"].result_list)


@pytest.fixture
def client(staff):
    return staff(role="viewer")


@pytest.mark.parametrize("term", ["order 7", " order 7 "])
def test_finds_an_id_with_a_space_whole(client, shop, term):
    sale = shop.sell("10", external_id="order 7")
    shop.sell("10", external_id="order", at=SOLD + timedelta(seconds=1))
    shop.sell("10", external_id="7", at=SOLD + timedelta(seconds=2))

    assert numbers(client, LIST, term) == [sale.pk]


def test_finds_by_either_column_and_by_both(client, shop):
    first = shop.sell("10", external_id="42", customer_id="c-1")
    second = shop.sell("10", external_id="43", customer_id="42")
    shop.sell("10", external_id="44", customer_id="c-2")

    assert numbers(client, LIST, "42") == [first.pk, second.pk]
    assert numbers(client, LIST, "c-1") == [first.pk]


@pytest.mark.parametrize("term", ["4", "%", "_", "42%", "', 1", "\u0663", "x" * 9000])
def test_finds_nothing_by_a_part_or_an_odd_word(client, shop, term):
    shop.sell("10", external_id="42", customer_id="c-1")

    for page in (LIST, "tracking_click", "payouts_payment", "accounts_event"):
        assert numbers(client, page, term) == []


def test_finds_an_address_in_any_case(client, shop):
    affiliate = shop.account.affiliates.get(firstname="Mina")

    found = numbers(client, "tracking_affiliate", affiliate.email.upper())

    assert found == [affiliate.pk]


def test_finds_the_rows_of_an_affiliate(client, shop):
    odette = shop.join("Odette", "Varga")
    shop.sell("10")
    earned = shop.commission_of(shop.sell("10", member=odette))

    assert numbers(client, "payouts_commission", odette.slug) == [earned.pk]


def test_finds_no_removed_sale_by_an_id_that_may_be_another_ones(client, shop):
    old = shop.sell("10", external_id="42")
    remove_conversion(shop.account, conversion_id=old.pk, at=SOLD)
    new = shop.sell("10", external_id="42", at=SOLD + timedelta(minutes=1))

    assert numbers(client, LIST, "42") == [new.pk]


def test_finds_nothing_of_another_account(client, shop, other_account):
    theirs = Shop(other_account, mark="zz-marker-", email=None)
    theirs.sell("10", external_id="42", customer_id="c-9")

    for term in ("42", "c-9"):
        assert numbers(client, LIST, term) == []
    assert numbers(client, "tracking_affiliate", theirs.mina.slug) == []
