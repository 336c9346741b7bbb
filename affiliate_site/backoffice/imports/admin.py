"""The pages of imports of tables, and of files that are not imported yet."""

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404

from affiliate_site.backoffice.audit_sentences import describe_actor, find_names
from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin
from affiliate_site.backoffice.formatters import format_datetime
from affiliate_site.backoffice.imports.check_page import CheckPage
from affiliate_site.backoffice.imports.columns_page import ColumnsPage
from affiliate_site.backoffice.imports.details import LEFT_OUT, get_import_details
from affiliate_site.backoffice.imports.invite_page import InviteImportedPage
from affiliate_site.backoffice.imports.removal_pages import DeleteUploadPage, UndoImportPage
from affiliate_site.backoffice.imports.upload_page import NOT_STORED_FILE, UploadTablePage
from affiliate_site.backoffice.navigation import MenuEntry, SubList
from affiliate_site.backoffice.object_pages import (
    Details,
    ObjectPageMixin,
    Section,
    find_neighbors,
)
from affiliate_site.backoffice.theme import reverse_changelist
from affiliate_site.columns import Column
from affiliate_site.downloads import send_file
from affiliate_site.moving.tables.kinds import KINDS
from tracking.models.imports import TableImport, TableUpload
from tracking.services.table_uploads import find_left_out

KIND = Column("Rows", lambda row: KINDS[row.kind].label, name="kind", export="kind")


def name_actors(request, rows) -> dict[int, str]:
    """Who imported tables."""
    names = find_names(request.user, (), [row.actor for row in rows])
    return {row.pk: describe_actor(row.actor, names) for row in rows}


@admin.register(TableImport)
class TableImportAdmin(ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    menu = (
        MenuEntry(
            "Affiliates",
            70,
            "upload_file",
            synonyms="move in migrate upload csv excel xlsx spreadsheet",
        ),
    )
    list_title = "Imports"
    empty_state = (
        "No imports yet. An owner chooses “Import a table” to move in from another"
        " system with its CSV or Excel files: affiliates, customers, sales, payments or"
        " opening balances."
    )
    columns = (
        "created_at",
        KIND,
        "file_name",
        Column("New", lambda row: f"{row.created:,}", name="created"),
        Column("Known already", lambda row: f"{row.known:,}", name="known"),
        Column("Left out", lambda row: f"{row.not_stored:,}", name="not_stored"),
        Column("By", lambda row, name: name, name="actor", load=name_actors, export="actor"),
        "undone_at",
    )
    ordering = ("-created_at", "-id")
    add_page = UploadTablePage
    add_title = UploadTablePage.title
    row_pages = (InviteImportedPage, UndoImportPage)
    title_field = "file_name"
    name_row = ObjectPageMixin.get_object_title
    details = staticmethod(get_import_details)

    def change_view(self, request, object_id, form_url="", extra_context=None):
        """Show an import, or download the rows that it left out."""
        if LEFT_OUT not in request.GET:
            return super().change_view(request, object_id, form_url, extra_context)
        if not request.user.has_perm(CheckPage.permission):
            raise PermissionDenied
        table_import = self.get_object(request, object_id)
        data = table_import and find_left_out(table_import)
        if data is None:
            raise Http404
        return send_file(data, NOT_STORED_FILE.format(table_import))


@admin.register(TableUpload)
class TableUploadAdmin(ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    """Files that are not imported yet; their rows are on the pages of owners only."""

    sub_list = SubList(TableImport, "Files waiting")
    empty_state = (
        "No files wait for their import. A file is here from its upload until it is"
        " imported, at most a day."
    )
    columns = ("created_at", KIND, "file_name")
    ordering = ("-created_at", "-id")
    row_pages = (CheckPage, ColumnsPage, DeleteUploadPage)
    exclude = ("content", "settings")
    title_field = "file_name"
    name_row = ObjectPageMixin.get_object_title

    def get_queryset(self, request):
        """Leave out what was imported; files are large."""
        rows = super().get_queryset(request).defer("content")
        is_list = request.path == reverse_changelist("tracking_tableupload")
        return rows.filter(table_import=None) if is_list else rows

    def find_neighbors(self, upload):
        return find_neighbors(upload, upload.account.table_uploads.filter(table_import=None))

    def get_details(self, request, upload):
        facts = [
            ("Kind of rows", KINDS[upload.kind].label),
            ("Uploaded", format_datetime(upload.created_at)),
            ("Deleted", "a day after the upload, if it is not imported"),
        ]
        return Details(upload.file_name, sections=[Section("File", facts=facts)])
