"""A real server for races: gunicorn with three workers on a database of its own."""

import json
import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

from django.conf import settings
from django.db import connection

ROOT = Path(__file__).resolve().parents[2]
WORKERS, THREADS = 3, 4


class Server:
    """Runs commands on the private database, and answers requests."""

    def __init__(self, url: str, port: int) -> None:
        self.port = port
        self.clients: list[KeptConnection] = []
        self.env = os.environ | {
            "DATABASE_URL": url,
            "DJANGO_SETTINGS_MODULE": "affiliate_site.settings",
            "SECRET_KEY": settings.SECRET_KEY,
            "WEB_CONCURRENCY": str(WORKERS),
            "WEB_THREADS": str(THREADS),
            "LOG_FORMAT": "json",
            "LOG_LEVEL": "ERROR",
        }

    def manage(self, *words: str) -> str:
        """Standard output of a command; it has to succeed."""
        done = subprocess.run(  # noqa: S603 - our own command line
            [sys.executable, "manage.py", *words],
            cwd=ROOT,
            env=self.env,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

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
def serving(folder: Path):
    """A migrated database on this test run's engine, and gunicorn in front of it."""
    with (
        private_database(folder) as url,
        socket.create_server(("127.0.0.1", 0)) as door,
    ):
        # The socket listens before gunicorn is there: nobody has to wait or ask again.
        door.listen(256)
        server = Server(url, door.getsockname()[1])
        server.manage("migrate", "--verbosity", "0")
        with subprocess.Popen(
            [sys.executable, "-m", "gunicorn", "-c", "deploy/gunicorn.conf.py"],
            cwd=ROOT,
            env=server.env | {"BIND": f"fd://{door.fileno()}"},
            pass_fds=[door.fileno()],
        ) as gunicorn:
            try:
                yield server
            finally:
                gunicorn.terminate()
                for client in server.clients:
                    client.http.close()


@contextmanager
def private_database(folder: Path):
    """Its URL: a file, or a database beside the one that the tests run on."""
    if connection.vendor == "sqlite":
        yield f"sqlite:///{folder / 'race.sqlite3'}"
        return
    name = f"race_{uuid4().hex[:12]}"
    told = connection.settings_dict
    user, password = quote(told["USER"]), quote(told["PASSWORD"])
    host = f"{told['HOST'] or '127.0.0.1'}:{told['PORT'] or 5432}"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    try:
        yield f"postgres://{user}:{password}@{host}/{name}"
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")


def all_at_once(clients, call):
    """Each client makes the call at the same moment; their answers, in order."""
    with ThreadPoolExecutor(len(clients)) as pool:
        return list(pool.map(call, clients))
