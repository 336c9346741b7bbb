"""reliability.md, section 3: sales that several processes revise at once.

Nobody is told of a deadlock, or of a fault of ours: each story locks the sale before
it takes the books.
"""

from collections import Counter
from decimal import Decimal
from itertools import chain

import pytest

from payouts.services.bonuses import grant_bonuses
from payouts.services.commissions import approve, disapprove
from payouts.services.ledger import balances_of
from tests.concurrency.sale_acts import APRIL
from tests.concurrency.worker import PROCESSES
from tests.shop import SOLD

ROUNDS = 5
MET = {"done", "ConversionNotFound", "CommissionNotFound"}


def task(shop, act, **told):
    return {"act": act, "account": shop.account.slug} | told


@pytest.mark.parametrize("recalculate", [False, True])
def test_changes_a_sale_one_at_a_time(workers, shop, recalculate):
    shop.sell("200", external_id="order-1")
    change = task(shop, "follow up", external_id="order-1", recalculate=recalculate)

    for number in range(ROUNDS):
        told = workers.do(
            *[change | {"amount": str(number * 10 + n)} for n in range(PROCESSES)]
        )

        assert told == ["done"] * PROCESSES


def test_decides_a_sale_whoever_changes_it_at_the_same_moment(workers, shop):
    for number in range(ROUNDS):
        name = f"order-{number}"
        sale = shop.sell("200", external_id=name)
        first = shop.commission_of(sale).pk
        told = workers.do(
            task(
                shop,
                "follow up",
                external_id=name,
                status="approved",
                meta_data={"a": "b"},
            ),
            task(
                shop,
                "follow up",
                external_id=name,
                status="disapproved",
                recalculate=False,
                amount="30",
            ),
            task(shop, "change", conversion_id=sale.pk, amount="50"),
            task(shop, "resize", commission_id=first, sub_amount="70"),
        )

        assert told == ["done"] * PROCESSES


def test_removes_a_sale_whoever_revises_it_at_the_same_moment(workers, shop):
    for number in range(ROUNDS):
        name = f"order-{number}"
        sale = shop.sell("200", external_id=name)
        first = shop.commission_of(sale).pk
        told = workers.do(
            task(shop, "follow up", external_id=name, status="approved", amount="30"),
            task(shop, "take back", conversion_id=sale.pk),
            task(shop, "change", conversion_id=sale.pk, amount="50"),
            task(shop, "resize", commission_id=first, sub_amount="70"),
        )

        assert set(told) <= MET, told
        assert told[1] == "done"
    assert balances_of(shop.account) == {}


def test_gives_an_id_to_one_of_a_new_sale_and_a_changed_one(workers, shop):
    for number in range(ROUNDS):
        old = [shop.sell("200") for _ in range(2)]
        name = f"order-{number}"
        change = task(shop, "change", external_id=name, amount="50")
        sell = task(
            shop,
            "sell",
            amount="49.90",
            external_id=name,
            coupon=shop.mina.coupon,
        )

        told = Counter(
            workers.do(
                change | {"conversion_id": old[0].pk},
                sell | {"external_id": f"{name}-other"},
                change | {"conversion_id": old[1].pk},
                sell,
            )
        )

        assert told == {"done": 2, "DuplicateConversion": 2}


def test_pays_for_the_first_time_in_whatever_order_of_currencies(workers, shop):
    """The rows of the ledger that hold no balance are made in the race."""
    currencies = ["EUR", "USD", "GBP", "JPY", "SEK", "CHF"]
    slugs = [shop.join("Odette", f"Varga{letter}").slug for letter in "abcd"]
    orders = [[[slug, "5", currency] for currency in currencies] for slug in slugs]

    told = workers.do(
        *[
            task(shop, "pay", batches=[batch[::-1] if number % 2 else batch])
            for number, batch in enumerate(orders)
        ]
    )

    assert told == ["done"] * PROCESSES
    owed = {currency: Decimal(-5) for currency in sorted(currencies)}
    assert balances_of(shop.account) == dict.fromkeys(sorted(slugs), owed)


def test_keeps_no_trace_of_a_customer_who_is_forgotten_while_buying(workers, shop):
    account = shop.account
    told = {"customer_id": "acct-1", "coupon": shop.mina.coupon}
    buy = task(shop, "buy", amount="20", ip="203.0.113.7", **told)

    for _ in range(ROUNDS):
        shop.sell("20", customer_id="acct-1")

        done = workers.do(buy, task(shop, "forget", customer_id="acct-1"), buy, buy)

        assert done == ["done"] * PROCESSES
        forgotten = account.customers.exclude(removed_at=None)
        sales = account.conversions.filter(customer__in=forgotten)
        assert sales.exclude(ip=None).count() == 0
        assert sales.exclude(user_agent=None).count() == 0


def test_grants_a_bonus_once_whoever_runs_the_command(workers, shop):
    account = shop.account
    shop.program.change(auto_approve_commissions=True)
    shop.bonus(goal="1", value="10", title="Low")
    shop.bonus(goal="2", value="50", title="High")
    late = []
    for member in (shop.mina, shop.join("Odette", "Varga")):
        shop.sell("200", member=member)
        late.append(shop.commission_of(shop.sell("200", member=member)).pk)
    for commission in late:
        disapprove(account, commission_id=commission, at=SOLD)
    reward = task(shop, "reward")

    told = workers.do(reward, task(shop, "approve", commissions=late), reward, reward)

    granted = account.commissions.filter(kind="bonus").order_by("affiliate")
    assert granted.count() == 2
    by_hand, names = told.pop(1), granted.values_list("name", flat=True)
    assert by_hand == ["done"] * 2
    made = chain.from_iterable(it for it in told if it != "done")
    assert sorted(made) == sorted(names)
    assert grant_bonuses(account, at=APRIL) == []
    assert not account.commissions.filter(status="pending").exists()
    for commission in late:
        assert approve(account, commission_id=commission, at=SOLD).status == "approved"
