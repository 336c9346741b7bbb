"""XLSX exports: the rows of the CSV export; a list that does not fit is not exported."""

from contextlib import ExitStack
from itertools import chain, islice
from tempfile import TemporaryFile

from django.contrib import messages
from django.http import FileResponse
from django.shortcuts import redirect
from django.urls import reverse

from affiliate_site.backoffice.lists.exports import (
    iterate_chunks,
    prepare_export,
    split_by_currency,
)
from affiliate_site.downloads import CONTENT_TYPES
from affiliate_site.workbooks import ExportTooLarge, write_workbook

MAX_ROWS = 10_000  # a file is complete before its first byte is sent


def export_xlsx(model_admin, request):
    """The filtered list as an XLSX file, or the list with an error message."""
    try:
        file, name = create_workbook_file(model_admin, request)
    except ExportTooLarge as error:
        model_admin.message_user(request, str(error), level=messages.ERROR)
        return redirect(get_filtered_changelist_url(model_admin, request))
    return FileResponse(
        file,
        as_attachment=True,
        filename=f"{name}.xlsx",
        content_type=CONTENT_TYPES["xlsx"],
    )


def create_workbook_file(model_admin, request):
    """A temporary file with the rows, positioned at its beginning, and its name."""
    cells, rows, name = prepare_export(model_admin, request)
    if rows.order_by().values("pk")[MAX_ROWS : MAX_ROWS + 1]:
        raise ExportTooLarge(
            f"Excel exports hold at most {MAX_ROWS:,} rows. Filter the list, or export as CSV."
        )
    chunks = iterate_chunks(request, cells, rows)
    lines = islice(chain.from_iterable(chunks), MAX_ROWS)
    with ExitStack() as stack:
        file = stack.enter_context(TemporaryFile())
        name_of_rows = model_admin.opts.verbose_name_plural
        write_workbook(file, name_of_rows, cells, split_by_currency(cells, lines))
        stack.pop_all()  # the response closes the file
    file.seek(0)
    return file, name


def get_filtered_changelist_url(model_admin, request) -> str:
    opts = model_admin.model._meta
    path = reverse(f"admin:{opts.app_label}_{opts.model_name}_changelist")
    return f"{path}?{request.GET.urlencode()}"
