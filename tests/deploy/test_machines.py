"""Two machines behind the shipped nginx, with a primary and a replica of PostgreSQL.

docs/scaling.md, sections 1 and 2, says what is shown here. Several webhook workers:
tests/concurrency/test_webhooks.py.
"""

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from django.db import connection

from benchmarks.databases import BINARIES, run_binary
from tests.command_line import ROOT
from tests.deploy.clusters import Cluster, directory  # noqa: F401
from tests.deploy.hosts import Host, SalesLoad, enroll_affiliate, send
from tests.deploy.proxies import Proxy, build_nginx, find_free_port

pytestmark = [
    pytest.mark.slow,
    pytest.mark.engine_independent,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="has its own PostgreSQL"),
    pytest.mark.skipif(not BINARIES.is_dir(), reason="PostgreSQL is not installed"),
    pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed"),
]
SALES = 40
WAIT_SECONDS = 60
MAX_ANSWER_SECONDS = 10  # less than a query may take; without an answer 0.5 s
EXPORT = """
import sys
import django
django.setup()
from accounts import replica
from affiliate_site.backoffice.lists import exports
from tracking.models.conversions import Conversion

exports.CHUNK_SIZE = 3
aliases = []
read = replica.read
replica.read = lambda function: read(
    lambda alias: (aliases.append(alias), function(alias))[1]
)
rows = Conversion.objects.order_by("-pk")
cells = [exports.ExportColumn("Order ID", ("external_id",))]
for chunk in exports.iterate_chunks(None, cells, rows):
    print(aliases[-1], *(order for (order,) in chunk), flush=True)
    sys.stdin.readline()
"""
# Signs in staff and counts, for each page, the statements that read each database.
BACK_OFFICE = """
import sys
import django
django.setup()
from collections import Counter
from datetime import UTC, datetime
from django.db import connections
from django.test import Client
from accounts.models.accounts import Account
from accounts.models.users import User

def count(alias, counts):
    def execute(run, sql, *arguments):
        counts[alias, any(f'"{name}"' in sql for name in sys.argv[2].split(","))] += 1
        return run(sql, *arguments)
    return connections[alias].execute_wrapper(execute)

client = Client(headers={"X-Forwarded-Proto": "https"}, SERVER_NAME="localhost")
user = User.objects.filter(account__slug="acme").first()
client.force_login(user)
for path in sys.argv[1].split(","):
    counts = Counter()
    with count("default", counts), count("replica", counts):
        response = client.get(path, secure=True)
    assert response.status_code == 200, response.headers
    aliases = sorted({alias for alias, names_table in counts if names_table})
    print(path, *aliases, flush=True)
"""
TOO_EARLY = "To many concurrent attempts to create conversion with id 'early'"


@pytest.fixture(scope="module")
def machines(directory, tmp_path_factory):  # noqa: F811
    """The clusters, the hosts, `post` through nginx, and a referral code."""
    data = directory / "primary"
    run_binary("initdb", "--pgdata", str(data), "--username=postgres", "--auth=trust")
    with Cluster(data) as primary:
        primary.manage("migrate", "--verbosity=0")
        primary.manage("create_account", "acme", "--name=Acme")
        primary.manage(
            *("create_program", "acme", "spring", "--title=Spring"),
            *("--currency=EUR", "--auto-approve-commissions"),
        )
        key = create_key(primary)
        with primary.copy(directory / "replica") as copy:
            environment = {
                "DATABASE_URL": primary.url,
                "DATABASE_REPLICA_URL": copy.url,
                "SECRET_KEY": secrets.token_hex(32),
                "DJANGO_SETTINGS_MODULE": "affiliate_site.settings",
                "PUBLIC_URL": "https://localhost",
                "TRUSTED_PROXY_COUNT": "1",
                "LOG_LEVEL": "ERROR",
                "LOG_FORMAT": "json",
            }
            hosts = [Host(environment) for _ in range(2)]
            try:
                for host in hosts:
                    host.start()
                with run_nginx(tmp_path_factory.mktemp("nginx"), hosts) as proxy:

                    def post(path, body):
                        status, _, answer = proxy.request(
                            "POST", path, json.dumps(body), **{"X-Api-Key": key}
                        )
                        return status, json.loads(answer)

                    yield SimpleNamespace(
                        primary=primary,
                        replica=copy,
                        hosts=hosts,
                        key=key,
                        post=post,
                        code=enroll_affiliate(post),
                    )
            finally:
                for host in hosts:
                    host.close()


