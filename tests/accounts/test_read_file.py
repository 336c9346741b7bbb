"""Files that commands read: bounded, and `-` for standard input."""

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.management import CommandError

from accounts.commands import read_file, use_path
from tests.architecture.test_commands import IMPLEMENTED, get_parser


def test_reads_a_file_or_standard_input(tmp_path, monkeypatch):
    path = tmp_path / "sales.csv"
    path.write_bytes(b"abc")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"def")))

    assert read_file(path, max_bytes=3) == ("sales.csv", b"abc")
    assert read_file(Path("-"), max_bytes=3) == ("standard input", b"def")


def test_reads_no_more_than_its_limit(tmp_path, monkeypatch):
    endless = SimpleNamespace(read=lambda size: b"x" * size)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=endless))
    with pytest.raises(CommandError, match="standard input has more than 1 MiB"):
        read_file(Path("-"), max_bytes=1 << 20)
    with pytest.raises(CommandError, match="cannot be read: No such file"):
        read_file(tmp_path / "missing", max_bytes=3)


# Arguments that name a file or a folder to write: the result is on standard output.
WRITTEN = {
    *("backup FILE", "export_account FILE", "export_openapi FILE"),
    *("payout_run DIR", "report FILE", "statement FILE"),
}


def test_each_file_that_a_command_reads_may_be_standard_input():
    helps = {
        f"{name} {action.metavar}": action.help or ""
        for name in IMPLEMENTED
        for action in get_parser(name)._actions
        if action.metavar in ("FILE", "DIR")
    }
    without = {key for key, text in helps.items() if "standard input" not in text}

    assert without == WRITTEN
    assert len(helps) > len(WRITTEN)


def test_copies_standard_input_where_a_file_is_read_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"def")))
    with use_path(Path("-")) as path:
        assert path.read_bytes() == b"def"
        assert path.stat().st_mode & 0o077 == 0 or path.parent.stat().st_mode & 0o77 == 0
    assert not path.exists()
    with use_path(tmp_path) as path:
        assert path == tmp_path
