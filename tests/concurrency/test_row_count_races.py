"""Row counts that are stored while the rows of the days are deleted.

Commits are real: each test creates its own account and does not delete it.
"""

from itertools import pairwise

import pytest

from accounts.days import A_DAY
from accounts.services.row_counts import CountedList
from tests.concurrency.test_payment_races import build_task
from tests.concurrency.worker import PROCESSES
from tests.program_scenario import CONVERSION_CREATED_AT
from tests.row_count_checks import assert_row_counts_exact
from tracking.models.conversions import Conversion
from tracking.services.hierarchy import set_parent

pytestmark = pytest.mark.integration

# Over by the time of the deletions.
DAYS = [CONVERSION_CREATED_AT - n * A_DAY for n in (1, 2, 3)]
LATER = CONVERSION_CREATED_AT + 9 * A_DAY


@pytest.mark.parametrize(
    "conversions",
    [
        pytest.param(24, id="quick"),
        pytest.param(600, id="whole", marks=pytest.mark.slow),
    ],
)
def test_counts_are_exact_in_every_snapshot(workers, scenario, conversions):
    pks = [scenario.create_conversion("1", at=DAYS[n % len(DAYS)]).pk for n in range(conversions)]
    middle, end = len(pks) // 3, len(pks) * 2 // 3
    counting = build_task(scenario, "count_rows", day=f"{LATER.date()}", times=conversions // 2)
    results = workers.run(
        build_task(scenario, "delete_conversions", conversion_ids=pks[:middle]),
        build_task(scenario, "delete_conversions", conversion_ids=pks[middle:end]),
        counting,
        counting,
    )

    assert results == ["done"] * PROCESSES
    assert_row_counts_exact(scenario.account, at=LATER)


@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(6, id="quick"),
        pytest.param(200, id="whole", marks=pytest.mark.slow),
    ],
)
def test_counts_a_conversion_whose_commissions_are_approved_at_once(workers, scenario, rounds):
    account = scenario.account
    affiliates = [scenario.mina.slug]
    for level in range(2, PROCESSES + 1):
        scenario.create_level(level, "3")
        affiliates.append(scenario.create_enrolled_affiliate(f"A{level}", "Varga").slug)
    for slug, parent in pairwise(affiliates):
        set_parent(account, affiliate_id=slug, parent_id=parent, at=CONVERSION_CREATED_AT)
    conversions = [scenario.create_conversion("100", at=DAYS[n % len(DAYS)]) for n in range(rounds)]
    pending = CountedList(account, Conversion, "commissions__status", "pending")
    pending.store_days(None, at=LATER)

    for conversion in conversions:
        pks = conversion.commissions.values_list("pk", flat=True)
        tasks = [build_task(scenario, "approve_commissions", commissions=[pk]) for pk in pks]
        assert workers.run(*tasks) == [["done"]] * PROCESSES

    assert pending.count(LATER)[1:] == (0, 0)
