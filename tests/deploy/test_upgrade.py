"""An upgrade as in docs/upgrading.md, while clients post sales: from the newest commit
with fewer migrations to this one, back, and forth again."""

import re
import secrets
import signal
import subprocess

import psycopg
import pytest
from django.db import connection

from benchmarks.databases import BINARIES, create_database
from tests.command_line import ROOT
from tests.deploy.hosts import Host, SalesLoad, enroll_affiliate, manage, send

pytestmark = [
    pytest.mark.slow,
    pytest.mark.engine_independent,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="has its own PostgreSQL"),
    pytest.mark.skipif(not BINARIES.is_dir(), reason="PostgreSQL is not installed"),
]
MIGRATIONS = re.compile(r"(accounts|tracking|payouts)/migrations/\d{4}_\w+\.py")
SALES = 40  # acknowledged in each phase


def git(*arguments):
    return subprocess.run(  # noqa: S603 - our own command
        ["git", *arguments],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout


def list_migrations(commit):
    names = git("ls-tree", "-r", "--name-only", commit).decode().splitlines()
    return {name for name in names if MIGRATIONS.fullmatch(name)}


def find_previous_release():
    """Return the newest commit that has no migration but some of the present ones."""
    present = {
        f"{path.parent.parent.name}/migrations/{path.name}"
        for path in ROOT.glob("*/migrations/0*.py")
    }
    for commit in git("rev-list", "--first-parent", "HEAD").decode().split():
        if list_migrations(commit) < present:
            return commit
    return None


@pytest.fixture(scope="module")
def previous(tmp_path_factory):
    """The directory of the previous release."""
    try:
        commit = find_previous_release()
    except (OSError, subprocess.CalledProcessError):
        commit = None
    if commit is None:
        pytest.skip("the history of git has no commit with fewer migrations")
    directory = tmp_path_factory.mktemp("previous")
    subprocess.run(  # noqa: S603 - our own command
        ["tar", "-x", "-C", str(directory)],  # noqa: S607
        input=git("archive", commit),
        check=True,
    )
    return directory


@pytest.fixture
def environment():
    handler = signal.getsignal(signal.SIGTERM)
    with create_database("postgresql") as database:
        yield {
            "DATABASE_URL": database.url,
            "SECRET_KEY": secrets.token_hex(32),
            "DJANGO_SETTINGS_MODULE": "affiliate_site.settings",
            "LOG_LEVEL": "ERROR",
            "LOG_FORMAT": "json",
        }
    signal.signal(signal.SIGTERM, handler)


def test_upgrade_loses_and_refuses_nothing(environment, previous):
    manage(environment, "migrate", "--verbosity=0", directory=previous)
    manage(environment, "collectstatic", "--noinput", directory=previous)
    manage(environment, "create_account", "acme", "--name=Acme", directory=previous)
    manage(
        *(environment, "create_program", "acme", "spring", "--title=Spring"),
        *("--currency=EUR", "--auto-approve-commissions"),
        directory=previous,
    )
    key = manage(*(environment, "create_api_key", "acme", "--role=owner"), directory=previous)
    before = list_applied_migrations(environment)
    host = Host(environment)
    try:
        host.start(previous)

        def post(path, body):
            return send(host.port, "POST", path, body, key=key)

        with SalesLoad(post, enroll_affiliate(post)) as load:
            load.wait_for(SALES)
            manage(environment, "migrate", "--verbosity=0")
            load.wait_for(SALES)  # the previous code on the new tables
            for directory in (ROOT, previous, ROOT):  # forth, back, and forth
                host.stop()
                host.start(directory)
                load.wait_for(SALES)
    finally:
        host.close()

    assert list_applied_migrations(environment) > before
    assert load.refused == []
    assert list_stored_orders(environment) == set(load.acknowledged)
    assert "OK" in manage(environment, "check_ledger")
    print(  # noqa: T201
        f"{len(load.acknowledged)} sales acknowledged,"
        f" the slowest after {load.longest_seconds:.1f} s"
    )


def list_applied_migrations(environment):
    with psycopg.connect(environment["DATABASE_URL"]) as database:
        return set(database.execute("SELECT app, name FROM django_migrations"))


def list_stored_orders(environment):
    with psycopg.connect(environment["DATABASE_URL"]) as database:
        rows = database.execute("SELECT external_id FROM tracking_conversion")
        return {name for (name,) in rows}
