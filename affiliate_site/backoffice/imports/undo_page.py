"""Undo an import, as long as nothing was built on it."""

from itertools import islice

from affiliate_site.backoffice.form_pages import RemovePage
from affiliate_site.backoffice.imports.details import count_made
from affiliate_site.backoffice.object_pages import Section
from affiliate_site.moving.tables.undo import (
    iterate_obstacles,
    load_rows,
    undo_table_import,
)

MAX_OBSTACLES = 20  # named


class UndoImportPage(RemovePage):
    """Remove what an import made."""

    name = "undo"
    title = button = "Undo"
    permission = "tracking.delete_tableimport"
    row_argument = ("public_id", "public_id")
    service = staticmethod(undo_table_import)
    explanation = (
        "What this import made is removed: affiliates and groups are deleted, sales"
        " removed, payments canceled, opening balances taken back. What it left as it"
        " was stays."
    )
    done_message = "The import was undone."

    @classmethod
    def is_offered(cls, table_import):
        return table_import.undone_at is None

    def lock_row(self, at):
        """Not locked: the service locks affiliates first."""
        return self.row

    def list_alerts(self):
        made = load_rows(self.account, self.row)
        found = iterate_obstacles(self.account, self.row, made)
        named = [f"{text}." for text in islice(found, MAX_OBSTACLES)]
        if not named:
            return []
        return ["It cannot be undone any more, because of what came after:", *named]

    def list_sections(self):
        return [Section("What is removed", facts=count_made(self.row))]
