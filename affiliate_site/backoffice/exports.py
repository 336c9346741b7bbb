"""Exports: the rows of a list as CSV, in its order and with its filters, streamed.

A cell that a spreadsheet would take for a formula is defused; numbers stay numbers.
"""

import csv
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from html import unescape
from itertools import islice

from django.contrib.admin.utils import label_for_field, lookup_field
from django.http import StreamingHttpResponse
from django.utils.html import strip_tags
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from accounts.exact_json import plain

AT_ONCE = 2000  # rows that are read at a time
# reliability.md, T26: after blanks and control characters, also in full width.
UNSEEN = r"\s\x00-\x1f\x7f\u200b-\u200f\u2060\ufeff"
FORMULA = re.compile(rf"[{UNSEEN}]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)


def defused(value) -> str:
    """A cell as text: what could be a formula gets an apostrophe before it."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M:%SZ}"
    if isinstance(value, Decimal):
        return plain(value)
    text = unescape(strip_tags(value)) if isinstance(value, SafeString) else str(value)
    if FORMULA.match(text) and not NUMBER.fullmatch(text):
        return f"'{text}"
    return text


class Line:
    """A file that keeps nothing: what the writer writes is handed on."""

    def write(self, text: str) -> str:
        return text


def csv_of(page, request) -> StreamingHttpResponse:
    """The list that this address shows, all its pages, as a file."""
    columns, rows = asked_for(page, request)
    return StreamingHttpResponse(
        lines_of(page, columns, completed(page, request, rows)),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name_of(page)}.csv"'},
    )


def asked_for(page, request):
    """The columns of a list, and its rows: of all its pages, with its filters."""
    shown = page.get_changelist_instance(request)
    columns = [name for name in shown.list_display if name != "action_checkbox"]
    return columns, shown.get_queryset(request)


def name_of(page) -> str:
    """What a file with rows of this list is called."""
    return page.model._meta.model_name


def titles_of(page, columns: list[str]) -> list[str]:
    """What stands above the columns."""
    labels = [str(label_for_field(name, page.model, page)) for name in columns]
    return [capfirst(label) for label in labels]


def values_of(page, columns: list[str], row) -> list:
    """What a row shows in these columns, not yet as text."""
    return [lookup_field(name, row, page)[2] for name in columns]


def completed(page, request, rows) -> Iterator:
    """Row after row, some at a time with what their columns need besides."""
    waiting = rows.iterator(chunk_size=AT_ONCE)
    while some := list(islice(waiting, AT_ONCE)):
        page.complete(request, some)
        yield from some


def lines_of(page, columns: list[str], rows: Iterable) -> Iterator[str]:
    """A line of titles, then one for each row."""
    write = csv.writer(Line()).writerow
    yield write(titles_of(page, columns))
    for row in rows:
        yield write([defused(value) for value in values_of(page, columns, row)])
