"""Processes are killed while clients post sales: nothing acknowledged is lost, and
nothing that is sent again is stored twice (docs/reliability.md, section 1).

A PostgreSQL of its own, gunicorn with the shipped settings, a webhook worker.
"""

import os
import random
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from django.db import connection

from benchmarks.databases import BINARIES, run_binary
from tests.deploy.clusters import Cluster, directory  # noqa: F401
from tests.faults.service import (
    TIMEOUT_SECONDS,
    Service,
    assert_unavailable,
    build_environment,
    create_program,
    enroll_affiliate,
    wait_until,
)
from tests.webhook_receiver import run_receiver

pytestmark = [
    pytest.mark.slow,
    pytest.mark.engine_independent,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="has its own PostgreSQL"),
    pytest.mark.skipif(not BINARIES.is_dir(), reason="PostgreSQL is not installed"),
]
CLIENTS, ROUNDS, SALES_PER_ROUND = 4, 5, 40
RECOVERY_SECONDS = 5


class Site:
    """An account with a program, a database, a service and a webhook receiver."""

    def __init__(self, cluster: Cluster, service: Service, key: str, receiver) -> None:
        self.cluster = cluster
        self.service = service
        self.key = key
        self.receiver = receiver

    def kill_worker(self, dice) -> None:
        os.kill(dice.choice(self.service.list_workers()), signal.SIGKILL)

    def kill_master(self, dice) -> None:
        """The supervisor starts another one; the workers of the old one end alone."""
        orphans = self.service.list_workers()
        self.service.gunicorn.kill()
        self.service.gunicorn.wait()
        self.service.start()
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in orphans))

    def crash_database(self, dice) -> None:
        self.stop_database()
        self.cluster.__enter__()

    def stop_database(self) -> None:
        data = str(self.cluster.data)
        run_binary("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")

    def kill_webhook_worker(self, dice) -> None:
        self.service.webhook_worker.kill()
        self.service.webhook_worker.wait()
        self.service.start_webhook_worker()

    def post_sale(self, name: str, *, with_external_id: bool):
        return self.service.post_sale(self.key, name, with_external_id=with_external_id)


@pytest.fixture(scope="module")
def site(directory):  # noqa: F811
    data = directory / "data"
    run_binary("initdb", "--pgdata", str(data), "--username=postgres", "--auth=trust")
    with (
        pytest.MonkeyPatch.context() as patch,
        run_receiver() as receiver,
        Cluster(data) as cluster,
    ):
        patch.setenv("WEBHOOK_ALLOWED_HOSTS", receiver.host_and_port)
        cluster.manage("migrate", "--verbosity=0")
        key = create_program(cluster.manage)
        cluster.manage("create_webhook", "acme", receiver.url, "--event", "conversion.created")
        service = Service(build_environment(cluster.url))
        try:
            service.wait_until_ready()
            service.start_webhook_worker()
            enroll_affiliate(service, key)
            yield Site(cluster, service, key, receiver)
        finally:
            service.stop()


class Load:
    """Clients that post one sale after another, and send again what was not answered.

    Half of them name their sales by `external_id`, half by `Idempotency-Key`.
    """

    def __init__(self, site: Site, prefix: str) -> None:
        self.site = site
        self.prefix = prefix
        self.acknowledged: set[str] = set()
        self.unanswered: list[tuple[str, bool]] = []
        self.statuses = Counter()
        self.is_over = threading.Event()
        self.changed = threading.Condition()
        self.clients = [
            threading.Thread(target=self.post_sales, args=[number]) for number in range(CLIENTS)
        ]

    def __enter__(self):
        for client in self.clients:
            client.start()
        return self

    def __exit__(self, *error):
        self.is_over.set()
        for client in self.clients:
            client.join()

    def post_sales(self, client: int) -> None:
        number = 0
        while not self.is_over.is_set():
            number += 1
            self.post(f"{self.prefix}-{client}-{number}", client % 2 == 0)

    def post(self, name: str, with_external_id: bool) -> None:
        status, body = self.site.post_sale(name, with_external_id=with_external_id)
        with self.changed:
            self.statuses[status] += 1
            if status == 200:
                self.acknowledged.add(name)
                self.changed.notify_all()
            else:
                self.unanswered.append((name, with_external_id))
        if status is not None and status != 200:
            assert_unavailable(status, body)

    def wait_for_sales(self, number: int) -> None:
        with self.changed:
            wanted = len(self.acknowledged) + number
            assert self.changed.wait_for(lambda: len(self.acknowledged) >= wanted, TIMEOUT_SECONDS)

    def send_again(self) -> int:
        """Send what was not answered, until it is; return how many were stored before.

        A failed conversion may be sent again with its `external_id` after ten seconds.
        """
        stored = 0
        for name, with_external_id in self.unanswered:

            def is_answered(name=name, with_external_id=with_external_id):
                nonlocal stored
                status, body = self.site.post_sale(name, with_external_id=with_external_id)
                is_duplicate = b"Duplicate conversion" in (body or b"")
                stored += is_duplicate
                return status == 200 or is_duplicate

            wait_until(is_answered)
            self.acknowledged.add(name)
        return stored


@pytest.fixture(autouse=True)
def check_threads(recwarn):
    """An assertion that fails in a client must fail the test."""
    yield
    assert not [
        warning
        for warning in recwarn
        if issubclass(warning.category, pytest.PytestUnhandledThreadExceptionWarning)
    ]


@pytest.mark.parametrize(
    "kill",
    [
        Site.kill_worker,
        Site.kill_master,
        Site.crash_database,
        Site.kill_webhook_worker,
    ],
    ids=lambda method: method.__name__,
)
def test_stores_each_sale_once(site, kill):
    dice = random.Random(7)  # noqa: S311 - reproducible
    started = time.monotonic()
    with Load(site, kill.__name__) as load:
        for _ in range(ROUNDS):
            load.wait_for_sales(SALES_PER_ROUND)
            kill(site, dice)
        load.wait_for_sales(SALES_PER_ROUND)
    stored_before = load.send_again()

    rows = site.cluster.read(
        "SELECT c.customer_id, count(s.id) FROM tracking_customer c"
        " LEFT JOIN tracking_conversion s ON s.customer_id = c.id GROUP BY 1"
    )
    found = {name: number for name, number in rows if name.startswith(load.prefix)}
    assert found == dict.fromkeys(load.acknowledged, 1)
    site.cluster.manage("check_ledger")  # fails on a discrepancy
    wait_until(lambda: not count_open_deliveries(site))
    print(  # noqa: T201
        f"{kill.__name__}: {ROUNDS} kills, {sum(load.statuses.values())} requests"
        f" {dict(load.statuses)}, {len(load.unanswered)} sent again, of these"
        f" {stored_before} were stored, {time.monotonic() - started:.0f} s"
    )


def count_open_deliveries(site) -> int:
    statement = "SELECT count(*) FROM accounts_delivery WHERE delivered_at IS NULL"
    ((number,),) = site.cluster.read(statement)
    return number


def test_answers_without_a_database(site):
    for number in range(ROUNDS):
        site.stop_database()
        assert_unavailable(*site.post_sale(f"away-{number}", with_external_id=False))
        assert site.service.request("GET", "/readyz")[0] == 503
        assert site.service.request("GET", "/healthz")[0] == 200
        processes = site.service.list_workers()

        site.cluster.__enter__()
        seconds = site.service.wait_until_ready()
        status, _ = site.post_sale(f"away-{number}", with_external_id=False)

        assert status == 200
        assert seconds < RECOVERY_SECONDS
        assert site.service.list_workers() == processes  # nothing was started again
