"""A full disk under the embedded database: refusals, nothing half written."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from itertools import count

import pytest

from tests.command_line import ROOT
from tests.faults.service import (
    Service,
    assert_unavailable,
    build_environment,
    create_program,
    enroll_affiliate,
)

pytestmark = [pytest.mark.slow, pytest.mark.engine_independent]
DISK_BYTES, REFUSALS = 16_000_000, 10


@pytest.fixture
def disk(tmp_path):
    """A directory on a small disk in memory."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", tmp_path]
    if os.geteuid() != 0 or subprocess.run(mount, check=False).returncode:  # noqa: S603
        pytest.skip("only root can mount a small disk")
    yield tmp_path
    subprocess.run(["umount", tmp_path], check=True)  # noqa: S603, S607


def fill(path) -> None:
    """Write a file until the disk is full."""
    with path.open("wb", buffering=0) as file:
        try:
            while file.write(b"\0" * 4096) == 4096:
                pass
        except OSError:
            pass


def test_refuses_and_recovers(disk):
    database = disk / "affiliate.sqlite3"
    environment = build_environment(f"sqlite:///{database}")

    def manage(*command):
        process = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 0, process.stderr
        return process.stdout

    manage("migrate", "--verbosity=0")
    key = create_program(manage)
    service = Service(environment)

    def post_sale(name):
        return service.post_sale(key, name, with_external_id=False)

    try:
        service.wait_until_ready()
        enroll_affiliate(service, key)
        stored = ["before"]
        assert post_sale("before")[0] == 200
        fill(disk / "filler")
        refused, numbers = [], count()
        while len(refused) < REFUSALS:  # the files of SQLite may have some room
            name = f"sale-{next(numbers)}"
            status, body = post_sale(name)
            if status == 200:
                stored.append(name)
            else:
                assert_unavailable(status, body)
                refused.append(name)
        assert service.request("GET", "/readyz")[0] == 503

        (disk / "filler").unlink()
        service.wait_until_ready()
        for name in refused:
            assert post_sale(name)[0] == 200
    finally:
        service.stop()
    manage("check_ledger")  # fails on a discrepancy
    with closing(sqlite3.connect(database)) as reader:
        rows = reader.execute(
            "SELECT c.customer_id, count(s.id) FROM tracking_customer c"
            " LEFT JOIN tracking_conversion s ON s.customer_id = c.id GROUP BY 1"
        ).fetchall()
    assert dict(rows) == dict.fromkeys([*stored, *refused], 1)
    print(f"{len(stored)} stored, then {REFUSALS} refused and sent again")  # noqa: T201
