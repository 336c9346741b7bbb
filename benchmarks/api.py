"""Compare the API with bare statements, FastAPI and a textbook DRF application.

    make bench
    python -m benchmarks.api --operation "POST conversions" --concurrency 8

All sides take turns in short rounds on one private database. Exit code 1: a goal is
missed; 2: a run is void. See docs/performance.md.
"""

import argparse
import json
import os
import secrets
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.databases import Database, create_database
from benchmarks.load import Job, LoadResult
from benchmarks.operations import AMOUNT, OPERATIONS, Operation, Scenario
from benchmarks.results import (
    FASTAPI,
    RAW,
    SERVICE,
    SERVICE_ONLY,
    TEXTBOOK_DRF,
    Cell,
    Round,
    list_goal_results,
    list_sync_problems,
    render_cell,
    render_goal_results,
)
from benchmarks.servers import (
    ROOT,
    Server,
    build_environment,
    has_fastapi,
    run_manage_py,
    start_fastapi,
    start_service,
    start_textbook_drf,
)

RAW_PROCESSES = 2  # one for each core
COMMISSION_SHARE = 10  # percent, of the scenario's program
MAX_COMPARED_CONCURRENCY = 8  # above, the service is compared with itself
EXTRA_SECONDS = 0.5  # of loads that warm up, or count syncs
MISSED, VOID = 1, 2


def main() -> None:
    """Measure all cells, then print the goals; after Ctrl+C those of the cells so far.

    The file of `--json` is written after each cell.
    """
    options = parse_arguments()
    cells: list[Cell] = []
    try:
        for engine in options.engine:
            with create_database(engine) as database:
                for cell in measure_database(database, options):
                    cells.append(cell)
                    write_json(options.json, cells)
    except KeyboardInterrupt:
        print(f"interrupted after {len(cells)} cells")
    goal_results = list(list_goal_results(cells))
    print("\n".join(["", *render_goal_results(goal_results)]))
    problems = [
        f"{cell.operation} c={cell.concurrency}: {problem}"
        for cell in cells
        for problem in cell.list_problems()
    ]
    print("\n".join(f"VOID {problem}" for problem in problems))
    if problems:
        sys.exit(VOID)
    sys.exit(0 if all(row.is_met for row in goal_results) else MISSED)


def write_json(path: Path | None, cells: Sequence[Cell]) -> None:
    """Write the cells, the goals that they decide and the load of the machine."""
    if path is None:
        return
    goal_results = list_goal_results(cells)
    result = {
        "load_average": os.getloadavg(),
        "cells": [cell.serialize() for cell in cells],
        "goals": [asdict(row) | {"is_met": row.is_met} for row in goal_results],
    }
    path.write_text(json.dumps(result, indent=1))


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.api")
    add = parser.add_argument
    add("--operation", nargs="+", choices=OPERATIONS, default=list(OPERATIONS))
    add("--concurrency", nargs="+", type=int, default=[1, 8, 32])
    add("--engine", nargs="+", choices=["postgresql", "sqlite"], default=["postgresql"])
    sides = [SERVICE, RAW, FASTAPI, TEXTBOOK_DRF]
    add("--side", nargs="+", choices=sides, default=sides)
    add("--seconds", type=float, default=1.5, help="of one round of one side")
    add("--rounds", type=int, default=3)
    add("--rows", type=int, default=30_000, help="conversions of the account")
    add("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    if FASTAPI in options.side and not has_fastapi():
        print("FastAPI is not measured: fastapi, uvicorn or asyncpg is not installed")
        options.side.remove(FASTAPI)
    return options


def measure_database(database: Database, options: argparse.Namespace) -> Iterator[Cell]:
    """Fill the database, start all servers, yield the cells."""
    if not database.is_durable():
        sys.exit("void: PostgreSQL acknowledges commits before they are on disk")
    scenarios = fill_database(database, options.rows)
    print(f"{database.engine}: {options.rows} conversions; {render_load()}")
    sides = [side for side in options.side if can_measure(side, database)]
    with ExitStack() as stack:
        servers: dict[str, Server] = {}
        for side in sides:
            if side == SERVICE:
                server = stack.enter_context(start_service(database))
            elif side == FASTAPI:
                account_id = scenarios[side].account_id
                server = stack.enter_context(start_fastapi(database, account_id))
            elif side == TEXTBOOK_DRF:
                server = stack.enter_context(start_textbook_drf(database))
            else:
                continue
            servers[side] = server
        runner = Runner(database, scenarios, servers, options.seconds)
        for name in options.operation:
            for concurrency in options.concurrency:
                is_alone = name in SERVICE_ONLY or concurrency > MAX_COMPARED_CONCURRENCY
                measured = [SERVICE] if is_alone else sides
                cell = runner.measure_cell(name, concurrency, measured, options.rounds)
                print(render_cell(cell), flush=True)
                yield cell
    print(f"{database.engine}: done; {render_load()}")


def can_measure(side: str, database: Database) -> bool:
    """Whether the side supports the engine: asyncpg needs PostgreSQL."""
    return database.engine == "postgresql" or side in (SERVICE, RAW)


def fill_database(database: Database, rows: int) -> dict[str, Scenario]:
    """Create both accounts; return the scenario of each side."""
    process = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "benchmarks.scenario", str(rows)],
        cwd=ROOT,
        env=build_environment(database),
        check=True,
        stdout=subprocess.PIPE,
    )
    accounts = {name: Scenario(**values) for name, values in json.loads(process.stdout).items()}
    others = dict.fromkeys((RAW, FASTAPI, TEXTBOOK_DRF), accounts["comparison"])
    return {SERVICE: accounts["service"], **others}


def render_load() -> str:
    """Return the load of the machine."""
    return "load average " + " ".join(f"{value:.1f}" for value in os.getloadavg())


