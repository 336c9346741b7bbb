"""PostgreSQL clusters in directories of their own."""

import os
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from benchmarks.databases import BINARIES, find_free_port, run_binary
from tests.command_line import ROOT


def run_as_postgres(commands: str, **environment: str) -> None:
    """Run shell commands as the user of PostgreSQL, who must not be root."""
    prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    path = f"{BINARIES}:{os.environ['PATH']}"
    subprocess.run(  # noqa: S603 - our own commands
        [*prefix, "env", f"PATH={path}", "sh", "-e"],
        input=commands,
        text=True,
        check=True,
        cwd="/",
        env=os.environ | environment,
    )


class Cluster:
    """A PostgreSQL cluster in a directory."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.port = find_free_port()
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    def __enter__(self):
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -k {self.data.parent}"
        log = str(self.data.parent / f"{self.data.name}.log")
        run_binary(*("pg_ctl", "-D", str(self.data), "-w", "-l", log, "-o", options, "start"))
        return self

    def __exit__(self, *error):
        run_binary("pg_ctl", "-D", str(self.data), "-w", "-m", "fast", "stop")

    def list_processes(self) -> list[int]:
        """Return the ids of the server's processes, the main one first."""
        main = int((self.data / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        return [main, *map(int, children)]

    def run(self, *command: str, **environment: str):
        """Run a command of the service."""
        return subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=os.environ
            | {
                "DATABASE_URL": self.url,
                "DJANGO_SETTINGS_MODULE": "affiliate_site.settings",
                "SECRET_KEY": secrets.token_hex(),
            }
            | environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def manage(self, *command: str) -> str:
        """Run a command that succeeds; return its output."""
        process = self.run(*command)
        assert process.returncode == 0, process.stderr
        return process.stdout

    def read(self, statement: str):
        with psycopg.connect(self.url) as connection:
            return connection.execute(statement).fetchall()

    def copy(self, data: Path) -> "Cluster":
        """Copy the cluster into a directory; the copy follows it once it runs."""
        address = f"--dbname=postgres://postgres@127.0.0.1:{self.port}"
        run_binary("pg_basebackup", address, f"--pgdata={data}", "-R", "-X", "stream")
        return Cluster(data)


@pytest.fixture(scope="module")
def directory():
    """A directory of the user of PostgreSQL."""
    if not (BINARIES / "initdb").exists():
        pytest.skip(f"there is no {BINARIES}/initdb")
    # Of another user than the tests if these run as root.
    directory = Path("/tmp") / f"affiliate-site-{secrets.token_hex(8)}"  # noqa: S108
    directory.mkdir(mode=0o755)
    if os.geteuid() == 0:
        shutil.chown(directory, "postgres", "postgres")
    yield directory
    shutil.rmtree(directory)
