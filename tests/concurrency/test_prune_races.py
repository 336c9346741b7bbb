"""Several runs of `prune` at once. Commits and processes are real."""

import pytest

from tests.concurrency.test_payment_races import build_task
from tests.concurrency.worker import PROCESSES
from tests.tracking.services.test_click_retention import (
    OLD,
    SECOND,
    list_counts,
    visit,
)

pytestmark = pytest.mark.integration

CLICKS = 40


def test_counts_each_click_once(workers, scenario):
    for number in range(CLICKS):
        visit(scenario, OLD + number * 20 * SECOND, ip=f"192.0.2.{number}")

    tasks = [build_task(scenario, "prune", batch_size=2)] * PROCESSES
    assert workers.run(*tasks) == ["done"] * PROCESSES

    account = scenario.account
    assert not account.clicks.exists()
    counts = [row[4] for row in list_counts(account)]
    assert counts == [24, 16]
    account.refresh_from_db()
    assert account.clicks_pruned_until == OLD + (CLICKS - 1) * 20 * SECOND
