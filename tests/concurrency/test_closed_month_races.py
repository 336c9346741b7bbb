"""Months are closed beside entries with dates in them: each is in the kept figures, or refused."""

from datetime import date

import pytest

from accounts.days import start_of_day
from affiliate_site.closing_files import render_closing_csv
from payouts.services.bookkeeping import get_period_closings
from payouts.statistics import get_month
from tests.concurrency.worker import PROCESSES

pytestmark = pytest.mark.integration

MONTHS = 6
TIMES = 4  # imports and sales of a process in a month


def build_sales(scenario, month, name):
    header = "Order ID,Affiliate,Amount,Currency,Commission,Status,Created"
    return f"{header}\n{name},{scenario.mina.slug},10,EUR,1,approved,{month}-05"


def test_closes_months_beside_dated_entries(workers, scenario):
    account = scenario.account
    refused = 0
    for number in range(1, MONTHS + 1):
        month = date(2025, number, 1)
        texts = [
            [build_sales(scenario, f"{month:%Y-%m}", f"{month}-{n}-{it}") for it in range(TIMES)]
            for n in range(PROCESSES - 2)
        ]
        own = {"account": account.slug, "coupon": scenario.mina.coupon}
        importing = {"account": account.slug, "program": scenario.program.slug}
        *counts, closed = workers.run(
            *[importing | {"task": "import_tables", "texts": it} for it in texts],
            own | {"task": "add_dated_sales", "day": f"{month}", "times": TIMES},
            own | {"task": "close_month", "month": f"{month}", "times": number},
        )

        added = sum(map(sum, counts))
        period = get_month(month)
        assert closed.endswith("sales")
        [row] = account.closed_months.filter(month=month)
        live = get_period_closings(account, start=period.first, end=period.last)
        assert row.csv == render_closing_csv(live)
        first = start_of_day(month, account.zone)
        sales = account.conversions.filter(created_at__gte=first, created_at__lt=row.before)
        assert closed == f"{sales.count()} sales"
        assert sales.count() == number + added
        refused += (PROCESSES - 1) * TIMES - added
    assert 0 < refused < MONTHS * (PROCESSES - 1) * TIMES


def test_closes_and_reopens_a_month_once(workers, scenario):
    account = scenario.account
    task = {"account": account.slug, "task": "close_month", "month": "2025-01-01"}
    task |= {"coupon": scenario.mina.coupon, "times": 0}
    results = workers.run(*[task] * PROCESSES)
    assert sorted(results) == ["0 sales", *["ClosedMonthConflict"] * (PROCESSES - 1)]
    [row] = account.closed_months.all()
    task = {"account": account.slug, "task": "reopen_month", "closed_month": row.pk}
    results = workers.run(*[task] * PROCESSES)
    assert sorted(results) == [*["ClosedMonthNotFound"] * (PROCESSES - 1), "done"]
    kinds = account.audit_log.filter(kind__startswith="month.").order_by("id")
    assert [*kinds.values_list("kind", flat=True)] == ["month.closed", "month.reopened"]
