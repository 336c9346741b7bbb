"""Each command of `manage.py` on databases that cannot be used: one line, no traceback.

The commands are discovered, so a new one is tried as well.
"""

import io
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from uuid import uuid4

import psycopg
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import get_commands, load_command_class
from django.db import (
    DatabaseError,
    IntegrityError,
    OperationalError,
    ProgrammingError,
    connection,
    transaction,
)

from accounts import command_line
from accounts.command_line import describe_failure, run_command_line
from affiliate_site.operations import health
from tests.command_line import (
    PROCESS_SECONDS,
    ROOT,
    build_environment,
    get_database_url,
    run_failing_command,
)
from tests.factories.accounts import AccountFactory
from tests.ledger_checks import assert_unchanged

PACKAGES = {"accounts", "tracking", "payouts", "affiliate_site"}
DJANGO_COMMANDS = [
    ["migrate", "--check"],
    ["showmigrations"],
    ["clearsessions"],
    ["createsuperuser", "--noinput", "--email", "op@example.org"],
]
TAKES_ONE_ACCOUNT = ["check_ledger", "grant_bonuses"]  # or else all
NEEDS_NO_DATABASE = {"export_openapi"}
PRINTS_A_REPORT = {"doctor", "showmigrations"}
# They work on an empty database, or say something else than the other commands.
CHECKED_BY_DJANGO = {"showmigrations", "createsuperuser"}
VALUES = {
    "ACCOUNT": "acme",
    "AFFILIATE": "mina",
    "AMOUNT": "10",
    "CONVERSION_ID": "1",
    "CURRENCY": "EUR",
    "DELIVERY": "1",
    "EMAIL": "owner@example.org",
    "PLAN": "pro",
    "PREFIX": "0123456789ab",
    "PROGRAM": "spring",
    "URL": "https://hooks.example.net/",
    "WEBHOOK": "we_1",
    "DAY": "2026-11-30",
    "FILE": "/nonexistent/account.jsonl",
    "KIND": "stripe",
    "MODE": "live",
    "ROLE": "viewer",
    "TABLE": "affiliates",
}
# Copy the file of the database instead of opening it: test_backups.py.
FILE_COMMANDS = {"backup", "restore"}
OF_DJANGO = {"collectstatic", "sendtestemail"}  # need no database
OPTIONS = {
    "changepassword": ["--password-stdin"],
    "create_staff": ["--password-stdin"],
    "delete_account": ["--yes"],
    "erase_person": ["--yes"],
    "set_staff": ["--role", "viewer"],
    "check_ledger": ["--note"],
    "deliver_webhooks": ["--once"],
    "import_account": ["--from", "nowhere"],
    "import_table": ["--template"],
    "payout_run": ["--until", "2026-11-30"],
    "process_inbox": ["--once"],
    "set_customer_email_keys": ["--none"],
    "set_connection_secret": ["--forget-earlier"],
    "set_portal_host": ["--none"],
}


def build_command(name, package, account):
    """Return a command with a value for everything that it requires."""
    parser = load_command_class(package, name).create_parser("manage.py", name)
    values = VALUES | {"ACCOUNT": account}
    command = [name]
    for action in parser._actions:
        if not action.required:
            continue
        value = values.get(str(action.metavar or action.dest).upper(), "x")
        if action.dest == "account":
            value = account
        if action.dest == "currency":
            value = "EUR"
        command += [*action.option_strings[:1], value]
    return command + OPTIONS.get(name, [])


def build_commands(account="acme"):
    own = [
        build_command(name, package, account)
        for name, package in sorted(get_commands().items())
        if package in PACKAGES and name not in FILE_COMMANDS | OF_DJANGO
    ]
    assert len(own) > 30
    return own + DJANGO_COMMANDS


def run(command, monkeypatch):
    """Run a command as `manage.py` does; return exit code, output and error output."""
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr(sys, "stdin", io.StringIO("a long password 4711\n"))
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "a long password 4711")
    code = 0
    try:
        run_command_line(["manage.py", *command])
    except SystemExit as error:
        code = error.code
    finally:
        monkeypatch.undo()
    return SimpleNamespace(code=code, out=out.getvalue(), err=err.getvalue())


@contextmanager
def use_database(**changes):
    """Connect to another database within the block."""
    settings = connection.settings_dict
    before = dict(settings)
    connection.close()
    settings.update(changes)
    health._migrated.clear()
    try:
        yield
    finally:
        connection.close()
        settings.update(before)
        health._migrated.clear()


