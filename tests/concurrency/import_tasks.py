"""Tasks about imports of tables."""

from datetime import UTC, datetime

from affiliate_site.moving.tables.undo import undo_table_import
from tests.affiliate_site.moving.tables.building import build

AT = datetime(2026, 9, 1, 12, tzinfo=UTC)


def import_table(account, *, kind, text, program):
    """Import a table; return how many rows were stored."""
    defaults = {"program": program} if kind == "conversions" else {}
    report = build(account, kind, text, at=AT, defaults=defaults).store()
    return f"{report.counts['created']} stored"


def undo_import(account, *, public_id):
    undo_table_import(account, public_id=public_id, at=AT)


IMPORT_TASKS = {"import_table": import_table, "undo_import": undo_import}
