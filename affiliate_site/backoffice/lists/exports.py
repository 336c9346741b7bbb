"""Exports: all rows of a list, with its filters and its order, as CSV or XLSX."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

from django.contrib import messages
from django.contrib.admin.utils import label_for_field
from django.core.exceptions import FieldDoesNotExist
from django.db.models import DateTimeField
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.text import capfirst, slugify

from accounts import replica
from accounts.db_compat import without_statement_timeout
from affiliate_site.backoffice.lists.date_filters import DateFilter
from affiliate_site.columns import CURRENCY_TITLE, AmountSource, Column, SumsSource, load_columns
from affiliate_site.downloads import send_table
from affiliate_site.workbooks import ExportTooLarge
from tracking.money import ZERO

CHUNK_SIZE = 1000  # rows
ROW = "(row)"  # the row itself, among look-ups
MOMENT_TITLE = "{title} (UTC)"


class ExportColumn(NamedTuple):
    """A column of a file: the look-ups of its value, and a function of them."""

    title: str
    lookups: tuple[str, ...]
    function: Callable[..., Any] | None = None  # None: the value of the only look-up
    is_amount: bool = False  # whose currency is in the next column
    has_sums: bool = False  # by currency: a line for each, as in the next column
    is_count: bool = False  # only in the first of these lines
    column: Column | None = None  # whose function it calls


def export_list(file_format: str, model_admin, request) -> HttpResponseBase:
    """The filtered list, all its pages, as a file, or the list with an error message."""
    cells, rows, name = prepare_export(model_admin, request)
    chunks = iterate_chunks(request, cells, rows)
    lines = (split_by_currency(cells, chunk) for chunk in chunks)
    title = str(model_admin.opts.verbose_name_plural)
    path = reverse(f"admin:{model_admin.opts.label_lower.replace('.', '_')}_changelist")
    back = f"{path}?{request.GET.urlencode()}"
    return send_or_go_back(request, back, title, cells, lines, f"{name}.{file_format}")


def send_or_go_back(request, back: Any, *table: Any) -> HttpResponseBase:
    """Send a table (`send_table`), or lead back with a message if it is too large."""
    try:
        return send_table(*table)
    except ExportTooLarge as error:
        messages.error(request, str(error))
        return redirect(back)


def prepare_export(model_admin, request):
    """The columns, the rows of all pages of the filtered list, and a file name."""
    changelist = model_admin.get_changelist_instance(request)
    cells = list(list_cells(model_admin, model_admin.get_export_columns(request)))
    return cells, changelist.get_queryset(request), get_export_name(changelist)


def get_export_name(changelist) -> str:
    """`commissions-2026-10`: the list, and the days of its filter or today."""
    days = f"{timezone.localdate()}"
    for spec in changelist.filter_specs:
        if isinstance(spec, DateFilter) and spec.file_name_part:
            days = spec.file_name_part
    return f"{slugify(changelist.opts.verbose_name_plural)}-{days}"


def list_cells(model_admin, columns: Iterable[Column]) -> Iterator[ExportColumn]:
    """The columns of a file: an amount takes two."""
    model = model_admin.model
    for column in columns:
        name = column.name
        title = capfirst(column.title or str(label_for_field(name, model, model_admin)))
        source = column.export or column.show or getattr(model_admin, name, name)
        build = partial(build_cell, model, column)
        if isinstance(source, SumsSource):
            cell = build(title, source.sums)
            yield cell._replace(is_amount=True, has_sums=True)
            yield cell._replace(title=CURRENCY_TITLE.format(title=title))
        elif isinstance(source, AmountSource):
            yield build(title, source.amount)._replace(is_amount=True)
            yield build(CURRENCY_TITLE.format(title=title), source.currency)
        else:
            yield build(title, source)._replace(is_count=column.is_count)


def split_by_currency(
    cells: Sequence[ExportColumn], lines: Iterable[Sequence[Any]]
) -> Iterator[Sequence[Any]]:
    """A line for each currency of a row that has sums; counts are in the first one, so
    that a column adds up."""
    places = [index for index, cell in enumerate(cells) if cell.has_sums]
    counts = [index for index, cell in enumerate(cells) if cell.is_count]
    for line in lines:
        codes = sorted({code for index in places for code in line[index]})
        for number, code in enumerate(codes or [""]):
            values = list(line)
            for index in places:
                values[index : index + 2] = [line[index].get(code, ZERO), code]
            for index in counts if number else ():
                values[index] = None
            yield values


def build_cell(model, column: Column, title: str, source) -> ExportColumn:
    """The cell of a source as `Column.export` describes it.

    Headings of moments name the zone, unlike those of lists. A relation is exported as
    the text of its row, a code as its label.
    """
    if isinstance(source, tuple):
        function, *lookups = source
        return ExportColumn(title, tuple(lookups), function)
    if callable(source):
        return ExportColumn(title, (ROW,), column.bind(source), column=column)
    try:
        field = model._meta.get_field(source)
    except FieldDoesNotExist:  # a look-up of a relation
        return ExportColumn(title, (source,))
    if field.is_relation:
        return ExportColumn(title, (ROW,), attrgetter(source))
    if field.choices:
        labels = {
            value: label
            for value, label in field.flatchoices
            if value and label != value.capitalize()  # `pending` is a word
        }
        return ExportColumn(title, (source,), lambda value: labels.get(value, value))
    if isinstance(field, DateTimeField):
        title = MOMENT_TITLE.format(title=title)
    return ExportColumn(title, (source,))


def iterate_chunks(request, cells: Sequence[ExportColumn], rows) -> Iterator[list[tuple]]:
    """The lines of a file, in chunks that may each come from a replica.

    Only the ids are read at once, in the order of the list: the database would sort and
    store all rows with their relations before the first one.
    """
    read = partial(read_export_rows, request, cells, rows.order_by())
    for chunk_ids in iterate_chunks_of_ids(rows):
        yield replica.read_page(partial(read, chunk_ids))


def iterate_chunks_of_ids(rows) -> Iterator[list[int]]:
    """The ids of the rows in their order.

    The query of a large export may exceed the statement timeout of other requests.
    """
    with without_statement_timeout():
        ids = rows.values_list("pk", flat=True).iterator(chunk_size=CHUNK_SIZE)
        while chunk_ids := list(islice(ids, CHUNK_SIZE)):
            yield chunk_ids


def read_export_rows(request, cells: Sequence[ExportColumn], rows, ids: list[int]) -> list[tuple]:
    """The lines of the rows with these ids, read as columns: much faster than rows.

    Rows are read, too, if a column is a function of them: such pages look up what they
    show of all rows at once, or describe it from many fields.
    """
    lookups = dict.fromkeys(lookup for cell in cells for lookup in cell.lookups)
    needs_rows = ROW in lookups
    lookups.pop(ROW, None)
    found = rows.filter(pk__in=ids).values_list("pk", *lookups)
    by_id = {pk: values for pk, *values in found}
    rows_by_id = rows.in_bulk(ids) if needs_rows else by_id
    ids = [pk for pk in ids if pk in by_id and pk in rows_by_id]
    columns = zip(*[by_id[pk] for pk in ids], strict=True)
    values: dict[str, Sequence[Any]] = dict(zip(lookups, columns, strict=False))
    if needs_rows:
        values[ROW] = [rows_by_id[pk] for pk in ids]
        load_columns([it.column for it in cells if it.column], request, values[ROW])
    if not ids:
        return []
    shown = (
        map(cell.function, *[values[lookup] for lookup in cell.lookups])
        if cell.function
        else values[cell.lookups[0]]
        for cell in cells
    )
    return list(zip(*shown, strict=True))
