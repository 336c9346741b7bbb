"""Test databases are copies: tests/migrated_database.py."""

import pytest

from tests import migrated_database
from tests.architecture.syntax_trees import PACKAGES
from tests.migrated_database import calculate_digest


@pytest.mark.parametrize("name", [f"{PACKAGES[-1]}/new.py", "requirements-dev.txt"])
def test_is_migrated_again_after_a_change(monkeypatch, tmp_path, name):
    monkeypatch.setattr(migrated_database, "ROOT", tmp_path)
    for package in PACKAGES:
        (tmp_path / package).mkdir()
    (tmp_path / "requirements-dev.txt").write_text("")
    before = calculate_digest()

    (tmp_path / name).write_text("changed")

    assert calculate_digest() != before
