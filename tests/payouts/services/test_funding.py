"""Contract 7.7: the payout balance, topped up, and what it lets be approved."""

from decimal import Decimal

import pytest

from accounts.errors import OddSetting
from payouts.errors import BalanceTooLarge, CommissionUnfunded
from payouts.services.commissions import approve
from payouts.services.funding import top_up
from payouts.services.payments import Order, cancel_payment, pay
from tests.proof import books_agree, everything
from tests.shop import SOLD, Shop
from tracking.errors import UnknownCurrency


@pytest.fixture
def shop(account):
    """An account that pays through the service; a sale of so much earns all of it."""
    account.uses_payouts = True
    account.save()
    shop = Shop(account)
    shop.type("all", 100)
    yield shop
    books_agree(account)


def fund(account, amount, currency="EUR"):
    return top_up(account, amount=Decimal(amount), currency=currency, at=SOLD)


def waiting(shop, amount, **sale):
    """A commission of so much, pending."""
    return shop.commission_of(shop.sell((amount, "all"), **sale))


def approves(commission):
    """Is it approved when somebody tries?"""
    try:
        approve(commission.account, commission_id=commission.pk, at=SOLD)
    except CommissionUnfunded:
        assert commission.again().status == "pending"
        return False
    return True


def paid(account, amount, to="minakessler"):
    orders = [Order(to, Decimal(amount), "EUR")]
    return pay(account, orders=orders, at=SOLD)[0]


def test_adds_each_time_and_tells_the_new_balance(shop, account):
    told = [
        fund(account, amount, currency)
        for amount, currency in [
            *(("1250.50", "EUR"), ("0.01", " eur ")),
            *(("7", "JPY"), ("0.001", "kwd")),
        ]
    ]

    assert told == [
        ("EUR", Decimal("1250.50")),
        ("EUR", Decimal("1250.51")),
        ("JPY", Decimal(7)),
        ("KWD", Decimal("0.001")),
    ]
    rows = account.transfers.order_by("id")
    assert {(it.kind, it.debit.kind, it.credit.kind) for it in rows} == {
        ("funded", "funding", "external")
    }


def test_tells_the_diary_once_for_each(shop, account):
    written = account.events.count()

    fund(account, "12.5", "eur")

    (line,) = account.events.order_by("id")[written:]
    assert (line.kind, line.facts) == (
        "payouts.funded",
        {"amount": "12.5", "currency": "EUR"},
    )


@pytest.mark.parametrize(
    ("amount", "currency", "refusal"),
    [
        pytest.param("0", "EUR", OddSetting, id="nought"),
        pytest.param("-1", "EUR", OddSetting, id="below-nought"),
        pytest.param("0.005", "EUR", OddSetting, id="half-a-cent"),
        pytest.param("1.001", "EUR", OddSetting, id="a-tenth-of-a-cent-too-much"),
        pytest.param("0.5", "JPY", OddSetting, id="half-a-yen"),
        pytest.param("1E+13", "EUR", OddSetting, id="fourteen-digits"),
        pytest.param("1E+40", "EUR", OddSetting, id="immense"),
        pytest.param("1", "XXX", UnknownCurrency, id="unknown-currency"),
        pytest.param("1", "", UnknownCurrency, id="no-currency"),
    ],
)
def test_refuses_what_cannot_be_added(shop, account, amount, currency, refusal):
    before = everything(account)

    with pytest.raises(refusal):
        fund(account, amount, currency)

    assert everything(account) == before


def test_refuses_a_payout_balance_that_its_column_could_not_hold(shop, account):
    for _ in range(90):
        fund(account, "9999999999999")
    fund(account, "89")
    before = everything(account)

    with pytest.raises(BalanceTooLarge):
        fund(account, "1")

    assert everything(account) == before


def test_keeps_the_payout_balances_of_accounts_and_currencies_apart(
    shop, account, other_account
):
    commission = waiting(shop, "10")
    fund(other_account, "1000")
    fund(account, "1000", "USD")
    fund(account, "9.99")

    assert not approves(commission)
    fund(account, "0.01")
    assert approves(commission)
    books_agree(other_account)


def test_approves_no_more_than_there_is(shop, account):
    rival = shop.join("Odette", "Varga")
    first = waiting(shop, "30")
    second, third = waiting(shop, "20", member=rival), waiting(shop, "0.01")
    fund(account, "50")

    assert [approves(it) for it in (first, second, third)] == [True, True, False]


def test_does_not_set_one_affiliates_debt_against_anothers_claim(shop, account):
    """Owed is the sum of the balances above nought; this one has -50, that one 40."""
    rival = shop.join("Odette", "Varga")
    claim = waiting(shop, "40", member=rival)
    fund(account, "100")
    assert approves(claim)
    paid(account, "50")

    # 50 are left; 40 are owed. Mina's hole of 50 neither adds to the fund nor saves it.
    ten, cent = waiting(shop, "10"), waiting(shop, "10.01")

    assert [approves(it) for it in (cent, ten)] == [False, True]


@pytest.mark.parametrize("to", ["minakessler", "odettevarga"])
def test_keeps_the_cover_through_a_payment_and_its_cancellation(shop, account, to):
    """What is owed and what is there fall and rise together."""
    rival = shop.join("Odette", "Varga")
    for member in (shop.mina, rival):
        commission = waiting(shop, "40", member=member)
        fund(account, "40")
        assert approves(commission)

    payment = paid(account, "40", to=to)
    late = waiting(shop, "0.01")
    assert not approves(late)
    cancel_payment(account, payment_id=payment.public_id, at=SOLD)

    assert not approves(late)
    fund(account, "0.01")
    assert approves(late)


def test_approves_nothing_once_a_payment_overdrew_the_payout_balance(shop, account):
    fund(account, "10")
    paid(account, "10.01")

    assert not approves(waiting(shop, "0"))
    fund(account, "0.01")
    assert approves(waiting(shop, "0"))


def test_asks_for_no_cover_without_the_payout_feature(shop, account):
    account.uses_payouts = False
    account.save()
    fund(account, "5")

    assert approves(waiting(shop, "1000"))
