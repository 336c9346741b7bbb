"""Row counts that are stored while the rows of the days are deleted.

Commits are real: each test creates its own account and does not delete it.
"""

import pytest

from accounts.days import A_DAY
from tests.concurrency.test_payment_races import build_task
from tests.concurrency.worker import PROCESSES
from tests.program_scenario import CONVERSION_CREATED_AT
from tests.row_count_checks import assert_row_counts_exact

pytestmark = pytest.mark.integration

DAYS = [CONVERSION_CREATED_AT - n * A_DAY for n in range(3)]
LATER = CONVERSION_CREATED_AT + 9 * A_DAY


@pytest.mark.parametrize(
    "conversions",
    [
        pytest.param(24, id="quick"),
        pytest.param(600, id="whole", marks=pytest.mark.slow),
    ],
)
def test_counts_are_exact_in_every_snapshot(workers, scenario, conversions):
    pks = [
        scenario.create_conversion("1", at=DAYS[n % len(DAYS)]).pk
        for n in range(conversions)
    ]
    middle, end = len(pks) // 3, len(pks) * 2 // 3
    counting = build_task(
        scenario, "count_rows", day=f"{LATER.date()}", times=conversions // 2
    )
    results = workers.run(
        build_task(scenario, "delete_conversions", conversion_ids=pks[:middle]),
        build_task(scenario, "delete_conversions", conversion_ids=pks[middle:end]),
        counting,
        counting,
    )

    assert results == ["done"] * PROCESSES
    assert_row_counts_exact(scenario.account, at=LATER)
