"""Long lists: an order that an index has; number, sums and pages without a count.

Lists of up to 10,000 rows have any order and are counted. Longer ones are sorted by an
index of the account only, because the database would read and sort all rows for each
page, and `COUNT(*)` would read them, too: their number is exact where the days of a
list are counted (accounts/services/row_counts.py).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.core.paginator import Paginator
from django.db.models import Count
from django.utils import timezone

from accounts.services.row_counts import find_counted_list
from affiliate_site.backoffice.formatters import format_totals, keep_amounts_together
from tracking.amounts import ExactSum


def find_index_order(model, ordering: Sequence[str]) -> list[str]:
    """The order of an index that sorts rows by these columns; empty without one.

    It decides about rows with equal values: the newest first, or last if the order is
    reversed.
    """
    names = list(ordering)
    for index in [*model._meta.total_unique_constraints, *model._meta.indexes]:
        account, *columns = index.fields
        if account != "account" or index.condition or getattr(index, "opclasses", ()):
            continue
        for order in (columns, [reverse(name) for name in columns]):
            if order[-1] not in ("id", "-id"):
                order.append("-id")
            if names and order[: len(names)] == names:
                return order
    return []


def reverse(name: str) -> str:
    """The name of a column in the opposite order."""
    return name.removeprefix("-") if name.startswith("-") else f"-{name}"


MAX_COUNTED_ROWS = 10_000


@dataclass(frozen=True)
class RowNumber:
    """The number of rows of a list; there are more of them unless `is_exact`."""

    number: int
    is_exact: bool = True

    @property
    def is_long(self) -> bool:
        """Whether the rows are too many to be summed or sorted for a page."""
        return not self.is_exact or self.number > MAX_COUNTED_ROWS

    def __str__(self) -> str:
        return f"{self.number:,}" if self.is_exact else f"more than {self.number:,}"


def count_rows(queryset, account) -> RowNumber:
    """Count the rows of a list, cheaply; operators have no account."""
    counted = find_counted_list(account, queryset) if account else None
    if counted is not None:
        count = counted.count(timezone.now())
        return RowNumber(count.stored + count.later)
    # In their order, by its index: else PostgreSQL reads the rows of all accounts.
    number = queryset[: MAX_COUNTED_ROWS + 1].count()
    return RowNumber(min(number, MAX_COUNTED_ROWS), number <= MAX_COUNTED_ROWS)


def sum_amounts(queryset, column: str) -> tuple[str, int]:
    """The sums of a column per currency, `249.90 EUR, 20.00 USD`, and of how many
    rows."""
    rows = queryset.order_by().values_list("currency")
    sums = list(rows.annotate(ExactSum(column), Count("pk")))
    totals = {currency: total for currency, total, _ in sums}
    number = sum(each for _, _, each in sums)
    return keep_amounts_together(format_totals(totals)), number


def list_page_numbers(row_number: RowNumber, page: int, per_page: int) -> Iterator:
    """The numbers of the pages of the counted rows, `…` between them."""
    paginator = Paginator(range(min(row_number.number, MAX_COUNTED_ROWS)), per_page)
    if page > paginator.num_pages:
        return paginator.get_elided_page_range(paginator.num_pages)
    return paginator.get_elided_page_range(page)
