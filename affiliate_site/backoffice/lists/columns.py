"""The columns of several lists and of their exports."""

from typing import Any

from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    Label,
    format_affiliate,
    format_labels,
    format_money,
)
from affiliate_site.columns import AmountSource, Column, OfRow


def as_column(column: str | Column) -> Column:
    """A column, of which the name may be enough."""
    return Column(name=column) if isinstance(column, str) else column


ACCOUNT = Column(name="account", export="account__slug")
AFFILIATE = Column(name="affiliate", export="affiliate__slug")
PERSON = Column(
    "Affiliate",
    lambda row: format_affiliate(row.affiliate),
    name="person",
    select=("affiliate",),
    order="affiliate",
    export="affiliate__slug",
)
PROGRAM_TITLE = Column(
    "Program",
    lambda row: row.program.title if row.program else EMPTY_VALUE,
    name="program_title",
    select=("program",),
    order="program",
    export="program__slug",  # other programs may use IDs, not titles
)
AMOUNT = Column(
    "Amount",
    lambda row: format_money(row.amount, row.currency),
    name="formatted_amount",
    is_amount=True,
    order="amount",
    export=AmountSource(),
)
# What a payment or line keeps of its amount for the tax office.
TAX_WITHHELD = Column("Withholding tax", export="tax_withheld", is_listed=False)
DELETED_AT = Column(name="deleted_at", is_listed=False)


def build_status_column(get_label: OfRow, name="status_label", **options: Any) -> Column:
    """A column that shows a `Label` of a row, and exports its text."""

    def show(*of_row: Any) -> str:
        return format_labels([get_label(*of_row)])

    return Column("Status", show, name=name, **{"export": get_label} | options)


ARCHIVED, ACTIVE = Label("archived"), Label("active", "success")


def get_archive_label(row: Any) -> Label:
    return ARCHIVED if row.archived_at else ACTIVE


ARCHIVE_STATUS = build_status_column(get_archive_label, is_exported=False)
