"""Answers of a bank that several people import at once, beside cancellations.

Commits are real: each test creates its own account and does not delete it.
"""

from itertools import chain, cycle, islice

import pytest

from payouts.services.ledger import get_payable_balances_by_slug
from tests.concurrency.worker import PROCESSES
from tests.payout_scenario import Paid, create_run, get_lines

pytestmark = pytest.mark.integration

ROUNDS = 5
RETURNED = 4  # payments of each run


@pytest.fixture
def slugs(scenario):
    for number in range(RETURNED + 1):
        scenario.create_enrolled_affiliate(f"Person{number}", "Race", email=None)
    rows = scenario.account.affiliates.exclude(pk=scenario.mina.affiliate.pk)
    return [affiliate.slug for affiliate in rows.order_by("id")]


def test_applies_a_file_once(workers, scenario, slugs):
    account = scenario.account
    for _ in range(ROUNDS):
        run = create_run(account, *(Paid(slug=slug) for slug in slugs))
        states = ["settled", *["failed"] * RETURNED]
        names = [line.payment.public_id for line in get_lines(run)]
        results = list(zip(names, states, strict=True))
        # Others read the file from its end: balances are locked in one order anyway.
        task = {"task": "import_results", "account": account.slug, "times": 2}
        tasks = [
            task | {"results": results[:: 1 if number % 2 else -1]} for number in range(PROCESSES)
        ]
        counts = list(chain.from_iterable(workers.run(*tasks)))
        assert [sum(numbers) for numbers in zip(*counts, strict=True)] == [1, RETURNED]
        assert [line.state for line in get_lines(run)] == [
            "settled",
            *["returned"] * RETURNED,
        ]


def test_cancels_a_payment_once_beside_staff(workers, scenario, slugs):
    account = scenario.account
    for _ in range(ROUNDS):
        run = create_run(account, *(Paid(slug=slug) for slug in slugs))
        names = [line.payment.public_id for line in get_lines(run)]
        results = [(name, "failed") for name in names]
        importing = {"task": "import_results", "account": account.slug, "times": 1}
        canceling = {"task": "cancel_payments", "account": account.slug}
        tasks = [
            importing | {"results": results},
            canceling | {"payments": names[::-1]},
            importing | {"results": results[::-1]},
            canceling | {"payments": names},
        ]
        workers.run(*islice(cycle(tasks), PROCESSES))
        assert account.payments.filter(canceled_at=None).count() == 0
        kinds = account.audit_log.filter(kind="payment.canceled")
        assert kinds.count() == account.payments.count()
    assert get_payable_balances_by_slug(account) == {}
