"""Move an account from one running service into another, killed again and again.

    python -m benchmarks.moving --affiliates 5000 --conversions 100000

Two services with databases of their own. `import_account` runs at the target, is
killed (SIGKILL) at random moments and run again. Then all GETs of both sides are
compared, a second run must write nothing, and after changes at the source a mirror must
lead to equal answers again. Exit code 1: a goal is missed. The rate limits of the
source are lifted: docs/moving-in.md says what they cost.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from benchmarks.api import render_load
from benchmarks.databases import Database, create_database
from benchmarks.memory import read_pss_mib
from benchmarks.moving_answers import Side, compare_sides
from benchmarks.moving_sql import clear_rate_limits, count_rows, get_last_import
from benchmarks.servers import ROOT, build_environment, start_service

MAX_SECONDS = 15 * 60  # of all runs until everything is there
MAX_GROWTH = 1.5  # of the memory, from a quarter of the run to its end
MIN_MEASURED = 10_000  # conversions
POLL_SECONDS = 0.1
CLEAR_SECONDS = 0.25
ROWS_PER_AFFILIATE, ROWS_PER_CONVERSION = 3, 2.9  # objects, about


@dataclass
class Run:
    """A run of `import_account`: its result, unless it was killed."""

    seconds: float
    result: dict[str, Any] | None
    sizes: list[float] = field(default_factory=list)  # PSS in MiB, by time


@dataclass(frozen=True)
class Move:
    """Source and target, and how to import from one to the other."""

    source: Side
    target: Side
    source_database: Database
    database: Database

    def run(self, *options: str, stop_at: int | None = None) -> Run:
        """Import; kill the process once the database has so many objects."""
        command = [sys.executable, "manage.py", "import_account", "target", "--json"]
        command += ["--from", f"{self.source.base_url}/1.6", *options]
        environment = build_environment(self.database)
        environment["SOURCE_API_KEY"] = self.source.key
        started_at, sizes = monotonic(), []
        with subprocess.Popen(  # noqa: S603 - our own command
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
        ) as process:
            while process.poll() is None:
                if stop_at is not None and get_last_import(self.database) >= stop_at:
                    process.kill()
                    process.wait()
                    return Run(monotonic() - started_at, None, sizes)
                if (size := read_size(process.pid)) is not None:
                    sizes.append(size)
                try:
                    process.wait(POLL_SECONDS)
                except subprocess.TimeoutExpired:
                    continue
            out = process.stdout.read() if process.stdout else ""
        if not out:
            sys.exit(f"the import ended with {process.returncode}")
        return Run(monotonic() - started_at, json.loads(out), sizes)


def main() -> None:
    """Move, compare, run again, change, mirror, compare; print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.moving")
    add = parser.add_argument
    add("--affiliates", type=int, default=50)
    add("--conversions", type=int, default=1000)
    add("--kills", type=int, default=10)
    add("--changes", type=int, default=500)
    add("--details", type=int, default=200, help="objects of a kind that are compared")
    add("--seed", type=int, default=1)
    add("--engine", choices=["postgresql", "sqlite"], default="postgresql")
    options = parser.parse_args()
    os.environ["LOG_LEVEL"] = "ERROR"
    with open_move(options.engine, options) as move:
        goals = prove(move, options)
    for text, is_met in goals:
        say(f"{'met   ' if is_met else 'MISSED'} {text}")
    sys.exit(0 if all(is_met for _, is_met in goals) else 1)


@contextmanager
def open_move(engine: str, options: argparse.Namespace) -> Iterator[Move]:
    """Fill the source and start both services."""
    with ExitStack() as stack:
        databases = [stack.enter_context(create_database(engine)) for _ in range(2)]
        started_at = monotonic()
        size = (str(options.affiliates), str(options.conversions))
        keys = [
            run_data(databases[0], "fill", *size),
            run_data(databases[1], "target"),
        ]
        say(f"filled in {monotonic() - started_at:,.0f} s")
        servers = [stack.enter_context(start_service(each)) for each in databases]
        sides = [
            Side(f"http://127.0.0.1:{server.port}", key)
            for server, key in zip(servers, keys, strict=True)
        ]
        stack.enter_context(without_limits(databases))
        yield Move(*sides, *databases)


