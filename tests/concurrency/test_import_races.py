"""Imports of tables, and their undoing, beside sales of the same affiliates.

No process fails with a deadlock or an unexpected error, no sale waits too long, and
afterwards each balance is the sum of what was stored.
"""

from decimal import Decimal

import pytest

from payouts.services.ledger import get_payable_balances_by_slug
from tests.affiliate_site.moving.tables.building import store
from tests.concurrency.server import make_key, run_simultaneously
from tests.concurrency.worker import PROCESSES

pytestmark = pytest.mark.integration

ROUNDS = 2
SALES = 15  # of an import
API_SALES = 10  # of each client


@pytest.fixture
def people(scenario):
    """Three affiliates: a parent with a child, and another; approved at once."""
    scenario.program.update_row(auto_approve_commissions=True)
    ada, berg = (scenario.create_enrolled_affiliate(name, "Lund") for name in ("Ada", "Berg"))
    scenario.account.affiliates.filter(pk=ada.affiliate.pk).update(parent=scenario.mina.affiliate)
    return [berg, ada, scenario.mina]  # not in the order of their ids


def build_sales(people, number):
    """A table of sales of all affiliates, 1 EUR each, of which some are paid."""
    lines = ["Order ID,Affiliate,Amount,Currency,Commission,Status,Created"]
    for n in range(SALES):
        status = ("approved", "pending", "paid")[n % 3]
        slug = people[n % len(people)].slug
        lines.append(f"{number}-{n},{slug},10,EUR,1,{status},2026-03-06")
    return "\n".join(lines)


def build_balances(people):
    lines = ["Affiliate,Balance,Currency,Date"]
    lines += [f"{person.slug},5,EUR,2026-03-06" for person in people]
    return "\n".join(lines)


def sell_beside(scenario, people, server, workers, task):
    """Send sales by the API while one process runs a task; return its result."""
    account = scenario.account
    clients = [server.connect(make_key(account)) for _ in range(PROCESSES)]
    account.refresh_from_db()

    def sell(client):
        number = clients.index(client)
        coupons = [people[(number + n) % len(people)].coupon for n in range(API_SALES)]
        return [client.post("/conversions/", {"coupon": it, "amount": 10})[0] for it in coupons]

    idle = {"task": "approve_commissions", "account": account.slug, "commissions": []}
    workers.start(task | {"account": account.slug}, *[idle] * (PROCESSES - 1))
    statuses = run_simultaneously(clients, sell)
    assert {status for each in statuses for status in each} == {200}
    return workers.collect()[0]


def get_total(account):
    """What all affiliates are owed."""
    balances = get_payable_balances_by_slug(account).values()
    return sum((each.get("EUR", Decimal(0)) for each in balances), Decimal(0))


def sum_approved(account):
    rows = account.commissions.not_deleted().filter(status="approved", payment=None)
    return sum(rows.values_list("amount", flat=True), Decimal(0))


def test_imports_sales_beside_sales(workers, server, scenario, people):
    for number in range(ROUNDS):
        task = {
            "task": "import_table",
            "kind": "conversions",
            "text": build_sales(people, number),
            "program": scenario.program.slug,
        }
        assert sell_beside(scenario, people, server, workers, task) == f"{SALES} stored"
        assert get_total(scenario.account) == sum_approved(scenario.account)
    sales = ROUNDS * (SALES + PROCESSES * API_SALES)
    assert scenario.account.conversions.count() == sales


def test_imports_balances_beside_sales(workers, server, scenario, people):
    """They are the first entries of these affiliates."""
    task = {
        "task": "import_table",
        "kind": "opening_balances",
        "text": build_balances(people),
        "program": "",
    }
    assert sell_beside(scenario, people, server, workers, task) == "3 stored"
    expected = sum_approved(scenario.account) + 5 * len(people)
    assert get_total(scenario.account) == expected


def test_two_imports_post_balances_once(workers, scenario, people):
    account = scenario.account
    task = {
        "task": "import_table",
        "account": account.slug,
        "kind": "opening_balances",
        "text": build_balances(people),
        "program": "",
    }
    assert sorted(workers.run(*[task] * PROCESSES)) == ["0 stored"] * 3 + ["3 stored"]
    assert get_total(account) == 5 * len(people)


def test_undoes_imports_beside_sales(workers, server, scenario, people):
    account = scenario.account
    for number in range(ROUNDS):
        defaults = {"program": scenario.program.slug}
        text = build_sales(people, number)
        report = store(account, "conversions", text, defaults=defaults)
        task = {"task": "undo_import", "public_id": report.table_import.public_id}
        assert sell_beside(scenario, people, server, workers, task) == "done"
        assert get_total(account) == sum_approved(account)
    assert account.conversions.not_deleted().count() == ROUNDS * PROCESSES * API_SALES
    assert not account.payments.not_canceled().exists()
