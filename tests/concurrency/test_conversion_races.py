"""Conversions and status changes by several processes at once.

Design: docs/reliability.md, section 7.

Commits are real: each test creates its own account and does not delete it.
"""

from collections import Counter
from decimal import Decimal

import pytest
from django.db import connection

from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.program_rates import set_rates
from tests.concurrency.conftest import is_test_database
from tests.concurrency.worker import PROCESSES
from tests.program_scenario import PROGRAM_CREATED_AT

pytestmark = pytest.mark.integration

ROUNDS = 5
EXPECTED_ERRORS = {"DuplicateConversion", "TooManyConversionAttempts"}


def test_uses_test_database(db):
    assert is_test_database(connection)


@pytest.fixture
def conversion_task(scenario):
    """The task to create a conversion of 49.90 with Mina's coupon."""
    return {
        "task": "create_conversion",
        "account": scenario.account.slug,
        "amount": "49.90",
        "coupon": scenario.mina.coupon,
    }


def test_records_conversion_once(workers, scenario, conversion_task):
    for number in range(ROUNDS):
        task = conversion_task | {
            "external_id": f"order-{number}",
            "customer_id": f"acct-{number}",
        }

        results = Counter(workers.run(*[task] * PROCESSES))

        assert results["done"] == 1
        assert set(results) <= {"done"} | EXPECTED_ERRORS
    account = scenario.account
    assert account.conversions.count() == account.commissions.count() == ROUNDS
    assert account.customers.count() == account.transfers.count() == ROUNDS
    assert account.attribution_records.count() == ROUNDS


def test_conversions_of_one_new_customer_all_succeed(workers, scenario, conversion_task):
    for number in range(ROUNDS):
        results = workers.run(*[conversion_task | {"customer_id": f"acct-{number}"}] * PROCESSES)

        assert results == ["done"] * PROCESSES
    account = scenario.account
    assert account.customers.count() == ROUNDS
    assert account.conversions.count() == ROUNDS * PROCESSES
    assert set(account.customers.values_list("status", flat=True)) == {"paying"}
    assert account.audit_log.filter(kind="customer.created").count() == ROUNDS


def test_only_first_conversion_earns_without_recurring(workers, scenario, conversion_task):
    scenario.program.update_row(recurring=False)

    for number in range(ROUNDS):
        results = workers.run(*[conversion_task | {"customer_id": f"acct-{number}"}] * PROCESSES)

        assert results == ["done"] * PROCESSES
    statuses = Counter(scenario.account.commissions.values_list("status", flat=True))
    assert statuses == {"pending": ROUNDS, "disapproved": ROUNDS * (PROCESSES - 1)}


def test_each_order_of_a_customer_has_its_own_number(workers, scenario, conversion_task):
    orders = range(1, PROCESSES + 1)
    rates = [{"percentage": str(n), "orders": {"from": n, "to": n}} for n in orders]
    set_rates(scenario.account, scenario.program.slug, {"rates": rates}, at=PROGRAM_CREATED_AT)

    for number in range(ROUNDS):
        results = workers.run(*[conversion_task | {"customer_id": f"acct-{number}"}] * PROCESSES)
        assert results == ["done"] * PROCESSES
    paid = Counter(scenario.account.commissions.values_list("rate", flat=True))
    assert paid == dict.fromkeys(map(Decimal, orders), ROUNDS)


def test_ledger_is_consistent_after_competing_status_changes(workers, scenario):
    commission = scenario.get_commission(scenario.create_conversion("200"))
    task = {
        "task": "set_statuses",
        "account": scenario.account.slug,
        "commission": commission.pk,
    }
    approve_first, disapprove_first = (
        task | {"operations": operations * ROUNDS}
        for operations in (["approve", "disapprove"], ["disapprove", "approve"])
    )

    results = workers.run(approve_first, disapprove_first, approve_first, disapprove_first)

    assert results == ["done"] * PROCESSES
    is_approved = commission.reload().status == "approved"
    balances = {"minakessler": {"EUR": Decimal(20)}} if is_approved else {}
    assert get_payable_balances_by_slug(scenario.account) == balances
    numbers = scenario.account.transfers.order_by("sequence_number").values_list(
        "sequence_number", flat=True
    )
    assert list(numbers) == list(range(1, len(numbers) + 1))


def test_approves_once(workers, scenario):
    for _ in range(ROUNDS):
        commission = scenario.get_commission(scenario.create_conversion("200"))
        task = {
            "task": "set_statuses",
            "account": scenario.account.slug,
            "commission": commission.pk,
            "operations": ["approve"],
        }

        assert workers.run(*[task] * PROCESSES) == ["done"] * PROCESSES
    account = scenario.account
    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": Decimal(20 * ROUNDS)}}
    assert account.transfers.filter(kind="approved").count() == ROUNDS
    assert account.audit_log.filter(kind="commission.updated").count() == ROUNDS


def test_adds_up_conversions_of_one_affiliate(workers, scenario, conversion_task):
    scenario.program.update_row(auto_approve_commissions=True)

    for number in range(ROUNDS):
        tasks = [
            conversion_task | {"external_id": f"order-{number}-{process}", "amount": "0.10"}
            for process in range(PROCESSES)
        ]

        assert workers.run(*tasks) == ["done"] * PROCESSES
    total = Decimal("0.01") * ROUNDS * PROCESSES
    assert get_payable_balances_by_slug(scenario.account) == {"minakessler": {"EUR": total}}


def test_mixes_conversions_and_status_changes(workers, scenario, conversion_task):
    first = scenario.get_commission(scenario.create_conversion("200"))
    set_statuses = {
        "task": "set_statuses",
        "account": scenario.account.slug,
        "commission": first.pk,
        "operations": ["approve", "disapprove"] * ROUNDS + ["approve"],
    }
    scenario.program.update_row(auto_approve_commissions=True)

    for _ in range(2):
        assert (
            workers.run(conversion_task, set_statuses, conversion_task, conversion_task)
            == ["done"] * PROCESSES
        )
    assert get_payable_balances_by_slug(scenario.account) == {
        "minakessler": {"EUR": Decimal(20) + Decimal("4.99") * 6}
    }
