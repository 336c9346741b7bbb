"""Exports for spreadsheets: the rows of the CSV as XLSX, in constant memory.

Texts are written as texts, so that nothing is a formula or a link; a number is one
where a spreadsheet holds it to the digit. Nothing is cut: what does not fit is told.
"""

from contextlib import ExitStack
from decimal import Decimal
from tempfile import TemporaryFile

from django.contrib import messages
from django.http import FileResponse
from django.shortcuts import redirect
from django.urls import reverse
from xlsxwriter import Workbook

from affiliate_site.backoffice.exports import (
    asked_for,
    completed,
    defused,
    name_of,
    titles_of,
    values_of,
)

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
MOST_ROWS = 1_048_576 - 1  # the sheet's, without the titles
LONGEST_TEXT = 32_767  # UTF-16 units of a cell
LONGEST_NAME = 31  # letters of a sheet's name
DIGITS = 15  # that a spreadsheet keeps of a number
PLAIN = {  # no text is taken for anything else
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_numbers": False,
    "strings_to_urls": False,
}
# No XML holds these two; the other odd characters are escaped by the writer.
NO_CHARACTERS = {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}


class TooMuch(Exception):
    """A list does not fit into a spreadsheet; the text says what to do."""


def xlsx_of(page, request):
    """The list that this address shows, all its pages, as a file; or why not."""
    try:
        held = written(page, request)
    except TooMuch as refusal:
        page.message_user(request, str(refusal), level=messages.ERROR)
        return redirect(back_to_the_list(page, request))
    return FileResponse(
        held,
        as_attachment=True,
        filename=f"{name_of(page)}.xlsx",
        content_type=XLSX,
    )


def written(page, request):
    """A temporary file with the rows, ready to be read."""
    columns, rows = asked_for(page, request)
    if rows[MOST_ROWS : MOST_ROWS + 1]:
        raise TooMuch(
            f"A spreadsheet holds {MOST_ROWS:,} rows, and these are more:"
            " narrow the list by its filters, or take the CSV."
        )
    with ExitStack() as stack:
        held = stack.enter_context(TemporaryFile())
        fill(held, page, columns, completed(page, request, rows[:MOST_ROWS]))
        stack.pop_all()  # the answer closes it
    held.seek(0)
    return held


def fill(held, page, columns: list[str], rows) -> None:
    """Write a sheet with titles and rows into a file."""
    with Workbook(held, PLAIN) as book:
        sheet = book.add_worksheet(name_of(page)[:LONGEST_NAME])
        sheet.freeze_panes(1, 0)
        titles = titles_of(page, columns)
        write_line(sheet, 0, titles, titles)
        for line, row in enumerate(rows, start=1):
            write_line(sheet, line, values_of(page, columns, row), titles)


def write_line(sheet, line: int, values, titles) -> None:
    """One cell after the other: a constant memory has room for one line."""
    for column, value in enumerate(values):
        if is_exact(value):
            sheet.write_number(line, column, float(value))
            continue
        if sheet.write_string(line, column, text_of(value)):
            raise TooMuch(
                f"{titles[column]} in row {line + 1} has more than {LONGEST_TEXT:,}"
                " characters, which no spreadsheet holds: take the CSV."
            )


def is_exact(value) -> bool:
    """Is it a number that a spreadsheet keeps to the last digit?"""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return False
    return Decimal(format(float(value), f".{DIGITS}g")) == value


def text_of(value) -> str:
    """A cell as in the CSV, for XML.

    The writer takes `<r>…</r>` for its own markup and would copy it into the file.
    """
    text = defused(value).translate(NO_CHARACTERS)
    return f"'{text}" if text.startswith("<r>") else text


def back_to_the_list(page, request) -> str:
    """The address of the list, with the filters that were asked for."""
    opts = page.model._meta
    path = reverse(f"admin:{opts.app_label}_{opts.model_name}_changelist")
    return f"{path}?{request.GET.urlencode()}"
