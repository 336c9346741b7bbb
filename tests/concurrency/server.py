"""gunicorn with three workers on the test database."""

import json
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection

from django.utils import timezone

from accounts.models.api_keys import Role
from accounts.services.api_keys import create_api_key
from tests.command_line import ROOT, build_environment

WORKERS, THREADS = 3, 4
TIMEOUT = 180  # seconds; for a machine with other work to do
READY_SECONDS = 10


def make_key(account) -> str:
    """Create an API key with the role owner."""
    return create_api_key(account, name="race", role=Role.OWNER, at=timezone.now())[1]


class Server:
    """A running server; it keeps the connections of its clients."""

    def __init__(self, port: int, process: subprocess.Popen) -> None:
        self.port = port
        self.process = process
        self.clients: list[PersistentConnection] = []

    def connect(self, key: str) -> "PersistentConnection":
        self.clients.append(PersistentConnection(self.port, key))
        return self.clients[-1]

    def wait_until_ready(self) -> None:
        """Return when the server answers: browsers wait less long for its start.

        The socket accepts connections even if the server refuses to start.
        """
        for _ in range(TIMEOUT // READY_SECONDS):
            assert self.process.poll() is None, "the server did not start: see its log"
            http = HTTPConnection("127.0.0.1", self.port, timeout=READY_SECONDS)
            with closing(http), suppress(TimeoutError):
                http.request("GET", "/readyz")
                assert http.getresponse().status == 200
                return
        raise AssertionError("the server does not answer")


class PersistentConnection:
    """A client with one connection that stays open."""

    def __init__(self, port: int, key: str) -> None:
        self.http = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
        self.key = key

    def post(self, path: str, body: dict) -> tuple[int, dict]:
        return self.request_json("POST", path, json.dumps(body))

    def request_json(self, method: str, path: str, body: str | None = None):
        """Return status and JSON of the response."""
        status, _, content = self.request(method, path, body)
        return status, json.loads(content or b"null")

    def request(self, method: str, path: str, body: str | None = None, **headers: str):
        """Return status, headers and body; keyword arguments are request headers."""
        headers = {"X-Api-Key": self.key} | headers
        self.http.request(method, f"/1.6{path}", body, headers)
        response = self.http.getresponse()
        return response.status, response.headers, response.read()


@contextmanager
def run_server(*arguments: str, workers: int = WORKERS, **environment: str):
    """Run gunicorn on the test database, with further command-line arguments and
    environment variables."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        # The socket listens before gunicorn starts, so that clients need no retry.
        listener.listen(256)
        command = [sys.executable, "-m", "gunicorn", "-c", "deploy/gunicorn.conf.py"]
        with subprocess.Popen(  # noqa: S603 - our own command
            [*command, *arguments],
            cwd=ROOT,
            env=build_environment()
            | {
                "BIND": f"fd://{listener.fileno()}",
                "WEB_CONCURRENCY": str(workers),
                "WEB_THREADS": str(THREADS),
                "LOG_LEVEL": "ERROR",
            }
            | environment,
            pass_fds=[listener.fileno()],
        ) as gunicorn:
            server = Server(listener.getsockname()[1], gunicorn)
            try:
                yield server
            finally:
                gunicorn.terminate()
                for client in server.clients:
                    client.http.close()


def run_simultaneously(clients, call):
    """Run the call for all clients in parallel; return the results in order."""
    with ThreadPoolExecutor(len(clients)) as pool:
        return list(pool.map(call, clients))
