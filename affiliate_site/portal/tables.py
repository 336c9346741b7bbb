"""Tables that pages show and files contain."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from itertools import chain
from typing import Any

from django.db.models import QuerySet
from django.http import QueryDict, StreamingHttpResponse
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.translation import get_language, override

from affiliate_site.cells import BYTE_ORDER_MARK
from affiliate_site.portal.formats import choose_csv_format, format_money, format_number
from affiliate_site.portal.formats import day as format_day

FILE_PART = 500  # rows that are read at once
MAX_ID = 2**63 - 1  # of a row
TEXT, NUMBER, PERCENT, DAY, SUMS = "text", "number", "percent", "day", "sums"


@dataclass(frozen=True)
class Column:
    """A column: its title, and what its values are; `SUMS` are amounts by currency.

    `write` makes the text of a value on the page, instead of that of the kind.
    """

    title: str
    kind: str = TEXT
    write: Callable[[Any], str] | None = None

    @property
    def is_amount(self) -> bool:
        return self.kind in (NUMBER, PERCENT, SUMS)


@dataclass(frozen=True)
class Table:
    """A table with the name of its file."""

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]

    @property
    def cells(self) -> list[list[tuple[Column, str]]]:
        """The rows as texts, each with its column."""
        return [
            [
                (column, (column.write or partial(show, column.kind))(value))
                for column, value in zip(self.columns, row, strict=True)
            ]
            for row in self.rows
        ]


def show(kind: str, value: Any) -> str:
    """A value as the language of the page writes it."""
    if value is None:
        return ""
    if kind == DAY:
        return format_day(value)
    if kind == NUMBER:
        return format_number(value)
    if kind == PERCENT:
        return f"{format_number(value)} %"
    if kind == SUMS:
        return show_sums(value)
    return str(value)


def show_sums(sums: Any) -> str:
    """The amounts of all currencies, a line for each; a dash without any."""
    lines = ((format_money(amount, code),) for code, amount in sorted(sums.items()))
    return format_html_join("", "<span>{}</span> ", lines) or "-"


def download(table: Table, name: str) -> StreamingHttpResponse:
    """The table as a CSV file; amounts have a column for each currency."""
    titles, *rows = list_lines(table)
    return download_rows(titles, rows, name)


def download_rows(
    titles: Iterable[Any], rows: Iterable[Iterable[Any]], name: str
) -> StreamingHttpResponse:
    """A CSV file, streamed."""
    lines = chain([[str(title) for title in titles]], rows)
    return StreamingHttpResponse(
        chain([BYTE_ORDER_MARK], map(choose_csv_format(), lines)),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}.csv"'},
    )


def download_all(
    request: Any,
    name: str,
    titles: Iterable[Any],
    rows: QuerySet[Any],
    list_values: Callable[[Sequence[Any]], Iterable[Iterable[Any]]],
) -> StreamingHttpResponse:
    """The rows, newest first, as a CSV file with the day in its name.

    They are read in parts, after the view: `list_values` gets its language and zone.
    """
    account, language = request.account, get_language()
    rows = rows.order_by("-id")

    def read() -> Iterator[Iterable[Any]]:
        last = MAX_ID
        while part := list(rows.filter(pk__lt=last)[:FILE_PART]):
            last = part[-1].pk
            with override(language), timezone.override(account.zone):
                values = list(list_values(part))
            yield from values

    day = account.get_day(timezone.now())
    return download_rows(titles, read(), f"{name}-{day}")


def list_lines(table: Table) -> Iterable[list[Any]]:
    """The titles, then the values, which programs can read."""
    currencies = [
        sorted({code for row in table.rows for code in row[index] or ()})
        if column.kind == SUMS
        else []
        for index, column in enumerate(table.columns)
    ]
    yield [
        title
        for column, codes in zip(table.columns, currencies, strict=True)
        for title in (
            [f"{column.title} ({code})" for code in codes]
            if column.kind == SUMS
            else [column.title]
        )
    ]
    for row in table.rows:
        line: list[Any] = []
        for column, value, codes in zip(table.columns, row, currencies, strict=True):
            if column.kind == SUMS:
                line += [(value or {}).get(code, Decimal(0)) for code in codes]
            else:
                line.append(value)
        yield line


def build_query(query: QueryDict, **parameters: str) -> str:
    """The query of a page with other parameters; empty ones are removed."""
    copy = query.copy()
    for name, value in parameters.items():
        copy.pop(name, None)
        if value:
            copy[name] = value
    return copy.urlencode()
