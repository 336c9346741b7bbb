"""Refunds of one sale by several processes at once.

No process fails with a deadlock or an unexpected error, nothing is refunded twice, and
never more than there is.
"""

from collections import Counter

import pytest

from tests.concurrency.worker import PROCESSES
from tests.ledger_checks import assert_ledger_consistent

pytestmark = pytest.mark.integration

ROUNDS = 5


def build_task(scenario, name, conversion, **arguments):
    task = {"task": name, "account": scenario.account.slug}
    return task | {"conversion_id": conversion.pk} | arguments


@pytest.fixture(autouse=True)
def consistent_ledger(scenario):
    yield
    assert_ledger_consistent(scenario.account)


@pytest.fixture
def parent(scenario):
    """Mina's parent, whose balances change with Mina's."""
    parent = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.add_child(scenario.mina, parent)
    scenario.create_level(2, "3")
    return parent


@pytest.mark.parametrize("amount", [None, "30"])
def test_a_notice_sent_several_times_refunds_once(workers, scenario, parent, amount):
    for number in range(ROUNDS):
        conversion = scenario.create_conversion("100", "50")
        notice = build_task(
            scenario, "refund", conversion, amount=amount, external_id=f"r-{number}"
        )

        assert workers.run(*[notice] * PROCESSES) == ["done"] * PROCESSES

        assert scenario.account.refunds.filter(conversion=conversion).count() == 1
        conversion.refresh_from_db()
        assert (conversion.deleted_at is not None) is (amount is None)
        assert conversion.amount == (150 if amount is None else 120)


def test_two_people_refund_at_most_what_is_left(workers, scenario, parent):
    for _ in range(ROUNDS):
        conversion = scenario.create_conversion("100", "50")
        line = scenario.account.commissions.filter(conversion=conversion).first()
        by_line = build_task(scenario, "refund", conversion, lines={line.pk: "60"})
        by_amount = build_task(scenario, "refund", conversion, amount="80")

        results = Counter(workers.run(by_line, by_amount, by_line, by_amount))

        refunds = scenario.account.refunds.filter(conversion=conversion)
        conversion.refresh_from_db()
        assert results["done"] == refunds.count()
        assert set(results) <= {"done", "RefundTooLarge"}, results
        assert sum(row.amount for row in refunds) + conversion.amount == 150


def test_a_refund_meets_other_changes_of_the_sale(workers, scenario, parent):
    """A removal, a correction of the amount, and another affiliate."""
    scenario.create_enrolled_affiliate("Otto", "Brandt")
    for _ in range(ROUNDS):
        conversion = scenario.create_conversion("100", "100")
        commission = scenario.account.commissions.filter(conversion=conversion).first()

        results = workers.run(
            build_task(scenario, "refund", conversion, lines={commission.pk: "100"}),
            build_task(scenario, "reattribute", conversion, affiliate_id="ottobrandt"),
            build_task(scenario, "update_conversion", conversion, amount="90"),
            build_task(scenario, "delete_conversion", conversion),
        )

        expected = {"done", "ConversionNotFound", "CommissionNotFound"}
        assert set(results) <= expected | {"RefundTooLarge"}, results
        assert results[3] == "done"
        assert not scenario.account.commissions.not_deleted().exists()
