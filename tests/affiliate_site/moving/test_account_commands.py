"""The commands export_account and import_account, also from one engine to another."""

import json
import sys
from types import SimpleNamespace

import pytest
from django.db import connection

from accounts.models.accounts import Account
from tests.affiliate_site.moving.conftest import read, write
from tests.command_line import (
    run_command,
    run_failing_command,
    run_json_command,
    run_manage_py,
)

pytestmark = pytest.mark.usefixtures("db")


def test_say_what_they_did(moved, tmp_path):
    number = moved.file.read_bytes().count(b"\n") - 2
    out = run_command("import_account", "harbor", "--file", str(moved.file))
    note = "A portal's own host is not moved: run set_portal_host."
    assert out == f"harbor: {number:,} rows imported\n{note}\n"

    path = tmp_path / "again.jsonl"
    out = run_command("export_account", "harbor", str(path))
    assert out == f"{path}: {number:,} rows\n"


def test_print_json(moved, tmp_path):
    arguments = ("harbor", "--file", str(moved.file))
    result = run_json_command("import_account", *arguments, "--dry-run")
    assert result["dry_run"]
    assert not Account.objects.filter(slug="harbor").exists()

    result = run_json_command("import_account", *arguments)
    assert result | {"rows": None} == {
        "account": "harbor",
        "rows": None,
        "changed_ids": {},
        "missing_images": 0,
        "dry_run": False,
    }

    path = tmp_path / "again.jsonl"
    exported = run_json_command("export_account", "harbor", str(path))
    assert exported["rows"] == result["rows"]
    last = json.loads(path.read_text().splitlines()[-1])
    assert exported["sha256"] == last["sha256"]["all"]


def test_say_what_is_missing_and_what_changed(moved, creatives, tmp_path):
    read(moved.file)
    (creatives / "harbor" / moved.names[0]).unlink()
    path = tmp_path / "file"
    out = run_command("export_account", "harbor", str(path))
    assert out.endswith("1 images of creatives have no file.\n")


def test_name_tables_with_other_ids(account, tmp_path, monkeypatch):
    path = tmp_path / "file"
    write(account, path)
    with path.open("rb") as file:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=file))
        out = run_command("import_account", "copy", "--file", "-")
    assert out.endswith("IDs changed in: accounts.Account\n")


def test_fail_with_one_line(moved, account, tmp_path):
    error = run_failing_command("export_account", "harbor", str(moved.file))
    assert error.startswith("The file cannot be written: ")
    error = run_failing_command("import_account", "x", "--file", str(tmp_path / "none"))
    assert error.startswith("The file cannot be read: ")
    (tmp_path / "text").write_text("hello\n")
    error = run_failing_command("import_account", "x", "--file", str(tmp_path / "text"))
    assert error == "text: line 1: it is not JSON"


@pytest.mark.integration
@pytest.mark.skipif(connection.vendor == "sqlite", reason="compares PostgreSQL with SQLite")
def test_another_engine_writes_the_same_bytes(moved, tmp_path, monkeypatch):
    monkeypatch.setenv("CREATIVES_DIR", str(tmp_path / "images"))
    database, path = tmp_path / "db.sqlite3", tmp_path / "sqlite.jsonl"
    with connection.cursor() as cursor:  # the other process takes its time
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    for command in (
        ("migrate", "--verbosity", "0"),
        ("import_account", "harbor", "--file", str(moved.file)),
        ("export_account", "harbor", str(path)),
        ("check_ledger",),
    ):
        result = run_manage_py(*command, database=database)
        assert result.exit_code == 0, result.stderr
    assert path.read_bytes() == moved.file.read_bytes()

    write(read(path), tmp_path / "again.jsonl")

    assert (tmp_path / "again.jsonl").read_bytes() == path.read_bytes()
