"""Scenarios in the background: killed in the middle, they begin again or are not shown."""

import subprocess
import sys
from threading import Event

import pytest
from django.db.backends.signals import connection_created
from django.utils import timezone

from affiliate_site.webhooks.worker import DeliveryWorker
from payouts.models.scenarios import Scenario
from payouts.services.scenarios import (
    LEASE,
    calculate_in_background,
    claim_scenario,
    create_scenario,
    delete_scenario,
    read_result,
)
from payouts.statistics import Period
from tests.command_line import ROOT, build_environment, run_command
from tests.concurrency.scenario_worker import COMMISSIONS
from tests.program_scenario import CONVERSION_CREATED_AT as AT

pytestmark = pytest.mark.integration

TIMEOUT_SECONDS = 60


@pytest.fixture
def waiting(scenario):
    """A scenario that waits for a worker; no other one does, whichever tests were before."""
    Scenario.objects.across_accounts().delete()
    for _ in range(3):
        scenario.create_conversion("100")
    rate = {"kind": "percentage", "value": 12}
    row = create_scenario(
        scenario.account,
        period=Period(AT.date(), AT.date()),
        changes={"programs": {scenario.program.slug: {"rates": {"standard": rate}}}},
        describe=str,
        at=timezone.now() - 2 * LEASE,
    )
    yield row
    scenario.account.scenarios.all().delete()


def test_begins_again_when_the_worker_was_killed(scenario, waiting):
    account = scenario.account
    with subprocess.Popen(
        [sys.executable, "-m", "tests.concurrency.scenario_worker"],
        cwd=ROOT,
        env=build_environment(),
        stdout=subprocess.PIPE,
        text=True,
    ) as worker:
        assert worker.stdout.readline() == "reading\n"
        worker.kill()
        worker.wait(TIMEOUT_SECONDS)
    now = timezone.now()

    killed = waiting.reload()
    assert (killed.result, killed.outcome, killed.attempts) == ("", "", 1)
    assert claim_scenario(account, due_before=now, at=now) is None  # as long as its lease
    DeliveryWorker(lambda *_: None).run(due_before=now + 3 * LEASE)

    done = waiting.reload()
    assert (done.outcome, done.attempts, done.due_at) == ("+6.00 EUR", 2, None)
    assert read_result(done)["sales"] == 3


def test_is_calculated_by_once_which_says_so(scenario, waiting):
    lines = run_command("deliver_webhooks", "--once").splitlines()

    assert f"calculated scenario {waiting} of {scenario.account}" in lines  # others deliver events
    assert lines[-2:] == ["scenarios: 1", "scenarios_waiting: 0"]
    assert waiting.reload().outcome == "+6.00 EUR"


@pytest.fixture
def hold_calculations(request):
    """Let calculations wait for an event before they read commissions."""
    may_read = Event()

    def wait(execute, sql, *arguments):
        if COMMISSIONS in sql:
            assert may_read.wait(TIMEOUT_SECONDS)
        return execute(sql, *arguments)

    def watch(connection, **_):
        connection.execute_wrappers.append(wait)

    connection_created.connect(watch)
    yield may_read
    connection_created.disconnect(watch)


def test_is_due_again_at_once_when_the_worker_stops(scenario, waiting, hold_calculations):
    """It says how far it was; nobody killed it, so that this attempt counts not."""
    now, seen = timezone.now(), []
    claimed = claim_scenario(scenario.account, due_before=now, at=now)

    def should_stop():
        row = waiting.reload()
        seen.append((row.done, row.total))
        if len(seen) > 1:  # it was asked to stop
            hold_calculations.set()
        return True

    calculate_in_background(claimed, should_stop=should_stop, clock=lambda: now)

    row = waiting.reload()
    assert seen[:2] == [(0, 3), (0, 3)]
    assert (row.result, row.attempts, row.done, row.due_at) == ("", 0, 0, now)


def test_stores_no_result_of_one_that_was_deleted(scenario, waiting):
    account, now = scenario.account, timezone.now()
    claimed = claim_scenario(account, due_before=now, at=now)
    delete_scenario(account, pk=claimed.pk, at=now)

    calculate_in_background(claimed)

    assert not account.scenarios.exists()
