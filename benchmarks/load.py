"""Send the requests or statements of one operation, in a process of its own.

`python -m benchmarks.load` reads a job as JSON from the standard input, and prints a
`LoadResult`. HTTP: one thread, raw sockets that stay open, one request at a time on
each. Statements: one thread and one connection for each.
"""

import json
import re
import selectors
import socket
import sqlite3
import statistics
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from itertools import count
from time import perf_counter, process_time
from typing import Any

from benchmarks.answers import REPRESENTATIONS, represent_conversions
from benchmarks.operations import (
    OPERATIONS,
    STATEMENTS,
    Operation,
    Scenario,
    build_values,
)

WARM_UP_SECONDS = 0.3
TIMEOUT_SECONDS = 30
LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]+)", re.IGNORECASE)
CLOSES = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)
SQLITE_COMMANDS = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"


@dataclass(frozen=True)
class Job:
    """What to send, from how many connections, for how long after a warm-up."""

    operation: str
    scenario: dict[str, Any]
    marker: str
    concurrency: int
    seconds: float
    port: int = 0  # of a server; 0 for statements
    url: str = ""  # of a database, for statements
    max_requests: int = 0  # 0: as many as the time allows


@dataclass
class LoadResult:
    """`sent` counts all requests, the other figures those after the warm-up."""

    sent: int = 0
    rate: float = 0.0  # per second
    p50_ms: float = 0.0
    p99_ms: float = 0.0
    max_ms: float = 0.0
    cpu_share: float = 0.0  # of one core
    cpu_seconds: float = 0.0
    errors: list[str] = field(default_factory=list)


