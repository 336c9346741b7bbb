"""Servers on a private PostgreSQL, and clients that post sales meanwhile."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from itertools import count
from pathlib import Path

from tests.command_line import ROOT

START_SECONDS = 120
STOP_SECONDS = 60


class Host:
    """gunicorn on a socket that stays open while it restarts, as with systemd."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        self.environment = os.environ | environment
        self.process: subprocess.Popen | None = None

    def start(self, directory: Path = ROOT) -> None:
        """Serve the release in the directory, and wait until it does."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gunicorn", "-c", "deploy/gunicorn.conf.py"],
            cwd=directory,
            env=self.environment | {"BIND": f"fd://{self.listener.fileno()}"},
            pass_fds=[self.listener.fileno()],
            start_new_session=True,
        )
        deadline = time.monotonic() + START_SECONDS
        while get_status(self.port, "/readyz") != 200:
            assert self.process.poll() is None, "gunicorn has ended"
            assert time.monotonic() < deadline, "gunicorn is not ready"

    def stop(self) -> None:
        """End it as `systemctl stop` does; requests in hand end first."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(STOP_SECONDS)

    def kill(self) -> None:
        """End all its processes at once, and refuse connections, as a lost machine."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(STOP_SECONDS)
        self.listener.close()

    def close(self) -> None:
        self.stop()
        self.listener.close()


def get_status(port: int, path: str) -> int:
    """Return the status of a GET, or 0 without an answer."""
    with suppress(OSError, HTTPException):
        return send(port, "GET", path)[0]
    return 0


def send(port, method, path, body=None, *, key="", **headers):
    """Send a request on a new connection; return status and JSON of the answer."""
    http = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        sent = {"X-Api-Key": key} | headers
        http.request(method, path, json.dumps(body) if body else None, sent)
        response = http.getresponse()
        content = response.read()
    finally:
        http.close()
    try:
        return response.status, json.loads(content)
    except ValueError:
        return response.status, content


def manage(environment, *command: str, directory: Path = ROOT) -> str:
    """Run a command of the release in the directory; return its output."""
    process = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "manage.py", *command],
        cwd=directory,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout.strip()


def enroll_affiliate(post) -> str:
    """Create an affiliate in the program `spring`; return its referral code."""
    person = {"firstname": "Hana", "lastname": "Kim", "email": "hana@example.org"}
    assert post("/1.6/affiliates/", person)[0] == 200
    body = {"affiliate": {"id": "hanakim"}, "approved": True}
    status, answer = post("/1.6/programs/spring/affiliates/", body)
    assert status == 200, answer
    return answer["referral_link"]["link"].partition("ref=")[2]


class SalesLoad:
    """Threads that post sales one after the other until the end of the block.

    `post` sends a path and a body, and returns status and answer.
    """

    def __init__(self, post, code: str, *, threads: int = 4) -> None:
        self.post = post
        self.code = code
        self.numbers = count()
        self.acknowledged: list[str] = []
        self.refused: list[tuple] = []
        self.longest_seconds = 0.0
        self.changed = threading.Condition()
        self.is_ending = threading.Event()
        self.pool = ThreadPoolExecutor(threads)
        self.threads = threads

    def __enter__(self):
        self.tasks = [self.pool.submit(self.run) for _ in range(self.threads)]
        return self

    def __exit__(self, *error):
        self.is_ending.set()
        self.pool.shutdown()
        for task in self.tasks:
            task.result()

    def run(self) -> None:
        while not self.is_ending.is_set():
            order = f"order-{next(self.numbers)}"
            body = {"referral_code": self.code, "external_id": order, "amount": "10"}
            started = time.monotonic()
            try:
                status, answer = self.post("/1.6/conversions/", body)
            except (OSError, HTTPException) as error:
                status, answer = 0, error
            seconds = time.monotonic() - started
            with self.changed:
                self.longest_seconds = max(self.longest_seconds, seconds)
                if status == 200:
                    self.acknowledged.append(order)
                else:
                    self.refused.append((order, status, answer))
                self.changed.notify_all()

    def wait_for(self, sales: int) -> None:
        """Wait until this many more sales are acknowledged."""
        with self.changed:
            wanted = len(self.acknowledged) + sales
            assert self.changed.wait_for(lambda: len(self.acknowledged) >= wanted, START_SECONDS), (
                self.refused[-3:]
            )