class Runner:
    """Measures cells on one filled database."""

    def __init__(
        self,
        database: Database,
        scenarios: dict[str, Scenario],
        servers: dict[str, Server],
        seconds: float,
    ) -> None:
        self.database = database
        self.scenarios = scenarios
        self.servers = servers
        self.seconds = seconds

    def measure_cell(
        self, name: str, concurrency: int, sides: Sequence[str], round_count: int
    ) -> Cell:
        """Measure all sides in turn, then check what they stored."""
        cell = Cell(self.database.engine, name, concurrency)
        operation = OPERATIONS[name]
        loads = {side: Load(self, operation, side, concurrency) for side in sides}
        for load in loads.values():
            load.run(EXTRA_SECONDS)  # opens connections, compiles statements
        for number in range(round_count):
            for side in sides if number % 2 else reversed(sides):
                cell.rounds.setdefault(side, []).append(loads[side].measure())
        cell.rounds = {side: cell.rounds[side] for side in sides}
        if operation.is_write:
            for load in loads.values():
                cell.problems += load.check_syncs()
                cell.problems += load.check_stored()
        if name.startswith("POST conversions"):
            cell.problems += self.check_ledger()
        return cell

    def find_stored(self, operation: Operation, marker: str) -> tuple[int, int]:
        """Return the number of rows of a load, and the sum of their transfers."""
        if self.database.engine == "postgresql":
            with psycopg.connect(self.database.url) as connection:
                sql = operation.stored_sql.format(pattern="%(pattern)s")
                row = connection.execute(sql, {"pattern": f"{marker}%"}).fetchone()
        else:
            path = self.database.url.removeprefix("sqlite:///")
            sql = operation.stored_sql.format(pattern=":pattern")
            connection = sqlite3.connect(path)
            row = connection.execute(sql, {"pattern": f"{marker}%"}).fetchone()
            connection.close()
        return int(row[0]), int(row[1])

    def check_ledger(self) -> list[str]:
        """Return what `check_ledger` reports about the account of the service."""
        command = ("check_ledger", "service", "--json")
        try:
            run_manage_py(self.database, *command)
        except subprocess.CalledProcessError as error:
            return [f"check_ledger: {error.stdout[:500]}"]
        return []


class Load:
    """The loads of one side in one cell; it counts the requests of all."""

    def __init__(self, runner: Runner, operation: Operation, side: str, concurrency: int) -> None:
        self.runner = runner
        self.operation = operation
        self.side = side
        self.server = runner.servers.get(side)
        self.concurrency = concurrency
        self.marker = f"{secrets.token_hex(4)}-"
        self.sent = 0
        self.numbers = count()

    def run(self, seconds: float) -> LoadResult:
        """Run a load in other processes: one client, or bare statements in two."""
        number = 1 if self.server else min(RAW_PROCESSES, self.concurrency)
        jobs = [
            Job(
                operation=self.operation.name,
                scenario=asdict(self.runner.scenarios[self.side]),
                marker=f"{self.marker}{next(self.numbers)}-",
                concurrency=self.concurrency // number,
                seconds=seconds,
                port=self.server.port if self.server else 0,
                url=self.runner.database.url,
            )
            for _ in range(number)
        ]
        with ThreadPoolExecutor(number) as pool:
            result = add_up(list(pool.map(run_job, jobs)))
        self.sent += result.sent
        return result

    def measure(self) -> Round:
        """Measure one round, with the CPU time of the server."""
        before = self.server.get_cpu_seconds() if self.server else 0.0
        load = self.run(self.runner.seconds)
        after = self.server.get_cpu_seconds() if self.server else load.cpu_seconds
        cpu = after - before
        return Round(load, server_cpu_ms=cpu / max(load.sent, 1) * 1000)

    def check_syncs(self) -> Iterator[str]:
        """Count the syncs of PostgreSQL's log in one more load; yield a problem."""
        database = self.runner.database
        if database.engine == "postgresql":
            before = database.count_wal_syncs()
            load = self.run(EXTRA_SECONDS)
            syncs = database.count_wal_syncs() - before
            yield from list_sync_problems(self.side, syncs, load.sent, self.concurrency)

    def check_stored(self) -> Iterator[str]:
        """Yield a problem if other rows or sums are stored than were sent."""
        found = self.runner.find_stored(self.operation, self.marker)
        if found != get_expected_rows(self.operation, self.sent):
            yield f"{self.side}: {self.sent} requests stored {found}"


def run_job(job: Job) -> LoadResult:
    """Run a load in another process."""
    process = subprocess.run(
        [sys.executable, "-m", "benchmarks.load"],
        cwd=ROOT,
        input=json.dumps(asdict(job)).encode(),
        check=True,
        stdout=subprocess.PIPE,
    )
    return LoadResult(**json.loads(process.stdout))


def add_up(loads: Sequence[LoadResult]) -> LoadResult:
    """Add the rates of simultaneous loads; waits are those of the slowest."""
    values: dict[str, Any] = {
        name: sum(getattr(load, name) for load in loads)
        for name in ("sent", "rate", "cpu_share", "cpu_seconds")
    }
    for name in ("p50_ms", "p99_ms", "max_ms"):
        values[name] = max(getattr(load, name) for load in loads)
    errors = [error for load in loads for error in load.errors]
    return LoadResult(**values, errors=errors)


def get_expected_rows(operation: Operation, sent: int) -> tuple[int, int]:
    """Return the rows that as many requests store, and the sum of their transfers."""
    commission = round(AMOUNT * 10_000) * COMMISSION_SHARE // 100
    has_transfers = operation.name.startswith("POST conversions")
    return sent, sent * commission if has_transfers else 0


if __name__ == "__main__":
    main()
