"""Columns of lists, tables and files: each is declared once, with its value of a row."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

from django.utils.text import slugify

OfRow = Callable[..., Any]  # a function of a row, and of what `load` found of it
CURRENCY_TITLE = "{title}: currency"  # of the column next to an amount
# What columns show of these rows and is looked up at once, by their primary keys.
Load = Callable[[Any, Sequence[Any]], Mapping[int, Any]]  # of a request and rows


class AmountSource(NamedTuple):
    """Where files find an amount and its currency, which has a column of its own."""

    amount: str | OfRow = "amount"
    currency: str | OfRow = "currency"


class SumsSource(NamedTuple):
    """Where files find amounts by currency."""

    sums: OfRow


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a list or table, of its files, or of both.

    Pages show `show(row)`, in lists without it the field or method of the page that
    `name` names as in `list_display`; such a method is one that the page of a row shows,
    too. `order` is what the rows can be sorted by: a look-up, or a function of the request
    that returns an expression, or None if this user cannot sort so.

    Files have what the page shows, or `export`: an `AmountSource`, a `SumsSource`, or a
    function of the row; of lists also a look-up, or a tuple of a function and the
    look-ups of its arguments. Look-ups are much faster, because no rows are built.

    With `load`, `show` and the functions of `export` take what it found of the row, or
    None, as a second argument. Each `load` is called once for a page or chunk of rows.
    """

    title: Any = ""  # empty: that of the field or method
    show: OfRow | None = None
    name: str = ""  # of the field; also of CSS classes, by default made of the title
    is_amount: bool = False  # aligned to the right
    load: Load | None = None
    select: tuple[str, ...] = ()  # relations of the row that its functions read
    order: str | Callable[[Any], Any] | None = None
    export: str | AmountSource | SumsSource | tuple[Any, ...] | OfRow | None = None
    is_listed: bool = True
    is_exported: bool = True
    is_count: bool = False  # exported once, next to amounts of several currencies
    sort_url: str = ""  # of the page sorted by it, to which its title leads
    direction: str = ""  # that the page is sorted in by it: ascending or descending

    do_not_call_in_templates = True

    def bind(self, function: OfRow) -> OfRow:
        """A function of the row alone, after `load_columns`."""
        load = self.load
        return (lambda row: function(row, row.loaded[load])) if load else function

    # What Django and the theme read of a function in `list_display`.

    def __call__(self, row: Any) -> Any:
        return self.bind(self.show)(row) if self.show else ""

    @property
    def __name__(self) -> str:
        return self.name or slugify(self.title).replace("-", "_")

    @property
    def short_description(self) -> str:
        return self.title

    @property
    def admin_order_field(self) -> str | Callable[[Any], Any] | None:
        return self.order


def load_columns(columns: Iterable[Column], request: Any, rows: Sequence[Any]) -> None:
    """Look up what these columns show of these rows."""
    loads: Iterable[Any] = {it.load: None for it in columns if it.load}
    found: dict[Hashable, Mapping[int, Any]] = {load: load(request, rows) for load in loads}
    for row in rows:
        row.loaded = {load: values.get(row.pk) for load, values in found.items()}


@dataclass(frozen=True)
class Table:
    """A titled table: columns, what their functions are called with, and notes."""

    title: Any
    columns: Sequence[Column] = ()
    rows: Sequence[Any] = ()
    notes: Sequence[str] = ()

    @property
    def values(self) -> list[tuple[Any, ...]]:
        """What the table shows."""
        return [tuple(column(row) for column in self.columns) for row in self.rows]

    @property
    def cells(self) -> list[list[tuple[Column, Any]]]:
        """The same, each value with its column."""
        return [list(zip(self.columns, row, strict=True)) for row in self.values]


def list_places(*titles: Any, amounts_from: int | None = None) -> list[Column]:
    """The columns of tuples; from a place on they are amounts."""
    from_place = len(titles) if amounts_from is None else amounts_from
    return [
        Column(title, itemgetter(place), is_amount=place >= from_place)
        for place, title in enumerate(titles)
    ]
