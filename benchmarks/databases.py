"""A private, durable database for one run: a PostgreSQL cluster or an SQLite file."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

BINARIES = Path(os.environ.get("POSTGRESQL_BIN", "/usr/lib/postgresql/15/bin"))
DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
SETTINGS = DURABLE | {
    "listen_addresses": "127.0.0.1",
    "shared_buffers": "1GB",
    "max_wal_size": "4GB",
    "max_connections": "100",
    "autovacuum_naptime": "10s",
}


@dataclass(frozen=True)
class Database:
    """A database of a run; `url` is a value of `DATABASE_URL`."""

    engine: str
    url: str

    def is_durable(self) -> bool:
        """Whether PostgreSQL writes each commit to disk before it acknowledges it."""
        if self.engine == "sqlite":
            return True  # the service sets it for each connection
        with psycopg.connect(self.url) as connection:
            rows = connection.execute(
                "SELECT name, setting FROM pg_settings WHERE name = ANY(%s)"
                " UNION ALL SELECT 'role', 'overridden' FROM pg_db_role_setting",
                [list(DURABLE)],
            ).fetchall()
        return dict(rows) == DURABLE

    def count_wal_syncs(self) -> int:
        """Return how often PostgreSQL has synced its log to disk.

        Sessions report their numbers late, but when they end: all others are ended.
        """
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
            row = connection.execute("SELECT wal_sync FROM pg_stat_wal").fetchone()
        return int(row[0]) if row else 0


@contextmanager
def create_database(engine: str) -> Iterator[Database]:
    """Create a database in a temporary directory, and remove it afterwards."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    directory = Path(tempfile.mkdtemp(prefix="affiliate-site-benchmark-"))
    try:
        if engine == "sqlite":
            yield Database(engine, f"sqlite:///{directory}/benchmark.sqlite3")
        else:
            with run_cluster(directory) as url:
                yield Database(engine, url)
    finally:
        shutil.rmtree(directory)


@contextmanager
def run_cluster(directory: Path) -> Iterator[str]:
    """Run a PostgreSQL cluster in the directory; yield the URL of a database."""
    password, port = secrets.token_hex(16), find_free_port()
    secret = directory / "password"
    secret.write_text(password)
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        for path in (directory, secret):
            shutil.chown(path, "postgres", "postgres")
    data = str(directory / "data")
    run_binary(
        *("initdb", "--pgdata", data, "--username=benchmark", f"--pwfile={secret}"),
        *("--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8"),
    )
    settings = SETTINGS | {"port": str(port), "unix_socket_directories": str(directory)}
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    log = str(directory / "log")
    run_binary("pg_ctl", "-D", data, "-w", "-l", log, "-o", options, "start")
    try:
        yield f"postgres://benchmark:{password}@127.0.0.1:{port}/postgres"
    finally:
        run_binary("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")


def run_binary(name: str, *arguments: str) -> None:
    """Run a program of PostgreSQL, as its own user if this one is root."""
    prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    subprocess.run(  # noqa: S603 - our own command
        [*prefix, str(BINARIES / name), *arguments],
        check=True,
        cwd="/",
        stdout=subprocess.DEVNULL,
    )


def find_free_port() -> int:
    """Return a TCP port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
