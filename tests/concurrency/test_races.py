"""reliability.md, section 3: several processes at once, and what each is told.

Real commits: each test makes an account of its own and leaves it behind.
"""

from collections import Counter
from decimal import Decimal

import pytest
from django.db import connection

from payouts.services.ledger import balances_of
from tests.concurrency.conftest import is_for_tests
from tests.concurrency.worker import PROCESSES

ROUNDS = 5
LOSERS = {"DuplicateConversion", "TooManyAttempts"}


def test_works_on_a_database_of_its_own(db):
    assert is_for_tests(connection)


@pytest.fixture
def sale(shop):
    """A sale of 49.90 by Mina's coupon, as a task."""
    return {
        "act": "sell",
        "account": shop.account.slug,
        "amount": "49.90",
        "coupon": shop.mina.coupon,
    }


def test_records_a_sale_once_whoever_posts_it(workers, shop, sale):
    for number in range(ROUNDS):
        task = sale | {
            "external_id": f"order-{number}",
            "customer_id": f"acct-{number}",
        }

        told = Counter(workers.do(*[task] * PROCESSES))

        assert told["done"] == 1
        assert set(told) <= {"done"} | LOSERS
    account = shop.account
    assert account.conversions.count() == account.commissions.count() == ROUNDS
    assert account.customers.count() == account.transfers.count() == ROUNDS
    assert account.decisions.count() == ROUNDS


def test_lets_two_sales_of_one_new_customer_both_succeed(workers, shop, sale):
    for number in range(ROUNDS):
        told = workers.do(*[sale | {"customer_id": f"acct-{number}"}] * PROCESSES)

        assert told == ["done"] * PROCESSES
    account = shop.account
    assert account.customers.count() == ROUNDS
    assert account.conversions.count() == ROUNDS * PROCESSES
    assert set(account.customers.values_list("status", flat=True)) == {"paying"}
    assert account.events.filter(kind="customer.created").count() == ROUNDS


def test_lets_the_first_sale_alone_earn_when_all_come_at_once(workers, shop, sale):
    shop.program.change(recurring=False)

    for number in range(ROUNDS):
        told = workers.do(*[sale | {"customer_id": f"acct-{number}"}] * PROCESSES)

        assert told == ["done"] * PROCESSES
    born = Counter(shop.account.commissions.values_list("status", flat=True))
    assert born == {"pending": ROUNDS, "disapproved": ROUNDS * (PROCESSES - 1)}


def test_keeps_the_books_when_one_commission_is_decided_by_many(workers, shop):
    commission = shop.commission_of(shop.sell("200"))
    task = {
        "act": "decide",
        "account": shop.account.slug,
        "commission": commission.pk,
    }
    up, down = (
        task | {"goals": goals * ROUNDS}
        for goals in (["approve", "disapprove"], ["disapprove", "approve"])
    )

    told = workers.do(up, down, up, down)

    assert told == ["done"] * PROCESSES
    approved = commission.again().status == "approved"
    owed = {"minakessler": {"EUR": Decimal(20)}} if approved else {}
    assert balances_of(shop.account) == owed
    steps = shop.account.transfers.order_by("step").values_list("step", flat=True)
    assert list(steps) == list(range(1, len(steps) + 1))


def test_approves_once_when_many_approve(workers, shop):
    for _ in range(ROUNDS):
        commission = shop.commission_of(shop.sell("200"))
        task = {
            "act": "decide",
            "account": shop.account.slug,
            "commission": commission.pk,
            "goals": ["approve"],
        }

        assert workers.do(*[task] * PROCESSES) == ["done"] * PROCESSES
    account = shop.account
    assert balances_of(account) == {"minakessler": {"EUR": Decimal(20 * ROUNDS)}}
    assert account.transfers.filter(kind="approved").count() == ROUNDS
    assert account.events.filter(kind="commission.updated").count() == ROUNDS


def test_adds_up_the_sales_of_one_affiliate(workers, shop, sale):
    shop.program.change(auto_approve_commissions=True)

    for number in range(ROUNDS):
        tasks = [
            sale | {"external_id": f"order-{number}-{process}", "amount": "0.10"}
            for process in range(PROCESSES)
        ]

        assert workers.do(*tasks) == ["done"] * PROCESSES
    cents = Decimal("0.01") * ROUNDS * PROCESSES
    assert balances_of(shop.account) == {"minakessler": {"EUR": cents}}


def test_mixes_sales_and_decisions_of_one_affiliate(workers, shop, sale):
    first = shop.commission_of(shop.sell("200"))
    decide = {
        "act": "decide",
        "account": shop.account.slug,
        "commission": first.pk,
        "goals": ["approve", "disapprove"] * ROUNDS + ["approve"],
    }
    shop.program.change(auto_approve_commissions=True)

    for _ in range(2):
        assert workers.do(sale, decide, sale, sale) == ["done"] * PROCESSES
    assert balances_of(shop.account) == {
        "minakessler": {"EUR": Decimal(20) + Decimal("4.99") * 6}
    }
