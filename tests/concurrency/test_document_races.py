"""Self-billing documents that several people issue, beside files and cancellations.

Commits are real: each test creates its own account and does not delete it.
"""

from collections import Counter
from itertools import cycle, islice

import pytest

from payouts.services.documents import count_unbilled
from tests.concurrency.worker import PROCESSES
from tests.document_scenario import set_rule, set_taxes, switch_on
from tests.payout_scenario import Paid, create_run, get_lines
from tracking.models.affiliates import Affiliate

pytestmark = pytest.mark.integration

ROUNDS = 5
PAYMENTS = 4  # of each run


@pytest.fixture
def slugs(scenario):
    account = scenario.account
    for number in range(PAYMENTS):
        scenario.create_enrolled_affiliate(f"Person{number}", "Race", email=None)
    rows = account.affiliates.exclude(pk=scenario.mina.affiliate.pk).order_by("id")
    address = {"address": "Ring 1", "city": "Wien", "country": "AT"}
    Affiliate.objects.filter(account=account).update(**address)
    slugs = [affiliate.slug for affiliate in rows]
    switch_on(account)
    set_rule(account)
    set_taxes(account, *slugs)
    return slugs


def assert_no_gaps(account):
    numbers = account.documents.order_by("year", "number").values_list("number")
    years = Counter(account.documents.values_list("year", flat=True))
    expected = [(number,) for year in sorted(years) for number in count_to(years[year])]
    assert list(numbers) == expected


def count_to(last):
    return range(1, last + 1)


def test_bills_each_payment_once(workers, scenario, slugs):
    account = scenario.account
    issuing = {"task": "issue_all_documents", "account": account.slug, "times": 2}
    importing = {"task": "import_results", "account": account.slug, "times": 1}
    for number in range(1, ROUNDS + 1):
        run = create_run(account, *(Paid(slug=slug) for slug in slugs))
        names = [line.payment.public_id for line in get_lines(run)]
        results = [(name, "settled") for name in names]
        tasks = [importing | {"results": results}, issuing]

        workers.run(*islice(cycle(tasks), PROCESSES))

        assert account.documents.count() == PAYMENTS * number
        assert count_unbilled(account) == 0
        assert_no_gaps(account)


def test_corrects_each_document_of_a_canceled_payment(workers, scenario, slugs):
    account = scenario.account
    issuing = {"task": "issue_all_documents", "account": account.slug, "times": 1}
    canceling = {"task": "cancel_payments", "account": account.slug}
    for _ in range(ROUNDS):
        run = create_run(account, *(Paid(slug=slug) for slug in slugs))
        account.payout_lines.filter(run=run).update(state="settled")
        names = [line.payment.public_id for line in get_lines(run)]
        tasks = [
            issuing,
            canceling | {"payments": names},
            canceling | {"payments": names[::-1]},
        ]

        workers.run(*islice(cycle(tasks), PROCESSES))

        kinds = Counter(account.documents.values_list("kind", flat=True))
        assert kinds["self_billing"] == kinds["correction"]
        assert_no_gaps(account)
        assert count_unbilled(account) == 0
