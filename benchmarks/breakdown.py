"""Show where the CPU time of a request goes: HTTP server, statements, everything else.

    python -m benchmarks.breakdown

Each operation is measured twice: over HTTP with one connection, and in a process of
its own that calls the WSGI application, with a clock around each statement.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from io import BytesIO
from time import thread_time
from typing import Any

from benchmarks.api import fill_database, render_load, run_job
from benchmarks.databases import create_database
from benchmarks.load import Job
from benchmarks.operations import OPERATIONS, Scenario
from benchmarks.results import SERVICE
from benchmarks.servers import ROOT, build_environment, start_service

ROWS = 3000
WARM_UP_REQUESTS = 60  # prepared statements are used from the sixth time on
REQUESTS = 400
HTTP_SECONDS = 3.0


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.breakdown")
    add = parser.add_argument
    add("--requests", type=int, default=REQUESTS, help="in process, of an operation")
    add("--seconds", type=float, default=HTTP_SECONDS, help="over HTTP, likewise")
    add("--in-process", action="store_true", help="with a scenario as standard input")
    return parser.parse_args()


def main(options: argparse.Namespace) -> None:
    """Print a line for each operation."""
    command = [sys.executable, "-m", "benchmarks.breakdown", "--in-process"]
    with create_database("postgresql") as database:
        scenario = asdict(fill_database(database, ROWS)[SERVICE])
        print(f"CPU ms per request; {render_load()}")
        in_process = subprocess.run(  # noqa: S603 - our own command
            [*command, f"--requests={options.requests}"],
            input=json.dumps(scenario),
            cwd=ROOT,
            env=build_environment(database) | {"LOG_LEVEL": "INFO"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # the request log
            check=True,
            text=True,
        )
        measured = json.loads(in_process.stdout)
        with start_service(database, "--max-requests=0") as server:
            for name, (total, in_statements, count) in measured.items():
                marker = f"http {name}-"
                job = Job(name, scenario, marker, 1, options.seconds, server.port)
                before = server.get_cpu_seconds()
                load = run_job(job)
                over_http = (server.get_cpu_seconds() - before) / load.sent * 1000
                print(
                    f"{name:32} over HTTP {over_http:5.2f}  in process {total:5.2f}:"
                    f" {count:4.1f} statements {in_statements:5.2f},"
                    f" the rest {total - in_statements:5.2f}"
                )
    print(render_load())


def measure_in_process(requests: int) -> None:
    """Print the CPU ms, those of them in statements, and their number, by operation."""
    from affiliate_site import wsgi

    scenario = Scenario(**json.load(sys.stdin))
    results = {}
    for name in OPERATIONS:
        for number in range(WARM_UP_REQUESTS):
            send_request(wsgi.application, scenario, name, number)
        with time_statements() as statements:
            started = thread_time()
            for number in range(requests):
                send_request(wsgi.application, scenario, name, WARM_UP_REQUESTS + number)
            total = thread_time() - started
        in_statements = sum(statements)
        results[name] = (
            total / requests * 1000,
            in_statements / requests * 1000,
            len(statements) / requests,
        )
    json.dump(results, sys.stdout)


def send_request(application: Any, scenario: Scenario, name: str, number: int) -> None:
    """Call the WSGI application; a status other than 2xx ends the process."""
    request = OPERATIONS[name].build_request(scenario, number, f"{name}-")
    head, _, body = request.partition(b"\r\n\r\n")
    start_line, *fields = head.decode().split("\r\n")
    method, target, _ = start_line.split()
    path, _, query = target.partition("?")
    headers = dict(field.split(": ", 1) for field in fields)
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "HTTP_HOST": headers["Host"],
        "HTTP_X_API_KEY": headers["X-Api-Key"],
        "REMOTE_ADDR": "127.0.0.1",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(body),
        "wsgi.errors": sys.stderr,
    }
    statuses: list[str] = []
    chunks = application(environ, lambda status, headers: statuses.append(status))
    content = b"".join(chunks)
    chunks.close()
    if not statuses[0].startswith("2"):
        sys.exit(f"{name}: {statuses[0]} {content.decode()}")


@contextmanager
def time_statements() -> Iterator[list[float]]:
    """Collect the CPU seconds of each statement, with those of COMMIT."""
    from django.db import connection

    seconds: list[float] = []
    commit = connection.commit

    def time_commit() -> None:
        started = thread_time()
        commit()
        seconds.append(thread_time() - started)

    def time_statement(execute, *arguments) -> Any:
        started = thread_time()
        try:
            return execute(*arguments)
        finally:
            seconds.append(thread_time() - started)

    connection.commit = time_commit
    with connection.execute_wrapper(time_statement):
        yield seconds
    connection.commit = commit


if __name__ == "__main__":
    arguments = parse_arguments()
    if arguments.in_process:
        measure_in_process(arguments.requests)
    else:
        main(arguments)
