"""Tasks of operators: imports of tables, and `prune`."""

import io
from datetime import UTC, datetime

from django.core.management import call_command

from affiliate_site.moving.tables.undo import undo_table_import
from tests.affiliate_site.moving.tables.building import build
from tracking.services import click_retention

AT = datetime(2026, 9, 1, 12, tzinfo=UTC)


def import_table(account, *, kind, text, program):
    """Import a table; return how many rows were stored."""
    defaults = {"program": program} if kind == "conversions" else {}
    report = build(account, kind, text, at=AT, defaults=defaults).store()
    return f"{report.counts['created']} stored"


def undo_import(account, *, public_id):
    undo_table_import(account, public_id=public_id, at=AT)


def prune(account, *, batch_size):
    """Remove what is expired in all accounts, a few clicks at once."""
    click_retention.DELETE_BATCH_SIZE = batch_size
    call_command("prune", stdout=io.StringIO())


IMPORT_TASKS = {
    "import_table": import_table,
    "undo_import": undo_import,
    "prune": prune,
}
