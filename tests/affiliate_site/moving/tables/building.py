"""Imports of tables from texts."""

from datetime import UTC, datetime

from affiliate_site.moving.tables.files import read_table
from affiliate_site.moving.tables.importing import TableImporter
from affiliate_site.moving.tables.kinds import KINDS
from affiliate_site.moving.tables.mappings import guess_mapping

NOW = datetime(2026, 9, 1, 12, tzinfo=UTC)


def build(account, kind, text, *, mapping=None, system=None, at=NOW, **options):
    """The import of a CSV file, or of the bytes of any file."""
    data = text.encode() if isinstance(text, str) else text
    table = read_table(data, "table.csv")
    guessed = guess_mapping(KINDS[kind], table.header, system)
    return TableImporter(account, KINDS[kind], table, guessed | (mapping or {}), at, **options)


def store(account, kind, text, **options):
    """Store a table without faults."""
    report = build(account, kind, text, **options).store()
    assert [problem.serialize() for problem in report.problems] == []
    return report
