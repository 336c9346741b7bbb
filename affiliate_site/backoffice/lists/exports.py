"""CSV exports: all rows of a list, with its filters and its order, streamed.

Texts that a spreadsheet would run as a formula are escaped: docs/reliability.md,
section 9.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from functools import partial
from html import unescape
from itertools import chain, islice
from typing import NamedTuple

from django.contrib.admin.utils import label_for_field, lookup_field
from django.core.exceptions import FieldDoesNotExist
from django.db.models import DateTimeField
from django.http import StreamingHttpResponse
from django.utils import timezone
from django.utils.html import strip_tags
from django.utils.safestring import SafeString
from django.utils.text import capfirst, slugify

from accounts import replica
from accounts.db_compat import without_statement_timeout
from accounts.exact_json import format_decimal
from affiliate_site.backoffice.formatters import EMPTY_VALUE, Money
from affiliate_site.backoffice.lists.date_filters import DateFilter

CHUNK_SIZE = 1000  # rows
TIME_LENGTH = len("2026-11-20T23:54:00")
# Formulas, and the vertical bar of calls to other programs, may begin with white space
# or control characters, and in full width.
INVISIBLE_CHARACTERS = r"\s\x00-\x1f\x7f\u200b-\u200f\u2060\ufeff"
FORMULA_PATTERN = re.compile(
    rf"[{INVISIBLE_CHARACTERS}]*[=+\-@|\uff1d\uff0b\uff0d\uff20\uff5c]|[\t\r\n]"
)
# What may begin a cell or a line if the reader takes another separator than a comma:
# it then splits quoted texts too, except at the beginning of a line.
SEPARATOR_PATTERN = re.compile(
    rf"([;|\t\r\n][{INVISIBLE_CHARACTERS};|\"]*)([=+\-@\uff1d\uff0b\uff0d\uff20\uff5c]?)"
)
# A vertical bar begins a cell only if another character separates cells.
OTHER_SEPARATOR_PATTERN = re.compile(r"[;\t\r\n]")
FIRST_BAR_PATTERN = re.compile(r"(?<!\|)\|")
# Most texts: neither a formula nor a separator, and nothing to escape.
PLAIN_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.,:/@+=-]*")
NUMBER_PATTERN = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)
MOMENT_TITLE = "{title} (UTC)"
CURRENCY_TITLE = "{title}: currency"


class AmountSource(NamedTuple):
    """The look-ups of an amount and of its currency, which has a column of its own."""

    amount: str = "amount"
    currency: str = "currency"


def format_cell(value) -> str:
    """A value as text; an apostrophe is added to texts that could be formulas."""
    if value is None or (isinstance(value, SafeString) and value == EMPTY_VALUE):
        return ""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M:%SZ}"
    if isinstance(value, Decimal):
        return format_decimal(value)
    text = unescape(strip_tags(value)) if isinstance(value, SafeString) else str(value)
    if FORMULA_PATTERN.match(text) and not NUMBER_PATTERN.fullmatch(text):
        return f"'{text}"
    return text


def format_csv_cell(value) -> str:
    """A cell of a CSV file: numbers as they are, texts in quotation marks.

    A text holds no formula after a semicolon, vertical bar, tab or line break either.
    """
    if isinstance(value, Money):
        value = value.amount
    if value is None:
        return ""
    if type(value) is str and PLAIN_PATTERN.fullmatch(value):
        return f'"{value}"'
    if isinstance(value, datetime):
        return f'"{value.isoformat()[:TIME_LENGTH]}Z"'
    text = format_cell(value)
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return text
    text = SEPARATOR_PATTERN.sub(_escape_separated_formula, text).replace('"', '""')
    return f'"{text}"' if text else ""


def _escape_separated_formula(match: re.Match[str]) -> str:
    separator, formula_start = match.groups()
    if "|" in separator and (other := OTHER_SEPARATOR_PATTERN.search(separator)):
        start = other.start()
        separator = separator[:start] + FIRST_BAR_PATTERN.sub("'|", separator[start:])
    return f"{separator}'{formula_start}" if formula_start else separator


def export_csv(model_admin, request) -> StreamingHttpResponse:
    """The filtered list, all its pages, as a CSV file."""
    columns, rows, name = prepare_export(model_admin, request)
    if model_admin.export_sources is None:
        prepared = iterate_prepared_rows(model_admin, request, rows)
        lines: Iterable[str] = map(
            format_csv_line, iterate_lines(model_admin, columns, prepared)
        )
    else:
        lines = iterate_csv_chunks(model_admin, columns, rows)
    return StreamingHttpResponse(
        lines,
        content_type="text/csv; charset=utf-8",
        headers={
            "Content-Disposition": f'attachment; filename="{name}.csv"',
        },
    )


def prepare_export(model_admin, request):
    """The columns, the rows of all pages of the filtered list, and a file name."""
    changelist = model_admin.get_changelist_instance(request)
    columns = model_admin.get_export_columns(request)
    rows = changelist.get_queryset(request)
    return columns, rows, get_export_name(changelist)


def get_export_name(changelist) -> str:
    """`commissions-2026-10`: the list, and the days of its filter or today."""
    days = f"{timezone.localdate()}"
    for spec in changelist.filter_specs:
        if isinstance(spec, DateFilter) and spec.file_name_part:
            days = spec.file_name_part
    return f"{slugify(changelist.opts.verbose_name_plural)}-{days}"


def get_column_titles(model_admin, columns: list[str]) -> list[str]:
    """The headings of the columns; those of moments name the zone, unlike lists."""
    model = model_admin.model
    titles = [
        capfirst(str(label_for_field(name, model, model_admin))) for name in columns
    ]
    return [
        MOMENT_TITLE.format(title=title) if is_moment(model, name) else title
        for name, title in zip(columns, titles, strict=True)
    ]


def is_moment(model, name: str) -> bool:
    """Whether a column is a field of the model that holds a moment."""
    try:
        return isinstance(model._meta.get_field(name), DateTimeField)
    except FieldDoesNotExist:
        return False


def get_cell_values(model_admin, columns: list[str], row) -> list:
    """The values of a row in these columns, not yet formatted."""
    return [lookup_field(name, row, model_admin)[2] for name in columns]


def iterate_prepared_rows(model_admin, request, rows) -> Iterator:
    """The rows, prepared in chunks.

    Only the ids are read at once, in the order of the list: the database would sort and
    store all rows with their relations before the first one. The query of a large
    export may exceed the statement timeout of other requests. A chunk may come from a
    replica.
    """

    def prepare_chunk(chunk_ids: list[int]) -> list:
        by_id = rows.order_by().in_bulk(chunk_ids)
        chunk = [by_id[pk] for pk in chunk_ids if pk in by_id]
        model_admin.prepare_rows(request, chunk)
        return chunk

    for chunk_ids in iterate_chunks_of_ids(rows):
        yield from replica.read_page(partial(prepare_chunk, chunk_ids))


def iterate_chunks_of_ids(rows) -> Iterator[list[int]]:
    """The ids of the rows in their order."""
    with without_statement_timeout():
        ids = rows.values_list("pk", flat=True).iterator(chunk_size=CHUNK_SIZE)
        while chunk_ids := list(islice(ids, CHUNK_SIZE)):
            yield chunk_ids


def iterate_csv_chunks(model_admin, columns: list[str], rows) -> Iterator[str]:
    """The lines of `iterate_lines` in chunks, read as columns: much faster.

    `model_admin.export_sources` has, for each column that is no field, a look-up, an
    `AmountSource`, or a function and the look-ups of its arguments. A chunk may come
    from a replica.
    """
    titles: list[str] = []
    calls: list[tuple] = []
    shown = zip(columns, get_column_titles(model_admin, columns), strict=True)
    for name, title in shown:
        source = model_admin.export_sources.get(name, name)
        if isinstance(source, AmountSource):
            titles += [title, CURRENCY_TITLE.format(title=title)]
            calls += [(None, source.amount), (None, source.currency)]
            continue
        titles.append(title)
        calls.append((None, source) if isinstance(source, str) else source)
    yield format_csv_line(titles)
    lookups = list(dict.fromkeys(lookup for _, *used in calls for lookup in used))
    for chunk_ids in iterate_chunks_of_ids(rows):
        found = rows.order_by().filter(pk__in=chunk_ids)
        by_id = read_values(found, lookups)
        chunk = [by_id[pk] for pk in chunk_ids if pk in by_id]
        _, *values = zip(*chunk, strict=True) if chunk else ((), *((),) * len(lookups))
        by_lookup = dict(zip(lookups, values, strict=True))
        cells = [
            map(
                format_csv_cell,
                map(function, *[by_lookup[lookup] for lookup in used])
                if function
                else by_lookup[used[0]],
            )
            for function, *used in calls
        ]
        yield "".join([f"{','.join(line)}\r\n" for line in zip(*cells, strict=True)])


def read_values(rows, lookups: list[str]) -> dict[int, tuple]:
    """The values of the rows by their ids."""

    def read(alias: str) -> dict[int, tuple]:
        found = rows.using(alias).values_list("pk", *lookups)
        return {row[0]: row for row in found}

    return replica.read(read)


def iterate_lines(model_admin, columns: list[str], rows: Iterable) -> Iterator[list]:
    """The titles of the columns, then the values of each row.

    After a column of amounts comes one of their currencies.
    """
    lines = (get_cell_values(model_admin, columns, row) for row in rows)
    first = list(islice(lines, 1))
    amounts = {n for line in first for n, v in enumerate(line) if isinstance(v, Money)}
    titles = []
    for index, title in enumerate(get_column_titles(model_admin, columns)):
        titles.append(title)
        if index in amounts:
            titles.append(CURRENCY_TITLE.format(title=title))
    yield titles
    for line in chain(first, lines):
        yield list(split_amounts(line, amounts))


def split_amounts(values: Iterable, amounts: set[int]) -> Iterator:
    """The values of a row, with the currency after each of these columns of amounts."""
    for index, value in enumerate(values):
        is_money = isinstance(value, Money)
        if index not in amounts:
            yield SafeString(value) if is_money else value
            continue
        yield value
        yield value.currency if is_money else ""


def format_csv_line(values: Iterable) -> str:
    """A line of a CSV file, with its line break."""
    return ",".join(map(format_csv_cell, values)) + "\r\n"
