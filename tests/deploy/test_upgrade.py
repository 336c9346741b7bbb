"""An upgrade as in docs/upgrading.md, while clients post sales: from this release to one
that changes a table in use, back, and forth again."""

import secrets
import shutil
import signal

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
SALES = 40  # acknowledged in each phase
# Everything but what an installation adds.
NO_PART_OF_A_RELEASE = (".*", "staticfiles", "var", "dist", "tests", "benchmarks", "__pycache__")
MODELS = "tracking/models/conversions.py"
COLUMN = "    deleted_at = models.DateTimeField(null=True)\n"
NEW_COLUMN = "    remark = models.TextField(null=True)\n"
MIGRATION = "tracking/migrations/9999_remark_of_conversions.py"
NEW_MIGRATION = """
from django.db import migrations, models
from accounts.migration_operations import AddIndexConcurrently

class Migration(migrations.Migration):
    atomic = False
    dependencies = [("tracking", "{last}")]
    operations = [
        migrations.AddField("conversion", "remark", models.TextField(null=True)),
        AddIndexConcurrently(
            "conversion", models.Index(fields=["account", "remark"], name="by_remark")
        ),
    ]
"""


@pytest.fixture(scope="module")
def next_release(tmp_path_factory):
    """The directory of a release that stores a column and has an index more."""
    directory = tmp_path_factory.mktemp("next") / "release"
    shutil.copytree(ROOT, directory, ignore=shutil.ignore_patterns(*NO_PART_OF_A_RELEASE))
    models = (directory / MODELS).read_text()
    assert models.count(COLUMN) == 1
    (directory / MODELS).write_text(models.replace(COLUMN, f"{NEW_COLUMN}{COLUMN}"))
    last = max(path.stem for path in (directory / MIGRATION).parent.glob("0*.py"))
    (directory / MIGRATION).write_text(NEW_MIGRATION.format(last=last))
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


def test_upgrade_loses_and_refuses_nothing(environment, next_release):
    manage(environment, "migrate", "--verbosity=0")
    manage(environment, "collectstatic", "--noinput", directory=next_release)
    manage(environment, "create_account", "acme", "--name=Acme")
    manage(
        *(environment, "create_program", "acme", "spring", "--title=Spring"),
        *("--currency=EUR", "--auto-approve-commissions"),
    )
    key = manage(*(environment, "create_api_key", "acme", "--role=owner"))
    before = list_applied_migrations(environment)
    host = Host(environment)
    try:
        host.start()

        def post(path, body):
            return send(host.port, "POST", path, body, key=key)

        with SalesLoad(post, enroll_affiliate(post)) as load:
            load.wait_for(SALES)
            manage(environment, "migrate", "--verbosity=0", directory=next_release)
            load.wait_for(SALES)  # the present code on the new tables
            for directory in (next_release, ROOT, next_release):  # forth, back, and forth
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
