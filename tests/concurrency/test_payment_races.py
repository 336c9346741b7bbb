"""Promises P3 and P4, and the cover: payments and approvals by several processes.

Real commits: each test makes an account of its own and leaves it behind.
"""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from itertools import chain

import pytest
from django.db import connection

from accounts.services import days
from payouts.services.commissions import approve
from payouts.services.figures import A_DAY, count_of, figures_of
from payouts.services.funding import top_up
from payouts.services.ledger import balances_of
from payouts.services.payments import Order, pay
from tests.concurrency.worker import PROCESSES
from tests.shop import SOLD

AT_ONCE = 16


def rounds(quick, whole):
    """How often: in a landing, and before a release."""
    return pytest.mark.parametrize(
        "rounds",
        [
            pytest.param(quick, id="quick"),
            pytest.param(whole, id="whole", marks=pytest.mark.slow),
        ],
    )


@pytest.fixture
def shop(shop):
    """A sale of the type `all` earns all of it."""
    shop.type("all", 100)
    return shop


def task(shop, act, **told):
    return {"act": act, "account": shop.account.slug} | told


def waiting(shop, amount, number, **sale):
    """So many pending commissions of this amount."""
    made = [
        shop.commission_of(shop.sell((amount, "all"), **sale)) for _ in range(number)
    ]
    return [commission.pk for commission in made]


def approved_sum(account):
    rows = account.commissions.filter(status="approved")
    return sum(rows.values_list("amount", flat=True), Decimal(0))


