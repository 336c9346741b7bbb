"""Delete a file that is not imported, and undo an import while nothing was built on it."""

import re
from functools import cached_property

from affiliate_site.backoffice.form_pages import RemovePage
from affiliate_site.backoffice.imports.details import count_made
from affiliate_site.backoffice.object_pages import Section
from affiliate_site.moving.tables.undo import (
    iterate_obstacles,
    load_rows,
    undo_table_import,
)
from tracking.services.table_uploads import lock_table_upload

MAX_OBSTACLES = 3  # named
EVENT = re.compile(r" \([a-z_.]+\)$")  # the name of an entry in the audit log


class UndoImportPage(RemovePage):
    template_name = "admin/imports/undo.html"
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

    @cached_property
    def obstacles(self) -> list[str]:
        """What keeps the import, each once."""
        made = load_rows(self.account, self.row)
        found = iterate_obstacles(self.account, self.row, made)
        return list(dict.fromkeys(EVENT.sub("", text) for text in found))

    def post(self, request, *args, **kwargs):
        """Show what keeps the import, if that came after the page was opened."""
        answer = self.get if self.obstacles else super().post
        return answer(request, *args, **kwargs)

    def list_alerts(self):
        if not self.obstacles:
            return []
        named = "; ".join(self.obstacles[:MAX_OBSTACLES])
        more = len(self.obstacles) - MAX_OBSTACLES
        rest = f"; and {more:,} more" if more > 0 else ""
        return [f"It cannot be undone any more, because of what came after: {named}{rest}."]

    def list_sections(self):
        if self.obstacles:
            return []
        return [Section("What is removed", facts=count_made(self.row))]


class DeleteUploadPage(RemovePage):
    """Delete a file before its day is over."""

    name = "delete_file"
    title = button = "Delete"
    permission = "tracking.change_tableupload"
    explanation = "The file is deleted. Nothing of it was imported."
    done_message = "The file was deleted."
    leads_to_list = True

    @classmethod
    def is_offered(cls, upload):
        return upload.table_import_id is None

    def save(self, form, at):
        lock_table_upload(self.account, self.row).delete()
