"""A real server for races: gunicorn with three workers on the test database."""

import json
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection

from django.utils import timezone

from accounts.models.keys import Role
from accounts.services.keys import issue
from tests.command_line import ROOT, environment

WORKERS, THREADS = 3, 4


def key_of(account) -> str:
    """A new owner's key of the account."""
    return issue(account, name="race", role=Role.OWNER, at=timezone.now())[1]


class Server:
    """Answers requests; its clients keep their connections."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.clients: list[KeptConnection] = []

    def client(self, key: str) -> "KeptConnection":
        self.clients.append(KeptConnection(self.port, key))
        return self.clients[-1]


class KeptConnection:
    """One client with a connection that stays open."""

    def __init__(self, port: int, key: str) -> None:
        self.http = HTTPConnection("127.0.0.1", port, timeout=60)
        self.key = key

    def post(self, path: str, body: dict) -> tuple[int, dict]:
        return self.ask("POST", path, json.dumps(body))

    def ask(self, method: str, path: str, body: str | None = None):
        """Status and JSON of the answer."""
        status, _, content = self.send(method, path, body)
        return status, json.loads(content or b"null")

    def send(self, method: str, path: str, body: str | None = None, **headers: str):
        """Status, headers and bytes of the answer; keyword arguments are headers."""
        headers = {"X-Api-Key": self.key} | headers
        self.http.request(method, f"/1.6{path}", body, headers)
        response = self.http.getresponse()
        return response.status, response.headers, response.read()


@contextmanager
def serving():
    """gunicorn in front of the test database."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        # The socket listens before gunicorn is there: nobody has to wait or ask again.
        door.listen(256)
        server = Server(door.getsockname()[1])
        with subprocess.Popen(
            [sys.executable, "-m", "gunicorn", "-c", "deploy/gunicorn.conf.py"],
            cwd=ROOT,
            env=environment()
            | {
                "BIND": f"fd://{door.fileno()}",
                "WEB_CONCURRENCY": str(WORKERS),
                "WEB_THREADS": str(THREADS),
                "LOG_LEVEL": "ERROR",
            },
            pass_fds=[door.fileno()],
        ) as gunicorn:
            try:
                yield server
            finally:
                gunicorn.terminate()
                for client in server.clients:
                    client.http.close()


def all_at_once(clients, call):
    """Each client makes the call at the same moment; their answers, in order."""
    with ThreadPoolExecutor(len(clients)) as pool:
        return list(pool.map(call, clients))
