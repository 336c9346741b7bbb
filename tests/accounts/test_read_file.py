"""Files that commands read: bounded, and `-` for standard input."""

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.management import CommandError

from accounts.commands import read_file


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
