"""XLSX exports: the rows of the CSV export, written in constant memory.

Texts are written as texts, never as formulas or links; numbers are written as numbers
if a spreadsheet keeps all their digits. A list that does not fit is not exported.
"""

from contextlib import ExitStack
from decimal import Decimal
from itertools import islice
from tempfile import TemporaryFile

from django.contrib import messages
from django.http import FileResponse
from django.shortcuts import redirect
from django.urls import reverse
from xlsxwriter import Workbook

from affiliate_site.backoffice.exports import (
    format_cell,
    get_cell_values,
    get_column_titles,
    get_columns_and_rows,
    get_export_name,
    iterate_prepared_rows,
)

XLSX_CONTENT_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
MAX_ROWS = 10_000  # a file is complete before its first byte is sent
MAX_CELL_LENGTH = 32_767  # UTF-16 code units
MAX_SHEET_NAME_LENGTH = 31  # characters
MAX_EXACT_DIGITS = 15  # significant digits that a spreadsheet keeps
WORKBOOK_OPTIONS = {  # texts are not converted
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_numbers": False,
    "strings_to_urls": False,
}
# Not allowed in XML; the writer escapes the other control characters.
INVALID_XML_CHARACTERS = {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}


class ExportTooLarge(Exception):
    """A list does not fit into a spreadsheet; the text is a message for the user."""


def export_xlsx(model_admin, request):
    """The filtered list as an XLSX file, or the list with an error message."""
    try:
        file = create_workbook_file(model_admin, request)
    except ExportTooLarge as error:
        model_admin.message_user(request, str(error), level=messages.ERROR)
        return redirect(get_filtered_changelist_url(model_admin, request))
    return FileResponse(
        file,
        as_attachment=True,
        filename=f"{get_export_name(model_admin)}.xlsx",
        content_type=XLSX_CONTENT_TYPE,
    )


def create_workbook_file(model_admin, request):
    """A temporary file with the rows, positioned at its beginning."""
    columns, rows = get_columns_and_rows(model_admin, request)
    if rows.order_by().values("pk")[MAX_ROWS : MAX_ROWS + 1]:
        raise ExportTooLarge(
            f"Excel exports hold at most {MAX_ROWS:,} rows. Filter the list, or export"
            " as CSV."
        )
    with ExitStack() as stack:
        file = stack.enter_context(TemporaryFile())
        write_workbook(
            file,
            model_admin,
            columns,
            islice(iterate_prepared_rows(model_admin, request, rows), MAX_ROWS),
        )
        stack.pop_all()  # the response closes the file
    file.seek(0)
    return file


def write_workbook(file, model_admin, columns: list[str], rows) -> None:
    """Write a sheet with column titles and rows to a file."""
    with Workbook(file, WORKBOOK_OPTIONS) as book:
        sheet = book.add_worksheet(get_export_name(model_admin)[:MAX_SHEET_NAME_LENGTH])
        sheet.freeze_panes(1, 0)
        titles = get_column_titles(model_admin, columns)
        write_row(sheet, 0, titles, titles)
        for row_index, row in enumerate(rows, start=1):
            write_row(
                sheet, row_index, get_cell_values(model_admin, columns, row), titles
            )


def write_row(sheet, row_index: int, values, titles) -> None:
    """Write the cells in order; in constant memory, rows cannot be changed later."""
    for column, value in enumerate(values):
        if is_exact_number(value):
            sheet.write_number(row_index, column, float(value))
            continue
        if sheet.write_string(row_index, column, format_xlsx_text(value)):
            raise ExportTooLarge(
                f"{titles[column]} in row {row_index + 1} is longer than"
                f" {MAX_CELL_LENGTH:,} characters, the limit of an Excel cell. Export"
                " as CSV instead."
            )


def is_exact_number(value) -> bool:
    """Whether a value is a number that a spreadsheet keeps without loss."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return False
    return Decimal(format(float(value), f".{MAX_EXACT_DIGITS}g")) == value


def format_xlsx_text(value) -> str:
    """The text of the CSV cell without characters that XML does not allow.

    The writer would copy a text in `<r>…</r>` into the file as its own markup.
    """
    text = format_cell(value).translate(INVALID_XML_CHARACTERS)
    return f"'{text}" if text.startswith("<r>") else text


def get_filtered_changelist_url(model_admin, request) -> str:
    """The URL of the list with the filters of the request."""
    opts = model_admin.model._meta
    path = reverse(f"admin:{opts.app_label}_{opts.model_name}_changelist")
    return f"{path}?{request.GET.urlencode()}"
