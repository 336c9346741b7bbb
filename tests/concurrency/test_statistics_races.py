"""Daily statistics that are counted while the rows of the day change.

Commits are real: each test creates its own account and does not delete it.
"""

import pytest

from accounts.days import A_DAY
from payouts.services.day_counts import count_day
from payouts.services.statistics import Statistics, load_statistics
from tests.concurrency.test_payment_races import build_task, make_pending_commissions
from tests.concurrency.worker import PROCESSES
from tests.program_scenario import CONVERSION_CREATED_AT

pytestmark = pytest.mark.integration

DAY = CONVERSION_CREATED_AT.date()
LATER = CONVERSION_CREATED_AT + 9 * A_DAY


@pytest.fixture
def scenario(scenario):
    """A program whose commission type `all` pays 100 %."""
    scenario.create_commission_type("all", 100)
    return scenario


@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(3, id="quick"),
        pytest.param(60, id="whole", marks=pytest.mark.slow),
    ],
)
def test_stored_statistics_include_concurrent_changes(workers, scenario, rounds):
    account = scenario.account
    numbers = make_pending_commissions(scenario, "20", PROCESSES // 2)
    load = build_task(scenario, "load_statistics", day=f"{DAY}", times=10)

    for _ in range(rounds):
        toggles = [
            build_task(scenario, "toggle_approval", commission=number, times=5)
            for number in numbers
        ]
        workers.run(*toggles, *[load] * (PROCESSES - len(toggles)))

        stored = load_totals(account)
        counted = Statistics(account, [count_day(account, DAY)])
        assert {DAY: stored} == counted.totals_by_day([DAY])
        assert stored.commissions == {}
        assert stored.disapproved == {"EUR": 40}


@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(2, id="quick"),
        pytest.param(30, id="whole", marks=pytest.mark.slow),
    ],
)
def test_reports_by_months_never_lose_a_change_that_they_had(workers, scenario, rounds):
    """April is whole and over; its commissions are approved one after the other."""
    account, april = scenario.account, CONVERSION_CREATED_AT + 31 * A_DAY
    scenario.create_click()
    for n in range(1, rounds + 1):
        numbers = make_pending_commissions(scenario, "1", 12, at=april + n % 9 * A_DAY)
        results = workers.run(
            build_task(scenario, "approve_each", commissions=numbers),
            build_task(scenario, "store_statistics", times=6),
            build_task(scenario, "store_statistics", times=6),
            build_task(scenario, "report_approved", times=12),
        )

        amounts = results[-1]
        assert amounts == sorted(amounts)
        assert run_alone(workers, scenario, "store_statistics") == "done"
        assert account.monthly_stats.filter(commissions_approved=12 * n).count() == 1
        assert run_alone(workers, scenario, "report_approved") == [12 * n]


def test_writes_do_not_wait_for_the_count_of_a_day(workers, scenario, during_count):
    """A change of parents locks the account row, a conversion the ledger accounts;
    SQLite has one writer at a time."""
    (number,) = make_pending_commissions(scenario, "20", 1)
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    family = {"affiliate_id": odette.slug, "parent_id": scenario.mina.slug}
    tasks = [
        build_task(scenario, "set_parent", **family),
        build_task(scenario, "create_conversion", amount="5", coupon=scenario.mina.coupon),
        build_task(scenario, "toggle_approval", commission=number, times=1),
        build_task(scenario, "load_statistics", day=f"{DAY}", times=1),
    ]
    results: list = []
    during_count(lambda: results.extend(workers.run(*tasks)))

    load_totals(scenario.account)

    assert results == ["done"] * PROCESSES


def test_recounts_day_that_changed_during_the_count(workers, scenario, during_count):
    (number,) = make_pending_commissions(scenario, "20", 1)
    during_count(lambda: run_alone(workers, scenario, "toggle_approval", commission=number))

    stale, recounted = load_totals(scenario.account), load_totals(scenario.account)

    assert (stale.pending, stale.disapproved) == ({"EUR": 20}, {})
    assert (recounted.pending, recounted.disapproved) == ({}, {"EUR": 20})


def test_a_slow_count_does_not_replace_a_later_one(workers, scenario, during_count):
    """The other counter includes a change, and has deleted the mark of it."""
    account = scenario.account
    (number,) = make_pending_commissions(scenario, "20", 1)

    def change_and_load():
        run_alone(workers, scenario, "toggle_approval", commission=number)
        run_alone(workers, scenario, "load_statistics", day=f"{DAY}")

    during_count(change_and_load)
    load_totals(account)

    totals = load_totals(account)
    assert (totals.pending, totals.disapproved) == ({}, {"EUR": 20})
    assert not account.stale_days.filter(day=DAY).exists()


def run_alone(workers, scenario, name, **arguments):
    """Run one task once, in one process; return its result."""
    task = build_task(scenario, name, **arguments)
    idle = build_task(scenario, "load_statistics", day=f"{DAY}", times=0)
    result, *others = workers.run(task | {"times": 1}, *[idle] * (PROCESSES - 1))
    assert others == ["done"] * (PROCESSES - 1)
    return result


def load_totals(account):
    return load_statistics(account, [DAY], at=LATER).totals_by_day([DAY])[DAY]
