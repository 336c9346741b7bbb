"""Requests that several processes count at once.

Run as a script, it counts in copies of one process, which need no start of their own.
"""

import json
import subprocess
import sys
from datetime import datetime
from multiprocessing import get_context

from tests.command_line import PROCESS_SECONDS, ROOT, build_environment

PROCESSES = 4
HITS = 100  # of each process


def count_in_processes(subject, *, at=None, **environment) -> list[list[int]]:
    """Return the hits and the reset that each request got."""
    arguments = [subject, *([at.isoformat()] if at else [])]
    process = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-m", "tests.accounts.services.counting", *arguments],
        cwd=ROOT,
        env=build_environment() | environment,
        text=True,
        stdout=subprocess.PIPE,
        check=True,
        timeout=PROCESS_SECONDS,
    )
    return json.loads(process.stdout)


def main(subject, *times) -> None:
    """Print what all processes got, which begin at the same time."""
    import django

    django.setup()
    from accounts import redis_counters
    from accounts.services.rate_limits import RateLimit, count_request

    redis_counters.ANSWER_SECONDS = 60  # a busy test machine must not make it fall back
    times = [datetime.fromisoformat(time) for time in times]
    multiprocessing = get_context("fork")
    beginning = multiprocessing.Barrier(PROCESSES)

    def count(results):
        limit, at = RateLimit(100, minutes=1), times[0] if times else None
        beginning.wait(PROCESS_SECONDS)
        usages = [count_request(subject, limit, at=at) for _ in range(HITS)]
        results.put([(usage.hits, usage.reset_timestamp) for usage in usages])

    results = multiprocessing.Queue()
    for _ in range(PROCESSES):
        multiprocessing.Process(target=count, args=[results]).start()
    print(json.dumps([usage for _ in range(PROCESSES) for usage in results.get()]))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
