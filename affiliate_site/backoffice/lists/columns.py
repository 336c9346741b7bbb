"""The columns of a list and of its exports, declared once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    STATUS_COLORS,
    format_affiliate,
    format_money,
)

OfRow = Callable[[Any], Any]  # a function of a row


class AmountSource(NamedTuple):
    """Where exports find an amount and its currency, which has a column of its own."""

    amount: str | OfRow = "amount"
    currency: str | OfRow = "currency"


class SumsSource(NamedTuple):
    """Where exports find amounts by currency, of which each has a line of its own."""

    sums: OfRow


@dataclass(frozen=True, eq=False)
class ListColumn:
    """A column of a list, of its exports, or of both.

    Lists show `show(row)`, or the field or method of the page that `name` names as in
    `list_display`; such a method is one that the page of a row shows, too. `order` is
    what the rows can be sorted by, `label` has the colors of labels.

    Exports have what the list shows, or `export`: a look-up, an `AmountSource`, a
    `SumsSource`, a tuple of a function and the look-ups of its arguments, or a function
    of the row. Look-ups are much faster, because no rows are built (`exports.py`).
    """

    name: str  # also of its CSS classes
    title: str = ""  # empty: that of the field or method
    show: Any = None  # a function of the row
    order: str | None = None
    label: Mapping[str, str] | None = None
    export: str | AmountSource | SumsSource | tuple[Any, ...] | OfRow | None = None
    is_listed: bool = True
    is_exported: bool = True
    is_count: bool = False  # exported once, next to amounts of several currencies

    # What Django and the theme read of a function in `list_display`.

    def __call__(self, row: Any) -> Any:
        return self.show(row)

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def short_description(self) -> str:
        return self.title

    @property
    def admin_order_field(self) -> str | None:
        return self.order


def as_column(column: str | ListColumn) -> ListColumn:
    """A column, of which the name may be enough."""
    return ListColumn(column) if isinstance(column, str) else column


ACCOUNT = ListColumn("account", export="account__slug")
AFFILIATE = ListColumn("affiliate", export="affiliate__slug")
PERSON = ListColumn(
    "person",
    "Affiliate",
    lambda row: format_affiliate(row.affiliate),
    order="affiliate",
    export="affiliate__slug",
)
PROGRAM_TITLE = ListColumn(
    "program_title",
    "Program",
    lambda row: row.program.title if row.program else EMPTY_VALUE,
    order="program",
    export="program__slug",  # other programs may use IDs, not titles
)
AMOUNT = ListColumn(
    "formatted_amount",
    "Amount",
    lambda row: format_money(row.amount, row.currency),
    order="amount",
    export=AmountSource(),
)
# What a payment or line keeps of its amount for the tax office.
TAX_WITHHELD = ListColumn("tax_withheld", "Withholding tax", export="tax_withheld", is_listed=False)
DELETED_AT = ListColumn("deleted_at", is_listed=False)


def build_status_column(show: OfRow, name="status_label", **options: Any) -> ListColumn:
    return ListColumn(name, "Status", show, label=STATUS_COLORS, **options)
