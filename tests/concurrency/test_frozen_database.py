"""A PostgreSQL server that has stopped to answer: nobody waits for it for long.

Its processes are stopped, as on a machine whose disk hangs: connections stay open and
what is sent is acknowledged by the kernel.
"""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import pytest
from django.db import connection

from benchmarks.databases import BINARIES, create_database
from tests.command_line import ROOT
from tests.concurrency import server as servers

pytestmark = [
    pytest.mark.slow,
    pytest.mark.engine_independent,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="has its own PostgreSQL"),
    pytest.mark.skipif(not BINARIES.is_dir(), reason="PostgreSQL is not installed"),
]
SECRET_KEY = "of-this-test-only-" * 3


@pytest.fixture
def environment(monkeypatch):
    """The environment of processes that use a migrated database of their own."""
    handler = signal.getsignal(signal.SIGTERM)
    with create_database("postgresql") as database:
        environment = os.environ | {
            "DATABASE_URL": database.url,
            "SECRET_KEY": SECRET_KEY,
            "DJANGO_SETTINGS_MODULE": "affiliate_site.settings",
        }
        monkeypatch.setattr(servers, "build_environment", lambda: environment)
        run_manage(environment, "migrate", "--verbosity", "0")
        yield environment
    signal.signal(signal.SIGTERM, handler)


def run_manage(environment, *command):
    process = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
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


def test_answers_503_soon_and_recovers(environment):
    run_manage(environment, "create_account", "acme", "--name", "Acme")
    key = run_manage(environment, "create_api_key", "acme", "--role", "owner")
    with servers.run_server(workers=1) as server:
        get = {"method": "GET", "path": "/readyz"}
        assert send(server.port, **get)[0] == 200
        post = {
            "method": "POST",
            "path": "/1.6/affiliates/",
            "body": json.dumps({"firstname": "A", "lastname": "B", "email": "a@b.si"}),
            "headers": {"X-Api-Key": key},
        }
        assert send(server.port, **post)[0] == 200

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
