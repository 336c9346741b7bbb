"""Dues: what is owed, and what of it was approved up to a moment."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from payouts.errors import DueMoved
from payouts.services.commissions import approve, disapprove
from payouts.services.dues import currencies_owed, dues_of
from payouts.services.payments import Order, cancel_payment, pay
from payouts.services.revising import change_commission
from tests.shop import SOLD, Shop

DAY = timedelta(days=1)
CLOSE = SOLD + 5 * DAY  # what is approved from here on is not due


@pytest.fixture
def shop(shop):
    """A sale of the type `all` earns all of it."""
    shop.type("all", 100)
    return shop


def earn(shop, amount, at=SOLD, **sale):
    commission = shop.commission_of(shop.sell((amount, "all"), **sale))
    approve(shop.account, commission_id=commission.pk, at=at)
    return commission


def due(account, currency="EUR"):
    return {
        it.place.affiliate.slug: (it.place.balance, it.amount)
        for it in dues_of(account, currency=currency, until=CLOSE)
    }


def mina(owed, amount):
    return {"minakessler": (Decimal(owed), Decimal(amount))}


def paid(shop, amount, at):
    order = Order(shop.mina.slug, Decimal(amount), "EUR")
    return pay(shop.account, orders=[order], at=at)[0]


def test_leaves_out_what_was_approved_later(shop, account):
    earn(shop, "20")
    earn(shop, "7", at=CLOSE - timedelta(microseconds=1))
    earn(shop, "50", at=CLOSE)

    assert due(account) == mina("77", "27")


def test_takes_off_what_was_paid_since(shop, account):
    earn(shop, "20")
    earn(shop, "50", at=CLOSE)
    payment = paid(shop, "12", at=CLOSE + DAY)
    assert due(account) == mina("58", "8")

    cancel_payment(account, payment_id=payment.public_id, at=CLOSE + 2 * DAY)
    assert due(account) == mina("70", "20")

    paid(shop, "30", at=CLOSE + DAY)
    assert due(account) == mina("40", "-10")


def test_takes_off_what_was_taken_back_since(shop, account):
    old = earn(shop, "20")
    earn(shop, "30")
    earn(shop, "50", at=CLOSE)
    disapprove(account, commission_id=old.pk, at=CLOSE + DAY)

    assert due(account) == mina("80", "30")


def test_counts_what_is_approved_again_as_what_it_was(shop, account):
    old = earn(shop, "20")
    for _ in range(2):
        disapprove(account, commission_id=old.pk, at=CLOSE + DAY)
        approve(account, commission_id=old.pk, at=CLOSE + DAY)

    assert due(account) == mina("20", "20")


def test_counts_what_an_approved_one_grew_by_as_new(shop, account):
    old = earn(shop, "20")
    change_commission(
        account, commission_id=old.pk, changes={"amount": Decimal(26)}, at=CLOSE
    )

    assert due(account) == mina("26", "20")


def test_keeps_currencies_apart(shop, account):
    earn(shop, "20")
    earn(shop, "5", currency="USD", at=CLOSE)

    assert currencies_owed(account) == ["EUR", "USD"]
    assert due(account) == mina("20", "20")
    assert due(account, "USD") == mina("5", "0")


def test_names_the_highest_balance_first_and_nobody_who_is_owed_nothing(shop, account):
    odette = shop.join("Odette", "Varga")
    earn(shop, "20")
    earn(shop, "30", member=odette)
    shop.join("Zoe", "Lund")

    assert list(due(account)) == ["odettevarga", "minakessler"]
    paid(shop, "20", at=SOLD)
    assert list(due(account)) == ["odettevarga"]


def test_knows_nothing_of_another_account(shop, account, other_account):
    theirs = Shop(other_account, mark="zz-marker-", email=None)
    theirs.type("all", 100)
    earn(theirs, "77")

    assert due(account) == {}
    assert currencies_owed(account) == []


def test_pays_what_is_due_at_that_moment_or_nothing(shop, account):
    old = earn(shop, "10")
    ((balance, amount),) = due(account).values()
    order = Order(shop.mina.slug, amount, "EUR", owed=balance, until=CLOSE)
    disapprove(account, commission_id=old.pk, at=CLOSE)
    earn(shop, "10", at=CLOSE)

    with pytest.raises(DueMoved, match="0 EUR of it is due by now"):
        pay(account, orders=[order], at=CLOSE)

    assert not account.payments.exists()
    approve(account, commission_id=old.pk, at=CLOSE)
    pay(account, orders=[replace(order, owed=Decimal(20))], at=CLOSE)
    assert due(account) == mina("10", "0")