class run_nginx:  # noqa: N801 - a context manager
    """nginx with the shipped configuration and an upstream of several hosts."""

    def __init__(self, folder, hosts):
        self.proxy = Proxy("nginx", folder, find_free_port(), find_free_port())
        (folder / "staticfiles").mkdir()
        first, *others = (f"127.0.0.1:{host.port}" for host in hosts)
        upstream = "".join([first, *(f" fail_timeout=0;\nserver {o}" for o in others)])
        self.command = build_nginx(folder, self.proxy, upstream)
        # A host that fails is left out for a while, as docs/scaling.md says.
        path = folder / "nginx.conf"
        text = path.read_text()
        assert text.count("fail_timeout=0") == len(hosts)
        path.write_text(text.replace("fail_timeout=0", "fail_timeout=5s"))

    def __enter__(self):
        self.process = subprocess.Popen(  # noqa: S603 - our own command
            self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                assert self.proxy.request("GET", "/readyz")[0] == 200
            except OSError:
                assert time.monotonic() < deadline
            else:
                return self.proxy

    def __exit__(self, *error):
        self.process.terminate()
        self.process.wait(WAIT_SECONDS)


def create_key(primary) -> str:
    return primary.manage("create_api_key", "acme", "--role=owner").strip()


def list_orders(machines, host) -> list[str]:
    """The external ids of the first page."""
    status, rows = send(host.port, "GET", "/1.6/conversions/", key=machines.key)
    assert status == 200, rows
    return [row["external_id"] for row in rows]


def create_sale(machines, host) -> str:
    order = f"sale-{secrets.token_hex(8)}"
    body = {"referral_code": machines.code, "external_id": order, "amount": "10"}
    status, answer = send(host.port, "POST", "/1.6/conversions/", body, key=machines.key)
    assert status == 200, answer
    return order


def is_replica_read(machines) -> bool:
    """Whether the last statement of a session of the replica has read a list."""
    statements = machines.replica.read("SELECT query FROM pg_stat_activity WHERE state = 'idle'")
    return any("tracking_conversion" in text for (text,) in statements)


def wait_until_replica_is_read(machines) -> None:
    """Read lists until one comes from the replica by a new session."""
    machines.replica.read(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    )
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_replica_read(machines):
        assert time.monotonic() < deadline, "the replica is not read"
        list_orders(machines, machines.hosts[0])


def test_limits_rates_exactly_on_both(machines):
    key = create_key(machines.primary)

    def get(number):
        host = machines.hosts[number % 2]
        return send(host.port, "GET", "/1.6/balances/", key=key)[0]

    with ThreadPoolExecutor(8) as pool:
        statuses = Counter(pool.map(get, range(16)))

    assert statuses == {200: 10, 429: 6}  # 10 a minute


def test_remembers_a_failed_attempt_on_both(machines):
    first, second = machines.hosts
    body = {"referral_code": "nobody", "external_id": "early", "amount": "10"}
    status, _ = send(first.port, "POST", "/1.6/conversions/", body, key=machines.key)
    assert status in (400, 404)

    body["referral_code"] = machines.code
    status, answer = send(second.port, "POST", "/1.6/conversions/", body, key=machines.key)

    assert (status, answer["errors"][0]["message"]) == (400, TOO_EARLY)


def test_replays_on_the_other(machines):
    body = {"referral_code": machines.code, "external_id": "once", "amount": "10"}

    answers = [
        send(
            *(host.port, "POST", "/1.6/conversions/", body),
            **{"key": machines.key, "Idempotency-Key": "once"},
        )
        for host in machines.hosts
    ]

    assert answers[0] == answers[1]
    assert answers[0][0] == 200


def test_refuses_a_revoked_key_at_once_on_both(machines):
    key = create_key(machines.primary)

    def get_statuses():
        return {send(host.port, "GET", "/1.6/programs/", key=key)[0] for host in machines.hosts}

    assert get_statuses() == {200}

    machines.primary.manage("revoke_api_key", "acme", key[:12])

    assert get_statuses() == {401}


def test_reads_what_was_written_from_the_replica(machines):
    first, second = machines.hosts
    wait_until_replica_is_read(machines)

    for _ in range(20):
        order = create_sale(machines, first)
        assert list_orders(machines, second)[0] == order

    assert is_replica_read(machines)


def test_reads_what_was_written_while_the_replica_is_paused(machines):
    first, second = machines.hosts
    wait_until_replica_is_read(machines)
    machines.replica.read("SELECT pg_wal_replay_pause()")
    try:
        for _ in range(5):
            order = create_sale(machines, first)
            assert list_orders(machines, second)[0] == order
    finally:
        machines.replica.read("SELECT pg_wal_replay_resume()")

    wait_until_replica_is_read(machines)


def test_reads_on_without_the_replica(machines):
    first, second = machines.hosts
    wait_until_replica_is_read(machines)
    machines.replica.__exit__()
    try:
        for _ in range(5):
            order = create_sale(machines, first)
            assert list_orders(machines, second)[0] == order
    finally:
        machines.replica.__enter__()

    wait_until_replica_is_read(machines)


def test_reads_on_with_a_frozen_replica(machines):
    """Its processes are stopped, as on a machine whose disk hangs."""
    first, second = machines.hosts
    wait_until_replica_is_read(machines)
    frozen = machines.replica.list_processes()
    for process_id in frozen:
        os.kill(process_id, signal.SIGSTOP)
    try:
        for _ in range(5):
            order = create_sale(machines, first)
            started = time.monotonic()
            assert list_orders(machines, second)[0] == order
            assert time.monotonic() - started < MAX_ANSWER_SECONDS
    finally:
        for process_id in frozen:
            os.kill(process_id, signal.SIGCONT)

    wait_until_replica_is_read(machines)


def start_export(machines):
    """A process that exports all conversions, three at a time; it waits for a line
    before each chunk."""
    environment = machines.hosts[0].environment
    return subprocess.Popen(  # noqa: S603 - our own script
        [sys.executable, "-c", EXPORT],
        cwd=ROOT,
        env=environment,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


@pytest.mark.parametrize("is_lost", [False, True], ids=["kept", "lost"])
def test_exports_from_the_replica(machines, is_lost):
    """Whole, even if the replica is lost in the middle."""
    wait_until_replica_is_read(machines)
    orders = [create_sale(machines, machines.hosts[0]) for _ in range(12)]
    with start_export(machines) as process:
        chunks = [process.stdout.readline()]
        if is_lost:
            machines.replica.__exit__()
        try:
            output, _ = process.communicate("\n" * 1000, timeout=WAIT_SECONDS)
        finally:
            if is_lost:
                machines.replica.__enter__()
    chunks += output.splitlines()
    sources = [chunk.split()[0] for chunk in chunks]
    exported = [order for chunk in chunks for order in chunk.split()[1:]]

    assert process.returncode == 0
    assert exported[: len(orders)] == orders[::-1]
    stored = machines.primary.read("SELECT external_id FROM tracking_conversion")
    assert sorted(exported) == sorted(name for (name,) in stored)
    assert sources[0] == "replica"
    assert set(sources[1:]) == {"default" if is_lost else "replica"}
    wait_until_replica_is_read(machines)


def test_builds_lists_and_dashboard_from_the_replica(machines):
    """Single objects and money come from the primary, also on a page with both."""
    create_sale(machines, machines.hosts[0])
    wait_until_replica_is_read(machines)
    machines.primary.manage("create_staff", "acme", "ann@example.net", "--role=owner")
    (pk,) = machines.primary.read("SELECT min(id) FROM tracking_conversion")[0]
    expected = {
        "/admin/": ["default", "replica"],
        "/admin/tracking/conversion/": ["replica"],
        "/admin/tracking/affiliate/": ["default", "replica"],
        "/admin/payouts/payment/": ["default"],
        f"/admin/tracking/conversion/{pk}/change/": ["default"],
    }
    tables = "tracking_conversion,tracking_affiliate,payouts_payment"

    finished = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-c", BACK_OFFICE, ",".join(expected), tables],
        cwd=ROOT,
        env=machines.hosts[0].environment | {"STAFF_OTP": "off"},
        text=True,
        capture_output=True,
        timeout=WAIT_SECONDS,
        check=False,
    )

    assert finished.returncode == 0, finished.stderr
    found = [line.split() for line in finished.stdout.splitlines()]
    assert {path: aliases for path, *aliases in found} == expected


def test_doctor_judges_the_replica(machines):
    """Last of all tests that need both hosts."""
    primary, copy = machines.primary, machines.replica

    assert get_finding(primary, copy.url)["status"] == "ok"
    finding = get_finding(primary, primary.url)
    assert (finding["status"], finding["detail"]) == (
        "failure",
        "it is a primary, not a replica",
    )


def get_finding(primary, url):
    answer = primary.run("doctor", "--json", DATABASE_REPLICA_URL=url).stdout
    return next(check for check in json.loads(answer)["checks"] if check["name"] == "replica")


def test_keeps_acknowledged_sales_when_a_host_is_lost(machines):
    with SalesLoad(machines.post, machines.code) as load:
        load.wait_for(SALES)
        machines.hosts[1].kill()
        load.wait_for(SALES)

    stored = machines.primary.read("SELECT external_id FROM tracking_conversion")
    assert set(load.acknowledged) <= {name for (name,) in stored}
    # What was in hand, and one request for each time that nginx tries the host again.
    assert {status for _, status, _ in load.refused} <= {503}
    assert len(load.refused) < len(load.acknowledged)
    assert "OK" in machines.primary.manage("check_ledger")
