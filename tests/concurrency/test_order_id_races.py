"""Calls that want one order id at once: exactly one conversion gets it.

A PATCH takes it from a claim of a page that nobody has decided
(docs/api-contract.md, section 5.6). No process fails with a deadlock: both conversions
are locked in the order of their ids.
"""

from collections import Counter

import pytest
from django.db import connection

from tests.concurrency.worker import PROCESSES
from tests.database_locks import lock_elsewhere
from tests.program_scenario import ProgramScenario
from tracking.claims import Trust

pytestmark = pytest.mark.integration

ROUNDS = 5
LOCK_CONVERSION = "UPDATE tracking_conversion SET amount = amount WHERE id = %s"
COUNT_WAITING = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


def create_claim(scenario: ProgramScenario, external_id, **fields):
    """Create a conversion that a page has reported."""
    return scenario.create_conversion(
        "200",
        external_id=external_id,
        trust=Trust.CLAIM,
        is_browser_sale=True,
        **fields,
    )


def wait_for_waiting(number):
    """Wait until so many processes wait for a lock; only PostgreSQL can tell."""
    if connection.vendor == "sqlite":
        return
    waiting = 0
    while waiting < number:
        with connection.cursor() as cursor:
            cursor.execute(COUNT_WAITING)
            (waiting,) = cursor.fetchone()


def test_order_id_of_a_claim_goes_to_one_fact(workers, scenario):
    """They have all seen the claim; then one after the other gets its row."""
    winners = set()
    for number in range(ROUNDS):
        order = f"order-{number}"
        claim = create_claim(scenario, order)
        facts = [scenario.create_conversion("50") for _ in range(2)]
        task = {"account": scenario.account.slug, "external_id": order}
        change = task | {"task": "update_conversion", "amount": "60"}
        create = task | {"task": "create_conversion", "amount": "49.90"}
        create["coupon"] = scenario.mina.coupon

        with lock_elsewhere(LOCK_CONVERSION, [claim.pk]):
            workers.start(
                *(create, create),
                *(change | {"conversion_id": fact.pk} for fact in facts),
            )
            wait_for_waiting(PROCESSES)
        results = workers.collect()

        assert Counter(results) == {"done": 1, "DuplicateConversion": 3}
        winner = scenario.account.conversions.get(external_id=order)
        winners.add(winner == claim)
        claim = claim.reload()
        (status,) = claim.commissions.not_deleted().values_list("status", flat=True)
        if winner == claim:
            assert (claim.claim_status, status) == (None, "pending")
        else:
            assert (claim.claim_status, status) == ("reviewed", "disapproved")
            assert winner.claim_status is None


@pytest.mark.parametrize("trust", [Trust.CLAIM, Trust.FACT])
def test_crossed_changes_do_not_deadlock(workers, scenario, trust):
    """Claims exchange their ids, with the balances of two affiliates; facts do not."""
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    for number in range(ROUNDS):
        tasks = []
        for pair in ("a", "b"):
            names = [f"order-{number}-{pair}-{name}" for name in (1, 2)]
            conversions = [
                scenario.create_conversion(
                    "200", affiliate=affiliate, external_id=name, trust=trust
                )
                for affiliate, name in zip((scenario.mina, odette), names, strict=True)
            ]
            tasks += [
                {
                    "task": "update_conversion",
                    "account": scenario.account.slug,
                    "conversion_id": conversion.pk,
                    "external_id": name,
                    "amount": "60",
                }
                for conversion, name in zip(conversions, reversed(names), strict=True)
            ]

        results = workers.run(*tasks)

        expected = "done" if trust is Trust.CLAIM else "DuplicateConversion"
        assert results == [expected] * PROCESSES