def run_data(database: Database, *arguments: str) -> str:
    """Run `benchmarks.moving_data`; return its output."""
    process = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "benchmarks.moving_data", *arguments],
        cwd=ROOT,
        env=build_environment(database),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return process.stdout.strip()


@contextmanager
def without_limits(databases: list[Database]) -> Iterator[None]:
    """Forget all counted requests several times a second."""
    ended = threading.Event()

    def clear() -> None:
        while not ended.wait(CLEAR_SECONDS):
            for each in databases:
                clear_rate_limits(each)

    thread = threading.Thread(target=clear)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def prove(move: Move, options: argparse.Namespace) -> list[tuple[str, bool]]:
    """Return the goals, and whether each is met."""
    objects = int(
        options.affiliates * ROWS_PER_AFFILIATE + options.conversions * ROWS_PER_CONVERSION
    )
    rng = random.Random(options.seed)  # noqa: S311 - not a secret
    stops = sorted(rng.sample(range(1, objects), options.kills))
    runs = [move.run(stop_at=stop) for stop in stops]
    last = move.run()
    runs.append(last)
    seconds = sum(run.seconds for run in runs)
    killed = sum(run.result is None for run in runs)
    result = last.result or {}
    say(f"imported in {seconds:,.0f} s, {killed} times killed; {render_load()}")
    say("runs: " + ", ".join(f"{run.seconds:,.0f} s" for run in runs))
    say(f"read {result['read']}, {result['requests']:,} requests in the last run")
    sizes = max((run.sizes for run in runs), key=len)
    quarter, end = sizes[len(sizes) // 4], max(sizes)
    say(f"memory of the longest run: {quarter:.0f} MiB at a quarter, at most {end:.0f}")
    goals = [
        (f"killed {options.kills} times", killed == options.kills),
        (f"all runs in {MAX_SECONDS} s", seconds <= MAX_SECONDS),
        *(
            [(f"memory grows at most x{MAX_GROWTH}", end <= quarter * MAX_GROWTH)]
            if options.conversions >= MIN_MEASURED  # else it has hardly started
            else []
        ),
        *check_result("import", result),
        compare(move, "after the import", options),
    ]
    goals += check_second_run(move, "second run")
    changes = run_data(move.source_database, "change", str(options.changes))
    say(f"changes: {changes}")
    mirror = move.run("--mirror")
    result = mirror.result or {}
    say(f"mirror: {mirror.seconds:,.0f} s, updated {result['updated']},")
    say(f"  removed {result['removed']}, created {result['created']}")
    goals += check_result("mirror", result)
    goals.append(compare(move, "after the mirror", options))
    return goals + check_second_run(move, "second mirror", "--mirror")


def check_result(name: str, result: dict[str, Any]) -> list[tuple[str, bool]]:
    """Return the goals about the report of a run."""
    for each in [*result["problems"], *result["differences"]][:10]:
        say(f"  {each}")
    return [
        (f"{name}: no problems", result["problems"] == []),
        (f"{name}: all balances agree", result["differences"] == []),
    ]


def compare(move: Move, name: str, options: argparse.Namespace) -> tuple[str, bool]:
    """Return the goal that all answers are equal; print the first that differ."""
    compared = compare_sides(move.source, move.target, details=options.details)
    for line in compared.differences[:10]:
        say(f"  {line}")
    text = f"{compared.count:,} answers are equal {name}"
    return text, not compared.differences


def check_second_run(move: Move, name: str, *arguments: str) -> list[tuple[str, bool]]:
    """Return the goals that another run changes nothing."""
    before = count_rows(move.database)
    run = move.run(*arguments)
    result = run.result or {}
    say(f"{name}: {run.seconds:,.0f} s")
    stored = [result[key] for key in ("created", "updated", "removed")]
    return [
        (f"{name} reports nothing", stored == [{}, {}, {}]),
        (f"{name} adds no row", count_rows(move.database) == before),
    ]


def read_size(process_id: int) -> float | None:
    """Return the memory of a process in MiB; None if it has just ended."""
    try:
        return read_pss_mib(process_id)
    except (OSError, ValueError):
        return None


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


if __name__ == "__main__":
    main()