@contextmanager
def create_empty_database(tmp_path):
    """Create a database without tables and use it within the block."""
    if connection.vendor == "sqlite":
        with use_database(NAME=str(tmp_path / "empty.sqlite3")):
            yield
        return
    name = f"empty_{uuid4().hex[:12]}"
    url = get_database_url().rpartition("/")[0] + "/postgres"
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        try:
            with use_database(NAME=name):
                yield
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def check_results(commands, monkeypatch, subtests, expected):
    for command in commands:
        name = command[0]
        if name in NEEDS_NO_DATABASE:
            continue
        with subtests.test(command=" ".join(command)):
            result = run(command, monkeypatch)
            assert result.code == 1, result
            if name in PRINTS_A_REPORT:
                assert "Traceback" not in result.out + result.err
                continue
            if name == "migrate":
                continue  # exits 1 because there are migrations
            assert result.out == ""
            assert len(result.err.splitlines()) == 1, result.err
            assert result.err.startswith("CommandError: ")
            assert expected in result.err


def test_says_that_the_database_is_away(committed_db, monkeypatch, subtests):
    changes = {
        "sqlite": {"NAME": "/nonexistent/db.sqlite3"},
        "postgresql": {"HOST": "127.0.0.1", "PORT": "1"},
    }
    commands = [command for command in build_commands() if command[0] != "showmigrations"]
    with use_database(**changes[connection.vendor]):
        check_results(commands, monkeypatch, subtests, "Database unavailable: ")


def test_says_that_the_database_is_empty(committed_db, monkeypatch, subtests, tmp_path):
    commands = [command for command in build_commands() if command[0] not in CHECKED_BY_DJANGO]
    with create_empty_database(tmp_path):
        check_results(commands, monkeypatch, subtests, "run manage.py migrate")


def test_says_that_the_database_is_older(committed_db, monkeypatch, subtests, tmp_path):
    """Its table of accounts lacks the newer columns."""
    commands = [
        command
        for command in build_commands()
        if command[0] not in (*CHECKED_BY_DJANGO, "clearsessions")
    ]
    with create_empty_database(tmp_path):
        with connection.cursor() as cursor:
            cursor.execute("CREATE TABLE accounts_plan (id integer, name varchar(64))")
            cursor.execute("INSERT INTO accounts_plan VALUES (1, 'pro')")
            cursor.execute(
                "CREATE TABLE accounts_account (id integer, slug varchar(64), plan_id integer)"
            )
            cursor.execute("INSERT INTO accounts_account VALUES (1, 'acme', 1)")
        check_results(commands, monkeypatch, subtests, "run manage.py migrate")


def test_says_that_the_database_is_read_only(committed_db, monkeypatch, subtests):
    """Commands that only read work."""
    assert connection.features.supports_json_field  # Django tries it once, by writing
    account = AccountFactory(slug=f"read-{uuid4().hex[:12]}", plan__name="enterprise")
    options = dict(connection.settings_dict["OPTIONS"])
    if connection.vendor == "sqlite":
        options["init_command"] += " PRAGMA query_only=ON;"
    else:
        options["options"] += " -c default_transaction_read_only=on"
    succeeded = set()
    refused = set()
    with use_database(OPTIONS=options):
        for command in build_commands(account.slug):
            with subtests.test(command=" ".join(command)):
                result = run(command, monkeypatch)
                assert "Traceback" not in result.out + result.err
                if command[0] in PRINTS_A_REPORT:
                    continue
                assert len(result.err.splitlines()) == result.code, result
                assert result.code in (0, 1)
                if result.code == 0:
                    succeeded.add(command[0])
                elif "the database is read-only" in result.err:
                    refused.add(command[0])

    assert {"list_api_keys", "list_programs", "list_webhooks"} <= succeeded
    assert {"create_api_key", "create_program", "lock_account", "prune"} <= refused


def test_names_an_unknown_account(account, monkeypatch, subtests):
    monkeypatch.setattr(sys, "stdin", io.StringIO("a long password 4711\n"))
    optional = [[name, "nobody"] for name in TAKES_ONE_ACCOUNT]
    for command in build_commands("nobody") + optional:
        if "nobody" not in command or command[0] == "create_account":
            continue
        with subtests.test(command=" ".join(command)), assert_unchanged(account):
            assert run_failing_command(*command) == (
                "Account 'nobody' not found; list_accounts shows all"
            )


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE accounts_plan (id integer)",
        "ALTER TABLE accounts_plan ADD COLUMN name text",
    ],
)
def test_names_a_migration_that_was_made_under_another_name(db, sql):
    with pytest.raises(DatabaseError) as refused, transaction.atomic():
        connection.cursor().execute(sql)

    reason = describe_failure(refused.value)
    assert reason.startswith("the database has migrations that this release has under")


def test_uses_exit_code_2_for_wrong_arguments(monkeypatch, subtests):
    for command in (["list_programs"], ["prune", "--nonsense"], ["explain", "a"]):
        with subtests.test(command=command):
            assert run(command, monkeypatch).code == 2


