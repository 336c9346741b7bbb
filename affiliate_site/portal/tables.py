"""Tables that pages show and files contain."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from itertools import chain
from typing import Any

from django.db.models import QuerySet
from django.http import QueryDict, StreamingHttpResponse
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.translation import get_language, override

from affiliate_site.cells import iterate_csv
from affiliate_site.columns import Column, OfRow, SumsSource, Table
from affiliate_site.downloads import stream_file
from affiliate_site.portal.formats import choose_csv_format, format_number
from tracking.written_amounts import write_amount

PAGE_SIZE = 50
FILE_PART = 500  # rows that are read at once
MAX_ID = 2**63 - 1  # of a row


@dataclass(frozen=True, kw_only=True)
class NamedTable(Table):
    """A table with the name of its file."""

    name: str


def build_column(
    title: Any, get: OfRow, write: Callable[[Any], str] = str, *, is_amount: bool = False
) -> Column:
    """A column whose values files have as they are, and pages as `write` makes them."""

    def show(row: Any) -> str:
        value = get(row)
        return "" if value is None else write(value)

    return Column(title, show, export=get, is_amount=is_amount)


def build_number_column(title: Any, get: OfRow, template: str = "{}") -> Column:
    return build_column(
        title, get, lambda value: template.format(format_number(value)), is_amount=True
    )


def build_sums_column(title: Any, get: OfRow) -> Column:
    """A column of amounts by currency, of which each has a column of its own in files."""
    column = build_column(title, get, show_sums, is_amount=True)
    return replace(column, export=SumsSource(get))


def show_sums(sums: Any) -> str:
    """The amounts of all currencies, a line for each; a dash without any."""
    lines = ((write_amount(amount, code),) for code, amount in sorted(sums.items()))
    return format_html_join("", "<span>{}</span> ", lines) or "-"


def download(table: Table, name: str) -> StreamingHttpResponse:
    """The table as a CSV file; amounts have a column for each currency."""
    titles, *rows = list_lines(table)
    return download_chunks(titles, [rows], name)


def download_chunks(
    titles: Iterable[Any], chunks: Iterable[Iterable[Iterable[Any]]], name: str
) -> StreamingHttpResponse:
    """A CSV file, streamed."""
    chunks = chain([[[str(title) for title in titles]]], chunks)
    return stream_file(iterate_csv(chunks, choose_csv_format()), f"{name}.csv")


def download_all(
    request: Any,
    name: str,
    columns: Iterable[Column],
    rows: QuerySet[Any],
    load: Callable[[Sequence[Any]], Iterable[Any]],
) -> StreamingHttpResponse:
    """The rows, newest first, as a CSV file with the day in its name.

    They are read in parts, after the view, in its language and zone; the columns show
    what `load` makes of each part.
    """
    account, language = request.account, get_language()
    rows = rows.order_by("-id")

    def read() -> Iterator[list[list[Any]]]:
        last = MAX_ID
        while part := list(rows.filter(pk__lt=last)[:FILE_PART]):
            last = part[-1].pk
            with override(language), timezone.override(account.zone):
                lines = [[column(it) for column in columns] for it in load(part)]
            yield lines

    day = account.get_day(timezone.now())
    return download_chunks([it.title for it in columns], read(), f"{name}-{day}")


def list_lines(table: Table) -> Iterator[list[Any]]:
    """The titles, then the values, which programs can read."""
    columns = list(list_file_columns(table))
    yield [title for title, _get in columns]
    for row in table.rows:
        yield [get(row) for _title, get in columns]


def list_file_columns(table: Table) -> Iterator[tuple[str, OfRow]]:
    """Titles and values: sums have a column for each currency."""
    for column in table.columns:
        source: Any = column.export
        if not isinstance(source, SumsSource):
            yield column.title, source
            continue
        for code in sorted({code for row in table.rows for code in source.sums(row) or ()}):
            yield f"{column.title} ({code})", partial(get_amount, source.sums, code)


def get_amount(get_sums: OfRow, code: str, row: Any) -> Decimal:
    return (get_sums(row) or {}).get(code, Decimal(0))


def take_page(rows: QuerySet[Any], size: int, before: str = "") -> tuple[list[Any], int | None]:
    """The rows of a page, before an ID as the address has it, and what the page of older
    ones comes before; None without older ones."""
    if before.isascii() and before.isdigit():
        rows = rows.filter(pk__lt=min(int(before[:20]), MAX_ID))
    found = list(rows[: size + 1])
    return found[:size], found[size - 1].pk if len(found) > size else None


def build_query(query: QueryDict, **parameters: str) -> str:
    """The query of a page with other parameters; empty ones are removed."""
    copy = query.copy()
    for name, value in parameters.items():
        copy.pop(name, None)
        if value:
            copy[name] = value
    return copy.urlencode()