class Clock:
    """Measures durations after a warm-up."""

    def __init__(self, seconds: float) -> None:
        self.start = perf_counter() + WARM_UP_SECONDS
        self.end = self.start + seconds
        self.seconds = seconds
        self.durations: list[float] = []
        self.sent = 0

    def add(self, started: float, ended: float) -> bool:
        """Record a request; return whether another one should follow."""
        self.sent += 1
        if self.start <= ended < self.end:
            self.durations.append(ended - started)
        return ended < self.end

    def build_result(self, errors: list[str], cpu_seconds: float) -> LoadResult:
        """Summarize all recorded requests."""
        milliseconds = sorted(duration * 1000 for duration in self.durations) or [0.0]
        return LoadResult(
            sent=self.sent,
            rate=len(self.durations) / self.seconds,
            p50_ms=statistics.median(milliseconds),
            p99_ms=milliseconds[len(milliseconds) * 99 // 100],
            max_ms=milliseconds[-1],
            cpu_share=cpu_seconds / (self.seconds + WARM_UP_SECONDS),
            cpu_seconds=cpu_seconds,
            errors=errors[:3],
        )


class HttpConnection:
    """A connection that stays open; sends one request at a time."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.connect()

    def connect(self) -> None:
        self.socket = socket.create_connection(("127.0.0.1", self.port), 30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""

    def send(self, request: bytes) -> None:
        self.started = perf_counter()
        self.received = b""
        self.socket.sendall(request)

    def receive(self) -> bool:
        """Read what has arrived; return whether the response is complete."""
        part = self.socket.recv(262_144)
        if not part:
            raise ConnectionError("closed before the response was complete")
        self.received += part
        head_end = self.received.find(b"\r\n\r\n")
        if head_end < 0:
            return False
        length = LENGTH.search(self.received, 0, head_end)
        if length is None:
            return self.received.endswith(b"0\r\n\r\n")  # chunked
        return len(self.received) >= head_end + 4 + int(length[1])

    @property
    def is_successful(self) -> bool:
        return self.received[9:10] == b"2"

    @property
    def is_closing(self) -> bool:
        return CLOSES.search(self.received, 0, 2000) is not None


class HttpLoad:
    """Sends HTTP requests over all connections until the time is over."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.operation = OPERATIONS[job.operation]
        self.scenario = Scenario(**job.scenario)
        self.numbers = count()
        self.errors: list[str] = []
        self.selector = selectors.DefaultSelector()

    def run(self) -> LoadResult:
        """Send requests, and wait for the answers to all."""
        connections = [HttpConnection(self.job.port) for _ in range(self.job.concurrency)]
        cpu_before, self.clock = process_time(), Clock(self.job.seconds)
        for connection in connections:
            self.selector.register(connection.socket, selectors.EVENT_READ, connection)
            self.send_next(connection)
        open_requests = len(connections)
        while open_requests:
            ready = self.selector.select(TIMEOUT_SECONDS)
            if not ready:
                self.errors.append(f"no answer within {TIMEOUT_SECONDS} seconds")
                break
            for connection in (key.data for key, _ in ready):
                if connection.receive() and not self.handle_response(connection):
                    open_requests -= 1
        return self.clock.build_result(self.errors, process_time() - cpu_before)

    def send_next(self, connection: HttpConnection) -> None:
        number = next(self.numbers)
        request = self.operation.build_request(self.scenario, number, self.job.marker)
        connection.send(request)

    def handle_response(self, connection: HttpConnection) -> bool:
        """Record a response; return whether the connection sent another request."""
        wants_next = self.clock.add(connection.started, perf_counter())
        if not connection.is_successful:
            self.errors.append(connection.received[:500].decode(errors="replace"))
            return False
        if connection.is_closing:
            self.selector.unregister(connection.socket)
            connection.socket.close()
            connection.connect()
            self.selector.register(connection.socket, selectors.EVENT_READ, connection)
        if self.job.max_requests and self.clock.sent >= self.job.max_requests:
            return False
        if wants_next:
            self.send_next(connection)
        return wants_next


def run_statements(job: Job) -> LoadResult:
    """Run the bare statements, with one thread for each connection."""
    operation, scenario = OPERATIONS[job.operation], Scenario(**job.scenario)
    open_session = open_postgresql if job.url.startswith("postgres") else open_sqlite
    sessions = [open_session(job.url, operation) for _ in range(job.concurrency)]
    numbers, errors = count(), []
    cpu_before, clock = process_time(), Clock(job.seconds)

    def run_thread(run: Run) -> None:
        try:
            is_open = True
            while is_open:
                started = perf_counter()
                run(scenario, next(numbers), job.marker)
                is_open = clock.add(started, perf_counter())
        except Exception as error:  # reported by the runner
            errors.append(repr(error))

    threads = [threading.Thread(target=run_thread, args=[run]) for run in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return clock.build_result(errors, process_time() - cpu_before)


Run = Callable[[Scenario, int, str], Any]


def open_postgresql(url: str, operation: Operation) -> Run:
    """Connect; return a function that runs the operation by prepared statements."""
    import psycopg

    connection = psycopg.connect(url, autocommit=True, prepare_threshold=0)
    statements = bind_names(STATEMENTS["postgresql"][operation.name], "%({})s")

    def run(scenario: Scenario, number: int, marker: str) -> Any:
        values = build_values("postgresql", operation, scenario, number, marker)
        rows = connection.execute(statements[0], values).fetchall()
        if len(statements) == 1:
            return REPRESENTATIONS.get(operation.name, list)(check_rows(rows))
        values["ids"] = [row[0] for row in check_rows(rows)]
        nested = connection.execute(f"{statements[1]} = ANY(%(ids)s)", values)
        return represent_conversions(rows, nested.fetchall())

    return run


def open_sqlite(url: str, operation: Operation) -> Run:
    """Connect; return a function that runs the operation in one transaction."""
    path = url.removeprefix("sqlite:///")
    connection = sqlite3.connect(path, timeout=20, isolation_level=None, check_same_thread=False)
    connection.executescript(SQLITE_COMMANDS)
    statements = bind_names(STATEMENTS["sqlite"][operation.name], ":{}")

    def run(scenario: Scenario, number: int, marker: str) -> Any:
        values = build_values("sqlite", operation, scenario, number, marker)
        if operation.is_write:
            connection.execute("BEGIN IMMEDIATE")
            for statement in statements:
                rows = connection.execute(statement, values).fetchall()
                check_rows(rows)
            return connection.execute("COMMIT")
        rows = check_rows(connection.execute(statements[0], values).fetchall())
        if len(statements) == 1:
            return REPRESENTATIONS[operation.name](rows)
        ids = ", ".join(str(row[0]) for row in rows)
        nested = connection.execute(f"{statements[1]} IN ({ids})", values)
        return represent_conversions(rows, nested.fetchall())

    return run


def bind_names(statements: tuple[str, ...], style: str) -> list[str]:
    """Write the names of values in the style of a driver."""
    names = ("account", "code", "customer", "marker", "uuid", "amount", "at", "offset")
    styles = {name: style.format(name) for name in names}
    return [statement.format(**styles) for statement in statements]


def check_rows(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the rows; raise if a statement found or stored nothing."""
    if not rows:
        raise LookupError("a statement found or stored nothing")
    return rows


def main() -> None:
    """Run the job of the standard input."""
    job = Job(**json.load(sys.stdin))
    result = HttpLoad(job).run() if job.port else run_statements(job)
    json.dump(asdict(result), sys.stdout)


if __name__ == "__main__":
    main()
