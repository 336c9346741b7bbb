"""Waits for PostgreSQL end: with a frozen server, and behind PgBouncer.

The processes of a frozen server are stopped, as on a machine whose disk hangs:
connections stay open and what is sent is acknowledged by the kernel.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from django.db import connection

from benchmarks.databases import BINARIES, create_database, find_free_port
from tests.command_line import ROOT
from tests.concurrency import server as servers

pytestmark = [
    pytest.mark.slow,
    pytest.mark.engine_independent,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="has its own PostgreSQL"),
    pytest.mark.skipif(not BINARIES.is_dir(), reason="PostgreSQL is not installed"),
]
SECRET_KEY = "of-this-test-only-" * 3


@pytest.fixture(scope="module")
def environment():
    """The environment of processes that use a migrated database of their own."""
    handler = signal.getsignal(signal.SIGTERM)
    with (
        create_database("postgresql") as database,
        pytest.MonkeyPatch.context() as patch,
    ):
        environment = os.environ | {
            "DATABASE_URL": database.url,
            "SECRET_KEY": SECRET_KEY,
            "DJANGO_SETTINGS_MODULE": "affiliate_site.settings",
        }
        patch.setattr(servers, "build_environment", lambda: environment)
        run_manage(environment, "migrate", "--verbosity", "0")
        yield environment
    signal.signal(signal.SIGTERM, handler)


@pytest.fixture(scope="module")
def post(environment):
    """A request that writes, as arguments of `send`."""
    run_manage(environment, "create_account", "acme", "--name", "Acme")
    key = run_manage(environment, "create_api_key", "acme", "--role", "owner")
    return {
        "method": "POST",
        "path": "/1.6/affiliates/",
        "body": json.dumps({"firstname": "A", "lastname": "B", "email": "a@b.si"}),
        "headers": {"X-Api-Key": key},
    }


def run_manage(environment, *command):
    process = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert not process.stderr, process.stderr
    return process.stdout.strip()


def list_database_processes(url):
    """The server that listens on the port of the URL, and its children."""
    port = url.rpartition(":")[2].partition("/")[0]
    parents = {
        path.parent.name: path.read_text().rpartition(")")[2].split()[1]
        for path in Path("/proc").glob("[0-9]*/stat")
    }
    main = next(
        pid
        for pid in parents
        if f"port={port}".encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
        and b"postgres" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
    )
    return [int(main), *(int(pid) for pid in parents if parents[pid] == main)]


def send(port, method, path, body=None, headers=None):
    """Return status and duration in seconds of a request on a new connection."""
    http = HTTPConnection("127.0.0.1", port, timeout=60)
    started = time.monotonic()
    http.request(method, path, body, headers or {})
    response = http.getresponse()
    response.read()
    http.close()
    return response.status, time.monotonic() - started


def test_answers_503_soon_and_recovers(environment, post):
    with servers.run_server(workers=1) as server:
        get = {"method": "GET", "path": "/readyz"}
        assert send(server.port, **get)[0] == 200
        assert send(server.port, **post)[0] in (200, 400)

        stopped = list_database_processes(environment["DATABASE_URL"])
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            readiness = [send(server.port, **get) for _ in range(5)]
            liveness = send(server.port, "GET", "/healthz")
            with ThreadPoolExecutor() as executor:
                written = executor.submit(send, server.port, **post)
                while not written.done():
                    readiness.append(send(server.port, **get))
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        status, seconds = written.result()
        started = time.monotonic()
        while send(server.port, **get)[0] != 200:
            assert time.monotonic() - started < 5
        assert send(server.port, **post)[0] in (200, 400)  # the e-mail may exist

    assert {status for status, _ in readiness} == {503}
    assert max(seconds for _, seconds in readiness) < 3
    assert liveness[0] == 200
    assert status == 503
    assert seconds < 20


PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")


@contextmanager
def run_pgbouncer(url):
    """Run PgBouncer in transaction mode before a database; yield its URL."""
    server, port = urlsplit(url), find_free_port()
    settings = (
        "[databases]\n"
        f"postgres = host=127.0.0.1 port={server.port} dbname=postgres"
        f" user={server.username} password={server.password}\n"
        "[pgbouncer]\npool_mode = transaction\nauth_type = any\nunix_socket_dir =\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {port}\n"
    )
    prefix = ["setpriv", "--reuid=nobody"] if os.geteuid() == 0 else []
    with tempfile.NamedTemporaryFile("w", suffix=".ini") as config:
        config.write(settings)
        config.flush()
        Path(config.name).chmod(0o644)
        process = subprocess.Popen([*prefix, PGBOUNCER, "-q", config.name])  # noqa: S603
        pooled = f"postgres://{server.username}@127.0.0.1:{port}/postgres"
        try:
            wait_until_connected(pooled, process)
            yield pooled
        finally:
            process.terminate()
            process.wait()


def wait_until_connected(url, process):
    while True:
        try:
            psycopg.connect(url, connect_timeout=5).close()
        except psycopg.OperationalError:
            assert process.poll() is None
        else:
            return


@pytest.mark.skipif(PGBOUNCER is None, reason="PgBouncer is not installed")
def test_limits_hold_behind_pgbouncer(environment, post, monkeypatch):
    url = environment["DATABASE_URL"]
    with run_pgbouncer(url) as pooled:
        pooled_environment = environment | {"DATABASE_URL": pooled, "PGBOUNCER": "on"}
        monkeypatch.setattr(servers, "build_environment", lambda: pooled_environment)
        before = json.loads(run_manage(pooled_environment, "doctor", "--startup", "--json"))
        (failure,) = [check for check in before["checks"] if check["advice"]]
        assert failure["name"] == "time_limits"

        statements = re.findall("ALTER ROLE .*?;", failure["advice"])
        assert len(statements) == 3
        with psycopg.connect(url, autocommit=True) as server:
            for statement in statements:
                server.execute(statement)
            server.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )

        with servers.run_server(workers=1) as running:
            assert send(running.port, **post)[0] in (200, 400)
            with psycopg.connect(url) as server:
                server.execute("LOCK TABLE tracking_affiliate")
                status, seconds = send(running.port, **post)
            assert send(running.port, **post)[0] in (200, 400)

    assert (status, 2 < seconds < 8) == (503, True)
