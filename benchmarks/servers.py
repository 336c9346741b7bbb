"""Start the service and the servers it is compared with; measure their processes."""

import base64
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, sleep

from benchmarks.databases import Database

ROOT = Path(__file__).resolve().parents[1]
START_SECONDS = 60
MAX_LOG_CHARACTERS = 10_000  # of a server that did not start
WORKERS, THREADS = 2, 4
GUNICORN = (sys.executable, "-m", "gunicorn")
SERVICE = (*GUNICORN, "-c", "deploy/gunicorn.conf.py")
TEXTBOOK_DRF = (
    *(*GUNICORN, "-c", "benchmarks/drf_gunicorn.py"),
    "django.core.wsgi:get_wsgi_application()",
)
FASTAPI = (sys.executable, "-m", "uvicorn", "benchmarks.fastapi_server:app")
FASTAPI_OPTIONS = ("--workers", str(WORKERS), "--no-access-log", "--log-level=warning")
ENCRYPTION_KEY = base64.b64encode(secrets.token_bytes(32)).decode()
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Server:
    """A running server."""

    port: int
    process: subprocess.Popen[bytes]

    def list_processes(self) -> list[int]:
        """Return the ids of its processes: the main one first, then the workers."""
        main = self.process.pid
        children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        return [main, *map(int, children)]

    def get_cpu_seconds(self) -> float:
        """Return the CPU time that it has used, with ended workers."""
        return sum(map(get_cpu_seconds, self.list_processes()))


def get_cpu_seconds(process_id: int) -> float:
    """Return the CPU time of a process and of its ended children."""
    text = Path(f"/proc/{process_id}/stat").read_text()
    fields = text.rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / CLOCK_TICKS


def build_environment(database: Database) -> dict[str, str]:
    """Return the environment of processes that use the database."""
    return (
        {"ENCRYPTION_KEYS": ENCRYPTION_KEY}
        | os.environ
        | {
            "DATABASE_URL": database.url,
            "DJANGO_SETTINGS_MODULE": "affiliate_site.settings",
            "SECRET_KEY": secrets.token_urlsafe(50),
            "LOG_FORMAT": "json",
            "WEB_CONCURRENCY": str(WORKERS),
            "WEB_THREADS": str(THREADS),
        }
    )


def run_manage_py(database: Database, *command: str) -> str:
    """Run `manage.py`; return its output."""
    process = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env=build_environment(database),
        check=True,
        capture_output=True,
        text=True,
    )
    return process.stdout


def has_fastapi() -> bool:
    """Whether FastAPI, uvicorn and asyncpg are installed."""
    return all(find_spec(name) for name in ("fastapi", "uvicorn", "asyncpg"))


@contextmanager
def start_service(database: Database, *arguments: str) -> Iterator[Server]:
    """Run the service with its shipped gunicorn configuration."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        environment = {"BIND": f"fd://{listener.fileno()}"}
        command = [*SERVICE, *arguments]
        with run_server(command, listener, database, environment) as server:
            yield server


@contextmanager
def start_textbook_drf(database: Database) -> Iterator[Server]:
    """Run the textbook DRF application in the same gunicorn configuration."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        environment = {
            "BIND": f"fd://{listener.fileno()}",
            "DJANGO_SETTINGS_MODULE": "benchmarks.drf_settings",
        }
        with run_server(TEXTBOOK_DRF, listener, database, environment) as server:
            yield server


@contextmanager
def start_fastapi(database: Database, account_id: int) -> Iterator[Server]:
    """Run the FastAPI application, which serves one account."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = [*FASTAPI, *FASTAPI_OPTIONS, "--fd", str(listener.fileno())]
        environment = {"BENCHMARK_ACCOUNT_ID": str(account_id)}
        with run_server(command, listener, database, environment) as server:
            yield server


@contextmanager
def run_server(
    command: list[str] | tuple[str, ...],
    listener: socket.socket,
    database: Database,
    environment: dict[str, str],
) -> Iterator[Server]:
    """Run a server on a socket that listens already, and wait for its answer."""
    # Accepted sockets inherit it; uvicorn does not set it on an inherited socket.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.listen(256)
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(  # noqa: S603 - our own command
            command,
            cwd=ROOT,
            env=build_environment(database) | environment,
            stdout=subprocess.DEVNULL,
            stderr=log,
            pass_fds=[listener.fileno()],
        ) as process,
    ):
        try:
            server = Server(listener.getsockname()[1], process)
            try:
                wait_until_ready(server)
            except OSError:
                log.seek(0)
                sys.stderr.write(log.read()[-MAX_LOG_CHARACTERS:])
                raise
            yield server
        finally:
            process.terminate()


def wait_until_ready(server: Server) -> None:
    """Wait until the server answers a request with any status."""
    deadline = monotonic() + START_SECONDS
    while True:
        try:
            connection = HTTPConnection("127.0.0.1", server.port, timeout=5)
            connection.request("GET", "/")
            connection.getresponse().read()
            return
        except OSError:
            if server.process.poll() is not None or monotonic() > deadline:
                raise
            sleep(0.2)