def test_refuses_arguments_that_are_not_utf8(monkeypatch):
    argument = os.fsdecode(b"caf\xe9")

    result = run(["create_account", "acme", "--name", argument], monkeypatch)

    assert (result.code, result.out) == (2, "")
    assert result.err == ("CommandError: argument 4 is not valid UTF-8: 'caf\\udce9'\n")


def test_names_a_file_that_cannot_be_written(monkeypatch):
    result = run(["export_openapi", "/nonexistent/openapi.json"], monkeypatch)

    assert (result.code, result.err) == (
        1,
        "CommandError: /nonexistent/openapi.json: No such file or directory\n",
    )


FAILURES = [
    (KeyboardInterrupt(), "interrupted"),
    (EOFError(), "the input ended too early"),
    (ImproperlyConfigured("DEBUG must\nbe on"), "DEBUG must be on"),
    (OSError(28, "No space left on device"), "No space left on device"),
    (OperationalError("a\n\tb"), "Database unavailable: a b"),
    (ValueError("a bug"), None),
    (IntegrityError("UNIQUE constraint failed"), None),
    (ProgrammingError("syntax error"), None),
    (
        ProgrammingError('invalid connection option "foo"'),
        'DATABASE_URL has an unknown option: invalid connection option "foo"',
    ),
]


def test_describes_failures_of_the_environment_only():
    found = [describe_failure(error) for error, _ in FAILURES]

    assert found == [reason for _, reason in FAILURES]


def test_keeps_the_traceback_of_a_bug_and_on_request(monkeypatch):
    def fail_with(error):
        def fail(arguments):
            raise error

        monkeypatch.setattr(command_line, "execute_from_command_line", fail)

    fail_with(ValueError("a bug"))
    with pytest.raises(ValueError, match="a bug"):
        run_command_line(["manage.py", "prune"])
    fail_with(OSError("disk"))
    with pytest.raises(OSError, match="disk"):
        run_command_line(["manage.py", "prune", "--traceback"])


def start(*command, **options):
    # In the background of a shell, tests and their processes would ignore Ctrl+C.
    reset = ["env", "--default-signal=INT"]
    return subprocess.Popen(  # noqa: S603 - our own command
        [*reset, sys.executable, "manage.py", *command],
        cwd=ROOT,
        env=build_environment() | options.pop("env", {}),
        stderr=subprocess.PIPE,
        **options,
    )


@pytest.mark.engine_independent
def test_ends_with_one_line_when_the_reader_is_gone(committed_db):
    read_end, write_end = os.pipe()
    os.close(read_end)
    with start("export_openapi", stdout=write_end) as process:
        os.close(write_end)
        err = process.communicate(timeout=PROCESS_SECONDS)[1].decode()

    assert (process.returncode, err) == (
        1,
        "CommandError: the output was closed before everything was written\n",
    )


def is_reading_input(pid: int) -> bool:
    """Whether a process sleeps in a system call on a pipe that is its input."""
    system_call = Path(f"/proc/{pid}/syscall").read_text().split()
    is_pipe = "pipe" in Path(f"/proc/{pid}/wchan").read_text()
    return is_pipe and system_call[1:2] == ["0x0"]


@pytest.mark.engine_independent
def test_ends_with_one_line_on_ctrl_c(committed_db):
    account = AccountFactory()
    with start(
        "create_staff",
        *(account.slug, "owner@example.org", "--role", "owner", "--password-stdin"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        # It sleeps in a read from its standard input while it waits for the password.
        while not is_reading_input(process.pid):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PROCESS_SECONDS)

    assert (process.returncode, out) == (1, b"")
    assert err == b"CommandError: interrupted\n"


@pytest.mark.engine_independent
def test_names_an_odd_variable_in_one_line(committed_db, monkeypatch):
    for name, value in (
        ("DEBUG", "perhaps"),
        ("DJANGO_SETTINGS_MODULE", "nonsense"),
        ("DATABASE_URL", "postgres://db.example.net"),
    ):
        process = start("list_programs", "acme", env={name: value}, stdout=subprocess.PIPE)
        out, err = process.communicate(timeout=PROCESS_SECONDS)

        assert (process.returncode, out) == (78, b"")
        assert err.decode().startswith(f"CommandError: {name}")
        assert err.count(b"\n") == 1


@pytest.mark.engine_independent
def test_runs_without_standard_output(committed_db):
    process = subprocess.run(  # noqa: S602 - our own command
        f"{sys.executable} manage.py export_openapi >&-",
        shell=True,
        cwd=ROOT,
        env=build_environment(),
        capture_output=True,
        check=False,
        timeout=PROCESS_SECONDS,
    )

    assert (process.returncode, process.stderr) == (0, b"")
