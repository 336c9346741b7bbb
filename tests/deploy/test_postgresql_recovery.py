"""Point-in-time recovery of PostgreSQL, with the commands of docs/operations.md."""

import os
import re
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from benchmarks.databases import BINARIES, find_free_port, run_binary
from tests.command_line import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.engine_independent]


def get_commands(title: str, **variables: str) -> str:
    """Return the shell commands under a title of the document, with other variables."""
    document = (ROOT / "docs/operations.md").read_text()
    text = re.search(rf"```sh\n# {title}\n(.*?)```", document, re.DOTALL)[1]
    for name, value in variables.items():
        text, count = re.subn(rf"(?m)^{name}=.*", f"{name}='{value}'", text)
        assert count == 1, name
    return text


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
        run_binary(
            *("pg_ctl", "-D", str(self.data), "-w", "-l", log, "-o", options, "start")
        )
        return self

    def __exit__(self, *error):
        run_binary("pg_ctl", "-D", str(self.data), "-w", "-m", "fast", "stop")

    def manage(self, *command: str) -> str:
        """Run a command of the service; return its output."""
        process = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=os.environ
            | {
                "DATABASE_URL": self.url,
                "DJANGO_SETTINGS_MODULE": "affiliate_site.settings",
                "SECRET_KEY": secrets.token_hex(),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 0, process.stderr
        return process.stdout

    def read(self, statement: str):
        with psycopg.connect(self.url) as connection:
            return connection.execute(statement).fetchall()


@pytest.fixture
def directory(tmp_path):
    if not (BINARIES / "initdb").exists():
        pytest.skip(f"there is no {BINARIES}/initdb")
    # Of another user than the tests if these run as root.
    directory = Path("/tmp") / f"recovery-{secrets.token_hex(8)}"  # noqa: S108
    directory.mkdir(mode=0o755)
    if os.geteuid() == 0:
        shutil.chown(directory, "postgres", "postgres")
    yield directory
    shutil.rmtree(directory)


def test_recovers_to_a_moment(directory):
    backups = directory / "backups"
    run_as_postgres(f"mkdir -p {backups}/wal")
    data = directory / "data"
    run_binary("initdb", "--pgdata", str(data), "--username=postgres", "--auth=trust")
    document = (ROOT / "docs/operations.md").read_text()
    settings = re.search(r"```\n(archive_mode.*?)```", document, re.DOTALL)[1]
    settings = settings.replace("/var/backups/postgresql", str(backups))
    run_as_postgres(f"cat >> {data}/postgresql.conf <<'CONF'\n{settings}CONF")
    with Cluster(data) as cluster:
        cluster.manage("migrate", "--verbosity=0")
        cluster.manage("create_account", "acme", "--name", "Acme", "--use-payouts")
        run_as_postgres(
            get_commands("base backup", BACKUPS=str(backups)),
            PGHOST="127.0.0.1",
            PGPORT=str(cluster.port),
            PGUSER="postgres",
        )
        cluster.manage("fund_payouts", "acme", "100", "EUR")
        ((moment,),) = cluster.read("SELECT clock_timestamp()::text")
        cluster.manage("fund_payouts", "acme", "900", "EUR")
        cluster.read("SELECT pg_switch_wal()")

    recovered = directory / "recovered"
    run_as_postgres(
        get_commands(
            "recovery", BACKUPS=str(backups), DATA=str(recovered), MOMENT=moment
        )
    )
    with Cluster(recovered) as cluster:
        cluster.manage("migrate", "--check")
        assert "1 transfers" in cluster.manage("check_ledger")
        # Writable again, and the ledger goes on.
        assert cluster.manage("fund_payouts", "acme", "1", "EUR") == "101.00 EUR\n"
