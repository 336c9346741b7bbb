"""Benchmarks run with next to no rows; `test_moving.py` runs the remaining one."""

import re
import subprocess
import sys

import pytest
from django.db import connection

from benchmarks.results import RAW, SERVICE, TEXTBOOK_DRF
from tests.command_line import ROOT

pytestmark = pytest.mark.integration
SECONDS = 300  # an upper limit for slow machines
API = (
    *("--operation", "POST conversions", "--concurrency", "1", "--rounds", "1"),
    *("--seconds", "0.1", "--rows", "50", "--side", SERVICE, RAW, TEXTBOOK_DRF),
    "--engine",
)
OF_THE_MACHINE = re.compile(r"no request was answered in time|the client used|syncs of the log")
GROWTH = ("--rows", "100", "200", "--rounds", "1", "--export-rows", "50")
BENCHMARKS = {
    "breakdown": ("--requests", "2", "--seconds", "0.1"),
    "growth": (*GROWTH, "--engine", "sqlite"),
    "memory": ("--requests", "60", "--reports", "1", "--engine", "sqlite"),
    "page_calls": ("--rounds", "1"),
    "what_if": ("--sales", "100", "--engine", "sqlite"),
}


def run_benchmark(name, arguments):
    """Run a benchmark; a goal that is missed says nothing at this size.

    Nor does a round that is void because of the machine: one that is void by an error
    does.
    """
    command = [sys.executable, "-m", f"benchmarks.{name}"]
    command += arguments
    done = subprocess.run(  # noqa: S603 - our own command
        command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    void = [line for line in done.stdout.splitlines() if line.startswith("VOID ")]
    assert [line for line in void if not OF_THE_MACHINE.search(line)] == []
    is_excused = bool(void) or "MISSED" in done.stdout
    assert done.returncode == 0 or is_excused, done.stdout + done.stderr
    return done.stdout


@pytest.mark.django_db  # it runs on both engines
def test_compares_the_api_on_this_engine():
    assert run_benchmark("api", (*API, connection.vendor))


@pytest.mark.engine_independent
@pytest.mark.parametrize("name", BENCHMARKS)
def test_runs(name):
    assert run_benchmark(name, BENCHMARKS[name])
