"""Report the memory of the workers while the service answers many requests.

    python -m benchmarks.memory --requests 100000

PSS, the proportional share of shared pages, in MiB. Workers are not replaced after a
number of requests, as they are in production. Exit code 1: a goal is missed.
"""

import argparse
import os
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.api import fill_database, render_load, run_job
from benchmarks.databases import create_database
from benchmarks.load import Job
from benchmarks.operations import OPERATIONS
from benchmarks.results import SERVICE
from benchmarks.servers import Server, start_service

MAX_PSS_MIB = 60.0
MAX_GROWTH = 1.05  # of the largest worker, from the first to the last report
ROWS = 2000
CONCURRENCY = 8


def main() -> None:
    """Send requests of all kinds in turn, and report at intervals."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory")
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--reports", type=int, default=10)
    parser.add_argument("--engine", default="postgresql")
    options = parser.parse_args()
    os.environ["LOG_LEVEL"] = "ERROR"
    sizes: list[float] = []
    with create_database(options.engine) as database:
        scenario = asdict(fill_database(database, ROWS)[SERVICE])
        with start_service(database, "--max-requests=0") as server:
            sent, number = 0, 0
            # The first report follows the first load: workers are lazy.
            while sent < options.requests:
                for name in OPERATIONS:
                    number += 1
                    job = Job(
                        operation=name,
                        scenario=scenario,
                        marker=f"m{number}-",
                        concurrency=CONCURRENCY,
                        seconds=60,
                        max_requests=max(1, options.requests // options.reports // len(OPERATIONS)),
                        port=server.port,
                    )
                    load = run_job(job)
                    if load.errors:
                        sys.exit(f"void: {load.errors[0]}")
                    sent += load.sent
                workers = list_worker_sizes(server)
                sizes.append(max(workers))
                shown = " ".join(f"{size:.1f}" for size in workers)
                print(f"{sent:8} requests: PSS {shown} MiB; {render_load()}", flush=True)
    growth = sizes[-1] / sizes[0]
    is_met = sizes[-1] <= MAX_PSS_MIB and growth <= MAX_GROWTH
    print("met   " if is_met else "MISSED", end=" ")
    print(f"at most {MAX_PSS_MIB:.0f} MiB and x{MAX_GROWTH}: x{growth:.3f}")
    sys.exit(0 if is_met else 1)


def list_worker_sizes(server: Server) -> list[float]:
    """Return the PSS of each worker in MiB."""
    return [read_pss_mib(process) for process in server.list_processes()[1:]]


def read_pss_mib(process_id: int) -> float:
    """Return the proportional set size of a process in MiB."""
    text = Path(f"/proc/{process_id}/smaps_rollup").read_text()
    (kib,) = (line.split()[1] for line in text.splitlines() if line.startswith("Pss:"))
    return int(kib) / 1024


if __name__ == "__main__":
    main()