@rounds(quick=5, whole=200)
@pytest.mark.parametrize("uses_payouts", [False, True], ids=["own-pocket", "fund"])
def test_cancels_a_payment_once_when_all_cancel_it_at_once(
    workers, shop, uses_payouts, rounds
):
    account = shop.account
    top_up(account, amount=Decimal(20), currency="EUR", at=SOLD)
    account.uses_payouts = uses_payouts
    account.save()
    (number,) = waiting(shop, "20", 1)
    approve(account, commission_id=number, at=SOLD)
    owed = {"minakessler": {"EUR": Decimal(20)}}

    for _ in range(rounds):
        order = Order("minakessler", Decimal(20), "EUR")
        (payment,) = pay(account, orders=[order], at=SOLD)
        assert balances_of(account) == {}
        cancel = task(
            shop, "cancel", payments=[payment.public_id] * (AT_ONCE // PROCESSES)
        )

        told = Counter(chain.from_iterable(workers.do(*[cancel] * PROCESSES)))

        assert told == {"done": 1, "PaymentNotFound": AT_ONCE - 1}
        assert balances_of(account) == owed
    assert account.transfers.filter(kind="payment_canceled").count() == rounds
    assert account.events.filter(kind="payment.canceled").count() == rounds
    fund = account.ledger_accounts.get(kind="funding")
    assert fund.balance == -20


@rounds(quick=5, whole=250)
@pytest.mark.parametrize("uses_payouts", [False, True], ids=["own-pocket", "fund"])
def test_stores_batches_whole_in_whatever_order_they_name_affiliates(
    workers, shop, uses_payouts, rounds
):
    """Somebody new is in every round, so that ledger rows are made in the race too."""
    account = shop.account
    account.uses_payouts = uses_payouts
    account.save()
    slugs = ["minakessler"]

    for number in range(rounds):
        slugs.append(shop.join("Odette", f"Nr{'x' * (number % 20)}").slug)
        some = [slugs[-1], *slugs[-6:-1]]
        sums = [("0.01", "EUR"), ("1", "JPY")]
        batch = [[slug, *amount] for slug in some for amount in sums]
        there = task(shop, "pay", batches=[batch] * 2)
        back = task(shop, "pay", batches=[batch[::-1]] * 2)

        assert workers.do(there, back, there, back) == ["done"] * PROCESSES

        books = balances_of(account)[slugs[-1]]
        assert books == {"EUR": Decimal("-0.08"), "JPY": Decimal(-8)}
    paid = Counter(account.payments.values_list("affiliate__slug", flat=True))
    assert all(number % (PROCESSES * 2 * 2) == 0 for number in paid.values())
    assert account.transfers.filter(kind="paid").count() == sum(paid.values())


@rounds(quick=3, whole=50)
def test_never_approves_beyond_a_scarce_payout_balance(workers, shop, rounds):
    account = shop.account
    account.uses_payouts = True
    account.save()
    others = [shop.join("Odette", f"Varga{letter}") for letter in "abc"]
    members = [shop.mina, *others]

    for number in range(1, rounds + 1):
        top_up(account, amount=Decimal("50.99"), currency="EUR", at=SOLD)
        left = Decimal("50.99") * number - approved_sum(account)
        tasks = [
            task(shop, "approve", commissions=waiting(shop, "10", 3, member=member))
            for member in members
        ]

        told = Counter(chain.from_iterable(workers.do(*tasks)))

        assert set(told) == {"done", "CommissionUnfunded"}
        assert told["done"] == left // 10
        assert approved_sum(account) <= Decimal("50.99") * number


@rounds(quick=3, whole=50)
def test_approves_a_scarce_commission_once_whoever_asks(workers, shop, rounds):
    account = shop.account
    account.uses_payouts = True
    account.save()

    for number in range(1, rounds + 1):
        top_up(account, amount=Decimal(20), currency="EUR", at=SOLD)
        same = task(shop, "approve", commissions=waiting(shop, "20", 1))

        told = Counter(chain.from_iterable(workers.do(*[same] * PROCESSES)))

        assert told == {"done": 1, "CommissionApproved": PROCESSES - 1}
        assert approved_sum(account) == 20 * number


@rounds(quick=3, whole=50)
def test_mixes_payments_cancels_approvals_and_top_ups(workers, shop, rounds):
    account = shop.account
    account.uses_payouts = True
    account.save()
    rival = shop.join("Odette", "Varga")
    order = Order("minakessler", Decimal(5), "EUR")

    for _ in range(rounds):
        old = [pay(account, orders=[order], at=SOLD)[0].public_id for _ in range(3)]
        batch = [["odettevarga", "2", "EUR"], ["minakessler", "3", "EUR"]]
        commissions = waiting(shop, "1", 2) + waiting(shop, "1", 2, member=rival)

        fund, *told, approved = workers.do(
            task(shop, "fund", amounts=["30", "10"], currency="EUR"),
            task(shop, "pay", batches=[batch, batch[::-1]] * 2),
            task(shop, "cancel", payments=old),
            task(shop, "approve", commissions=commissions),
        )

        assert (fund, told) == ("done", ["done", ["done"] * 3])
        assert set(approved) <= {"done", "CommissionUnfunded"}
    paid = Decimal(20) * rounds
    fund = account.ledger_accounts.get(kind="funding")
    assert -fund.balance == Decimal(40) * rounds - paid
    owed = sum(it["EUR"] for it in balances_of(account).values())
    assert owed == approved_sum(account) - paid


@rounds(quick=5, whole=200)
def test_pays_a_balance_once_when_all_pay_it_at_once(workers, shop, rounds):
    for _ in range(rounds):
        (commission,) = waiting(shop, "20", 1)
        approve(shop.account, commission_id=commission, at=SOLD)
        told = workers.do(
            *[
                task(shop, "pay_owed", affiliate=shop.mina.slug, amount="20", times=3)
                for _ in range(PROCESSES)
            ]
        )
        assert Counter(chain(*told)) == {"done": 1, "BalanceMoved": 3 * PROCESSES - 1}

    assert balances_of(shop.account) == {}
    assert shop.account.payments.count() == rounds


@rounds(quick=3, whole=60)
def test_counts_a_day_as_it_stands_whoever_changed_it_meanwhile(workers, shop, rounds):
    account, day = shop.account, SOLD.date()
    numbers = waiting(shop, "20", PROCESSES // 2)
    looking = task(shop, "look", day=f"{day}", times=10)

    for _ in range(rounds):
        deciding = [
            task(shop, "decide_by_turns", commission=number, times=5)
            for number in numbers
        ]
        workers.do(*deciding, *[looking] * (PROCESSES - len(deciding)))

        told = figures_of(account, [day], at=SOLD + 9 * A_DAY)
        assert told == {day: count_of(account, day)}
        assert told[day]["commissions"] == {"disapproved": {"EUR": "40.0000"}}


@pytest.mark.skipif(connection.vendor == "sqlite", reason="it has one writer at a time")
def test_counts_a_day_again_when_it_changed_during_the_count(shop):
    account, day, later = shop.account, SOLD.date(), SOLD + 9 * A_DAY
    (number,) = waiting(shop, "20", 1)

    def count(day):
        counted = count_of(account, day)
        with ThreadPoolExecutor(1) as another:
            another.submit(in_a_thread, approve, account, number, later).result()
        return counted

    seen = days.counted(account, [day], count, since=lambda: day)

    assert seen[day]["commissions"] == {"pending": {"EUR": "20.0000"}}
    again = figures_of(account, [day], at=later)
    assert again[day]["commissions"] == {"approved": {"EUR": "20.0000"}}


def in_a_thread(story, account, number, at):
    try:
        story(account, commission_id=number, at=at)
    finally:
        connection.close()
