"""Point-in-time recovery of PostgreSQL, with the commands of docs/operations.md."""

import re

import pytest

from benchmarks.databases import run_binary
from tests.command_line import ROOT
from tests.deploy.clusters import Cluster, directory, run_as_postgres  # noqa: F401

pytestmark = [pytest.mark.slow, pytest.mark.engine_independent]


def get_commands(title: str, **variables: str) -> str:
    """Return the shell commands under a title of the document, with other variables."""
    document = (ROOT / "docs/operations.md").read_text()
    text = re.search(rf"```sh\n# {title}\n(.*?)```", document, re.DOTALL)[1]
    for name, value in variables.items():
        text, count = re.subn(rf"(?m)^{name}=.*", f"{name}='{value}'", text)
        assert count == 1, name
    return text


def test_recovers_to_a_moment(directory):  # noqa: F811
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
        run_as_postgres(f"mkdir {backups}/base-2020-01-01T000000Z")
        run_as_postgres(f"touch {backups}/wal/000000010000000000000000")
        run_as_postgres(
            f"BACKUPS={backups} {ROOT}/deploy/postgresql-backup",
            PGHOST="127.0.0.1",
            PGPORT=str(cluster.port),
            PGUSER="postgres",
        )
        (base,) = backups.glob("base-*")
        assert oct(base.stat().st_mode) == "0o40700"
        assert not (backups / "wal/000000010000000000000000").exists()
        cluster.manage("fund_payouts", "acme", "100", "EUR")
        ((moment,),) = cluster.read("SELECT clock_timestamp()::text")
        cluster.manage("fund_payouts", "acme", "900", "EUR")
        cluster.read("SELECT pg_switch_wal()")

    recovered = directory / "recovered"
    run_as_postgres(
        get_commands("recovery", BACKUPS=str(backups), DATA=str(recovered), MOMENT=moment)
    )
    with Cluster(recovered) as cluster:
        cluster.manage("migrate", "--check")
        assert "1 transfers" in cluster.manage("check_ledger")
        # Writable again, and the ledger goes on.
        assert cluster.manage("fund_payouts", "acme", "1", "EUR") == "101.00 EUR\n"
