"""Backup and restore of the embedded database."""

import sqlite3
import stat
import subprocess
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from accounts.errors import DomainError
from accounts.migration_operations import FORMER_MIGRATION
from affiliate_site.management.commands import backup
from affiliate_site.operations import backups
from affiliate_site.operations.backups import (
    create_backup,
    delete_old_backups,
    restore_backup,
)
from tests.command_line import is_usage_error, run_json_command, run_manage_py

pytestmark = pytest.mark.engine_independent

AT = datetime(2027, 3, 1, 4, 5, 6, tzinfo=UTC)
REFUSAL = "belongs to the database: choose another name"


@pytest.fixture
def database(tmp_path, committed_db):
    """A migrated database in a file of its own, with a write-ahead log."""
    file = tmp_path / "db.sqlite3"
    connection.ensure_connection()
    with closing(sqlite3.connect(file)) as copy:
        connection.connection.backup(copy)
        copy.execute("PRAGMA journal_mode=WAL")
    return file


@pytest.fixture
def no_ledger_check(monkeypatch):
    """The check runs in a process of its own, which takes a second."""
    monkeypatch.setattr(backups, "check_ledger", lambda file: "")


def read_plans(file) -> set[str]:
    with closing(sqlite3.connect(file)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM accounts_plan")}


def add_plan(file, name) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(accounts_plan)")]
        row = connection.execute("SELECT * FROM accounts_plan LIMIT 1").fetchone()
        values = dict(zip(columns, row, strict=True)) | {"id": None, "name": name}
        marks = ", ".join("?" * len(columns))
        connection.execute(
            f"INSERT INTO accounts_plan VALUES ({marks})",  # noqa: S608 - question marks
            [values[column] for column in columns],
        )


def test_copies_a_database_in_use_and_restores_it(database, tmp_path):
    plans = read_plans(database)
    add_plan(database, "committed")
    file = tmp_path / "copy.sqlite3"
    with closing(sqlite3.connect(database)) as writer:
        writer.execute("UPDATE accounts_plan SET name = name || ' (unfinished)'")

        backup = create_backup(database, file, force=False)

    assert backup.problem == ""
    assert read_plans(file) == plans | {"committed"}
    assert backup.bytes == file.stat().st_size
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    check = ["sha256sum", "--check", "--status", f"{file.name}.sha256"]
    subprocess.run(check, cwd=tmp_path, check=True)  # noqa: S603 - our own command
    add_plan(database, "too late")

    result = run_manage_py("restore", str(file), "--force", "--json", database=database)

    assert result.exit_code == 0, result.stderr
    kept = next(tmp_path.glob("db.sqlite3.before-*"))
    assert read_plans(kept) == plans | {"committed", "too late"}
    assert read_plans(database) == plans | {"committed"}
    assert [path.name for path in tmp_path.glob("*.partial*")] == []


def test_keeps_an_existing_file(database, tmp_path, no_ledger_check):
    file = tmp_path / "copy.sqlite3"
    file.write_text("precious")

    with pytest.raises(DomainError, match="exists: choose another name"):
        create_backup(database, file, force=False)
    assert file.read_text() == "precious"

    create_backup(database, file, force=True)
    assert read_plans(file) == read_plans(database)


def test_refuses_to_replace_a_database_in_use(database, tmp_path, no_ledger_check):
    file = tmp_path / "copy.sqlite3"
    create_backup(database, file, force=False)
    before = database.read_bytes()

    with closing(sqlite3.connect(database)) as service:
        service.execute("SELECT 1 FROM accounts_plan").fetchall()
        with pytest.raises(DomainError, match="in use: stop the service first"):
            restore_backup(file, database, force=True, at=AT)

    assert database.read_bytes() == before
    assert restore_backup(file, database, force=True, at=AT) == database.with_name(
        "db.sqlite3.before-20270301T040506Z"
    )


def test_refuses_to_replace_accounts_without_force(
    database, tmp_path, no_ledger_check, monkeypatch
):
    file = tmp_path / "copy.sqlite3"
    create_backup(database, file, force=False)
    monkeypatch.setattr(backups, "count_accounts", lambda database: 2)

    with pytest.raises(DomainError, match=r"holds 2 account\(s\): add --force"):
        restore_backup(file, database, force=False, at=AT)


def test_restores_to_an_empty_directory(database, tmp_path, no_ledger_check):
    file = tmp_path / "copy.sqlite3"
    create_backup(database, file, force=False)
    target = tmp_path / "new" / "db.sqlite3"
    target.parent.mkdir()

    assert restore_backup(file, target, force=False, at=AT) is None

    assert read_plans(target) == read_plans(database)


def test_refuses_files_that_are_no_complete_backup(database, tmp_path, no_ledger_check):
    good = tmp_path / "good.sqlite3"
    create_backup(database, good, force=False)
    changed = tmp_path / "changed.sqlite3"
    changed.write_bytes(good.read_bytes())
    (tmp_path / "changed.sqlite3.sha256").write_text("0" * 64 + "  changed.sqlite3\n")
    cut_off = tmp_path / "cut-off.sqlite3"
    cut_off.write_bytes(good.read_bytes()[: good.stat().st_size // 2])
    other = tmp_path / "other.sqlite3"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE lamps (id INTEGER)")
    newer = tmp_path / "newer.sqlite3"
    newer.write_bytes(good.read_bytes())
    with closing(sqlite3.connect(newer)) as connection, connection:
        connection.execute(
            "INSERT INTO django_migrations (app, name, applied)"
            " VALUES ('tracking', '9000_later', '2030-01-01')"
        )
    former = tmp_path / "former.sqlite3"
    former.write_bytes(good.read_bytes())
    with closing(sqlite3.connect(former)) as connection, connection:
        connection.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES (?, ?, '2026-11-22')",
            FORMER_MIGRATION,
        )
    text = tmp_path / "text"
    text.write_text("a text")
    expected = {
        changed: "differs from changed.sqlite3.sha256",
        cut_off: "",
        other: "no such table",
        newer: r"a newer release has written it \(tracking.9000_later\)",
        former: "it was made before the initial migrations",
        text: "not a database",
        tmp_path / "missing": "no such file",
    }
    before = read_plans(database)

    for file, reason in expected.items():
        with pytest.raises(DomainError, match=f"is not a usable backup: .*{reason}"):
            restore_backup(file, database, force=True, at=AT)

    assert read_plans(database) == before
    assert list(tmp_path.glob("*.before-*")) == []


def test_deletes_old_backups_of_its_own_only(tmp_path):
    for days in (0, 6, 8, 400):
        name = (AT - timedelta(days=days)).strftime("%Y%m%dT%H%M%SZ.sqlite3")
        (tmp_path / name).touch()
        (tmp_path / f"{name}.sha256").touch()
    (tmp_path / "before-the-move.sqlite3").touch()

    assert delete_old_backups(tmp_path, days=7, at=AT) == 2

    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "20270223T040506Z.sqlite3",
        "20270223T040506Z.sqlite3.sha256",
        "20270301T040506Z.sqlite3",
        "20270301T040506Z.sqlite3.sha256",
        "before-the-move.sqlite3",
    ]


def test_tells_that_the_file_cannot_be_written(committed_db, tmp_path):
    with pytest.raises(CommandError, match="The backup cannot be written"):
        call_command("backup", str(tmp_path / "missing" / "copy.sqlite3"))


def test_is_not_for_postgresql(committed_db, monkeypatch):
    monkeypatch.setattr(connection, "vendor", "postgresql")

    for command in (["backup"], ["restore", "file"]):
        with pytest.raises(CommandError, match=r"docs/operations.md, section 4"):
            call_command(*command)


def test_never_writes_over_the_database(database, no_ledger_check):
    """The service would go on writing to a file without a name."""
    before = database.read_bytes()
    link = database.with_name("link")
    link.symlink_to(database)

    for name in ("db.sqlite3", "db.sqlite3-wal", "db.sqlite3-shm"):
        with pytest.raises(DomainError, match=REFUSAL):
            create_backup(database, database.with_name(name), force=True)
    result = run_manage_py("backup", str(link), "--force", database=database)
    assert (result.exit_code, result.stdout) == (1, "")
    assert REFUSAL in result.stderr

    assert database.read_bytes() == before


def test_ignores_the_write_ahead_log_of_another_database(database, tmp_path, no_ledger_check):
    """SQLite would apply it to the restored file."""
    file = tmp_path / "copy.sqlite3"
    create_backup(database, file, force=False)
    plans = read_plans(file)
    with closing(sqlite3.connect(database)) as service:
        service.execute("SELECT 1 FROM accounts_plan").fetchall()
        add_plan(database, "in the log only")
        wal = database.with_name("db.sqlite3-wal")
        log = wal.read_bytes()
    database.unlink()
    wal.write_bytes(log)

    assert restore_backup(file, database, force=False, at=AT) is None

    assert read_plans(database) == plans
    kept = database.with_name("db.sqlite3.before-20270301T040506Z-wal")
    assert kept.read_bytes() == log


def test_refuses_a_file_with_a_log_beside_it(database, tmp_path, no_ledger_check):
    """SQLite would apply it to the backup while it reads it."""
    file = tmp_path / "copy.sqlite3"
    create_backup(database, file, force=False)
    (tmp_path / "copy.sqlite3-wal").write_bytes(b"of another database")

    with pytest.raises(DomainError, match=r"would apply copy\.sqlite3-wal to it"):
        restore_backup(file, database, force=True, at=AT)


def test_keeps_one_name_of_a_database_after_a_killed_restore(database, tmp_path, no_ledger_check):
    file = tmp_path / "copy.sqlite3"
    create_backup(database, file, force=False)
    left = tmp_path / "db.sqlite3.before-20270101T000000Z"
    left.hardlink_to(database)
    earlier = tmp_path / "db.sqlite3.before-20260101T000000Z"
    earlier.write_text("another database")

    kept = restore_backup(file, database, force=True, at=AT)

    assert sorted(tmp_path.glob("*.before-*")) == [earlier, kept]


def test_writes_one_file_at_a_time(database, tmp_path, no_ledger_check):
    file = tmp_path / "copy.sqlite3"
    with (
        backups.write_aside(tmp_path / "other") as partial,
        pytest.raises(DomainError, match="Another backup or restore writes to"),
    ):
        create_backup(database, file, force=False)
    assert not file.exists()
    assert not partial.exists()

    create_backup(database, file, force=False)


def test_removes_what_a_killed_process_left(database, tmp_path, no_ledger_check):
    file = tmp_path / "copy.sqlite3"
    for suffix in ("", "-wal", "-shm", "-journal"):
        (tmp_path / f"copy.sqlite3.partial{suffix}").write_text("half")

    create_backup(database, file, force=False)

    assert read_plans(file) == read_plans(database)
    assert list(tmp_path.glob("*.partial*")) == []


@pytest.mark.integration
def test_tells_a_broken_ledger_from_a_failed_check(database, tmp_path):
    """The name has every character that means something in a URL."""
    file = tmp_path / "a b?c=%20#d+e&f.sqlite3"

    assert create_backup(database, file, force=False).problem == ""

    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("ALTER TABLE payouts_transfer RENAME TO moved")
    result = run_manage_py("backup", str(file), "--force", database=database)

    assert (result.exit_code, result.stdout) == (1, f"{file}\n")
    assert "The copy is complete, keep it, but its ledger cannot be" in result.stderr
    assert "run manage.py migrate" in result.stderr
    assert read_plans(file)


def test_command_names_the_file(committed_db, tmp_path, no_ledger_check, monkeypatch):
    recorded = []
    monkeypatch.setattr(backup, "VAR_DIR", tmp_path)
    monkeypatch.setattr(backup, "record_command_run", lambda name, at: recorded.append(name))
    file = tmp_path / "copy.sqlite3"

    result = run_json_command("backup", str(file), "--keep", "14")

    assert result | {"sha256": "", "bytes": 0} == {
        "file": str(file),
        "bytes": 0,
        "sha256": "",
        "ledger_ok": True,
        "deleted": 0,
    }
    assert recorded == ["backup"]
    with pytest.raises(CommandError, match="exists: choose another name"):
        call_command("backup", str(file))


def test_command_wants_a_number_of_days(committed_db):
    for days in ("0", "-1", "many"):
        assert is_usage_error("backup", "--keep", days)


@pytest.mark.integration
def test_records_its_success_for_the_doctor(database, tmp_path):
    result = run_manage_py("backup", str(tmp_path / "copy"), database=database)

    assert result.exit_code == 0, result.stderr
    with closing(sqlite3.connect(database)) as connection:
        names = connection.execute("SELECT name FROM accounts_commandrun").fetchall()
    assert names == [("backup",)]


def test_refuses_names_that_other_programs_cannot_read(database, tmp_path):
    with pytest.raises(DomainError, match="choose a name of printable characters"):
        create_backup(database, tmp_path / "a\nb.sqlite3", force=False)


def test_failures_of_sqlite_are_one_line(tmp_path, committed_db, monkeypatch):
    def fail(*args, **kwargs):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(backups, "copy_database", fail)

    with pytest.raises(CommandError, match=r"cannot be written: .*disk is full"):
        call_command("backup", str(tmp_path / "copy.sqlite3"))
    assert list(tmp_path.iterdir()) == []
